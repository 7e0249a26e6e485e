"""The question's words looked up in the data itself.

Values from the whole data, for the judge's value channel: more than a scan's few examples.

Each text column gives its most frequent distinct values, through the sandbox, which loads
a table once and keeps it. A column that shows no examples (it is empty, or its values are
hidden) gives none. What cannot be read keeps its examples, and so does a table on a server,
where reading all of it is nothing to do unasked. A statement that fails is worth a note; data
that is out of reach is an error of the run, for the same question finds more once it is back.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from stages.core.errors import SqlUnavailable, WinnowError
from stages.core.judge.judgment import ValueHits
from stages.core.records import Column, Table

if TYPE_CHECKING:
    from stages.core.judge.index.index import Index
    from stages.core.records import Column, Table
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


class UnreadValues:
    """What of the data could not be read.

    Attributes:
        notes: What became of single statements, each once.
        away: By table, why its data is out of reach.
    """

    def __init__(self) -> None:
        self.notes: dict[str, None] = {}
        self.away: dict[str, str] = {}

    def add(self, table: str, doing: str, error: WinnowError) -> None:
        """One statement that gave nothing, on one table.

        Args:
            table: Its name.
            doing: What the statement was for, as a participle: ``read``, ``looked up``.
            error: Why.
        """
        if isinstance(error, SqlUnavailable):
            self.away.setdefault(table, f"{error.what}; {error.hint}" if error.hint else error.what)
        else:
            self.notes[f"values of {table} were not {doing}: {error.what}"] = None

    def __or__(self, other: UnreadValues) -> UnreadValues:
        """Both; of a table that is in both, what the first says."""
        both = UnreadValues()
        both.notes = {**self.notes, **other.notes}
        both.away = {**other.away, **self.away}
        return both

    @property
    def error(self) -> str:
        """What is out of reach, in one line; empty where nothing is."""
        if not self.away:
            return ""
        number = len(self.away)
        tables = f"{number} table{'s'[: number > 1]}"
        what = f"values of {tables} could not be read, those of the scan stand"
        return f"{what}: {next(iter(self.away.values()))}"


Filled = tuple[Sequence[Table], list[Table], UnreadValues]

_memo: list[Filled] = []


def with_values(
    tables: Sequence[Table], database: Database
) -> tuple[Sequence[Table], UnreadValues]:
    """The tables with values of the data among the examples, and what could not be read.

    Read once for the tasks that follow each other on one catalog.

    Args:
        tables: All tables of the catalog; they are not changed.
        database: The catalog's data.
    """
    known = next((entry for entry in _memo if entry[0] is tables), None)
    if known is None:
        unread = UnreadValues()
        filled = [_filled(table, database, unread) for table in tables]
        known = (tables, filled, unread)
        _memo[:] = [known, *_memo[: REMEMBERED - 1]]
    return known[1], known[2]


def _filled(table: Table, database: Database, unread: UnreadValues) -> Table:
    wanted = [column["name"] for column in table["columns"] if _is_text(column)]
    if not wanted or not has_rows(table, database):
        return table
    found: dict[str, list[str]] = {}
    try:
        for start in range(0, len(wanted), PER_STATEMENT):
            names = wanted[start : start + PER_STATEMENT]
            for name, value in database.query(
                _bounded_statement(table["name"], names), rows=ROWS
            ).rows:
                found.setdefault(str(name), []).append(str(value))
    except WinnowError as error:
        unread.add(table["name"], "read", error)
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


def _bounded_statement(table: str, columns: Sequence[str]) -> str:
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


# Looking up a question's words in the data itself: whole values that no list of them holds.

MOST_WORDS = 300
"""Spellings of one question that are looked up; a question is shorter."""

MOST_FOUND = 1000
"""Rows of one statement; each is a column and one spelling found in it."""

_PLAIN = re.compile(r"[0-9]{5,}|[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NAMED = re.compile(r"ENUM\b|UUID\b")
_COUNTED = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?\b|DATE\b")


class ValueLookup:
    """Asks the data of one catalog for words; what cannot be asked stands in ``unread``.

    Args:
        tables: All tables, with the values that were read (`with_values`).
        database: The catalog's data.
    """

    def __init__(self, tables: Sequence[Table], database: Database) -> None:
        self.tables, self.database = tables, database
        self.unread = UnreadValues()

    def __call__(self, words: Collection[str]) -> ValueHits:
        """By word, the tables and columns that hold it as a whole value, without regard to case."""
        asked = list(islice(dict.fromkeys(w for w in words if len(w) <= LONGEST), MOST_WORDS))
        found: dict[str, list[tuple[str, str]]] = {}
        for table in self.tables if asked else ():
            for column, value in self._hits_of_table(table, asked):
                found.setdefault(value, []).append((table["name"], column))
        return found

    def _hits_of_table(self, table: Table, words: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Columns of one table and the words they hold."""
        plain = any(_PLAIN.fullmatch(word) for word in words)
        names = [column["name"] for column in table["columns"] if _unread(column, plain)]
        if not names or not has_rows(table, self.database):
            return
        try:
            for start in range(0, len(names), PER_STATEMENT):
                sql = _statement(table["name"], names[start : start + PER_STATEMENT], words)
                for name, value in self.database.query(sql, rows=MOST_FOUND).rows:
                    yield str(name), str(value)
        except WinnowError as error:
            self.unread.add(table["name"], "looked up", error)


def _unread(column: Column, plain: bool) -> bool:
    """Whether a column may hold values that nobody read; ``plain`` if numbers or days are asked
    for. One without examples is empty, or its values are hidden."""
    if not column.get("examples"):
        return False
    if column["type"] == "VARCHAR":
        return len(column["examples"]) >= PER_COLUMN
    return bool(_NAMED.match(column["type"]) or (plain and _COUNTED.match(column["type"])))


def _statement(table: str, columns: Sequence[str], words: Sequence[str]) -> str:
    """The words that columns hold as whole values, as rows of column and word."""
    listed = ", ".join(quoted(name) for name in columns)
    cast = ", ".join(f"lower(CAST({quoted(c)} AS VARCHAR)) AS {quoted(c)}" for c in columns)
    wanted = ", ".join("'" + word.replace("'", "''") + "'" for word in words)
    return (
        f"SELECT DISTINCT name, value FROM (UNPIVOT (SELECT {cast} FROM {quoted(table)}) "
        f"ON {listed} INTO NAME name VALUE value) WHERE value IN ({wanted})"
    )


def with_hits(index: Index, found: ValueHits) -> Index:
    """The index with values that were found in the data added to those it has."""
    more: dict[str, tuple[int, ...]] = {}
    number = {name: at for at, name in enumerate(index.canonical)} if found else {}
    for value, places in found.items():
        own = list(index.values.get(value, ()))
        for table, column in places:
            start, end = index.column_start[number[table]], index.column_start[number[table] + 1]
            own.append(int(start) + index.columns[start:end].index(column))
        more[value] = tuple(dict.fromkeys(own))
    return replace(index, values={**index.values, **more}) if more else index
