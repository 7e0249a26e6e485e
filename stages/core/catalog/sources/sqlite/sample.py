"""Rows and counts of an SQLite table within bounds of time and size.

The head shows the first rows; middle and tail, where rows are numbered, catch values that
break the declared type further down. What is counted depends on sizes, and how long a view
may compute on SQLite's own steps, not on the clock: the same file gives the same lines on a
busy machine.
"""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass

from stages.core.catalog.source_table import ScanOptions
from stages.core.catalog.sources.sqlite.file import CELL_BYTES, quoted
from stages.core.catalog.sources.sqlite.relation import Relation, SqliteValue
from stages.core.records import Rows

HEAD, MIDDLE, TAIL = 100, 50, 50
CELLS = 20_000
"""Cells in one part of the sample, at most: tables of 2,000 columns give fewer rows."""
COUNTED_BYTES = 256 << 20
"""Files up to here have all their tables counted (0.1 s in memory, 0.5 s from a disk)."""
COUNTED_ROWS = 50_000
"""In larger files, tables whose row numbers span no more than this are counted."""
STEP = 20_000
VIEW_STEPS = 300
"""Times `STEP` instructions of SQLite that all views of a file may take together: about 0.3 s."""
VIEW_SECONDS = 5.0
"""Where single instructions are slow, the clock ends a view after all."""
ROWID_NAMES = ("rowid", "_rowid_", "oid")
NO_LIMIT = (1 << 31) - 1

Row = tuple[SqliteValue, ...]
Span = tuple[str, int, int]


@dataclass(frozen=True)
class SqliteEntry:
    """One table or view of the file, as ``sqlite_master`` lists it.

    Attributes:
        name: As it is spelt.
        view: Whether it is a view.
        kind: ``table``, ``view``, ``virtual``, or ``shadow`` (behind a virtual one).
        without_rowid: Whether its rows have no numbers.
        sql: What made it, where it is a view or virtual.
        relation: How it can be read; None where it is read as it stands.
    """

    name: str
    view: bool
    kind: str
    without_rowid: bool
    sql: str = ""
    relation: Relation | None = None

    @property
    def source(self) -> str:
        """What stands after FROM."""
        return self.relation.sql if self.relation else quoted(self.name)


@dataclass(frozen=True)
class RowSample:
    """Some rows of a table, those of the head first; and its count."""

    rows: list[Row]
    count: Rows
    whole: bool


class Sampler:
    """Samples the tables of one open file; the budget of views is the file's, not the view's."""

    def __init__(self, con: sqlite3.Connection, size: int, options: ScanOptions) -> None:
        self.con = con
        self.size = size
        self.options = options
        self.steps_left = VIEW_STEPS
        self.deadline = 0.0
        con.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, CELL_BYTES)

    def _spent(self) -> int:
        """Called by SQLite every `STEP` instructions; 1 stops the statement."""
        self.steps_left -= 1
        return int(self.steps_left < 0 or time.monotonic() > self.deadline)

    def sample(self, entry: SqliteEntry, names: list[str]) -> RowSample:
        """Rows from head, middle and tail of a table with these columns.

        Raises:
            sqlite3.Error: They cannot be read, or take too long (``interrupted``).
        """
        room = CELLS // max(1, len(names))
        limit = max(self.options.sample_rows + 1, min(HEAD, room))
        head = (
            self._bounded(entry, names, limit)
            if entry.view
            else self._rows(entry, names, "", limit)
        )
        if len(head) < limit:
            return RowSample(head, {"count": len(head), "how": "exact"}, True)
        span = self._span(entry, names)
        count = self._count(entry, span)
        if span is None:
            return RowSample(head, count, False)
        rowid, low, high = span
        middle = f"WHERE {rowid} >= {low + (high - low) // 2} ORDER BY {rowid}"
        rows = head + self._rows(entry, names, middle, min(MIDDLE, room))
        return RowSample(
            rows + self._rows(entry, names, f"ORDER BY {rowid} DESC", min(TAIL, room)), count, False
        )

    def _bounded(self, entry: SqliteEntry, names: list[str], limit: int) -> list[Row]:
        """Rows of a view, which may compute anything."""
        self.deadline = time.monotonic() + VIEW_SECONDS
        self.con.set_progress_handler(self._spent, STEP)
        try:
            return self._rows(entry, names, "", limit)
        finally:
            self.con.set_progress_handler(None, 0)

    def _rows(self, entry: SqliteEntry, names: list[str], tail: str, limit: int) -> list[Row]:
        """Some rows; where a cell is too large to be read, all cells are cut."""
        table = entry.source
        try:
            return self.con.execute(f"SELECT * FROM {table} {tail} LIMIT {limit}").fetchall()
        except (sqlite3.DataError, sqlite3.OperationalError) as error:
            if "too big" not in str(error):
                raise
        self.con.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, NO_LIMIT)
        try:
            cells = ", ".join(
                f"CASE WHEN length({c}) <= 4096 OR {c} IS NULL THEN {c} "
                f"WHEN typeof({c}) = 'blob' THEN substr({c}, 1, 4096) "
                f"ELSE substr({c}, 1, 4096) || '…(+' || (length({c}) - 4096) || ')' END"
                for c in map(quoted, names)
            )
            return self.con.execute(f"SELECT {cells} FROM {table} {tail} LIMIT {limit}").fetchall()
        finally:
            self.con.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, CELL_BYTES)

    def _span(self, entry: SqliteEntry, names: list[str]) -> Span | None:
        """Name, least and greatest value of the row numbers; None where there are none."""
        taken = {name.lower() for name in names}
        rowid = next((name for name in ROWID_NAMES if name not in taken), None)
        if rowid is None or entry.view or entry.without_rowid or entry.kind == "virtual":
            return None
        if entry.relation is not None and not entry.relation.plain:
            return None
        table = entry.source
        sql = f"SELECT (SELECT min({rowid}) FROM {table}), (SELECT max({rowid}) FROM {table})"
        low, high = self.con.execute(sql).fetchone()
        return None if low is None else (rowid, low, high)

    def _count(self, entry: SqliteEntry, span: Span | None) -> Rows:
        """The exact count where it is cheap or asked for, else what the row numbers suggest."""
        spanned = span[2] - span[1] + 1 if span else None
        small = self.size <= COUNTED_BYTES or (spanned is not None and spanned <= COUNTED_ROWS)
        if self.options.exact or (small and not entry.view):
            sql = f"SELECT count(*) FROM {entry.source}"
            return {"count": int(self.con.execute(sql).fetchone()[0]), "how": "exact"}
        return {"count": spanned, "how": "unknown" if spanned is None else "estimate"}
