"""The SQLite file of a cache: opened in one way, for its owner alone, by many processes at once.

What stands in it is the cache's own: replies only grow, since they cost money; results are kept
by the state of the data; what was read of files goes when it is not used.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stages.core.errors import UsageError

BUSY = 30.0
"""Seconds to wait for another process that writes."""


def open_cache(
    path: Path, table: str, *, busy: float = BUSY, threads: bool = False, safe: bool = True
) -> sqlite3.Connection:
    """Open the file, made where it is not there, its folder too.

    Args:
        path: The file.
        table: The statement that makes its table.
        busy: Seconds to wait for another process.
        threads: Whether threads share the connection, under a lock of their own.
        safe: Whether what was written outlives the machine's death; the process's it always does.

    Raises:
        OSError: The folder or the file cannot be made.
        sqlite3.Error: It is no such file, or cannot be used.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    found = sqlite3.connect(path, timeout=busy, isolation_level=None, check_same_thread=not threads)
    try:
        found.execute("PRAGMA journal_mode=WAL")
        found.execute(f"PRAGMA synchronous={'NORMAL' if safe else 'OFF'}")
        found.execute(table)
    except sqlite3.Error:
        found.close()
        raise
    return found


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All that is written within at once, or nothing of it."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def unusable(path: Path, error: Exception) -> UsageError:
    """What to tell of a file that cannot be opened."""
    return UsageError(
        f"the cache cannot be used: {error}",
        place=str(path),
        hint="move it away, or use --cache DIR or --no-cache",
    )
