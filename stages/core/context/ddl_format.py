"""The context description as DDL: a statement for each table, all else as comments.

The statements run, in any order: foreign keys are comments, since what they refer to may be
folded. Every comment stays on its line, so no value can end one.
"""

from __future__ import annotations

from collections.abc import Iterator

from stages.core.context import folded, values
from stages.core.context.values import head, say, unread
from stages.core.context.view import Page, TableView
from stages.core.records import Column, Document, Field, Table
from stages.core.text import safe_lines, visible

TYPE = 10_000
"""Characters of a type in a statement, which would not run with a cut one."""

BACKTICKS = {"mysql", "mariadb", "bigquery", "databricks", "spark", "hive", "clickhouse"}

_RESERVED = """
all and any array as asc between by case cast check collate column constraint create cross current
default desc distinct do else end except exists false fetch for foreign from full grant group
having in inner intersect into is join lateral left like limit natural not null offset on only or
order outer primary qualify references returning right row rows select set some table then to true
union unique using values when where window with
"""
RESERVED = frozenset(_RESERVED.split())
"""Words that a name cannot be without quotes in the common dialects."""


def whole(page: Page) -> str:
    """The page as SQL text, ending in a line break."""
    shown = [*page.at("full"), *page.at("names")]
    parts = [_comments(head(page)), *(table(page, view) for view in shown)]
    parts.append(_comments(list(_folded(page))))
    parts += [_document(page, document) for document in page.documents]
    parts.append(_comments(unread(page)))
    if page.knowledge is not None:
        parts.append(_comments(["knowledge.md:", *safe_lines(page.knowledge).rstrip().split("\n")]))
    return "".join(parts)


def table(page: Page, view: TableView) -> str:
    """One table: a statement, comments where it is shown by column names, or its name."""
    name = identifier(page, view.table["name"])
    if view.level == "line":
        words = folded.about(view.table)
        return f"{name} ({words})" if words else name
    comments = [*_facts(page, view.table), *_others(page, view)]
    if view.level == "names" or view.bare or not view.columns:
        shown = ", ".join(_short(page, view, column) for column in view.columns)
        return "\n" + _comments([f"Table: {name}({shown})", *comments])
    lines = "".join(f"  {line}\n" for line in _columns(page, view))
    comments += _foreign(page, view.table)
    return f"\n{_comments(comments)}CREATE TABLE {name} (\n{lines});\n{_sample(view)}"


def _folded(page: Page) -> Iterator[str]:
    """The list of the folded tables, a line for each source."""
    if said := folded.sentence(page):
        yield f"{say(page.lang, 'several', n=len(page.at('line')))} {said}:"
    for source, views in folded.by_source(page):
        place = f"{values.path(source)}: " if source else ""
        yield f"  {place}{', '.join(table(page, view) for view in views)}"


def identifier(page: Page, name: str) -> str:
    """The name as the dialect quotes it, where it has to be quoted."""
    plain = values.name(name)
    if plain == name and name.lower() not in RESERVED:
        return name
    dialect = page.catalog.get("dialect", "")
    shown = values.bare(name)
    if dialect in BACKTICKS:
        return "`" + shown.replace("`", "``") + "`"
    return '"' + shown.replace('"', '""') + '"'


def _comments(lines: list[str]) -> str:
    return "".join(f"-- {line}".rstrip() + "\n" for line in lines)


def _facts(page: Page, table: Table) -> Iterator[str]:
    """Where the table lies, its rows, and what is said of it."""
    rows = values.amount(table.get("rows"))
    facts = [values.path(table["describe_key"])] if "source" in table else []
    facts.append(say(page.lang, "rows", n=rows) if rows else say(page.lang, "unknown"))
    yield ", ".join(facts)
    if about := values.about(table):
        yield about
    if "error" in table:
        yield f"{say(page.lang, 'error')}: {values.note(table['error'])}"
    yield from (f"{say(page.lang, 'note')}: {warning}" for warning in values.warnings(table))


def _columns(page: Page, view: TableView) -> Iterator[str]:
    """One line for each column, and the primary key where all its columns are shown."""
    key = view.table.get("primary_key", [])
    shown = {column["name"] for column in view.columns}
    closing = (
        [f"PRIMARY KEY ({', '.join(identifier(page, c) for c in key)})"]
        if key and shown >= set(key)
        else []
    )
    last = len(view.columns) - 1
    for place, column in enumerate(view.columns):
        comma = "," if place < last or closing else ""
        yield f"{_definition(page, column)}{comma}{_comment(page, view, column)}"
        yield from (_field(page, view, inner) for inner in column.get("fields", []))
    yield from closing


def _definition(page: Page, column: Column) -> str:
    must = " NOT NULL" if column.get("nullable") is False else ""
    return f"{identifier(page, column['name'])} {visible(column['type'], TYPE)}{must}"


def _comment(page: Page, view: TableView, column: Column) -> str:
    """Example, description and reason behind a column."""
    example = values.example(view, column)
    parts = [f"{say(page.lang, 'example')} {example}"] if example is not None else []
    parts += [about] if (about := values.about(column)) else []
    reason = view.reasons.get(column["name"], "")
    parts += [f"{say(page.lang, 'reason')}: {values.note(reason)}"] if reason else []
    return f" -- {'; '.join(parts)}" if parts else ""


def _field(page: Page, view: TableView, inner: Field) -> str:
    """A field of a nested column, as a comment below it."""
    parts = [f"{values.name(inner['name'])} {values.kind(inner)}"]
    if view.examples and inner.get("examples"):
        parts.append(f"{say(page.lang, 'example')} {values.value(inner['examples'][0])}")
    if inner.get("description"):
        parts.append(values.note(inner["description"]))
    if reason := view.reasons.get(inner["name"], ""):
        parts.append(f"{say(page.lang, 'reason')}: {values.note(reason)}")
    return f"-- {'; '.join(parts)}"


def _short(page: Page, view: TableView, column: Column) -> str:
    name = identifier(page, column["name"])
    return name if view.bare else f"{name} {values.kind(column)}"


def _others(page: Page, view: TableView) -> Iterator[str]:
    if view.others:
        names = ", ".join(identifier(page, name) for name in view.others)
        yield f"{say(page.lang, 'others', n=len(view.others))}: {names}"


def _foreign(page: Page, table: Table) -> Iterator[str]:
    for key in table.get("foreign_keys", []):
        own = ", ".join(identifier(page, name) for name in key["columns"])
        theirs = ", ".join(identifier(page, name) for name in key["ref_columns"])
        yield f"FOREIGN KEY ({own}) REFERENCES {identifier(page, key['ref_table'])}({theirs})"


def _sample(view: TableView) -> str:
    rows = (" | ".join(values.value(row.get(c["name"])) for c in view.columns) for row in view.rows)
    return _comments([f"| {row}" for row in rows])


def _document(page: Page, document: Document) -> str:
    """A document by its headings and first lines, as comments."""
    kind, size = values.path(document["kind"]), values.size(document["bytes"])
    lines = [f"{say(page.lang, 'document')}: {values.path(document['path'])} ({kind}, {size})"]
    body = [
        *document.get("headings", []),
        *(document.get("first_lines", []) if page.first_lines else []),
    ]
    return _comments([*lines, *(f"| {values.line(line)}" for line in body)])
