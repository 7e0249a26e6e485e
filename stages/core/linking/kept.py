"""Results of exploring that are kept, so that a rerun reads no data and a replay needs none.

A result is kept under a key (the statement, the table lines that it touches, the limits) and
the state of the data that it was read from. A lookup asks for the state that the data is in;
an offline one takes the latest, whatever the data has become.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import orjson

from stages.core.errors import UsageError
from stages.core.linking.results import Tried, packed, unpacked

FILE = "results.sqlite"
BUSY = 30.0
"""Seconds to wait for another process's write."""

_TABLE = """
CREATE TABLE IF NOT EXISTS results (
    key TEXT NOT NULL,         -- sha256 of statement, table lines and limits
    state TEXT NOT NULL,       -- sha256 of what identifies the data
    created REAL NOT NULL,     -- seconds since 1970
    tried TEXT NOT NULL,       -- JSON: statement, result or error
    PRIMARY KEY (key, state)
) WITHOUT ROWID
"""


class Kept:
    """The SQLite file in a folder, opened when it is needed; shared by threads and processes.

    Args:
        folder: Where the file is, or is made when a first result is kept.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None

    def get(self, key: str, state: str | None) -> Tried | None:
        """What is kept for this state of the data; the latest of any state where it is None.

        Raises:
            UsageError: The file cannot be used.
        """
        if self._db is None and not os.path.exists(self.path):
            return None
        where, values = "key = ?", [key]
        if state is not None:
            where, values = "key = ? AND state = ?", [key, state]
        row = self._one(f"SELECT tried FROM results WHERE {where} ORDER BY created DESC", values)
        try:
            return None if row is None else unpacked(orjson.loads(row))
        except (orjson.JSONDecodeError, KeyError, TypeError):
            return None

    def put(self, key: str, state: str, tried: Tried) -> None:
        """Keep it in the place of what was kept for the same state; a full disk is no error.

        Raises:
            UsageError: The folder or the file in it cannot be used.
        """
        text = orjson.dumps(packed(tried)).decode()
        self._one("REPLACE INTO results VALUES (?, ?, ?, ?)", [key, state, time.time(), text])

    def count(self) -> int:
        """How many results are kept; no file is made where there is none.

        Raises:
            UsageError: The file cannot be used.
        """
        if self._db is None and not os.path.exists(self.path):
            return 0
        return int(self._one("SELECT count(*) FROM results", []) or 0)

    def size(self) -> int:
        """Bytes of the file and of what SQLite keeps beside it."""
        return sum(part.stat().st_size for part in self.path.parent.glob(f"{self.path.name}*"))

    def forget(self) -> int:
        """Forget all results; how many there were.

        Raises:
            UsageError: The file cannot be used.
        """
        gone = self.count()
        if gone:
            self._one("DELETE FROM results", [])
            self._one("VACUUM", [])
        return gone

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    def _one(self, sql: str, values: list[Any]) -> str | None:
        """The first cell; None where there is no row, or the statement fails."""
        with self._lock:
            if self._db is None:
                self._db = self._opened()
            try:
                row = self._db.execute(sql, values).fetchone()
            except sqlite3.Error:
                return None
        return None if row is None else str(row[0])

    def _opened(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            db = sqlite3.connect(
                self.path, timeout=BUSY, isolation_level=None, check_same_thread=False
            )
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=NORMAL")
            db.execute(_TABLE)
        except (OSError, sqlite3.Error) as error:
            raise UsageError(
                f"the cache cannot be used: {error}",
                place=str(self.path),
                hint="move it away, or use --cache DIR or --no-cache",
            ) from None
        return db
