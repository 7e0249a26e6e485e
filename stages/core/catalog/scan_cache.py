"""What was read of a file the last time, so that scanning an unchanged folder costs stat only.

A file is the same while its path, size, modification and change time and inode are, and those
of the side files that databases keep beside it. Options that decide what is read are part of
the key, and so is the version of this package. What is kept is what a source said, cells cut
and hidden values taken out, in one SQLite file in the cache folder; losing it costs time only.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path
from typing import TypeAlias

import orjson

from stages import __version__
from stages.core.catalog import partitions
from stages.core.catalog.source_table import ScanOptions, SourceTable
from stages.core.errors import UsageError
from stages.core.keyvalue import KeyValueFile, KeyValueTable
from stages.core.paths import CACHES, cache_dir
from stages.core.records import Table
from stages.core.text import shorten

LAYOUT = 1
"""Changes when entries of an earlier version can no longer be used."""
FILE = CACHES["scans"]
SIDE_FILES = ("-wal", "-journal", ".wal")
SETTLED_NS = 100_000_000
"""A file that changed this shortly before it was read may change again within one clock tick."""
MOST_BYTES = 512 << 20
"""Of the whole cache; beyond, the entries that were used longest ago go."""
KEEP_SHARE = 0.7
USED_DAY = 86_400
_FIELDS = {item.name for item in fields(SourceTable)}
SCANS = KeyValueTable(
    "entry",
    "key BLOB PRIMARY KEY, body BLOB NOT NULL, used INTEGER NOT NULL",
    private=True,
    wait=5.0,
    synchronous="OFF",
)


def cache_file() -> Path:
    """Where the cache lies."""
    return cache_dir() / FILE


@dataclass(frozen=True)
class Stamp:
    """What tells one state of a file from another, and whether it can be relied on."""

    key: bytes
    settled: bool


def stamp(path: Path, kind: str, options: ScanOptions) -> Stamp | None:
    """The stamp of a file as it is now; None where it cannot be told."""
    try:
        info = path.stat()
    except OSError:
        return None
    parts: list[object] = [_how(options), kind, os.path.abspath(path), *_state(info)]
    newest = max(info.st_mtime_ns, info.st_ctime_ns)
    if kind == "parts":
        parts += partitions.state(path)
    if kind in ("sqlite", "duckdb"):
        for suffix in SIDE_FILES:
            with suppress(OSError):
                side = path.with_name(path.name + suffix).stat()
                parts += [suffix, *_state(side)]
                newest = max(newest, side.st_mtime_ns)
    key = hashlib.sha256(orjson.dumps(parts)).digest()
    return Stamp(key, time.time_ns() - newest > SETTLED_NS)


def _state(info: os.stat_result) -> tuple[int, ...]:
    return info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino, info.st_dev


@lru_cache(maxsize=8)
def _how(options: ScanOptions) -> str:
    """What decides how a file is read, beside the file."""
    shape = repr((LAYOUT, _version(), replace(options, cache=False)))
    return hashlib.sha256(shape.encode()).hexdigest()


@cache
def _version() -> str:
    """Of winnow's readers, edits to them included, and of the engine, without importing it."""
    readers = sorted(Path(__file__).parent.rglob("*.py"))
    edited = [(file.name, file.stat().st_mtime_ns) for file in readers]
    found = [__version__]
    try:
        found.append(metadata.version("duckdb"))
    except metadata.PackageNotFoundError:
        found.append("?")
    return "/".join([*found, hashlib.sha256(repr(edited).encode()).hexdigest()])


class ScanCache:
    """The entries of one scan: read as they are asked for, written together at the end.

    A cache that cannot be opened or read is no cache, and no error.

    Args:
        file: Where it lies; None is the user's own.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._store: KeyValueFile | None = None
        self._broken = False
        self._used: list[bytes] = []

    def get(self, key: bytes) -> bytes | None:
        """What is kept of a file in this state, for `unpacked`; None where there is nothing."""
        con = self._open()
        if con is None:
            return None
        try:
            row = con.execute("SELECT body, used FROM entry WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error:
            self.close()
            return None
        if row is None:
            return None
        if row[1] < time.time() - USED_DAY:
            self._used.append(key)
        return bytes(row[0])

    def keep(self, entries: Iterable[tuple[Stamp, Sequence[SourceTable]]]) -> None:
        """Write entries; files that changed only just now, and tables with errors, are not kept."""
        now = int(time.time())
        rows = (
            (stamp.key, body, now)
            for stamp, raws in entries
            if stamp.settled and not any(raw.error for raw in raws)
            if (body := _body(raws)) is not None
        )
        with suppress(sqlite3.Error, OSError):
            if self._open() is None or self._store is None:
                return
            with self._store.transaction() as con:
                con.executemany("INSERT OR REPLACE INTO entry VALUES (?, ?, ?)", rows)
                con.executemany(
                    "UPDATE entry SET used = ? WHERE key = ?", [(now, key) for key in self._used]
                )
            self._used = []
            _shrink(self._store)

    def close(self) -> None:
        """Let go of the file until it is asked for again."""
        if self._store is not None:
            self._store.close()

    def _open(self) -> sqlite3.Connection | None:
        if self._broken:
            return None
        try:
            if self._store is None:
                self._store = KeyValueFile(self._file or cache_file(), SCANS)
            return self._store.connection()
        except (sqlite3.Error, OSError, UsageError):
            self._broken = True
            return None


Job: TypeAlias = tuple[str, Path, ScanOptions]
"""A file to read: its kind, where it lies, and how."""
Result: TypeAlias = list[SourceTable] | str


class ScanMemory:
    """Results of a list of jobs, from the cache where nothing changed.

    Args:
        jobs: The files, in order.
        cache: Where results are kept.
    """

    def __init__(self, jobs: Sequence[Job], cache: ScanCache) -> None:
        self.jobs = jobs
        self.cache = cache
        self._stamps = [stamp(path, kind, options) for kind, path, options in jobs]
        self._fresh: list[tuple[Stamp, list[SourceTable]]] = []

    def results(self, read: Callable[[Sequence[Job]], Iterator[Result]]) -> Iterator[Result]:
        """The result of each job, in order.

        Args:
            read: Gives the results of jobs, in order; asked for those that are not kept only.
        """
        kept = [self.cache.get(mark.key) if mark is not None else None for mark in self._stamps]
        self.cache.close()  # reading may fork
        fresh = read([job for job, body in zip(self.jobs, kept, strict=True) if body is None])
        for job, mark, body in zip(self.jobs, self._stamps, kept, strict=True):
            found = unpacked(body) if body is not None else None
            if found is not None:
                yield found
                continue
            result = next(fresh if body is None else read([job]))
            if mark is not None and not isinstance(result, str):
                self._fresh.append((mark, result))
            yield result

    def keep(self, tables: Mapping[int, Table]) -> None:
        """Write what was read now.

        Args:
            tables: Table line by the ``id()`` of its raw table, which tells what is hidden.
        """
        if self._fresh:
            self.cache.keep(
                (mark, [bare(raw, tables[id(raw)]) if id(raw) in tables else raw for raw in raws])
                for mark, raws in self._fresh
            )
        self.cache.close()


def _shrink(store: KeyValueFile) -> None:
    """Drop what was used longest ago where the cache has grown too large."""
    if store.path.stat().st_size <= MOST_BYTES:
        return
    store.row(
        "DELETE FROM entry WHERE key IN (SELECT key FROM entry ORDER BY used LIMIT ?)",
        (int(store.count() * (1 - KEEP_SHARE)),),
    )
    store.shrink()


def _body(raws: Sequence[SourceTable]) -> bytes | None:
    """The tables as bytes; None where something in them is no JSON."""
    try:
        return zlib.compress(orjson.dumps([vars(raw) for raw in raws]), 1)
    except (TypeError, ValueError):
        return None


def unpacked(body: bytes) -> list[SourceTable] | None:
    """The tables of an entry; None where it is damaged."""
    try:
        records = orjson.loads(zlib.decompress(body))
        return [
            SourceTable(**{k: v for k, v in record.items() if k in _FIELDS}) for record in records
        ]
    except (zlib.error, ValueError, TypeError):
        return None


def bounded(raw: SourceTable, options: ScanOptions) -> SourceTable:
    """The table with cells no longer than what can be seen of them, so that many tables with
    long cells are no more in memory than their lines. In place."""
    for row in raw.sample:
        for name, cell in row.items():
            if cell is not None and len(cell) > options.cell:
                row[name] = shorten(cell, options.cell)
    for column in raw.columns:
        for holder in (column, *column.get("fields", ())):
            examples = holder.get("examples")
            if examples:
                holder["examples"] = [shorten(text, options.cell) for text in examples]
    return raw


def bare(raw: SourceTable, table: Table) -> SourceTable:
    """A copy without the values of the columns that the table line hides."""
    hidden = {
        column["name"]
        for column in table["columns"]
        if column.get("hidden")
        or not table.get("sample")
        or column["name"] not in table["sample"][0]
    }
    if not hidden:
        return raw
    columns = []
    for column in raw.columns:
        if column["name"] in hidden:
            column = {**column}
            column.pop("examples", None)
            if "fields" in column:
                column["fields"] = [{**inner} for inner in column["fields"]]
                for inner in column["fields"]:
                    inner.pop("examples", None)
        columns.append(column)
    sample = [
        {name: cell for name, cell in row.items() if name not in hidden} for row in raw.sample
    ]
    return replace(raw, columns=columns, sample=sample)
