"""The context description as describe_context_dir prints it: file by file, table by table.

First seed, 5.2: a table in full gives file, name, rows, columns with types, and values; a
folded table of a database two lines, a folded file one. Lines that data has a part in
start with words of our own, so no value can begin a heading or a boundary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from stages.core.context import values
from stages.core.context.values import folded, head, say, unread
from stages.core.context.view import Page, TableView
from stages.core.records import Column, Document, Table
from stages.core.text import safe_lines


def whole(page: Page) -> str:
    """The page as text, ending in a line break."""
    parts = ["".join(f"{line}\n" for line in head(page))]
    for source, group in groupby(page.tables, key=lambda view: _source(view.table)):
        views = list(group)
        if source:
            parts.append(_file_line(page, views))
        for place, view in enumerate(views):
            if view.level == "line" and _apart(source, views[:place]):
                parts.append("\n")
            parts.append(table(page, view))
    parts += [_document(page, document) for document in page.documents]
    parts += [f"{line}\n" for line in unread(page)]
    if page.knowledge is not None:
        parts.append(f"\nknowledge.md:\n{safe_lines(page.knowledge).rstrip()}\n")
    return "".join(parts)


def _apart(source: str, before: Sequence[TableView]) -> bool:
    """Whether a blank line stands before a folded table: a run of them keeps together, and the
    first one under the line of its file needs none."""
    return before[-1].level != "line" if before else not source


def table(page: Page, view: TableView) -> str:
    """One table, without the line of a file that holds several."""
    title = f"── Table: {values.name(view.table['name'])}"
    if view.level == "line":
        return _folded(page, view, title)
    heading = [] if _source(view.table) else _alone(page, view.table)
    body = _names(page, view) if view.level == "names" else _full(page, view)
    lines = [*heading, title + _facts(page, view.table), *body]
    return "".join(f"{line}\n" for line in lines)


def _source(table: Table) -> str:
    """What several tables may lie in: a database file or a server; empty for other tables."""
    source = table.get("source")
    if source is None or ("::" not in table["describe_key"] and "url" not in source):
        return ""
    return source.get("url") or source.get("path") or table["describe_key"].partition("::")[0]


def _file_line(page: Page, views: list[TableView]) -> str:
    source = views[0].table["source"]
    where = "server" if "url" in source else "file"
    facts = [values.path(source["kind"])]
    if "bytes" in source:
        facts.append(values.size(source["bytes"]))
    facts.append(say(page.lang, "tables", n=len(views)))
    return (
        f"\n{say(page.lang, where)}: {values.path(_source(views[0].table))} ({', '.join(facts)})\n"
    )


def _alone(page: Page, table: Table) -> list[str]:
    """The lines before a table that has a file to itself."""
    source = table.get("source")
    if source is None:
        return [""]
    facts = [values.path(source["kind"])]
    facts += [values.size(source["bytes"])] if "bytes" in source else []
    key = values.path(table["describe_key"])
    return ["", f"{say(page.lang, 'file')}: {key} ({', '.join(facts)})"]


def _folded(page: Page, view: TableView, title: str) -> str:
    """The seed's two lines for a table of a database, one line for a file."""
    table = view.table
    sentence = "" if page.one_note else f"—— {folded(page, view)}"
    if _source(table):
        return f"{title}\n" + (f"{sentence}\n" if sentence else "")
    key = values.path(table["describe_key"])
    where = f" [{key}]" if "source" in table else ""
    return f"{title}{where} {sentence}".rstrip() + "\n"


def _facts(page: Page, table: Table) -> str:
    """Rows and other names, in brackets after the table's name."""
    rows = values.amount(table.get("rows"))
    facts = [say(page.lang, "rows", n=rows) if rows else say(page.lang, "unknown")]
    other = [values.name(alias) for alias in table.get("aliases", []) if alias != table["name"]]
    if other:
        facts.append(f"{say(page.lang, 'also')} {', '.join(other[: values.ALIASES])}")
    return f" ({', '.join(facts)})"


def _names(page: Page, view: TableView) -> Iterator[str]:
    """Column names and types on one line."""
    if about := values.about(view.table):
        yield f"   {say(page.lang, 'about')}: {about}"
    if view.columns:
        yield f"   {say(page.lang, 'columns', n=len(view.columns))}: " + ", ".join(
            values.name(c["name"]) + ("" if view.bare else f" {values.kind(c)}")
            for c in view.columns
        )
    yield from _others(page, view)


def _full(page: Page, view: TableView) -> Iterator[str]:
    """All that is known of the table, within what the view leaves out."""
    table = view.table
    if about := values.about(table):
        yield f"   {say(page.lang, 'about')}: {about}"
    if "error" in table:
        yield f"   {say(page.lang, 'error')}: {values.note(table['error'])}"
    yield from (f"   {say(page.lang, 'note')}: {warning}" for warning in values.warnings(table))
    if view.bare:
        names = ", ".join(values.name(column["name"]) for column in view.columns)
        yield f"   {say(page.lang, 'by_name', n=len(view.columns))}: {names}"
    elif view.columns:
        yield f"   {say(page.lang, 'columns', n=len(view.columns))}:"
        for column in view.columns:
            yield from _column(page, view, column)
    yield from _others(page, view)
    yield from _keys(page, table)
    if view.rows:
        yield f"   {say(page.lang, 'sample')}:"
        for row in view.rows:
            yield "   | " + " | ".join(values.value(row.get(c["name"])) for c in view.columns)


def _column(page: Page, view: TableView, column: Column) -> Iterator[str]:
    """One column on a line, its nested fields below it."""
    facts = [values.kind(column)]
    if column.get("nullable") is not None:
        facts.append(say(page.lang, "null" if column.get("nullable") else "not null"))
    if (example := values.example(view, column)) is not None:
        facts.append(f"{say(page.lang, 'example')} {example}")
    yield f"   - {values.name(column['name'])} {', '.join(facts)}" + _remarks(
        page, values.about(column), view.reasons.get(column["name"], "")
    )
    for inner in column.get("fields", []):
        shown = f"     · {values.name(inner['name'])} {values.kind(inner)}"
        examples = inner.get("examples", []) if view.examples else []
        if examples:
            shown += f", {say(page.lang, 'example')} {values.value(examples[0])}"
        about = values.note(inner.get("description", ""))
        yield shown + _remarks(page, about, view.reasons.get(inner["name"], ""))


def _remarks(page: Page, about: str, reason: str) -> str:
    """The description and the reason after a column."""
    shown = f" — {about}" if about else ""
    return shown + (f" ({say(page.lang, 'reason')}: {values.note(reason)})" if reason else "")


def _others(page: Page, view: TableView) -> Iterator[str]:
    if view.others:
        names = ", ".join(values.name(name) for name in view.others)
        yield f"   {say(page.lang, 'others', n=len(view.others))}: {names}"


def _keys(page: Page, table: Table) -> Iterator[str]:
    """Declared keys, each on a line."""
    if table.get("primary_key"):
        yield f"   {say(page.lang, 'primary')}: {', '.join(map(values.name, table['primary_key']))}"
    for key in table.get("foreign_keys", []):
        own, theirs = (
            ", ".join(map(values.name, key[part])) for part in ("columns", "ref_columns")
        )
        there = (
            f"{values.name(key['ref_table'])}({theirs})"
            if theirs
            else values.name(key["ref_table"])
        )
        yield f"   {say(page.lang, 'foreign')}: {own} -> {there}"


def _document(page: Page, document: Document) -> str:
    """A document by its headings and first lines."""
    kind, size = values.path(document["kind"]), values.size(document["bytes"])
    lines = ["", f"{say(page.lang, 'document')}: {values.path(document['path'])} ({kind}, {size})"]
    parts = [("headings", document.get("headings", []))]
    parts += [("first", document.get("first_lines", []))] if page.first_lines else []
    for word, body in parts:
        if body:
            lines += [
                f"   {say(page.lang, word)}:",
                *(f"   | {values.line(line)}" for line in body),
            ]
    return "".join(f"{line}\n" for line in lines)
