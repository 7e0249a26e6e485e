"""The key-value store behind the caches of small values: one SQLite file for all processes.

SQLite in write-ahead mode takes a row in well under a millisecond, is never seen half-written
whenever a process is killed, and is shared by processes that run at once. What is opened here:
replies of models, results of SQL, and what was read of files. The judge's indexes and loaded
tables are files of their own, since they are large and read as a whole by their libraries.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from stages.core import diagnostics
from stages.core.errors import UsageError

Value: TypeAlias = str | bytes | int | float | None

ASIDE = ".damaged"
"""Ending of the name under which a file lies that was no store any more."""
DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


@dataclass(frozen=True)
class KeyValueTable:
    """The one table of a store, and how it is to be kept.

    Args:
        name: Of the table.
        columns: Its columns and constraints, as SQL.
        precious: Whether a damaged file is an error; else it is moved aside and made anew.
        private: Whether the file and a folder made for it are the user's alone.
        wait: Seconds to wait for another process's write, which takes milliseconds.
        synchronous: ``NORMAL`` loses the last rows when the machine (not the process) dies;
            ``OFF`` may lose the file.
        checkpoint: Pages of 4 KiB in the write-ahead log before it is folded in, which waits
            for the disk.
    """

    name: str
    columns: str
    precious: bool = False
    private: bool = False
    wait: float = 30.0
    synchronous: str = "NORMAL"
    checkpoint: int = 1_000


class KeyValueFile:
    """A store, opened when it is first asked, and shared by threads and processes.

    In a folder that cannot be written, what is kept can still be read. Every method raises
    ``OSError`` or ``sqlite3.Error`` where the file cannot be used: what that means, each cache
    says itself.

    Args:
        path: The file; it and its folder are made when they are needed.
        table: What stands in it.
    """

    def __init__(self, path: Path, table: KeyValueTable) -> None:
        self.path = path
        self.table = table
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None

    def exists(self) -> bool:
        """Whether there is a file, so that reading makes none."""
        return self._connection is not None or os.path.exists(self.path)

    def connection(self) -> sqlite3.Connection:
        """The open file, each statement its own transaction; a damaged one is moved aside."""
        with self._lock:
            if self._connection is None:
                self._connection = self._open()
            return self._connection

    def row(self, sql: str, values: Sequence[Value] = ()) -> tuple[Value, ...] | None:
        """The first row of a statement; None where there is none."""
        with self._lock:
            found: tuple[Value, ...] | None = self.connection().execute(sql, values).fetchone()
            return found

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """The open file, all statements one transaction, which no other writer can interrupt."""
        with self._lock, self.connection() as con:
            con.execute("BEGIN IMMEDIATE")
            yield con

    def count(self) -> int:
        """How many rows are kept; no file is made where there is none."""
        if not self.exists():
            return 0
        [count] = self.row(f"SELECT count(*) FROM {self.table.name}") or (0,)
        return int(count or 0)

    def clear(self) -> int:
        """Forget all rows; how many there were."""
        gone = self.count()
        if gone:
            self.row(f"DELETE FROM {self.table.name}")
            self.shrink()
        return gone

    def shrink(self) -> None:
        """Give back the room of forgotten rows; where there is none for that, nothing is done."""
        with suppress(sqlite3.OperationalError):
            self.row("VACUUM")

    def size(self) -> int:
        """Bytes of the file and of what SQLite keeps beside it."""
        return sum(part.stat().st_size for part in self.path.parent.glob(f"{self.path.name}*"))

    def close(self) -> None:
        """Let go of the file until it is asked again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _open(self) -> sqlite3.Connection:
        inode = self._inode()
        try:
            return self._connect()
        except sqlite3.DatabaseError as error:
            if self.table.precious or not is_damage(error):
                raise
            self._move_aside(inode)
            return self._connect()

    def _connect(self) -> sqlite3.Connection:
        if os.path.isfile(self.path) and not os.access(self.path.parent, os.W_OK):
            place = f"{self.path.absolute().as_uri()}?immutable=1"
            statements = [f"SELECT 1 FROM {self.table.name} LIMIT 1"]
        else:
            self._make_file()
            place = self.path.absolute().as_uri()
            columns = f"({self.table.columns}) WITHOUT ROWID"
            statements = [
                "PRAGMA journal_mode=WAL",
                f"PRAGMA synchronous={self.table.synchronous}",
                f"PRAGMA wal_autocheckpoint={self.table.checkpoint}",
                f"CREATE TABLE IF NOT EXISTS {self.table.name} {columns}",
            ]
        found = sqlite3.connect(
            place, uri=True, timeout=self.table.wait, isolation_level=None, check_same_thread=False
        )
        try:
            for statement in statements:
                found.execute(statement)
        except BaseException:
            found.close()
            raise
        return found

    def _make_file(self) -> None:
        """Make the folder, and where the store is private the file with its permissions."""
        mode = 0o700 if self.table.private else 0o777
        self.path.parent.mkdir(mode=mode, parents=True, exist_ok=True)
        if self.table.private and not os.path.exists(self.path):
            os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600))

    def _inode(self) -> int | None:
        with suppress(OSError):
            return self.path.stat().st_ino
        return None

    def _move_aside(self, inode: int | None) -> None:
        """Rename the damaged file, unless another process has done so meanwhile."""
        if inode is None or self._inode() != inode:
            return
        aside = self.path.with_name(f"{self.path.name}{ASIDE}")
        os.replace(self.path, aside)
        for ending in ("-wal", "-shm"):
            self.path.with_name(f"{self.path.name}{ending}").unlink(missing_ok=True)
        diagnostics.note(f"{self.path}: damaged, and made anew; the old one is {aside.name}")


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file is no store any more, and no waiting or room would mend it."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in DAMAGE


def unusable(path: Path, error: Exception) -> UsageError:
    """What to tell of a store that cannot be opened and that its user named or relies on."""
    return UsageError(
        f"the cache cannot be used: {error}",
        place=str(path),
        hint="move it away, or use --cache DIR or --no-cache",
    )
