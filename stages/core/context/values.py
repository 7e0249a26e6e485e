"""How single values stand in a context description, in every format."""

from __future__ import annotations

import re

from stages.core.context.view import TableView
from stages.core.records import Column, Field, Rows, Table
from stages.core.text import cell, quoted, visible

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
    """
    text = column["type"]
    if column.get("fields") and "(" in text:
        text = text.partition("(")[0] + "(…)" + text.rpartition(")")[2]
    return visible(text, TYPE)


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
