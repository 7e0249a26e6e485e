"""The context description as one JSON object, one table on a line.

Strings are neutralised as in the other formats, so that text decoded from the JSON is as
harmless as the JSON itself.
"""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from stages.core.context import folded, values
from stages.core.context.values import given_up
from stages.core.context.view import Page, TableView
from stages.core.jsontypes import JsonObject
from stages.core.records import Column, Document, Field, Table
from stages.core.text import cell, safe_lines, visible


def whole(page: Page) -> str:
    """The page as JSON text, ending in a line break."""
    parts = [f'"catalog": {_json(visible(page.catalog["name"], 80))}']
    if "dialect" in page.catalog:
        parts.append(f'"dialect": {_json(visible(page.catalog["dialect"], 40))}')
    lost = given_up(page)
    if lost or page.over:
        over = {"over_budget": True} if page.over else {}
        parts.append(f'"left_out": {_json({"budget": page.budget, **over, "what": lost})}')
    shown = [*page.at("full"), *page.at("names")]
    parts.append(_array("tables", (table(page, view) for view in shown)))
    if said := folded.sentence(page):
        parts.append(f'"folded_means": {_json(said)}')
        parts.append(_array("folded", (_folded(page, *group) for group in folded.by_source(page))))
    if page.documents:
        parts.append(_array("documents", (_json(_document(page, d)) for d in page.documents)))
    if page.skipped:
        skipped = (
            {"path": values.path(s["path"]), "reason": values.note(s["reason"])}
            for s in page.skipped
        )
        parts.append(_array("not_read", map(_json, skipped)))
    if page.skipped_more:
        parts.append(f'"not_read_more": {page.skipped_more}')
    if page.knowledge is not None:
        parts.append(f'"knowledge": {_json(safe_lines(page.knowledge))}')
    return "{" + ",\n ".join(parts) + "}\n"


def table(page: Page, view: TableView) -> str:
    """One table as a JSON object on a line; a folded one as a string."""
    record = view.table
    if view.level == "line":
        words = folded.about(record)
        return _json(values.bare(record["name"]) + (f" ({words})" if words else ""))
    base = {"table": values.bare(record["name"])}
    if "source" in record:
        base["key"] = values.path(record["describe_key"])
    bare = view.bare or view.level == "names"
    columns = [_short(c, view.bare) if bare else _column(view, c) for c in view.columns]
    found = {**base, **_facts(record), "columns": columns}
    if view.others:
        found["other_columns"] = [values.bare(name) for name in view.others]
    if view.level == "full":
        found |= _keys(record)
    if view.rows:
        found["sample"] = [[_cell(row.get(c["name"])) for c in view.columns] for row in view.rows]
    return _json(found)


def _folded(page: Page, source: str, views: list[TableView]) -> str:
    """The folded tables of one source as a JSON object on a line."""
    place = f'"source": {_json(values.path(source))}, ' if source else ""
    return f'{{{place}"tables": [{", ".join(table(page, view) for view in views)}]}}'


def _json(value: object) -> str:
    return orjson.dumps(value).decode()


def _array(name: str, items: Iterable[str]) -> str:
    return f'"{name}": [\n  ' + ",\n  ".join(items) + "]"


def _cell(text: str | None) -> str | None:
    return None if text is None else cell(text)


def _facts(record: Table) -> dict[str, object]:
    """Rows, other names, and what is said of the table."""
    found: dict[str, object] = {}
    rows = record.get("rows")
    if rows is not None and rows["count"] is not None:
        found["rows"] = rows["count"]
        found |= {"rows_how": rows["how"]} if rows["how"] != "exact" else {}
    if record.get("aliases"):
        found["aliases"] = [values.bare(alias) for alias in record["aliases"]]
    if about := values.about(record):
        found["about"] = about
    if "error" in record:
        found["error"] = values.note(record["error"])
    if notes := values.warnings(record):
        found["notes"] = notes
    return found


def _short(column: Column, bare: bool) -> str:
    name = values.bare(column["name"])
    return name if bare else f"{name} {values.kind(column)}"


def _column(view: TableView, column: Column) -> JsonObject:
    """One column in full."""
    found: JsonObject = {"name": values.bare(column["name"]), "type": values.kind(column)}
    if column.get("nullable") is not None:
        found["nullable"] = column.get("nullable")
    example = values.first(view, column)
    if example is not None:
        found["example"] = cell(example)
    if about := values.about(column):
        found["about"] = about
    if reason := view.reasons.get(column["name"]):
        found["reason"] = values.note(reason)
    if column.get("fields"):
        found["fields"] = [_field(view, inner) for inner in column["fields"]]
    return found


def _field(view: TableView, inner: Field) -> JsonObject:
    found = {"name": values.bare(inner["name"]), "type": values.kind(inner)}
    if view.examples and inner.get("examples"):
        found["example"] = cell(inner["examples"][0])
    if inner.get("description"):
        found["about"] = values.note(inner["description"])
    if reason := view.reasons.get(inner["name"]):
        found["reason"] = values.note(reason)
    return found


def _keys(record: Table) -> JsonObject:
    found: JsonObject = {}
    if record.get("primary_key"):
        found["primary_key"] = [values.bare(name) for name in record["primary_key"]]
    if record.get("foreign_keys"):
        found["foreign_keys"] = [
            {
                "columns": [values.bare(name) for name in key["columns"]],
                "ref_table": values.bare(key["ref_table"]),
                "ref_columns": [values.bare(name) for name in key["ref_columns"]],
            }
            for key in record["foreign_keys"]
        ]
    return found


def _document(page: Page, document: Document) -> dict[str, object]:
    found: dict[str, object] = {
        "path": values.path(document["path"]),
        "kind": values.path(document["kind"]),
        "bytes": document["bytes"],
    }
    if document.get("headings"):
        found["headings"] = [values.line(line) for line in document["headings"]]
    if document.get("first_lines") and page.first_lines:
        found["first_lines"] = [values.line(line) for line in document["first_lines"]]
    return found
