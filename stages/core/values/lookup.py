"""The value index of a catalog kept true, within a time, and words looked up in it.

What was built before the time was over stays, and the next run goes on from there. A table that
cannot be read keeps the examples of its scan; what is missing is told.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from stages.core.catalog import partitions
from stages.core.counts import many
from stages.core.errors import SqlUnavailable, WinnowError
from stages.core.paths import cache_place
from stages.core.records import Catalog, Table
from stages.core.values.index import LAYOUT, TableState, ValueIndex, ValuePlace

if TYPE_CHECKING:
    from stages.core.judge.judgment import ValueHits
    from stages.core.sandbox.values import ValueReader

PER_COLUMN = 1_000_000
"""Distinct values kept of one column, the most frequent first."""
MOST_WORDS = 300
"""Spellings of one question that are looked up; a question is shorter."""


def index_path(root: str) -> Path:
    """Where the index of a catalog's root lies."""
    key = hashlib.sha256(str(Path(root).resolve()).encode()).hexdigest()[:20]
    return cache_place("values") / f"values-{LAYOUT}-{key}.sqlite"


class CatalogValues:
    """The values of one catalog's files.

    Args:
        catalog: Its line; without a root there is nothing to look in.
        tables: Its table lines.
        index: The file; None for `index_path`.
        seconds: Time for building what is missing.
        asked_for: Whether the user asked for values, so that what cannot be read is an error.

    Attributes:
        notes: What is missing, a sentence each.
        error: What of the surroundings failed where values were asked for; else it is a note.
    """

    def __init__(
        self,
        catalog: Catalog,
        tables: Sequence[Table],
        *,
        index: Path | None = None,
        seconds: float,
        asked_for: bool = False,
    ) -> None:
        self.root = Path(catalog.get("root", ""))
        self.tables = [table for table in tables if "path" in table.get("source", {})]
        self.seconds = seconds
        self.asked_for = asked_for
        self.notes: list[str] = []
        self.error = ""
        self._path = index or index_path(str(self.root))
        self._index: ValueIndex | None = None

    def __call__(self, words: Collection[str]) -> ValueHits:
        """By word, the tables and columns that hold it as a whole value."""
        found = self.places(list(dict.fromkeys(words))[:MOST_WORDS])
        return {
            word: [(place.table, place.column) for place in places]
            for word, places in found.items()
        }

    def written(self, words: Collection[str]) -> Mapping[tuple[str, str], str]:
        """By table and column, the longest of the words that is a value there, as the data has
        it."""
        found: dict[tuple[str, str], str] = {}
        for places in self.places(words).values():
            for place in places:
                at = place.table, place.column
                found[at] = max(found.get(at, ""), place.value, key=len)
        return found

    def places(self, words: Collection[str]) -> Mapping[str, Sequence[ValuePlace]]:
        """By word, where it stands as a whole value; nothing where the index cannot be used."""
        try:
            found = self.index().holding(words)
        except (OSError, sqlite3.Error) as error:
            self._failed(f"the value index cannot be used: {error}")
            return {}
        shown = {word: [at for at in places if self.shows(at)] for word, places in found.items()}
        return {word: places for word, places in shown.items() if places}

    def shows(self, place: ValuePlace) -> bool:
        """Whether the column is one of the catalog whose values may be looked at."""
        return (place.table, place.column) in self._readable

    @cached_property
    def _readable(self) -> frozenset[tuple[str, str]]:
        return frozenset(
            (table["name"], column["name"])
            for table in self.tables
            for column in table["columns"]
            if column.get("examples")
        )

    def index(self) -> ValueIndex:
        """The index, made true now.

        Raises:
            OSError, sqlite3.Error: The file cannot be used.
        """
        if self._index is None:
            self._index = ValueIndex(self._path)
            self._refresh(self._index)
        return self._index

    @cached_property
    def _reader(self) -> ValueReader:
        from stages.core.sandbox.values import ValueReader

        return ValueReader(self.root, PER_COLUMN)

    def close(self) -> None:
        """Let go of the file."""
        if self._index is not None:
            self._index.close()
            self._index = None

    def _refresh(self, index: ValueIndex) -> None:
        """Read what changed, the smallest sources first, until the time is over."""
        known, late = index.states(), 0
        end = time.monotonic() + self.seconds
        changed = [
            (table, state)
            for table, state in self._current()
            if known.get(table["name"], TableState("", "")).state != state
        ]
        for table, state in sorted(changed, key=lambda pair: _size(pair[0])):
            left = end - time.monotonic()
            if left <= 0 or not self._read(index, table, state, left):
                late += 1
        if changed:
            self._reader.close()
        if late:
            self.notes.append(
                f"values of {many(late, 'table')} were not read within {self.seconds:g} s; "
                "the next run goes on, or raise --values-seconds"
            )
        self.notes += [
            f"values of {name} are not all there: {state.missing}"
            for name, state in index.states().items()
            if state.missing and name in {table["name"] for table in self.tables}
        ]

    def _current(self) -> Iterator[tuple[Table, str]]:
        """Each table whose source is there, with the state that the source is in."""
        for table in self.tables:
            path = self.root / table["source"]["path"]
            try:
                found = partitions.state(path)
            except OSError as error:
                why = error.strerror or str(error)
                self._failed(f"values of {table['name']} could not be read: {why}")
                continue
            columns = [[c["name"], c["type"], bool(c.get("examples"))] for c in table["columns"]]
            whole = orjson.dumps([table["source"], columns, found])
            yield table, hashlib.sha256(whole).hexdigest()[:24]

    def _read(self, index: ValueIndex, table: Table, state: str, seconds: float) -> bool:
        """Put the table's values into the index; False where the time was over before."""
        from stages.core.catalog.duck.interrupt import by_hand

        began = time.monotonic()
        try:
            found = self._reader.values(table, seconds)
            index.replace(table["name"], TableState(state, ""), found)
        except sqlite3.Error:
            raise
        except SqlUnavailable as error:
            self._failed(f"values of {table['name']} could not be read: {error.what}")
        except Exception as error:  # DuckDB's and the readers' own: the table keeps its examples
            if by_hand(error):
                raise KeyboardInterrupt from None
            if time.monotonic() - began >= seconds:
                return False
            missing = error.what if isinstance(error, WinnowError) else str(error)
            state_of = TableState(state, missing.partition("\n")[0][:200])
            index.replace(table["name"], state_of, [])
        return True

    def _failed(self, what: str) -> None:
        if self.asked_for:
            self.error = self.error or what
        else:
            self.notes.append(what)


def _size(table: Table) -> int:
    return int(table["source"].get("bytes", 0) or 0)
