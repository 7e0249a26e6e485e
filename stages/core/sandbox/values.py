"""The distinct values of a table: of a small source as it is read, of a large one from the file
that the store loads it into, which a later query uses too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from stages.core.catalog.duck.sql import quote
from stages.core.records import Column, Table
from stages.core.sandbox.engine.store import (
    LEAST_MEMORY,
    TARGET,
    Store,
    loading_config,
    table_folder,
)
from stages.core.sandbox.limits import Limits

if TYPE_CHECKING:
    import duckdb

LONGEST = 120
"""Characters of a value; longer ones are prose, and no question quotes them whole."""
LEAST_NUMBER = 10_000
"""A whole number below says nothing by itself, so that it is no value to look for."""
SMALL = 1 << 25
"""Bytes of a source from which on it is loaded into a file: a smaller one is read faster than the
file is made."""
FETCHED = 20_000
"""Rows fetched at once."""
_NUMBER = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?\b")
_TEXT = re.compile(r"(VARCHAR|ENUM|UUID|DATE)\b")

ColumnValues = tuple[str, Iterator[list[tuple[str, int]]]]
"""A column, and its values with how often each stands in it, in parts."""


def holds_values(column: Column) -> bool:
    """Whether a question may name values of the column: texts, days, long whole numbers. One
    without examples is empty, or its values are hidden."""
    found = _TEXT.match(column["type"]) or _NUMBER.match(column["type"])
    return bool(column.get("examples")) and found is not None


class ValueReader:
    """Reads values of the tables of one root.

    Args:
        root: Folder that the paths of the table lines are relative to.
        most: Values of one column.
    """

    def __init__(self, root: Path, most: int) -> None:
        self.root = root
        self.most = most
        self._small: duckdb.DuckDBPyConnection | None = None

    def close(self) -> None:
        """Let go of what is held open."""
        if self._small is not None:
            self._small.close()
            self._small = None

    def values(self, table: Table, seconds: float) -> Iterator[ColumnValues]:
        """The distinct values of a table's columns, the most frequent ones of each, in the order
        of the values.

        Args:
            table: Of its columns those that `holds_values` is true of are read.
            seconds: Time for all.

        Raises:
            SqlError: The source is gone, cannot be loaded, or not within the time.
            duckdb.Error: A column was not read within the time.
        """
        columns = [column for column in table["columns"] if holds_values(column)]
        if not columns:
            return
        if table["source"].get("bytes", SMALL) < SMALL:
            yield from self._of_small(table, columns, seconds)
        else:
            yield from self._of_large(table, columns, seconds)

    def _of_small(
        self, table: Table, columns: Sequence[Column], seconds: float
    ) -> Iterator[ColumnValues]:
        import duckdb

        from stages.core.catalog import load_table

        if self._small is None:
            self._small = duckdb.connect(":memory:", config=loading_config(LEAST_MEMORY))
        with _watched(self._small, seconds):
            self._small.execute(f"DROP TABLE IF EXISTS {TARGET}")
            load_table(self._small, self.root, table, TARGET)
            yield from self._columns(self._small, columns)

    def _of_large(
        self, table: Table, columns: Sequence[Column], seconds: float
    ) -> Iterator[ColumnValues]:
        import time
        from dataclasses import replace

        import duckdb

        from stages.core.catalog import load_table

        end = time.monotonic() + seconds
        limits = replace(Limits(), load_seconds=seconds)
        file = Store(self.root, limits, table_folder(), load_table).file(table)
        left = max(0.0, end - time.monotonic())
        with duckdb.connect(str(file), read_only=True) as con, _watched(con, left):
            yield from self._columns(con, columns)

    def _columns(
        self, con: duckdb.DuckDBPyConnection, columns: Sequence[Column]
    ) -> Iterator[ColumnValues]:
        for column in columns:
            yield column["name"], _parts(con.execute(_statement(column, self.most)))


def _watched(con: duckdb.DuckDBPyConnection, seconds: float) -> AbstractContextManager[None]:
    import threading

    from stages.core.catalog.duck.interrupt import watch_time

    return watch_time(con, seconds, threading.Event(), threading.Event())


def _parts(found: duckdb.DuckDBPyConnection) -> Iterator[list[tuple[str, int]]]:
    while part := found.fetchmany(FETCHED):
        yield part


def _statement(column: Column, most: int) -> str:
    """A column's values as text with their counts; within the most frequent ones in order."""
    name = quote(column["name"])
    wanted = f"length(CAST({name} AS VARCHAR)) BETWEEN 1 AND {LONGEST}"
    if _NUMBER.match(column["type"]):
        wanted = f"abs(CAST({name} AS HUGEINT)) >= {LEAST_NUMBER}"
    inner = (
        f"SELECT CAST({name} AS VARCHAR) AS v, count(*) AS n FROM {TARGET} "
        f"WHERE {name} IS NOT NULL AND {wanted} GROUP BY v ORDER BY n DESC, v LIMIT {most}"
    )
    return f"SELECT v, n FROM ({inner}) ORDER BY v"
