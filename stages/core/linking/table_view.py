"""One candidate table as the model that explores it sees it: the columns that were kept.

A table that is too large for its share of the prompt shows less of each column, and in the
end fewer columns; how many are left out is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from stages.core.records import Column, Field, Table
from stages.core.text import cell, quoted, visible

NAMES = 40
"""Similar tables named; more are counted."""


@dataclass(frozen=True)
class Detail:
    """How much is shown of each column.

    Args:
        note: Characters of a description.
        examples: Example values.
    """

    note: int
    examples: int


DETAILS = (Detail(300, 3), Detail(80, 1), Detail(0, 0))
"""From most to least; the first that fits is taken."""


def kept_columns(table: Table, kept: Sequence[str]) -> list[tuple[Column, list[Field]]]:
    """The columns that were kept, each with its fields that were.

    Args:
        table: The table line.
        kept: Names of columns, or dotted paths of fields where only some of a column stay.

    >>> table = {"columns": [{"name": "a", "type": "INT"}, {"name": "b", "type": "INT"}]}
    >>> [column["name"] for column, _ in kept_columns(table, ["b"])]
    ['b']
    """
    wanted = set(kept)
    found = []
    for column in table["columns"]:
        fields = column.get("fields", [])
        if column["name"] not in wanted:
            fields = [field for field in fields if field["name"] in wanted]
            if not fields:
                continue
        found.append((column, fields))
    return found


def table_view(table: Table, kept: Sequence[str], max_tokens: int) -> str:
    """The table's block, within so many tokens.

    Args:
        table: The table line.
        kept: As in `kept_columns`.
        max_tokens: Tokens that the block may take.
    """
    from stages.core.tokens import count

    head = list(_head(table))
    columns = kept_columns(table, kept)
    lines: list[str] = []
    for detail in DETAILS:
        lines = [line for column, fields in columns for line in _column(column, fields, detail)]
        if count("\n".join(head + lines)) <= max_tokens:
            return "\n".join(head + lines)
    return "\n".join(head + _first(lines, max_tokens - count("\n".join(head))))


def _first(lines: Sequence[str], room: int) -> list[str]:
    """As many lines as fit, and how many are left out."""
    from stages.core.tokens import count

    shown: list[str] = []
    for line in lines:
        room -= count(line) + 1
        if room < 0:
            break
        shown.append(line)
    return [*shown, f"(and {len(lines) - len(shown)} more columns)"]


def _head(table: Table) -> Iterator[str]:
    yield f"### {quoted(table['name'])}"
    about = table.get("description") or table.get("comment") or table.get("nl_name")
    if about:
        yield visible(about, DETAILS[0].note)
    rows = table.get("rows", {"count": None, "how": "unknown"})
    if rows["count"] is not None:
        yield f"rows: {rows['count']} ({rows['how']})"
    if table.get("primary_key"):
        yield f"primary key: {_listed(table['primary_key'])}"
    for key in table.get("foreign_keys", []):
        other = f"{quoted(key['ref_table'])}({_listed(key['ref_columns'])})"
        yield f"foreign key: {_listed(key['columns'])} -> {other}"
    yield "columns:"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(quoted(name) for name in names)


def _column(column: Column, fields: Sequence[Field], detail: Detail) -> Iterator[str]:
    """One line for a column, or one for each of its fields."""
    note = column.get("description") or column.get("comment") or column.get("nl_name") or ""
    if not fields:
        yield _line(quoted(column["name"]), column, note, detail)
        return
    for field in fields:
        path = ".".join(quoted(part) for part in field["name"].split("."))
        yield _line(path, field, field.get("description") or note, detail)


def _line(name: str, column: Column | Field, note: str, detail: Detail) -> str:
    text = f"- {name} {visible(column['type'], 120)}"
    if note and detail.note:
        text += f": {visible(note, detail.note)}"
    examples = column.get("examples", [])[: detail.examples]
    if examples:
        text += f" (e.g. {', '.join(repr_of(value) for value in examples)})"
    return text


def repr_of(value: str) -> str:
    """A value in single quotes, as SQL writes it."""
    return "'" + cell(value).replace("'", "''") + "'"


def similar(table: str, groups: Mapping[str, Sequence[str]]) -> list[str]:
    """The other tables of the table's group, by name.

    >>> similar("a", {"a": ["a", "b"], "c": ["c", "d"]})
    ['b']
    """
    for names in groups.values():
        if table in names:
            return sorted(name for name in names if name != table)
    return []


def similar_view(table: str, groups: Mapping[str, Sequence[str]]) -> str:
    """The names of similar tables on one line; empty where there are none."""
    names = similar(table, groups)
    more = f" (and {len(names) - NAMES} more)" if len(names) > NAMES else ""
    return _listed(names[:NAMES]) + more
