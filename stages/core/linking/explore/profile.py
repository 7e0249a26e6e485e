"""What a few fixed statements find out about a table: rows, nulls, matching values, shared keys.

The statement that counts is the same for every question, so that it is read from the cache
from the second question on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stages.core.errors import SqlUnavailable
from stages.core.judge.judgment import Edge
from stages.core.linking.column_refs import column_of, column_refs
from stages.core.records import Statement, Table
from stages.core.sandbox.names import hidden
from stages.core.sandbox.result_cache import WHOLE, QueryOutcome

if TYPE_CHECKING:
    from stages.core.sandbox.session import Data

COUNTED = 60
"""Columns whose nulls are counted, in the table's order."""

SEARCHED = 60
"""Text columns searched for values of the question."""

VALUES, CHARACTERS = 200, 6_000
"""Values looked for at most, and their characters; a question has about a hundred runs of words."""

SHORTEST = 2
"""Characters of a value that is looked for."""

NO_DATA = "the catalog holds no data of it"

_CLAUSE = re.compile(r"[\n\t，。；：？！、（）()?;]|, |\. |: ")


@dataclass(frozen=True)
class TableProfile:
    """What is known of one table.

    Args:
        rows: Rows; None where they could not be counted.
        filled: Rows that are not null, by column or field.
        matches: Values that the question names, by column or field, as they stand in the data.
        log: The statements, with their results.
        error: Why there are no rows to look at; empty where there are.
        failed: Whether there should be some, so that another run may look at them.
    """

    rows: int | None = None
    filled: Mapping[str, int] = field(default_factory=dict)
    matches: Mapping[str, Sequence[str]] = field(default_factory=dict)
    log: tuple[Statement, ...] = ()
    error: str = ""
    failed: bool = False


@dataclass(frozen=True)
class KeyOverlap:
    """How far the keys of one relation meet.

    Args:
        edge: The relation.
        keys: Distinct values on its left.
        found: How many of these stand on its right.
        log: The statement, with its result.
    """

    edge: Edge
    keys: int
    found: int
    log: Statement


def unreadable(error: str) -> TableProfile:
    """The facts of a table that has data, none of which can be read."""
    return TableProfile(error=error, failed=True)


def probe(table: Table) -> str:
    """A statement that fails where no row of the table can be read."""
    return f"SELECT 1 AS one FROM {quote(table['name'])} LIMIT 1"


def facts_of(
    data: Data | None, table: Table, kept: Sequence[str], values: Sequence[str]
) -> TableProfile:
    """The facts of one table.

    Args:
        data: The catalog's data; None where there is none.
        table: The table.
        kept: Its columns that are candidates, nested ones by dotted paths or whole.
        values: What to look for, as `sought` gives it, in lower case.
    """
    if data is None or not data.has_data(table):
        return TableProfile(error=NO_DATA)
    try:
        return _read(data, table, kept, values)
    except SqlUnavailable as error:
        return unreadable(str(error))


def _read(data: Data, table: Table, kept: Sequence[str], values: Sequence[str]) -> TableProfile:
    """The facts of a table that has data.

    Raises:
        SqlUnavailable: It cannot be reached.
    """
    probed = data.run_query(probe(table), [table])
    if probed.error:
        return unreadable(probed.error)
    counted = data.run_query(count_statement(table), [table])
    tried = [counted]
    matches: dict[str, list[str]] = {}
    searched = _text_columns(table, kept)
    if searched and values:
        found = data.run_query(match_statement(table, searched, values), [table])
        tried.append(found)
        for name, value in found.result.rows if found.result else ():
            matches.setdefault(searched[int(str(name)[1:])], []).append(str(value))
    rows, filled = _counts(table, counted)
    return TableProfile(rows, filled, matches, tuple(one.log for one in tried))


def count_statement(table: Table) -> str:
    """Rows, and rows that are not null in each of the first columns."""
    names = enumerate(_counted(table))
    counts = "".join(f", count({sql_name(table, name)}) AS n{at}" for at, name in names)
    return f"SELECT count(*) AS n{counts} FROM {quote(table['name'])}"


def _counted(table: Table) -> list[str]:
    return _seen(table)[:COUNTED]


def _seen(table: Table) -> list[str]:
    """Columns and fields, but for those whose values are hidden."""
    unseen = set(hidden(table))
    parents = column_of(table)
    return [name for name in column_refs(table) if parents[name] not in unseen]


def _counts(table: Table, tried: QueryOutcome) -> tuple[int | None, dict[str, int]]:
    if tried.result is None or not tried.result.rows:
        return None, {}
    total, *filled = (int(cell or 0) for cell in tried.result.rows[0])
    return total, dict(zip(_counted(table), filled, strict=True))


def match_statement(table: Table, columns: Sequence[str], values: Sequence[str]) -> str:
    """Values of text columns that are one of those given, without regard to case."""
    source = quote(table["name"])
    listed = " UNION ALL ".join(
        f"SELECT 'c{at}' AS name, CAST({sql_name(table, name)} AS VARCHAR) AS value FROM {source}"
        for at, name in enumerate(columns)
    )
    wanted = ", ".join(_text(value) for value in values)
    return (
        f"WITH seen AS ({listed}) SELECT name, value FROM seen WHERE lower(value) IN ({wanted}) "
        f"GROUP BY name, value ORDER BY name, value LIMIT {WHOLE}"
    )


def sought(values: Iterable[str]) -> list[str]:
    """The values that a cell could be, the longest first, within `VALUES` and `CHARACTERS`.

    Runs of words that go over the end of a clause are none.
    """
    fitting = {value for value in values if len(value) >= SHORTEST and not _CLAUSE.search(value)}
    found: list[str] = []
    room = CHARACTERS
    for value in sorted(fitting, key=lambda value: (-len(value), value)):
        room -= len(value) + 4
        if room < 0 or len(found) == VALUES:
            break
        found.append(value)
    return found


def _text_columns(table: Table, kept: Sequence[str]) -> list[str]:
    """Candidate columns and fields that hold text and may be shown."""
    wanted, of, parents = set(kept), column_refs(table), column_of(table)
    return [
        name
        for name in _seen(table)
        if of[name]["type"] == "VARCHAR" and (name in wanted or parents[name] in wanted)
    ][:SEARCHED]


def overlap(data: Data, edge: Edge, tables: Mapping[str, Table]) -> KeyOverlap | None:
    """How far the keys of a relation meet; None where that cannot be found out.

    Raises:
        SqlUnavailable: The data cannot be reached.
    """
    sides = [tables[edge.left], tables[edge.right]]
    if any(len(name) != 1 for name in (edge.left_columns, edge.right_columns)):
        return None
    tried = data.run_query(overlap_statement(edge, tables), sides)
    if tried.result is None or not tried.result.rows:
        return None
    keys, found = (int(cell or 0) for cell in tried.result.rows[0])
    return KeyOverlap(edge, keys, found, tried.log)


def overlap_statement(edge: Edge, tables: Mapping[str, Table]) -> str:
    """Distinct keys on the left of a relation, and how many of these stand on its right."""
    left = _keys(tables[edge.left], edge.left_columns[0])
    right = _keys(tables[edge.right], edge.right_columns[0])
    return (
        f"SELECT count(a.k) AS n, count(b.k) AS found FROM ({left}) AS a "
        f"LEFT JOIN ({right}) AS b ON a.k = b.k"
    )


def _keys(table: Table, column: str) -> str:
    name = sql_name(table, column)
    return (
        f"SELECT DISTINCT CAST({name} AS VARCHAR) AS k FROM {quote(table['name'])} "
        f"WHERE {name} IS NOT NULL"
    )


def quote(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def sql_name(table: Table, name: str) -> str:
    """A column, or the dotted path of a field, as SQL writes it."""
    parent = next(
        (
            c["name"]
            for c in table["columns"]
            if name == c["name"] or name.startswith(c["name"] + ".")
        ),
        name,
    )
    rest = name[len(parent) + 1 :]
    return ".".join([quote(parent), *(quote(part) for part in rest.split(".") if part)])


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
