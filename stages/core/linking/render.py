"""The text of tables in a prompt: for voting, and for linking by groups.

What a model sees of one candidate table before it decides: columns and first rows.

The form is that of the first seed, 3.1: a heading, the complete list of columns with
DuckDB types, and the first two rows as dictionaries. Descriptions and comments, which the
seed's sources do not have, stand on lines of their own where a table line has them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from stages.core import text
from stages.core.lang import Lang
from stages.core.linking.column_refs import Group, column_of, column_refs
from stages.core.records import Column, Table
from stages.core.text import cell, visible

if TYPE_CHECKING:
    from stages.core.records import Field

SAMPLE_ROWS = 2
"""Rows shown (first seed, 2.1)."""

PREVIEW_CELL = 80
"""Characters of a cell that are shown (first seed, 2.1)."""

PREVIEW_NOTE = 300
"""Characters shown of a description or a comment."""

_PREVIEW_WORDS: Mapping[Lang, Mapping[str, str]] = {
    "zh": {"table": "表", "failed": "读取表结构失败", "about": "说明", "column": "列说明"},
    "en": {"table": "Table", "failed": "schema could not be read", "about": "about",
           "column": "about columns"},
}  # fmt: skip


def preview(table: Table, lang: Lang = "zh", *, cell: int = PREVIEW_CELL) -> str:
    """The block of one table, without a line break at its end.

    A table whose schema could not be read shows the reason in the place of its columns;
    one whose rows could not be read shows its columns alone.

    Args:
        table: The table line.
        lang: Language of the few words of our own.
        cell: Characters shown of a cell.
    """
    words = _PREVIEW_WORDS[lang]
    lines = [f"### {words['table']}: {visible(table['name'])}"]
    about = table.get("description") or table.get("comment") or table.get("nl_name")
    if about:
        lines.append(f"  {words['about']}: {visible(about, PREVIEW_NOTE)}")
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
        return f"  columns: ({failed}: {visible(error, PREVIEW_NOTE)})"
    shown = ", ".join(f"{visible(c['name'])}:{visible(c['type'])}" for c in columns)
    return f"  columns ({len(columns)}): {shown}"


def _column_notes(columns: Sequence[Column], word: str) -> list[str]:
    """One line with the descriptions of columns, or none where there are none."""
    notes = []
    for column in columns:
        note = column.get("description") or column.get("comment") or column.get("nl_name")
        if note and note != column["name"]:
            notes.append(f"{visible(column['name'])} = {visible(note, PREVIEW_NOTE)}")
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


# The text of tables for a linking prompt: a group's tables, and the columns they share.

NAME, TYPE, NOTE, CELL = 200, 100, 200, 30
"""Characters shown of a name, a type, a description, and an example value."""

EXAMPLES = 2
"""Example values shown of a column."""

LISTED = 8
"""Tables of a group that a difference names before it only counts."""

_WORDS: Mapping[Lang, Mapping[str, str]] = {
    "zh": {"same": "{n} 张列名相同的表", "rows": "{n} 行", "columns": "列:", "more": "另有 {n} 张",
           "e.g.": "如", "key": "主键"},
    "en": {"same": "{n} tables with the same columns", "rows": "{n} rows", "columns": "columns:",
           "more": "{n} more", "e.g.": "e.g.", "key": "primary key"},
}  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Sheet:
    """A group in lines of text, from which parts are put together.

    Args:
        group: The group.
        lang: Language of the few words of our own.
        heads: One text for each table, without its id.
        lines: One line for each column, as the first table has it.
        differs: For each column, what is otherwise in which tables (by their places).
    """

    group: Group
    lang: Lang
    heads: tuple[str, ...]
    lines: tuple[str, ...]
    differs: tuple[Mapping[str, tuple[int, ...]], ...]

    @cached_property
    def costs(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Tokens of each head and of each line, ids and differences included."""
        from stages.core.tokens import counts

        heads = [f"t999 = {head}\n" for head in self.heads]
        lines = [
            _line(line, ((what, LISTED * ["t999"]) for what in differs))
            for line, differs in zip(self.lines, self.differs, strict=True)
        ]
        found = counts([*heads, *lines])
        return tuple(found[: len(heads)]), tuple(found[len(heads) :])


@dataclass(frozen=True, eq=False, repr=False)
class SchemaPart:
    """What one batch shows of a group: some of its tables with some of its columns.

    Args:
        sheet: The group's text.
        tables: Places of the tables.
        columns: Places of the columns.
    """

    sheet: Sheet
    tables: range
    columns: range

    @property
    def names(self) -> tuple[str, ...]:
        """Canonical names of the tables."""
        return self.sheet.group.names[self.tables.start : self.tables.stop]

    @property
    def shown(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.sheet.group.columns[self.columns.start : self.columns.stop]

    @property
    def cost(self) -> int:
        """About how many tokens its text has."""
        heads, lines = self.sheet.costs
        return 24 + sum(heads[i] for i in self.tables) + sum(lines[i] for i in self.columns)


def sheet(group: Group, lang: Lang) -> Sheet:
    """The text of a group."""
    first = group.tables[0]
    columns = column_refs(first)
    words, keys = _WORDS[lang], _keys(first)
    lines = [_column(name, column, keys, words) for name, column in columns.items()]
    heads = tuple(_head(table, words) for table in group.tables)
    return Sheet(group, lang, heads, tuple(lines), _differences(group, list(columns)))


def whole(made: Sheet) -> SchemaPart:
    """All of a group."""
    return SchemaPart(made, range(len(made.heads)), range(len(made.lines)))


def table_text(part: SchemaPart, ids: Mapping[str, str], group_id: str) -> str:
    """The text of a part, without a line break at its end.

    Args:
        part: What to show.
        ids: Short ids by canonical name.
        group_id: The id of the group; shown where the part has several tables.
    """
    words, made = _WORDS[part.sheet.lang], part.sheet
    if len(part.tables) == 1:
        place = part.tables.start
        lines = [f"### {ids[part.names[0]]} = {made.heads[place]}\n"]
    else:
        lines = [f"### {group_id}: {words['same'].format(n=len(part.tables))}\n"]
        pairs = zip(part.names, part.tables, strict=True)
        lines += [f"{ids[name]} = {made.heads[place]}\n" for name, place in pairs]
    lines.append(f"{words['columns']}\n")
    for place in part.columns:
        lines.append(_line(made.lines[place], _in(part, place, ids, words["more"])))
    return "".join(lines).rstrip("\n")


def _in(
    part: SchemaPart, place: int, ids: Mapping[str, str], more: str
) -> Iterable[tuple[str, list[str]]]:
    """Differences of one column that concern the part's tables, with their ids."""
    for what, tables in part.sheet.differs[place].items():
        inside = [ids[part.sheet.group.names[i]] for i in tables if i in part.tables]
        if inside:
            rest = len(inside) - LISTED
            yield what, inside[:LISTED] + ([more.format(n=rest)] if rest > 0 else [])


def _line(line: str, differs: Iterable[tuple[str, Sequence[str]]]) -> str:
    noted = "".join(f" [{', '.join(ids)}: {what}]" for what, ids in differs)
    return f"- {line}{noted}\n"


def _head(table: Table, words: Mapping[str, str]) -> str:
    count = table.get("rows", {}).get("count")
    rows = f" ({words['rows'].format(n=count)})" if count is not None else ""
    about = _about(table)
    return visible(table["name"], NAME) + rows + (f": {about}" if about else "")


def _about(record: Table | Column | Field) -> str:
    """The description, else the source's own comment, else the natural name."""
    for key in ("description", "comment", "nl_name"):
        said = str(record.get(key) or "")
        if said and said != record["name"]:
            return visible(said, NOTE)
    return ""


def _keys(table: Table) -> dict[str, str]:
    """What keys say about candidate columns: empty for a primary key, else its target."""
    lies_in = column_of(table)
    found = {name: "" for name, column in lies_in.items() if column in table.get("primary_key", [])}
    for key in table.get("foreign_keys", []):
        for own, other in zip(key["columns"], key["ref_columns"], strict=False):
            target = f"-> {visible(key['ref_table'], NAME)}.{visible(other, NAME)}"
            found |= {name: target for name, column in lies_in.items() if column == own}
    return found


def _column(
    name: str, column: Column | Field, keys: Mapping[str, str], words: Mapping[str, str]
) -> str:
    shown = f"{visible(name, NAME)} {visible(column['type'], TYPE)}"
    if name in keys:
        shown += f" {keys[name] or words['key']}"
    about = _about(column)
    values = [cell(value, CELL) for value in column.get("examples", [])[:EXAMPLES]]
    return (
        shown
        + (f": {about}" if about else "")
        + (f" ({words['e.g.']} {'; '.join(values)})" if values else "")
    )


def _differences(group: Group, columns: Sequence[str]) -> tuple[Mapping[str, tuple[int, ...]], ...]:
    """For each column, types and descriptions that are not the first table's, and where."""
    found: list[dict[str, list[int]]] = [defaultdict(list) for _ in columns]
    first = column_refs(group.tables[0])
    for place, table in enumerate(group.tables[1:], start=1):
        own = column_refs(table)
        for at, name in enumerate(columns):
            for what in _otherwise(first[name], own[name]):
                found[at][what].append(place)
    return tuple({what: tuple(at) for what, at in column.items()} for column in found)


def _otherwise(first: Column | Field, other: Column | Field) -> list[str]:
    """What one table's column has otherwise than the first table's."""
    kind, about = visible(other["type"], TYPE), _about(other)
    return [
        *([kind] if kind != visible(first["type"], TYPE) else []),
        *([about] if about and about != _about(first) else []),
    ]
