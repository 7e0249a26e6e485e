"""What a task of a run comes to: its files, and one record that says how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NotRequired, TypedDict, cast

import orjson

from stages.core.jsontypes import JsonMapping
from stages.core.lines.lines import digest
from stages.core.model.usage import total
from stages.core.run.chain import Step
from stages.core.run.dataset import Assignment
from stages.core.run.store import MARKER, RunStore

Status = Literal["ok", "partial", "failed", "timeout"]
"""``partial``: a model failed somewhere, and the chain went on with the safe answer."""


class TaskUsage(TypedDict):
    """What asking came to on one task; ``usd`` is None where a price is not known."""

    calls: int
    tokens_in: int
    tokens_out: int
    usd: float | None


class StageTime(TypedDict):
    """When a stage began, in seconds since 1970, and how many seconds it took."""

    stage: str
    began: float
    seconds: float


class TaskOutcome(TypedDict):
    """The record of a task that is finished, as its marker holds it.

    ``of`` is the hash of the task, ``files`` that of each file; ``stage`` and ``error`` stand
    where it did not go well.
    """

    task_id: str
    status: Status
    of: str
    usage: TaskUsage
    stage: NotRequired[str]
    error: NotRequired[str]
    files: NotRequired[dict[str, str]]


TRACE, TIMING, SCAN = "trace.json", "timing.json", "scan.jsonl"


def dumps(value: object) -> bytes:
    """JSON that a person reads too."""
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def outcome_of(
    one: Assignment, steps: Sequence[Step], lost: tuple[Status, str] | None = None
) -> TaskOutcome:
    """The record of a task: status, the stage that failed and why, what was spent.

    It holds no time and nothing of the machine, so that the same task gives the same record.

    Args:
        one: The task.
        steps: What its stages came to.
        lost: How it ended and why, where that was not for the stages to say.
    """
    stopped = next((step for step in steps if step.line is None), None)
    wrong = stopped or next((step for step in steps if step.error), None)
    status: Status = "failed" if stopped else "partial" if wrong else "ok"
    found: TaskOutcome = {
        "task_id": one.task_id,
        "status": lost[0] if lost else status,
        "of": one.digest,
        "usage": usage(steps),
    }
    if lost is not None:
        return {**found, "stage": "", "error": lost[1]}
    return {**found, "stage": wrong.stage, "error": wrong.error} if wrong else found


def usage(steps: Sequence[Step]) -> TaskUsage:
    """Calls, tokens and cost of all stages together; cost is None where a price is unknown."""
    metas = [meta for step in steps if (meta := meta_of(step)).get("calls")]
    costs = [meta.get("usd") for meta in metas]
    return {
        "calls": sum(meta["calls"] for meta in metas),
        "tokens_in": sum(meta["tokens_in"] for meta in metas),
        "tokens_out": sum(meta["tokens_out"] for meta in metas),
        "usd": total(costs),
    }


def meta_of(step: Step) -> JsonMapping:
    """The ``meta`` of the section that a step made; empty where it made none."""
    section = orjson.loads(step.line).get(step.stage) if step.line is not None else None
    meta = section.get("meta") if isinstance(section, dict) else None
    return meta if isinstance(meta, dict) else {}


def files_of(
    one: Assignment, steps: Sequence[Step], trace: Mapping[str, object]
) -> dict[str, bytes]:
    """The files of a task but its marker, by path below its folder."""
    files = {SCAN: one.line + b"\n"}
    for step in steps:
        if step.line is not None:
            files[f"{step.stage}.jsonl"] = step.line + b"\n"
    files[TRACE] = dumps(trace)
    files[TIMING] = dumps(timing(steps))
    return files


def timing(steps: Sequence[Step]) -> list[StageTime]:
    """When each stage began and how long it took: all that differs from run to run."""
    return [
        {"stage": step.stage, "began": round(step.began, 3), "seconds": round(step.seconds, 4)}
        for step in steps
    ]


def write_task(
    store: RunStore, one: Assignment, files: Mapping[str, bytes], record: TaskOutcome
) -> TaskOutcome:
    """Write the files of a task, and last its marker.

    Returns:
        The record as the marker holds it, with the hash of each file.

    Raises:
        OSError: They cannot be written.
    """
    hashes = {name: digest(raw) for name, raw in sorted(files.items()) if name != TIMING}
    marked: TaskOutcome = {**record, "files": hashes}
    store.write_all({f"{one.folder}/{name}": raw for name, raw in files.items()})
    store.write(f"{one.folder}/{MARKER}", dumps(marked))
    return marked


def read_outcome(store: RunStore, one: Assignment) -> TaskOutcome | None:
    """The record of a task that is finished; None where its marker does not stand or is of
    another task."""
    raw = store.read(f"{one.folder}/{MARKER}")
    try:
        found = orjson.loads(raw) if raw is not None else None
    except orjson.JSONDecodeError:
        return None
    same = isinstance(found, dict) and found.get("of") == one.digest
    return cast("TaskOutcome", found) if same else None
