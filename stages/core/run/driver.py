"""A run from its beginning to its end: what is to be done, who does it, what came of it.

``<run_id>/`` holds ``run_metadata.json``, ``summary.json``, ``evaluation_report.json``,
``catalogs/`` and a folder for each task (seed 002). A run may end at any moment and be taken
up again: what is finished is never done again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from stages.core import diagnostics
from stages.core.errors import DataError, Unreachable, UsageError
from stages.core.jsontypes import JsonMapping, JsonObject
from stages.core.model.usage import total
from stages.core.run.chain import Chain, ChainStage, asked_of
from stages.core.run.child import Child, ChildEnded, setup_of
from stages.core.run.config import RunConfig, differences
from stages.core.run.dataset import Assignment, Dataset
from stages.core.run.model_link import ClientPool
from stages.core.run.outcome import Status, TaskOutcome, dumps, read_outcome
from stages.core.run.progress import RunProgress, cost
from stages.core.run.provenance import provenance, redacted
from stages.core.run.store import MARKER, RunStore
from stages.core.run.worker import TaskWorker, finish_task

METADATA, SUMMARY, EVALUATION = "run_metadata.json", "summary.json", "evaluation_report.json"
WORKFLOW = "direct"
LISTED_CHANGES = 5
SHOW_EVERY = 0.2
"""Seconds between two looks at how far a run is."""


@dataclass
class Run:
    """One run over a dataset.

    Args:
        config: The configuration.
        chain: Its stages.
        dataset: Its tasks.
        store: Its folder.
        run_id: Its name.
        failed_too: Whether failed tasks of an earlier time are done again.
    """

    config: RunConfig
    chain: Sequence[ChainStage]
    dataset: Dataset
    store: RunStore
    run_id: str
    failed_too: bool = False
    finished: list[TaskOutcome] = field(default_factory=list)
    progress: RunProgress = field(default_factory=lambda: RunProgress(0))

    def open(self, *, resume: bool) -> list[Assignment]:
        """Write what the run is, and find what is left to do.

        Raises:
            UsageError: There is such a run already and it is not to be taken up again, or
                there is none that could be.
            DataError: It is of another workflow, or not of this configuration and dataset.
        """
        made = provenance(self.config, self.dataset)
        now = {
            "identity": redacted({**self.config.identity(), "asked": asked_of(self.chain)}),
            "manifest": self.dataset.manifest(),
            "provenance": made,
        }
        before = read_metadata(self.store)
        if before is not None:
            if not resume:
                hint = f"go on with --resume {self.run_id}, or give another --run-id"
                raise UsageError("there is such a run already", place=self.store.place, hint=hint)
            check_resumable(before, now, self.store.place)
        elif resume:
            raise UsageError("there is no such run", place=self.store.place, hint="check the id")
        for path, raw in self.dataset.catalogs.items():
            if self.store.read(path) != raw:
                self.store.write(path, raw)
        started = before["started"] if before else stamp()
        self._metadata = {
            "workflow": WORKFLOW,
            "run_id": self.run_id,
            "kind": self.config.kind,
            "started": started,
            "config": redacted(self.config.record),
            **now,
        }
        self._say("running")
        return [one for one in self.dataset.assignments if not self._is_finished(one)]

    def _is_finished(self, one: Assignment) -> bool:
        record = read_outcome(self.store, one)
        if record is None or (self.failed_too and record["status"] != "ok"):
            return False
        self.finished.append(record)
        return True

    def _say(self, state: str) -> None:
        """Write the metadata, with how the run stands."""
        self.store.write(METADATA, dumps({**self._metadata, "state": state, "at": stamp()}))

    def close(self, state: str, evaluation: Mapping[str, object]) -> JsonObject:
        """Write what came of the run; the summary.

        Args:
            state: ``finished`` or ``interrupted``.
            evaluation: The scores against gold.
        """
        records = sorted([*self.finished, *self.progress.records], key=lambda r: r["task_id"])
        summary = summarize_run(records, len(self.dataset.assignments))
        self.store.write(SUMMARY, dumps({"run_id": self.run_id, "state": state, **summary}))
        self.store.write(EVALUATION, dumps(evaluation))
        self._say(state)
        return summary


def stamp() -> str:
    """The time now, as UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def read_metadata(store: RunStore) -> JsonObject | None:
    """What a run says of itself; None where there is none.

    Raises:
        DataError: It cannot be read.
    """
    raw = store.read(METADATA)
    if raw is None:
        return None
    try:
        found: JsonObject = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        place = f"{store.place}/{METADATA}"
        raise DataError(f"not JSON: {error.msg}", place=place) from None
    return found


def check_resumable(before: JsonMapping, now: JsonMapping, place: str) -> None:
    """Refuse to go on with a run that is not of this configuration, dataset and workflow.

    What changed of winnow itself is a warning: the results that stand stay as they are.

    Raises:
        DataError: It is another one; the message says what changed.
    """
    workflow = before.get("workflow")
    if workflow != WORKFLOW:
        hint = "it can be read, and only a run of this workflow taken up again"
        raise DataError(f"its workflow is {workflow!r}, not {WORKFLOW!r}", place=place, hint=hint)
    changed = differences(before.get("identity"), now["identity"])
    changed += _tasks_changed(before.get("manifest", {}), now["manifest"])
    earlier, later = before.get("provenance", {}), now["provenance"]
    files = [each.get("assets", {}).get("files", {}) for each in (earlier, later)]
    changed += [f"file {line.partition(':')[0]}" for line in differences(*files)]
    if changed:
        more = f" and {len(changed) - LISTED_CHANGES} more" if len(changed) > LISTED_CHANGES else ""
        what = f"changed since the run began: {', '.join(changed[:LISTED_CHANGES])}{more}"
        raise DataError(what, place=place, hint="change it back, or begin another run")
    for part in ("git", "runtime", "assets"):
        if differences(earlier.get(part), later[part]):
            diagnostics.warn(f"the run began with another {part}; see provenance in {METADATA}")


def _tasks_changed(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for what, ids in (
        ("added", now.keys() - before.keys()),
        ("gone", before.keys() - now.keys()),
        ("changed", {key for key in now.keys() & before.keys() if now[key] != before[key]}),
    ):
        if ids:
            yield f"{len(ids)} of the tasks {what} ({min(ids)})"


def summarize_run(records: Sequence[TaskOutcome], tasks: int) -> JsonObject:
    """The numbers of a run: tasks by status, what they cost, and which failed."""
    statuses = dict.fromkeys(("ok", "partial", "failed", "timeout"), 0)
    for record in records:
        statuses[record["status"]] += 1
    usages = [record["usage"] for record in records]
    costs = [usage["usd"] for usage in usages if usage["calls"]]
    wrong = [record for record in records if record["status"] != "ok"]
    return {
        "tasks": tasks,
        "finished": len(records),
        "statuses": statuses,
        "usage": {
            "calls": sum(usage["calls"] for usage in usages),
            "tokens_in": sum(usage["tokens_in"] for usage in usages),
            "tokens_out": sum(usage["tokens_out"] for usage in usages),
            "usd": total(costs),
        },
        "failures": [
            {key: record.get(key, "") for key in ("task_id", "status", "stage", "error")}
            for record in wrong
        ],
    }


# Who works: this process, or children of it.


async def work_here(run: Run, todo: Sequence[Assignment], pool: ClientPool) -> None:
    """Work on the tasks in this process, ``max_workers`` at once."""
    chain = Chain(run.chain, pool.of)
    worker = TaskWorker(run.run_id, run.store, chain)

    async def one(assignment: Assignment) -> TaskOutcome:
        begun: Callable[[str], None] = lambda stage: run.progress.begun(assignment.task_id, stage)  # noqa: E731
        return await worker.work(assignment, begun)

    try:
        await _side_by_side(run, todo, one)
    finally:
        chain.close()


async def work_in_children(run: Run, todo: Sequence[Assignment], pool: ClientPool) -> None:
    """Work on the tasks in ``max_workers`` child processes, each task within its time."""
    from stages.core.model.options import model_options

    for each in run.chain:
        if each.asks:
            pool.of(model_options(each.common))
    setup = setup_of(run.config, run.run_id, run.store.place)
    width = min(int(run.config.record["max_workers"]), len(todo))
    idle = [Child(setup, pool) for _ in range(width)]
    everyone = list(idle)

    async def one(assignment: Assignment) -> TaskOutcome:
        child = idle.pop()
        try:
            return await _within_time(run, child, assignment)
        finally:
            idle.append(child)

    try:
        await _side_by_side(run, todo, one)
    finally:
        await asyncio.gather(*(child.end() for child in everyone))


async def _within_time(run: Run, child: Child, one: Assignment) -> TaskOutcome:
    """One task in a child; where it takes too long, or takes the child with it, it failed."""
    seconds = float(run.config.record["task_timeout"])
    try:
        return await child.work(one, seconds, lambda stage: run.progress.begun(one.task_id, stage))
    except TimeoutError:
        return _lost(run, one, "timeout", f"longer than {seconds:g} s, in {child.stage or 'start'}")
    except ChildEnded as error:
        return _lost(run, one, "failed", str(error))


def _lost(run: Run, one: Assignment, status: Status, why: str) -> TaskOutcome:
    return finish_task(run.store, run.run_id, one, (), (status, why))


async def _side_by_side(
    run: Run, todo: Sequence[Assignment], one: Callable[[Assignment], Awaitable[TaskOutcome]]
) -> None:
    """Work on ``max_workers`` tasks at once, in their order, and tell of each as it ends."""
    waiting = iter(todo)

    async def go() -> None:
        for assignment in waiting:
            run.progress.finished(await one(assignment))
            await asyncio.sleep(0)

    ticking = asyncio.create_task(_tick(run.progress))
    going = [asyncio.create_task(go()) for _ in range(int(run.config.record["max_workers"]))]
    try:
        await asyncio.gather(*going)
    finally:
        for task in (ticking, *going):
            task.cancel()
        await asyncio.gather(ticking, *going, return_exceptions=True)
        diagnostics.clear_progress()


async def _tick(progress: RunProgress) -> None:
    while True:
        progress.show()
        await asyncio.sleep(SHOW_EVERY)


Workers = Callable[[Run, Sequence[Assignment], ClientPool], Awaitable[None]]


def execute(run: Run, todo: Sequence[Assignment], workers: Workers) -> None:
    """Do what is left of a run.

    Raises:
        KeyboardInterrupt: It was interrupted; what was finished is written.
        WinnowError, OSError: A result cannot be written.
    """
    run.progress = RunProgress(len(run.dataset.assignments), len(run.finished))
    for one in todo:  # what was begun and not finished, or failed and is done again
        if run.failed_too:
            run.store.remove(f"{one.folder}/{MARKER}")
    asyncio.run(_execute(run, todo, workers))


async def _execute(run: Run, todo: Sequence[Assignment], workers: Workers) -> None:
    pool = ClientPool()
    try:
        await workers(run, todo, pool)
    finally:
        for client in pool.clients:
            diagnostics.note(client.report())
        await pool.close()
    if pool.clients and all(getattr(client, "unreached", False) for client in pool.clients):
        names = ", ".join(sorted({client.name for client in pool.clients}))
        hint = "check the model id, the key and base_url; then --resume --retry-failed"
        diagnostics.error(Unreachable(f"no call to {names} came through", hint=hint))


def told(summary: JsonMapping, records: list[TaskOutcome]) -> str:
    """The last line of a run."""
    parts = [f"{n} {status}" for status, n in summary["statuses"].items() if n]
    spent = cost(records)
    return f"{summary['finished']} of {summary['tasks']} tasks: {', '.join(parts) or 'none'}" + (
        f", {spent}" if spent else ""
    )


def newest(store: RunStore, name: str) -> str:
    """The id of the latest run of a name.

    Raises:
        UsageError: There is none.
    """
    found = [run_id for run_id in store.folders() if run_id.startswith(f"{name}-")]
    if not found:
        raise UsageError(f"no run of {name}", place=store.place, hint="begin one without --resume")
    return found[-1]


def new_id(name: str) -> str:
    """The id of a run that begins now."""
    return f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
