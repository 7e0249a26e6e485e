"""The context description as describe_context_dir prints it: file by file, table by table.

First seed, 5.2: a table in full gives file, name, rows, columns with types, and values. Full
tables come first, then those by column names, then the list of the folded. Lines that data
has a part in start with words of our own, so no value can begin a heading or a boundary.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from stages.core.context import folded, values
from stages.core.context.values import head, say, unread
from stages.core.context.view import Page, TableView
from stages.core.records import Column, Document, Table
from stages.core.text import safe_lines


def whole(page: Page) -> str:
    """The page as text, ending in a line break."""
    parts = ["".join(f"{line}\n" for line in head(page))]
    shown = [*page.at("full"), *page.at("names")]
    for source, group in groupby(shown, key=lambda view: values.source(view.table)):
        views = list(group)
        if source:
            parts.append(_file_line(page, source, views[0].table))
        parts += [table(page, view) for view in views]
    parts.append(_folded(page))
    parts += [_document(page, document) for document in page.documents]
    parts += [f"{line}\n" for line in unread(page)]
    if page.knowledge is not None:
        parts.append(f"\nknowledge.md:\n{safe_lines(page.knowledge).rstrip()}\n")
    return "".join(parts)


def table(page: Page, view: TableView) -> str:
    """One table, without the line of a file that holds several; a folded one is its name."""
    if view.level == "line":
        return _name(view)
    title = f"── Table: {values.name(view.table['name'])}"
    heading = [] if values.source(view.table) else _alone(page, view.table)
    body = _names(page, view) if view.level == "names" else _full(page, view)
    lines = [*heading, title + _facts(page, view.table), *body]
    return "".join(f"{line}\n" for line in lines)


def _file_line(page: Page, place: str, first: Table) -> str:
    """What several tables lie in, with how many it holds, folded ones too."""
    source = first["source"]
    where = "server" if "url" in source else "file"
    facts = [values.path(source["kind"])]
    if "bytes" in source:
        facts.append(values.size(source["bytes"]))
    within = sum(values.source(view.table) == place for view in page.tables)
    facts.append(say(page.lang, "tables", n=within))
    return f"\n{say(page.lang, where)}: {values.path(place)} ({', '.join(facts)})\n"


def _alone(page: Page, table: Table) -> list[str]:
    """The lines before a table that has a file to itself."""
    source = table.get("source")
    if source is None:
        return [""]
    facts = [values.path(source["kind"])]
    facts += [values.size(source["bytes"])] if "bytes" in source else []
    key = values.path(table["describe_key"])
    return ["", f"{say(page.lang, 'file')}: {key} ({', '.join(facts)})"]


def _folded(page: Page) -> str:
    """The folded tables: the seed's lines for one alone, else a list with a line a source."""
    views = page.at("line")
    if len(views) == 1:
        return _folded_alone(page, views[0])
    if not views:
        return ""
    lines = ["", f"── {say(page.lang, 'several', n=len(views))}:", f"—— {folded.sentence(page)}"]
    for source, group in folded.by_source(page):
        place = f"{values.path(source)}: " if source else ""
        lines.append(f"   {place}{', '.join(map(_name, group))}")
    return "".join(f"{line}\n" for line in lines)


def _folded_alone(page: Page, view: TableView) -> str:
    """Two lines for a table of a database, one line for a file."""
    table, sentence = view.table, f"—— {folded.sentence(page)}"
    title = f"── Table: {_name(view)}"
    if source := values.source(table):
        above = any(values.source(other.table) == source for other in page.tables if other != view)
        place = "\n" if above else _file_line(page, source, table)
        return f"{place}{title}\n{sentence}\n"
    where = f" [{values.path(table['describe_key'])}]" if "source" in table else ""
    return f"\n{title}{where} {sentence}\n"


def _name(view: TableView) -> str:
    """A folded table in the list: its name, where it lies if the name does not tell, and a few
    words."""
    said = [part for part in (folded.origin(view.table), folded.about(view.table)) if part]
    return values.name(view.table["name"]) + (f" ({'; '.join(said)})" if said else "")


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
