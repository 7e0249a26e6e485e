"""How values stand in a context description, in every format, and our own words there, in both
languages.

The words on folded tables are the first seed's (5.2), with the name of what folded them;
``{tool}`` is the tool that finds a table again, where the solver has one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from stages.core.context.view import Page, TableView
from stages.core.lang import Lang
from stages.core.records import Column, Field, Rows, Table
from stages.core.text import cell, listed, quoted, visible

WORDS: Mapping[Lang, Mapping[str, str]] = {
    "zh": {
        "folded": "({who}, schema 已折叠省 token{found})",
        "found": "; 如需可用 {tool} 查询",
        "judged": "{by} 判为无关",
        "pinned": "pin 指定折叠",
        "it": "",
        "each": "",
        "several": "折叠的表 ({n} 张)",
        "or": "或",
        "and": "、",
        "head": "数据源 {name}: {full} 张表完整展开, {names} 张只列列名, {line} 张折叠为一行; {docs} 份文档。",  # noqa: E501
        "dialect": "SQL 方言: {dialect}。",
        "file": "文件",
        "server": "数据库",
        "document": "文档",
        "skipped": "未读取",
        "headings": "标题",
        "first": "开头几行",
        "tables": "{n} 张表",
        "rows": "{n} 行",
        "unknown": "行数未知",
        "also": "又名",
        "about": "说明",
        "columns": "列 ({n})",
        "by_name": "列 ({n}, 仅列名)",
        "others": "其余列 ({n}, 仅列名)",
        "null": "可空",
        "not null": "非空",
        "example": "例",
        "reason": "依据",
        "primary": "主键",
        "foreign": "外键",
        "sample": "样例行 (按上列顺序)",
        "error": "无法读取",
        "note": "注意",
        "budget": "为不超过 {budget} token, 省略了: {what}。",
        "over": "超出 {budget} token 的预算; 已省略: {what}。",
        "only names": "无可省略之处",
        "up samples": "{n} 张表的样例行",
        "up examples": "{n} 张表的列示例",
        "up lines": "文档的开头几行",
        "up columns": "{n} 张表除列名外的列信息",
        "more": " 等另外 {n} 张",
        "comma": "; ",
    },
    "en": {
        "folded": "({who}; schema folded to save tokens{found})",
        "found": "; query {it} with {tool} if needed",
        "judged": "{by} judged {it} irrelevant",
        "pinned": "a pin folds {it}",
        "it": "it",
        "each": "each",
        "several": "Folded tables ({n})",
        "or": ", or ",
        "and": " and ",
        "head": "Data of {name}. Tables in full: {full}, by column names: {names}, folded to a line: {line}; "  # noqa: E501
        "documents: {docs}.",
        "dialect": "SQL dialect: {dialect}.",
        "file": "File",
        "server": "Database",
        "document": "Document",
        "skipped": "Not read",
        "headings": "headings",
        "first": "first lines",
        "tables": "tables: {n}",
        "rows": "rows: {n}",
        "unknown": "rows unknown",
        "also": "also",
        "about": "about",
        "columns": "columns ({n})",
        "by_name": "columns ({n}, names only)",
        "others": "other columns ({n}, names only)",
        "null": "nullable",
        "not null": "not null",
        "example": "e.g.",
        "reason": "why",
        "primary": "primary key",
        "foreign": "foreign key",
        "sample": "sample rows (in the order of the columns)",
        "error": "could not be read",
        "note": "note",
        "budget": "To stay within {budget} tokens this leaves out: {what}.",
        "over": "This is over its budget of {budget} tokens, although it leaves out: {what}.",
        "only names": "nothing, as there is nothing but names",
        "up samples": "sample rows (tables: {n})",
        "up examples": "examples of columns (tables: {n})",
        "up lines": "first lines of documents",
        "up columns": "all but the names of columns (tables: {n})",
        "more": " and {n} more",
        "comma": "; ",
    },
}


def say(lang: Lang, key: str, **values: object) -> str:
    """One of the phrases with its values, which are neutralised already."""
    return WORDS[lang][key].format(**values)


def head(page: Page) -> list[str]:
    """What the page holds, how much is folded, and what the budget cost; a line for each."""
    full, names, line = (len(page.at(level)) for level in ("full", "names", "line"))
    name, documents = visible(page.catalog["name"], 80), len(page.documents)
    lines = [say(page.lang, "head", name=name, full=full, names=names, line=line, docs=documents)]
    if "dialect" in page.catalog:
        lines[0] += " " + say(page.lang, "dialect", dialect=visible(page.catalog["dialect"], 40))
    lost = given_up(page)
    if lost or page.over:
        what = say(page.lang, "comma").join(lost) or say(page.lang, "only names")
        key = "over" if page.over else "budget"
        lines.append(say(page.lang, key, budget=page.budget, what=what))
    return lines


def unread(page: Page) -> list[str]:
    """A line for each file that scan did not read, and one for how many more there are."""
    word = say(page.lang, "skipped")
    lines = [f"{word}: {path(s['path'])} ({note(s['reason'])})" for s in page.skipped]
    return [*lines, *([f"{word}: +{page.skipped_more}"] if page.skipped_more else [])]


def given_up(page: Page, *, named: bool = False) -> list[str]:
    """What the budget cost, one phrase for each kind; empty where nothing is left out.

    Args:
        page: The page after it was made to fit.
        named: Whether a few of the tables are named, too.
    """
    said = _of_tables(page, "up samples", [v for v in page.tables if _lost_sample(v)], named)
    said += _of_tables(page, "up examples", [v for v in page.tables if not v.examples], named)
    if not page.first_lines and any(d.get("first_lines") for d in page.documents):
        said.append(say(page.lang, "up lines"))
    return said + _of_tables(page, "up columns", [v for v in page.tables if v.bare], named)


def _of_tables(page: Page, key: str, views: Sequence[TableView], named: bool) -> list[str]:
    if not views:
        return []
    names = listed((view.table["name"] for view in views), WORDS[page.lang]["more"])
    return [say(page.lang, key, n=len(views)) + (f": {names}" if named else "")]


def _lost_sample(view: TableView) -> bool:
    return not view.sample and bool(view.table.get("sample"))


# How single values stand in a context description, in every format.

NOTE = 300
"""Characters shown of a description, a comment, a reason, a warning, or an error."""

NAME = 500
"""Characters shown of a name. A cut name cannot be used in SQL, so this only stops floods."""

PATH = 200
"""Characters shown of a path."""

TYPE = 300
"""Characters shown of a type; the fields of a long nested one are listed beside it."""

LINE = 400
"""Characters shown of a document's line (task format: previews of 400 characters)."""

ALIASES = 3
"""Other names of a table that are shown."""

WARNINGS = 3
"""Warnings shown of one table; the rest is counted."""

_PLAIN = re.compile(r"[\w.:+\-/%]+( [\w.:+\-/%]+)*(…\(\+\d+\))?")


def value(text: str | None) -> str:
    """A cell or an example: NULL for none, quoted where its bounds or its kind would be unclear.

    >>> value(None), value("NULL"), value("3-D Man"), value("a | b"), value("")
    ('NULL', '"NULL"', '3-D Man', '"a | b"', '""')
    """
    if text is None:
        return "NULL"
    shown = cell(text)
    if _PLAIN.fullmatch(shown) and shown.upper() != "NULL":
        return shown
    return '"' + shown.replace('"', '""') + '"'


def name(text: str) -> str:
    """The name of a table or column, ready for SQL where double quotes mark names."""
    return quoted(text, NAME)


def bare(text: str) -> str:
    """The name of a table or column without quotes."""
    return visible(text, NAME)


def kind(column: Column | Field) -> str:
    """The type of a column; a nested one whose fields are listed beside it without them.

    >>> kind({"name": "a", "type": "STRUCT(b INTEGER)[]", "fields": [{"name": "a.b", "type": "INTEGER"}]})
    'STRUCT(…)[]'
    """  # noqa: E501
    text = column["type"]
    if column.get("fields") and "(" in text:
        text = text.partition("(")[0] + "(…)" + text.rpartition(")")[2]
    return visible(text, TYPE)


def source(table: Table) -> str:
    """What several tables may lie in: a database file or a server; empty for other tables."""
    found = table.get("source")
    if found is None or ("::" not in table["describe_key"] and "url" not in found):
        return ""
    return found.get("url") or found.get("path") or table["describe_key"].partition("::")[0]


def line(text: str) -> str:
    """A line of a document."""
    return visible(text, LINE)


def path(text: str) -> str:
    """A path or describe key."""
    return visible(text, PATH)


def note(text: str) -> str:
    """A comment or a message, within `NOTE`."""
    return visible(text, NOTE)


def size(count: int) -> str:
    """Bytes for a reader.

    >>> size(512), size(45056), size(283115520)
    ('512 B', '44 KB', '270 MB')
    """
    for unit, step in (("MB", 2**20), ("KB", 2**10)):
        if count >= step:
            return f"{count / step:.0f} {unit}"
    return f"{count} B"


def amount(rows: Rows | None) -> str:
    """The row count, ``~`` before an estimate; empty where it is unknown.

    >>> amount({"count": 1204, "how": "estimate"})
    '~1,204'
    """
    if rows is None or rows["count"] is None:
        return ""
    return f"{'~' if rows['how'] == 'estimate' else ''}{rows['count']:,}"


def first(view: TableView, column: Column) -> str | None:
    """One value of the column as it stands in the table line; None where none is to be shown."""
    if not view.examples:
        return None
    seen = [
        *column.get("examples", []),
        *(r.get(column["name"]) for r in view.table.get("sample", [])),
    ]
    return next((text for text in seen if text), None)


def example(view: TableView, column: Column) -> str | None:
    """`first`, ready to be shown."""
    found = first(view, column)
    return None if found is None else value(found)


def about(record: Table | Column) -> str:
    """What is known of a table or column in words: its natural name, description and comment."""
    parts = [record.get("nl_name"), record.get("description"), record.get("comment")]
    own = record["name"].casefold()
    said = dict.fromkeys(
        str(part).strip() for part in parts if part and str(part).casefold() != own
    )
    return "; ".join(note(part) for part in said if part)


def warnings(table: Table) -> list[str]:
    """The first warnings of a table, and the count of the rest."""
    every = table.get("warnings", [])
    rest = len(every) - WARNINGS
    return [*map(note, every[:WARNINGS]), *([f"+{rest}"] if rest > 0 else [])]
