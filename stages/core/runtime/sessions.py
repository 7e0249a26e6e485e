"""The data of the catalogs of one run, opened when a stage asks for it and closed at the end."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from stages.core import diagnostics
from stages.core.errors import DataError
from stages.core.lines.lines import TaskInput
from stages.core.params import Options

if TYPE_CHECKING:
    from stages.core.judge.judgment import ValueSearch
    from stages.core.records import Table
    from stages.core.sandbox.session import Data, SessionOptions
    from stages.core.values.lookup import CatalogValues
    from stages.core.values.server import ServerValues

AWAKE = 4
"""Catalogs whose child processes run and whose indexes are open; those of others are ended and
closed until they are asked again."""


class DataSessions:
    """One `Data` for each catalog of a run.

    Args:
        common: Values of the options that stages share: ``cache``, ``no_cache``, ``offline``,
            ``dry_run``, ``dump_prompt``, ``concurrency``, ``privileged``, ``values`` and
            ``values_seconds`` are looked at.
    """

    def __init__(self, common: Options) -> None:
        self._common = common
        self._known: dict[int, Data] = {}
        self._ways: SessionOptions | None = None
        self._values: dict[int, CatalogValues | ServerValues] = {}
        self._tables: dict[int, Sequence[Table]] = {}

    def of(self, asked: TaskInput) -> Data | None:
        """The data of the task's catalog; None where there is none."""
        from stages.core.sandbox.session import Data

        key = self._key(asked)
        found = self._known.pop(key, None) or Data(asked.shelf.catalog, asked.tables, self.ways)
        self._known[key] = found  # the latest stands last
        for earlier in list(self._known.values())[:-AWAKE]:
            earlier.rest()
        return found if any(map(found.has_data, asked.tables)) else None

    def values_of(self, asked: TaskInput) -> ValueSearch | None:
        """What looks words up in the catalog's values; None where no rows are at hand, on a
        server that nobody asked to be looked through, and in a dry run."""
        wanted = self._common.get("values")
        dry = self._common.get("dry_run") or self._common.get("dump_prompt")
        if wanted is False or dry:
            return None
        kinds = {kind for table in asked.tables for kind in table.get("source", {})}
        if "url" in kinds:
            return self._of_server(asked) if wanted else None
        root = asked.shelf.catalog.get("root")
        if wanted and (root is None or not kinds & {"path"}):
            raise DataError("--values needs data", hint="scan a folder with data, or leave it out")
        if root is None or not (wanted or os.path.isdir(root)):
            return None
        key = self._key(asked)
        found = self._values.pop(key, None)
        if found is None:
            from stages.core.values.lookup import CatalogValues

            seconds = float(self._common["values_seconds"])
            found = CatalogValues(
                asked.shelf.catalog, asked.tables, seconds=seconds, asked_for=bool(wanted)
            )
        self._values[key] = found  # the latest stands last
        for earlier in list(self._values.values())[:-AWAKE]:
            earlier.close()
        return found

    def _key(self, asked: TaskInput) -> int:
        """What the task's catalog is known by: its tables, which are held, so that no others can
        come to have their identity."""
        return id(self._tables.setdefault(id(asked.tables), asked.tables))

    def _of_server(self, asked: TaskInput) -> ValueSearch | None:
        from stages.core.values.server import ServerValues

        data, key = self.of(asked), self._key(asked)
        if data is not None and key not in self._values:
            self._values[key] = ServerValues(asked.tables, data)
        return self._values.get(key)

    @property
    def ways(self) -> SessionOptions:
        """How data is read in this run."""
        if self._ways is None:
            self._ways = _ways(self._common)
        return self._ways

    def stop(self) -> None:
        """End all statements that run now, so that nothing waits for them."""
        for data in self._known.values():
            data.stop()

    def close(self) -> None:
        """Close everything."""
        for data in self._known.values():
            data.close()
        for values in self._values.values():
            for note in values.notes:
                diagnostics.warn(note)
            values.close()
        if self._ways is not None and self._ways.kept is not None:
            self._ways.kept.close()


@contextmanager
def live(common: Options) -> Iterator[DataSessions]:
    """The data of one run, closed at its end; where that comes early, nothing is waited for."""
    opened = DataSessions(common)
    try:
        yield opened
    except BaseException:
        opened.stop()
        raise
    finally:
        opened.close()


def _ways(common: Options) -> SessionOptions:
    from stages.core.sandbox.engine.pool import size_for
    from stages.core.sandbox.limits import Limits
    from stages.core.sandbox.result_cache import ResultCache
    from stages.core.sandbox.session import SessionOptions

    dry = bool(common.get("dry_run") or common.get("dump_prompt"))
    folder, told = _folder(common), diagnostics.progress_from_threads()
    return SessionOptions(
        size=size_for(common.get("concurrency") or 1),
        kept=None if folder is None else ResultCache(folder),
        offline=bool(common.get("offline")),
        dry=dry,
        limits=Limits(privileged=bool(common.get("privileged"))),
        progress=lambda name: told(0, None, f"loading {name}"),
    )


def _folder(common: Options) -> Path | None:
    """Where results are kept; None where they are not."""
    from stages.core.paths import result_cache

    return None if common.get("no_cache") else result_cache(common.get("cache"))
