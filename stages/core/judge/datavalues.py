"""Values from the whole data, for the judge's value channel: more than a scan's few examples.

Each text column gives its most frequent distinct values, through the sandbox, which loads
a table once and keeps it. A column that shows no examples (it is empty, or its values are
hidden) gives none. What cannot be read keeps its examples, and so does a table on a server,
where reading all of it is nothing to do unasked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stages.core.errors import WinnowError
from stages.core.records import Column, Table

if TYPE_CHECKING:
    from stages.core.sandbox.database import Database

PER_COLUMN = 1000
"""Distinct values taken of one column, the most frequent first."""

LONGEST = 60
"""Characters of a value; longer ones are sentences, and no question quotes them whole."""

PER_STATEMENT = 40
"""Columns read by one statement."""

ROWS = 100_000
"""Values read by one statement at most; what the sandbox gives at the utmost."""

REMEMBERED = 4
"""Catalogs whose values are kept in memory, for tasks that come mixed."""

Filled = tuple[Sequence[Table], list[Table], tuple[str, ...]]

_memo: list[Filled] = []


def with_values(
    tables: Sequence[Table], database: Database
) -> tuple[Sequence[Table], tuple[str, ...]]:
    """The tables with values of the data among the examples, and a note for each failure.

    Read once for the tasks that follow each other on one catalog.

    Args:
        tables: All tables of the catalog; they are not changed.
        database: The catalog's data.
    """
    known = next((entry for entry in _memo if entry[0] is tables), None)
    if known is None:
        notes: list[str] = []
        filled = [_filled(table, database, notes) for table in tables]
        known = (tables, filled, tuple(notes))
        _memo[:] = [known, *_memo[: REMEMBERED - 1]]
    return known[1], known[2]


def _filled(table: Table, database: Database, notes: list[str]) -> Table:
    wanted = [column["name"] for column in table["columns"] if _is_text(column)]
    if not wanted or not has_rows(table, database):
        return table
    found: dict[str, list[str]] = {}
    try:
        for start in range(0, len(wanted), PER_STATEMENT):
            names = wanted[start : start + PER_STATEMENT]
            for name, value in database.query(_statement(table["name"], names), rows=ROWS).rows:
                found.setdefault(str(name), []).append(str(value))
    except WinnowError as error:
        notes.append(f"values of {table['name']} were not read: {error.what}")
    columns = [_with(column, found.get(column["name"], ())) for column in table["columns"]]
    return {**table, "columns": columns}


def has_rows(table: Table, database: Database) -> bool:
    """Whether a table's rows are at hand, and not on a server."""
    return "url" not in table.get("source", {}) and database.has_data(table)


def _is_text(column: Column) -> bool:
    return column["type"] == "VARCHAR" and bool(column.get("examples"))


def _with(column: Column, values: Sequence[str]) -> Column:
    if not values:
        return column
    return {**column, "examples": list(dict.fromkeys([*column.get("examples", []), *values]))}


def _statement(table: str, columns: Sequence[str]) -> str:
    """The most frequent values of several columns, as rows of column and value."""
    listed = ", ".join(quoted(name) for name in columns)
    return (
        f"SELECT name, value FROM (UNPIVOT (SELECT {listed} FROM {quoted(table)}) "
        f"ON {listed} INTO NAME name VALUE value) "
        f"WHERE length(value) BETWEEN 1 AND {LONGEST} GROUP BY name, value QUALIFY "
        f"row_number() OVER (PARTITION BY name ORDER BY count(*) DESC, value) <= {PER_COLUMN}"
    )


def quoted(name: str) -> str:
    """A name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'
