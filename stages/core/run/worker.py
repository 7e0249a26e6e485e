"""Who works on tasks: the chain, the lines of catalogs, and the place where results go."""

from __future__ import annotations

import io
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import orjson

from stages.core.errors import DataError
from stages.core.lines.lines import CatalogLines, Line, LineReader, TaskInput
from stages.core.run.chain import Chain, Step
from stages.core.run.dataset import Assignment
from stages.core.run.outcome import Status, TaskOutcome, files_of, outcome_of, write_task
from stages.core.run.store import RunStore
from stages.core.trace.atif import trajectory

CATALOGS = 32
"""Catalogs whose lines are kept parsed; tasks of one mostly come together."""


@dataclass
class CatalogShelf:
    """The lines of catalogs, read from the store as tasks need them."""

    store: RunStore
    _known: OrderedDict[str, CatalogLines] = field(default_factory=OrderedDict)

    def of(self, path: str) -> CatalogLines:
        """The lines of one catalog.

        Raises:
            DataError: They are not there.
        """
        found = self._known.pop(path, None) or self._read(path)
        self._known[path] = found
        while len(self._known) > CATALOGS:
            self._known.popitem(last=False)
        return found

    def _read(self, path: str) -> CatalogLines:
        raw = self.store.read(path)
        place = f"{self.store.place}/{path}"
        if raw is None:
            raise DataError("the lines of a catalog are gone", place=place, hint="run it anew")
        items = LineReader().read([(io.BytesIO(raw), place)])
        return next((i for i in items if isinstance(i, CatalogLines)), CatalogLines(""))


@dataclass
class TaskWorker:
    """Works on one task after the other, or on several at once.

    Attributes:
        run_id: Of the run.
        store: Where the run is written.
        chain: What is done with each task.
    """

    run_id: str
    store: RunStore
    chain: Chain

    def __post_init__(self) -> None:
        """Start with no catalog read."""
        self._catalogs = CatalogShelf(self.store)

    async def work(self, one: Assignment, begun: Callable[[str], None]) -> TaskOutcome:
        """Do one task and write its folder.

        Args:
            one: The task.
            begun: Called with each stage as it begins.

        Returns:
            The record of the task, as its marker holds it.

        Raises:
            OSError: The folder cannot be written.
            DataError: The lines of its catalog are gone.
        """
        shelf = self._catalogs.of(one.catalog)
        hashes = {"tables": shelf.tables_hash, "catalog": shelf.catalog_hash}
        line = Line(one.line, orjson.loads(one.line), one.task_id)
        steps = await self.chain.run(TaskInput(line, shelf, shelf.records, hashes), begun)
        return finish_task(self.store, self.run_id, one, steps)


def finish_task(
    store: RunStore,
    run_id: str,
    one: Assignment,
    steps: Sequence[Step],
    lost: tuple[Status, str] | None = None,
) -> TaskOutcome:
    """Write what a task came to; see `TaskWorker.work`.

    Args:
        store: Where the run is written.
        run_id: Of the run.
        one: The task.
        steps: What its stages came to.
        lost: How it ended and why, where that was not for the stages to say.
    """
    record = outcome_of(one, steps, lost)
    lines = [step.line for step in steps if step.line is not None]
    task = orjson.loads(lines[-1] if lines else one.line)
    told = [(step.stage, step.error) for step in steps]
    trace = trajectory(run_id, task, told, record)
    return write_task(store, one, files_of(one, steps, trace), record)
