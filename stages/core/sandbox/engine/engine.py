"""What runs a checked query: here, a child process over DuckDB files.

`Engine` is the seam for servers, which are queried in place and in their own dialect.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from stages.core.errors import SqlUnavailable
from stages.core.records import Table
from stages.core.sandbox.engine.store import Store
from stages.core.sandbox.engine.worker import Worker
from stages.core.sandbox.gate import grammar
from stages.core.sandbox.gate.normal import write
from stages.core.sandbox.gate.order import with_order
from stages.core.sandbox.limits import Answer, Cell, Limits
from stages.core.sandbox.names import hidden

if TYPE_CHECKING:
    from stages.core.sandbox.gate.gate import CheckedQuery

ANSWER_CUT = "the answer was cut at its size limit; ask for fewer or shorter columns"
MOST_ATTACHED = 64
"""Tables that a child gets beside those it needs, which spares a restart; attaching takes 1 ms."""


class Engine(Protocol):
    """Runs queries that passed the gate, within the limits."""

    def describe(self, checked: CheckedQuery) -> tuple[list[str], list[str]]:
        """Names and types of the columns of the query."""

    def run(self, checked: CheckedQuery, rows: int) -> Answer:
        """The first rows of the query, in its full order."""

    def stop(self) -> None:
        """End what runs now, from any thread, and whatever would come after it."""

    def close(self) -> None:
        """Let go of processes and connections."""


class DuckEngine:
    """A killable child, started on first use, again when it ended, and for tables it has not.

    Args:
        store: Gives the file of a table.
        tables: All tables of the catalog; those that are loaded already come along.
        limits: Time, memory, cells and bytes.
    """

    def __init__(self, store: Store, tables: Sequence[Table], limits: Limits) -> None:
        self.store = store
        self.tables = tables
        self.limits = limits
        self._worker: Worker | None = None
        self._files: dict[str, Path] = {}

    def describe(self, checked: CheckedQuery) -> tuple[list[str], list[str]]:
        """Names and types of the columns of the query.

        Raises:
            SqlError: As `run`.
        """
        return self._ready(checked).describe(write(checked.tree, "duckdb"))

    def run(self, checked: CheckedQuery, rows: int) -> Answer:
        """The first rows; planning and running share the time limit.

        Raises:
            SqlLimit: Too slow or too large.
            SqlFailed: The engine says no (`worker.EngineError`).
            SqlUnavailable: A table cannot be loaded, or the child does not start.
        """
        worker = self._ready(checked)
        start = time.monotonic()
        sql = write(checked.tree, "duckdb")
        columns, types = worker.describe(sql)
        query = with_order(checked.tree, len(columns), rows + 1)
        left = max(self.limits.seconds - (time.monotonic() - start), 0.1)
        found, more, cut = worker.run(write(query, "duckdb"), types, rows, left)
        cells = tuple(tuple(_cells(row, types)) for row in found)
        sampled = (self.store.sampled.get(table["name"], "") for table in checked.tables)
        notes = (*checked.notes, *filter(None, sampled), *([ANSWER_CUT] if cut else []))
        return Answer(tuple(columns), tuple(types), cells, more, notes)

    def stop(self) -> None:
        """End the child and the loading of a table, from any thread."""
        self.store.stop()
        worker = self._worker
        if worker is not None:
            worker.kill()

    def close(self) -> None:
        """End the child."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def _ready(self, checked: CheckedQuery) -> Worker:
        """A living child that has the tables of the query."""
        needed = {table["name"]: self.store.file(table) for table in checked.tables}
        worker = self._worker
        if worker is not None and worker.alive and needed.items() <= self._files.items():
            return worker
        self.close()
        self._files = {**self._loaded(), **needed}
        try:
            return self._started()
        except SqlUnavailable:
            # A disk that was full, or a crash of the machine, leaves files that nothing can open.
            if not self.store.drop_broken(self._files.values()):
                raise
            needed = {table["name"]: self.store.file(table) for table in checked.tables}
            self._files = {**self._loaded(), **needed}
            return self._started()

    def _started(self) -> Worker:
        """A child over the files."""
        without = {table["name"]: hidden(table) for table in self.tables}
        files = [(path, name, without[name]) for name, path in self._files.items()]
        allowed = grammar.functions()
        self.store.go_on()
        self._worker = Worker(files, self.limits, (sorted(allowed.scalar), sorted(allowed.table)))
        self.store.go_on()
        return self._worker

    def _loaded(self) -> dict[str, Path]:
        """Files that are there already, of the first tables of the catalog and of the last used."""
        likely = [table for table in self.tables if table["name"] in self._files]
        likely += self.tables[:MOST_ATTACHED]
        found = ((table["name"], self.store.ready(table)) for table in likely[:MOST_ATTACHED])
        return {name: path for name, path in found if path is not None}


def _cells(row: list[Cell], types: list[str]) -> list[Cell]:
    """Cells as they came through the pipe, decimals as decimals again."""
    return [
        Decimal(cell) if type_.startswith("DECIMAL") and isinstance(cell, str) else cell
        for cell, type_ in zip(row, types, strict=True)
    ]
