"""Looking up a question's words in the data itself: whole values that no list of them holds.

`datavalues` reads the most frequent values of text columns. A column that has more of them, and
columns of other types, are asked for the question's own words, one statement a table.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from stages.core.errors import WinnowError
from stages.core.judge.datavalues import LONGEST, PER_COLUMN, PER_STATEMENT, has_rows, quoted
from stages.core.judge.types import Seen

if TYPE_CHECKING:
    from stages.core.judge.index import Index
    from stages.core.records import Column, Table
    from stages.core.sandbox.database import Database

MOST_WORDS = 300
"""Spellings of one question that are looked up; a question is shorter."""

MOST_FOUND = 1000
"""Rows of one statement; each is a column and one spelling found in it."""

_PLAIN = re.compile(r"[0-9]{5,}|[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NAMED = re.compile(r"ENUM\b|UUID\b")
_COUNTED = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?\b|DATE\b")


class Seeker:
    """Asks the data of one catalog for words; what cannot be asked is noted.

    Args:
        tables: All tables, with the values that were read (`datavalues.with_values`).
        database: The catalog's data.
    """

    def __init__(self, tables: Sequence[Table], database: Database) -> None:
        self.tables, self.database = tables, database
        self.notes: list[str] = []

    def __call__(self, words: Collection[str]) -> Seen:
        """By word, the tables and columns that hold it as a whole value, without regard to case."""
        asked = list(islice(dict.fromkeys(w for w in words if len(w) <= LONGEST), MOST_WORDS))
        found: dict[str, list[tuple[str, str]]] = {}
        for table in self.tables if asked else ():
            for column, value in self._held(table, asked):
                found.setdefault(value, []).append((table["name"], column))
        return found

    def _held(self, table: Table, words: Sequence[str]) -> Iterator[tuple[str, str]]:
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
            self.notes.append(f"values of {table['name']} were not looked up: {error.what}")


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


def seeing(index: Index, found: Seen) -> Index:
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
