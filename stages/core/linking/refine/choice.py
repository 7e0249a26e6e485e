"""The columns chosen so far: what refining grows from round to round and never shrinks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from stages.core.linking.column_refs import ColumnRef, column_of
from stages.core.records import RefinedColumn, RefinedTable, Table


@dataclass(frozen=True)
class ColumnChoice:
    """Why a column is there; ``observations`` where it was added without being chosen."""

    reason: str
    observations: str = ""


class Selection:
    """Chosen columns by table.

    A nested column that is chosen as a whole covers all its fields.
    """

    def __init__(self) -> None:
        self._found: dict[str, dict[str, ColumnChoice]] = {}

    @property
    def tables(self) -> list[str]:
        """The chosen tables by name; one may have no columns."""
        return sorted(self._found)

    def columns(self, table: str) -> Mapping[str, ColumnChoice]:
        """The chosen columns of a table."""
        return self._found.get(table, {})

    def __iter__(self) -> Iterator[ColumnRef]:
        return ((table, name) for table in self.tables for name in self._found[table])

    def covers(self, table: str, column: str) -> bool:
        """Whether the column, or one that it lies in, is chosen."""
        found = self._found.get(table, {})
        return column in found or any(outer in found for outer in above(column))

    def add(self, table: str, column: str, pick: ColumnChoice) -> bool:
        """Choose a column; False where it was chosen already, and its first reason stands."""
        new = not self.covers(table, column)
        if new:
            self._found.setdefault(table, {})[column] = pick
        return new

    def add_all(self, units: Iterable[tuple[str, str, ColumnChoice]]) -> list[ColumnRef]:
        """Choose several; those that are new."""
        return [(table, column) for table, column, pick in units if self.add(table, column, pick)]

    def add_table(self, table: str) -> bool:
        """Choose a table that need have no column; False where it was chosen already."""
        new = table not in self._found
        self._found.setdefault(table, {})
        return new

    def schema(self, tables: Sequence[Table]) -> dict[str, RefinedTable]:
        """The refined schema: tables by name, columns in the order of each table."""
        by_name = {table["name"]: table for table in tables}
        return {name: {"relevant_columns": self._listed(by_name[name])} for name in self.tables}

    def _listed(self, table: Table) -> list[RefinedColumn]:
        found = self._found[table["name"]]
        return [_entry(name, found[name]) for name in in_table_order(table, found)]


def _entry(name: str, pick: ColumnChoice) -> RefinedColumn:
    made: RefinedColumn = {"column_name": name, "relevance_reason": pick.reason}
    if pick.observations:
        made["observations"] = pick.observations
    return made


def above(path: str) -> list[str]:
    """The outer parts of a dotted path.

    >>> above("a.b.c")
    ['a', 'a.b']
    """
    return [path[:place] for place, char in enumerate(path) if char == "."]


def in_table_order(table: Table, names: Collection[str]) -> list[str]:
    """Columns and paths in the order of the table.

    >>> in_table_order({"columns": [{"name": "b"}, {"name": "a"}]}, {"a", "b"})
    ['b', 'a']
    """
    every = [
        name
        for column in table["columns"]
        for name in (column["name"], *(field["name"] for field in column.get("fields", [])))
    ]
    return [name for name in dict.fromkeys(every) if name in names]


def within(table: Table, names: Iterable[str]) -> list[str]:
    """The candidate columns (innermost fields) that the names cover, in the table's order."""
    wanted = set(names)
    return [
        unit
        for unit, column in column_of(table).items()
        if unit in wanted or column in wanted or any(outer in wanted for outer in above(unit))
    ]


def by_table(units: Iterable[ColumnRef]) -> dict[str, list[str]]:
    """Columns by table, tables by name, columns as they come."""
    found: dict[str, list[str]] = {}
    for table, column in sorted(units, key=lambda unit: unit[0]):
        found.setdefault(table, []).append(column)
    return found
