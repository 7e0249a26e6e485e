"""What a model sees of one candidate table before it decides: columns and first rows.

The form is that of the first seed, 3.1: a heading, the complete list of columns with
DuckDB types, and the first two rows as dictionaries. Descriptions and comments, which the
seed's sources do not have, stand on lines of their own where a table line has them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stages.core import text
from stages.core.lang import Lang
from stages.core.records import Column, Table
from stages.core.text import visible

SAMPLE_ROWS = 2
"""Rows shown (first seed, 2.1)."""

CELL = 80
"""Characters of a cell that are shown (first seed, 2.1)."""

NOTE = 300
"""Characters shown of a description or a comment."""

_WORDS: Mapping[Lang, Mapping[str, str]] = {
    "zh": {"table": "表", "failed": "读取表结构失败", "about": "说明", "column": "列说明"},
    "en": {"table": "Table", "failed": "schema could not be read", "about": "about",
           "column": "about columns"},
}  # fmt: skip


def preview(table: Table, lang: Lang = "zh", *, cell: int = CELL) -> str:
    """The block of one table, without a line break at its end.

    A table whose schema could not be read shows the reason in the place of its columns;
    one whose rows could not be read shows its columns alone.

    Args:
        table: The table line.
        lang: Language of the few words of our own.
        cell: Characters shown of a cell.
    """
    words = _WORDS[lang]
    lines = [f"### {words['table']}: {visible(table['name'])}"]
    about = table.get("description") or table.get("comment") or table.get("nl_name")
    if about:
        lines.append(f"  {words['about']}: {visible(about, NOTE)}")
    lines.append(_columns_line(table, words["failed"]))
    lines += _column_notes(table["columns"], words["column"])
    for number, row in enumerate(table.get("sample", [])[:SAMPLE_ROWS], start=1):
        lines.append(f"  sample{number}: {_row(row, cell)}")
    return "\n".join(lines)


def previews(tables: Sequence[Table], lang: Lang = "zh") -> list[str]:
    """The blocks of several tables, in their order."""
    return [preview(table, lang) for table in tables]


def _columns_line(table: Table, failed: str) -> str:
    """``  columns (N): name:TYPE, …``, never cut; or why there are none."""
    columns, error = table["columns"], table.get("error", "")
    if error and not columns:
        return f"  columns: ({failed}: {visible(error, NOTE)})"
    shown = ", ".join(f"{visible(c['name'])}:{visible(c['type'])}" for c in columns)
    return f"  columns ({len(columns)}): {shown}"


def _column_notes(columns: Sequence[Column], word: str) -> list[str]:
    """One line with the descriptions of columns, or none where there are none."""
    notes = []
    for column in columns:
        note = column.get("description") or column.get("comment") or column.get("nl_name")
        if note and note != column["name"]:
            notes.append(f"{visible(column['name'])} = {visible(note, NOTE)}")
    return [f"  {word}: " + "; ".join(notes)] if notes else []


def _row(row: Mapping[str, str | None], cell: int) -> str:
    """One row as a Python dictionary of strings and None."""
    return (
        "{" + ", ".join(f"{_string(visible(k))}: {_value(v, cell)}" for k, v in row.items()) + "}"
    )


def _value(value: str | None, cell: int) -> str:
    """A cell; the mark of a cut that scan made already counts on."""
    return "None" if value is None else _string(text.cell(value, cell))


def _string(shown: str) -> str:
    """In single quotes, as Python writes a string; double ones where only single ones occur."""
    if "'" not in shown:
        return f"'{shown}'"
    if '"' not in shown:
        return f'"{shown}"'
    return "'" + shown.replace("'", "\\'") + "'"
