"""The value index of one source: one SQLite file with the distinct values of its tables.

A value is kept under its folded form: compatibility forms of Unicode (full width is half width),
lower case, one space where there were several. The file is opened by a process in under a
millisecond, a value is found along a B-tree, and a table is replaced when its source changed.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from stages.core.keyvalue import KeyValueFile, KeyValueTable, Value

LAYOUT = 1
"""Part of the name of the file; changes when files of an earlier version cannot be used."""
CACHE_KIB = 200_000
ASKED_AT_ONCE = 500
"""Words in one statement; SQLite takes 32,766 parameters, and 999 before 3.32."""
MOST_PLACES = 200
"""Places of one value; one in more columns says nothing about which is meant."""

_VALUES = KeyValueTable(
    "value",
    "folded TEXT, place INTEGER, value TEXT, count INTEGER, PRIMARY KEY (folded, place, value)",
    private=True,
    synchronous="OFF",
    checkpoint=20_000,
)
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS source (name TEXT PRIMARY KEY, state TEXT, missing TEXT)",
    "CREATE TABLE IF NOT EXISTS place (id INTEGER PRIMARY KEY, source TEXT, name TEXT, count)",
)


@dataclass(frozen=True)
class ValuePlace:
    """A value where it stands.

    Attributes:
        table, column: Where.
        value: As it is written there.
        count: Rows that hold it.
    """

    table: str
    column: str
    value: str
    count: int


@dataclass(frozen=True)
class TableState:
    """What the index has of a table: the state of its source, and what is missing of it."""

    state: str
    missing: str


def folded(text: str) -> str:
    """The form under which a value is kept.

    >>> folded("Ｚinc   Flange"), folded("3-D MAN")
    ('zinc flange', '3-d man')
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return " ".join(text.lower().split())


class ValueIndex:
    """The index in one file; every method raises ``OSError`` or ``sqlite3.Error`` where the file
    cannot be used.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self._file = KeyValueFile(path, _VALUES)
        self._ready = False

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def states(self) -> Mapping[str, TableState]:
        """By table, what the index has of it."""
        if not self._file.exists():
            return {}
        rows = self._rows("SELECT name, state, missing FROM source")
        return {str(name): TableState(str(state), str(missing)) for name, state, missing in rows}

    def replace(
        self,
        table: str,
        known: TableState,
        columns: Iterable[tuple[str, Iterable[Sequence[tuple[str, int]]]]],
    ) -> None:
        """Put the values of a table in place of those that are there.

        Args:
            table: Its canonical name.
            known: What the index then has of it.
            columns: By column, its distinct values with their counts, in parts.
        """
        self._prepare()
        with self._file.transaction() as con:
            self._forget(table)
            for name, parts in columns:
                cursor = con.execute(
                    "INSERT INTO place (source, name, count) VALUES (?, ?, 0)", (table, name)
                )
                place, count = cursor.lastrowid, 0
                for part in parts:
                    rows = [(folded(value), place, value, n) for value, n in part]
                    con.executemany("INSERT OR IGNORE INTO value VALUES (?, ?, ?, ?)", rows)
                    count += len(rows)
                con.execute("UPDATE place SET count = ? WHERE id = ?", (count, place))
            row = (table, known.state, known.missing)
            con.execute("INSERT OR REPLACE INTO source VALUES (?, ?, ?)", row)

    def _forget(self, table: str) -> None:
        con = self._file.connection()
        own = "SELECT id FROM place WHERE source = ?"
        if con.execute(own, (table,)).fetchone():
            con.execute(f"DELETE FROM value WHERE place IN ({own})", (table,))
            con.execute("DELETE FROM place WHERE source = ?", (table,))

    def holding(self, words: Iterable[str]) -> Mapping[str, Sequence[ValuePlace]]:
        """By word, where it stands as a whole value."""
        asked: dict[str, list[str]] = {}
        for word in words:
            asked.setdefault(folded(word), []).append(word)
        found: dict[str, list[ValuePlace]] = {}
        keys = iter(asked)
        while some := list(islice(keys, ASKED_AT_ONCE)):
            marks = ", ".join("?" * len(some))
            for key, place in self._places(f"folded IN ({marks})", some):
                for word in asked[key]:
                    found.setdefault(word, []).append(place)
        return {word: places for word, places in found.items() if len(places) <= MOST_PLACES}

    def between(self, low: str, high: str, most: int) -> list[ValuePlace]:
        """Values whose folded form is from ``low`` up to before ``high``, in that order."""
        return [place for _, place in self._places("folded >= ? AND folded < ?", [low, high], most)]

    def containing(self, part: str, most: int, looked_at: int) -> tuple[list[ValuePlace], bool]:
        """Values that hold ``part``, and whether all were looked at.

        Args:
            part: Folded.
            most: Places given at most.
            looked_at: Values looked at at most, in the order of their folded forms.
        """
        inner = f"SELECT folded, place, value, count FROM value LIMIT {looked_at}"
        sql = (
            f"SELECT folded, source, name, value, v.count FROM ({inner}) AS v "
            f"JOIN place ON id = place WHERE instr(folded, ?) > 0 LIMIT {most}"
        )
        found = [_placed(row)[1] for row in self._rows(sql, [part])]
        return found, self.count() <= looked_at

    def count(self) -> int:
        """Distinct values of columns."""
        [(count,)] = self._rows("SELECT coalesce(sum(count), 0) FROM place")
        return int(count or 0)

    def _places(
        self, where: str, given: Sequence[str], most: int = -1
    ) -> Iterator[tuple[str, ValuePlace]]:
        sql = (
            "SELECT folded, source, name, value, v.count FROM value AS v JOIN place ON id = place "
            f"WHERE {where} ORDER BY folded, place LIMIT {most}"
        )
        yield from map(_placed, self._rows(sql, given))

    def _rows(self, sql: str, given: Sequence[str] = ()) -> list[tuple[Value, ...]]:
        self._prepare()
        return self._file.connection().execute(sql, given).fetchall()

    def _prepare(self) -> None:
        if self._ready:
            return
        con = self._file.connection()
        con.execute(f"PRAGMA cache_size=-{CACHE_KIB}")
        for statement in _SCHEMA:
            con.execute(statement)
        self._ready = True


def _placed(row: tuple[Value, ...]) -> tuple[str, ValuePlace]:
    """A row of folded form, table, column, value and count."""
    key, table, column, value, count = row
    return str(key), ValuePlace(str(table), str(column), str(value), int(count or 0))
