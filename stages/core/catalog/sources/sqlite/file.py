"""Opening an SQLite file of unknown origin, for reading only, without a trace in its folder.

``immutable=1`` keeps SQLite from making ``-wal`` and ``-shm`` files beside the database, but
makes it blind to changes that still stand in a ``-wal`` or ``-journal``; where there are
such changes, a copy of both is opened instead.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from stages.core.errors import SourceError

MAGIC = b"SQLite format 3\x00"
DUCKDB_MAGIC = b"DUCK"
PENDING = ("-wal", "-journal")
COPY_BYTES = 2 << 30
CELL_BYTES = 4 << 20
FALLBACKS = ("gb18030", "cp1252")


class RepairedText(str):
    """Text whose bytes were not UTF-8."""

    __slots__ = ()


@dataclass
class SqliteHandle:
    """An open file: its connection, the URI for other drivers, and what to warn of."""

    con: sqlite3.Connection
    uri: str
    warnings: list[str] = field(default_factory=list)


@contextmanager
def open_database(path: Path) -> Iterator[SqliteHandle]:
    """The file, open for reading; a copy that was made for it is gone afterwards.

    Raises:
        SourceError: It is no SQLite database, or is encrypted.
    """
    _check_header(path)
    pending = [side for side in _sides(path) if side.is_file() and side.stat().st_size]
    warnings: list[str] = []
    if pending and sum(file.stat().st_size for file in (path, *pending)) > COPY_BYTES:
        warnings.append(f"changes that still stand in {pending[0].name} are not read")
        pending = []
    if not pending:
        yield from _connected(f"file:{quote(str(path))}?mode=ro&immutable=1", warnings)
        return
    with tempfile.TemporaryDirectory(prefix="winnow-") as folder:
        copy = Path(folder) / "copy.db"
        shutil.copyfile(path, copy)
        for side, target in zip(_sides(path), _sides(copy), strict=True):
            if side in pending:
                shutil.copyfile(side, target)
        yield from _connected(f"file:{quote(str(copy))}", warnings)


def _sides(path: Path) -> list[Path]:
    return [path.with_name(path.name + suffix) for suffix in PENDING]


def _connected(uri: str, warnings: list[str]) -> Iterator[SqliteHandle]:
    with closing(sqlite3.connect(uri, uri=True, check_same_thread=False)) as con:
        con.text_factory = text_of
        con.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        con.execute(f"PRAGMA trusted_schema = {int(_has_virtual_tables(con))}")
        con.execute("PRAGMA query_only = 1")
        yield SqliteHandle(con, uri, warnings)


def _has_virtual_tables(con: sqlite3.Connection) -> bool:
    """Whether views may read a virtual table: SQLite lets them only in a schema that is trusted.

    What that lets in beside are functions and modules that are built in, none of which writes
    or reads another file; functions that could are refused in a schema, trusted or not.
    """
    with suppress(sqlite3.Error):
        sql = "SELECT 1 FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL%' LIMIT 1"
        return con.execute(sql).fetchone() is not None
    return False


def _check_header(path: Path) -> None:
    with open(path, "rb") as stream:
        head = stream.read(16)
    if head == MAGIC:
        return
    if head[8:12] == DUCKDB_MAGIC:
        raise SourceError("a DuckDB database, not an SQLite one", place=str(path))
    raise SourceError("not an SQLite database, or an encrypted one", place=str(path))


def text_of(data: bytes) -> str:
    """Text as it is meant: UTF-8, else the first fallback encoding that takes all of it."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        pass
    for encoding in FALLBACKS:
        try:
            return RepairedText(data.decode(encoding))
        except UnicodeDecodeError:
            continue
    return RepairedText(data.decode("utf-8", "replace"))


def quoted(name: str) -> str:
    """A name as an identifier of SQLite and DuckDB."""
    return '"' + name.replace('"', '""') + '"'
