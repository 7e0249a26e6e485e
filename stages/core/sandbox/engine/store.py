"""One DuckDB file per table, made on first use and kept in the cache folder.

A file holds one table, ``data``, so that a statement that could read the file would find
nothing but what it may see. The name of a file is made from what decides its content: the
source's path, size, time and inode, and how the table line says it is to be read.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from stages.core.catalog import partitions
from stages.core.errors import (
    SqlError,
    SqlFailed,
    SqlLimit,
    SqlRefused,
    SqlUnavailable,
    WinnowError,
    os_words,
)
from stages.core.paths import CACHES, VARIABLE, cache_dir
from stages.core.records import Table
from stages.core.sandbox.limits import Limits
from stages.core.sandbox.names import shown
from stages.core.text import visible

if TYPE_CHECKING:
    import duckdb

    Load = Callable[[duckdb.DuckDBPyConnection, Path, Table, str], None]

Progress = Callable[[str], None]
TARGET = "data"
LEAST_MEMORY = 512
"""MiB that loading may take where a statement gets less."""
_PLAIN_TYPE = re.compile(r"[A-Z0-9_ ]+(?:\(\d+(?:,\s*\d+)?\))?")
LAYOUT = 1
"""Changes when files of an earlier version can no longer be used."""


_FOLDER_HINT = f"make room or mend its permissions, or set {VARIABLE} to another folder"


def table_folder() -> Path:
    """Where files are kept."""
    return cache_dir() / CACHES["tables"]


class Store:
    """Makes and finds the files of the tables of one root.

    Args:
        root: Folder that the paths of the table lines are relative to; None where the
            catalog has no data.
        limits: For the size of a source and the time of loading.
        folder: Where the files are kept.
        load: ``load(con, root, table, target)``, which writes the whole table.
        progress: Told the name of a table before it is loaded.
        sample: Whether a table whose source is too large is there with the sample rows of its
            line, instead of being refused.

    Attributes:
        sampled: Canonical name to what to tell of tables that are there as a sample only.
    """

    def __init__(
        self,
        root: Path | None,
        limits: Limits,
        folder: Path,
        load: Load,
        progress: Progress | None = None,
        sample: bool = False,
    ) -> None:
        self.root = root
        self.limits = limits
        self.folder = folder
        self.load = load
        self.progress = progress
        self.sample = sample
        self.sampled: dict[str, str] = {}
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End the loading of a table, from any thread; none is loaded after it."""
        self._stopped.set()

    def go_on(self) -> None:
        """Do nothing, unless stopped.

        Raises:
            SqlFailed: It was stopped.
        """
        if self._stopped.is_set():
            raise SqlFailed("stopped", hint="ask again")

    def file(self, table: Table) -> Path:
        """The DuckDB file of the table, made now if it is not there.

        Raises:
            SqlRefused: The catalog has no data, or the source is too large to load.
            SqlLimit: Loading took too long.
            SqlUnavailable: The source is gone or cannot be read, or the folder cannot be used.
            SqlFailed: The store was stopped.
        """
        self.go_on()
        path = self._source(table)
        stem, version = self._key(path, table)
        if self._sample_only(path, table):
            version = f"{version}-sample-{_hash(table.get('sample', []))[:8]}"
        target = self.folder / f"{stem}{version}.duckdb"
        try:
            if not target.exists():
                self._make(table, target)
                self._forget(stem, version)
        except OSError as error:
            what = f"{shown(table['name'])} cannot be kept in the cache folder: {os_words(error)}"
            raise SqlUnavailable(what, hint=_FOLDER_HINT) from None
        return target

    def ready(self, table: Table) -> Path | None:
        """The file of the table where it is there already; nothing is loaded."""
        try:
            path = self._source(table)
            if partitions.size(path) > self.limits.materialise:
                return None
            stem, version = self._key(path, table)
        except (SqlError, OSError):
            return None
        target = self.folder / f"{stem}{version}.duckdb"
        return target if os.path.exists(target) else None

    def drop_broken(self, files: Iterable[Path]) -> bool:
        """Remove those of these files that cannot be opened, so that they are made anew.

        Returns:
            Whether there were any.
        """
        import duckdb

        broken = []
        for file in files:
            try:
                duckdb.connect(str(file), read_only=True).close()
            except duckdb.Error:
                broken.append(file)
        for file in broken:
            file.unlink(missing_ok=True)
        return bool(broken)

    def _source(self, table: Table) -> Path:
        """The source's path, when it is there and not too large."""
        source = table.get("source")
        if self.root is None or source is None or "path" not in source:
            raise SqlRefused(
                f"{shown(table['name'])} has no data: the catalog describes it only",
                hint="scan the data itself to query it",
            )
        path = self.root / source["path"]
        try:
            path.stat()
        except OSError as error:
            name = shown(table["name"])
            missing = isinstance(error, FileNotFoundError | NotADirectoryError)
            tried = visible(str(path))
            what = (
                f"is gone: no {tried}" if missing else f"cannot be read: {tried}: {os_words(error)}"
            )
            raise SqlUnavailable(
                f"the source of {name} {what}",
                hint="put it back, or scan again; `winnow query --root` reads a folder that moved",
            ) from None
        return path

    def _sample_only(self, path: Path, table: Table) -> bool:
        """Whether the source is too large; noted where a sample is wanted, else refused."""
        size, name = partitions.size(path), shown(table["name"])
        if size <= self.limits.materialise:
            return False
        limit = _size(self.limits.materialise)
        told = f"{name} is too large to load ({_size(size)}, the limit is {limit})"
        if not self.sample:
            raise SqlRefused(told, hint="raise it with --materialise")
        count = len(table.get("sample", []))
        self.sampled[table["name"]] = f"{told}: these are {count} sample rows only"
        return True

    def _key(self, path: Path, table: Table) -> tuple[str, str]:
        """What names the file: the table it is of, and the state it is of and how it is read."""
        import duckdb

        source = table.get("source", {"kind": ""})
        place = [str(path.resolve()), source.get("table")]
        columns = [[column["name"], column["type"]] for column in table["columns"]]
        state = [
            LAYOUT,
            duckdb.__version__,
            *partitions.state(path),
        ]
        reading = [source["kind"], source.get("reader"), columns]
        return f"{_hash(place)[:20]}-", f"{_hash(state)[:16]}-{_hash(reading)[:16]}"

    def _make(self, table: Table, target: Path) -> None:
        """Load the table into a file beside the target and move it there when it is whole."""
        if self.progress is not None:
            self.progress(table["name"])
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished = target.with_suffix(f".{os.getpid()}-{threading.get_ident()}.part")
        try:
            self._fill(table, unfinished)
            os.replace(unfinished, target)
        finally:
            for left in (unfinished, Path(f"{unfinished}.wal")):
                left.unlink(missing_ok=True)

    def _fill(self, table: Table, path: Path) -> None:
        """Run the loader on a connection of its own, within its time."""
        import duckdb

        from stages.core.catalog.duck.interrupt import by_hand, watch_time

        late = threading.Event()
        config = loading_config(self.limits.memory) | {"temp_directory": f"{path}.spill"}
        try:
            with duckdb.connect(str(path), config=config) as con:
                with watch_time(con, self.limits.load_seconds, late, self._stopped):
                    self._rows(con, table)
                con.execute("CHECKPOINT")
        except Exception as error:
            if by_hand(error):
                raise KeyboardInterrupt from None
            raise self._failure(table, error, late.is_set()) from error
        finally:
            with suppress(OSError):
                Path(f"{path}.spill").rmdir()

    def _rows(self, con: duckdb.DuckDBPyConnection, table: Table) -> None:
        """All rows of the table, or the sample of its line."""
        if table["name"] in self.sampled:
            _write_sample(con, table)
        else:
            assert self.root is not None
            self.load(con, self.root, table, TARGET)

    def _failure(self, table: Table, error: Exception, late: bool) -> SqlError:
        name = shown(table["name"])
        if self._stopped.is_set():
            return SqlFailed("stopped", hint="ask again")
        if late:
            return SqlLimit(
                f"loading {name} was stopped after {self.limits.load_seconds:g} s",
                hint="raise it with --load-timeout",
            )
        if isinstance(error, SqlError):
            return error
        what = error.what if isinstance(error, WinnowError) else str(error).partition("\n")[0]
        hint = _FOLDER_HINT if str(self.folder) in what else "mend its file, or use another table"
        return SqlUnavailable(f"{name} could not be loaded: {what[:200]}", hint=hint)

    def _forget(self, stem: str, version: str) -> None:
        """Remove files of earlier states of the same table; who has one open keeps it.

        Those of the same state stay, however they are read: someone else may be about to.
        """
        state = version.partition("-")[0]
        for old in self.folder.glob(f"{stem}*.duckdb"):
            if not old.name.startswith(f"{stem}{state}-"):
                old.unlink(missing_ok=True)


def loading_config(memory: int) -> dict[str, str | bool | int | float | list[str]]:
    """How DuckDB is set up where a source is loaded.

    Args:
        memory: MiB that it may take, `LEAST_MEMORY` at least.
    """
    return {
        "memory_limit": f"{max(memory, LEAST_MEMORY)}MiB",
        "python_enable_replacements": False,
        "autoinstall_known_extensions": False,
    }


def _write_sample(con: duckdb.DuckDBPyConnection, table: Table) -> None:
    """The sample rows of a table line, cast to the types of its columns where they fit."""
    names = [column["name"] for column in table["columns"]]
    types = [
        column["type"] if _PLAIN_TYPE.fullmatch(column["type"]) else "VARCHAR"
        for column in table["columns"]
    ]
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    head = ", ".join(f"{name} {type_}" for name, type_ in zip(quoted, types, strict=True))
    con.execute(f"CREATE TABLE {TARGET} ({head})")
    cells = ", ".join(f"TRY_CAST(? AS {type_})" for type_ in types)
    for row in table.get("sample", []):
        con.execute(f"INSERT INTO {TARGET} VALUES ({cells})", [row.get(name) for name in names])


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count} bytes"


def _hash(parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
