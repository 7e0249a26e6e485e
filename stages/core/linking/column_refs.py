"""Candidate columns, and groups of tables with the same ones.

Candidate columns: the units that linking keeps or lets go.

A plain column is one unit. A nested column is as many units as it has innermost fields, each
by its dotted path (seed 004, 3.3: ``totals.totalTransactionRevenue``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from stages.core.records import Column, Field, Table

ColumnRef: TypeAlias = tuple[str, str]
"""Canonical table name, and the name of a column or the dotted path of a field."""


def column_refs(table: Table) -> dict[str, Column | Field]:
    """The candidate columns of a table by name, in its own order."""
    return dict(pair for column in table["columns"] for pair in _of_column(column))


def _of_column(column: Column) -> Iterator[tuple[str, Column | Field]]:
    """The innermost fields of a column, or the column itself where it has none."""
    fields = column.get("fields", [])
    inner = {name.rpartition(".")[0] for name in (field["name"] for field in fields)}
    found = [(field["name"], field) for field in fields if field["name"] not in inner]
    if found:
        yield from found
    else:
        yield column["name"], column


def column_of(table: Table) -> dict[str, str]:
    """The column that each candidate column of the table lies in."""
    return {name: column["name"] for column in table["columns"] for name, _ in _of_column(column)}


def every(tables: Sequence[Table]) -> list[ColumnRef]:
    """All candidate columns of the tables, in their order."""
    return [(table["name"], name) for table in tables for name in column_refs(table)]


def kept_names(table: Table, kept: Collection[str]) -> list[str]:
    """The kept candidate columns as a section lists them, in the table's own order.

    A nested column all of whose fields are kept stands by its own name.

    >>> fields = [{"name": "a.x", "type": "INT"}, {"name": "a.y", "type": "INT"}]
    >>> table = {"columns": [{"name": "a", "type": "STRUCT", "fields": fields}]}
    >>> kept_names(table, {"a.x"}), kept_names(table, {"a.x", "a.y"})
    (['a.x'], ['a'])
    """
    found: list[str] = []
    for column in table["columns"]:
        own = [name for name, _ in _of_column(column)]
        left = [name for name in own if name in kept]
        found += [column["name"]] if len(left) == len(own) else left
    return found


def narrow(table: Table, kept: Collection[str]) -> Table:
    """The table with no columns and fields but those that a ``prune`` section keeps of it.

    >>> fields = [{"name": "a.x", "type": "INT"}, {"name": "a.y", "type": "INT"}]
    >>> columns = [{"name": "a", "type": "STRUCT", "fields": fields}, {"name": "b", "type": "INT"}]
    >>> left = narrow({"name": "t", "columns": columns}, ["a.x"])["columns"]
    >>> [[field["name"] for field in column["fields"]] for column in left]
    [['a.x']]
    """
    names, columns = set(kept), []
    for column in table["columns"]:
        if column["name"] in names:
            columns.append(column)
        elif fields := [f for f in column.get("fields", []) if f["name"] in names]:
            columns.append({**column, "fields": fields})
    return {**table, "columns": columns}


# Groups of tables with the same set of column names (seed 004, 3.2).


@dataclass(frozen=True)
class Group:
    """Tables with the same candidate columns, by name.

    Args:
        tables: At least one.
        columns: Names of the candidate columns, in the order of the first table.
    """

    tables: tuple[Table, ...]
    columns: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Canonical names of the tables."""
        return tuple(table["name"] for table in self.tables)


def group_tables(tables: Sequence[Table]) -> list[Group]:
    """All groups, those of one table too, by the name of the first table.

    Only names count, not types and comments; the order in which the tables come changes
    nothing. A table without columns stands alone.
    """
    alike: dict[tuple[str, ...], list[Table]] = defaultdict(list)
    for table in sorted(tables, key=lambda table: table["name"]):
        names = tuple(sorted(column_refs(table)))
        alike[names or ("", table["name"])].append(table)
    return [Group(tuple(found), tuple(column_refs(found[0]))) for found in alike.values()]
