"""Running a stage over lines: order kept, errors kept apart, finished work never lost."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, cast

from stages.core import diagnostics
from stages.core.counts import Count
from stages.core.errors import DataError, MissingSection, UsageError, WinnowError
from stages.core.lines.lines import BadLine, CatalogLines, Item, Output, TaskInput, dump
from stages.core.lines.sections import Check, finalize, section, with_section
from stages.core.runtime.stage import Capability, Section, Stage, TaskFolder
from stages.core.text import visible

if TYPE_CHECKING:
    from stages.core.model import TaskModel
    from stages.core.model.base import BaseClient

SUMMARIES_SHOWN = 3
TASK, SOLVER = "task.json", "workdir/solver.py"


@dataclass(eq=False, repr=False)
class RunPlan:
    """What one run of a stage is to do.

    Attributes:
        stage: The stage.
        options: Values of the stage's own options.
        only: Task ids to work on; None for all.
        failed_only: Work only on tasks with an error of this stage.
        unnamed: Whether nobody said which model is asked, so that it is ``builtin``.
        stale_ok: Go on although a needed section was made from something else.
        client: The model, or None for ``builtin``.
        shared: Options that every stage with a model has, by name.
        database: Makes the live data of a catalog, where the stage wants it.
        values: Makes what looks words up in a catalog's values, where the stage wants it.
        dry: What the stage makes is thrown away, so nothing is said of it.
        told: How far the stage is, where a model is asked.
        tasks: Tasks that came; ``seen`` holds those of ``only``.
        ready: How many tasks had the sections that the stage needs.
        lacking: What the others lacked.
        counted: Sections made; ``counts`` is the sum of what the stage counts in them.
    """

    stage: Stage
    options: Mapping[str, object]
    only: frozenset[str] | None = None
    failed_only: bool = False
    unnamed: bool = False
    stale_ok: bool = False
    client: BaseClient | None = None
    shared: Mapping[str, object] = field(default_factory=dict)
    database: Callable[[TaskInput], object] | None = None
    values: Callable[[TaskInput], object] | None = None
    dry: bool = False
    told: str = ""
    tasks: int = 0
    seen: set[str] = field(default_factory=set)
    ready: int = 0
    lacking: list[MissingSection] = field(default_factory=list)
    counted: int = 0
    counts: tuple[int, ...] = ()


def is_selected(plan: RunPlan, asked: TaskInput) -> bool:
    """Whether the stage works on this task, or passes it through as it is."""
    task = asked.task
    plan.tasks += 1
    if plan.only is not None:
        if task["task_id"] not in plan.only:
            return False
        plan.seen.add(task["task_id"])
    error = task.get("error")
    if error is not None and error["stage"] != plan.stage.name:
        return False
    if plan.failed_only:
        own = section(task, plan.stage.name)
        return error is not None or bool(own and own.get("error"))
    return True


def unusable(plan: RunPlan, asked: TaskInput) -> str:
    """Why no stage can do anything for the task; empty where it can."""
    if "question" in plan.stage.inputs and not asked.task.get("question", "").strip():
        return "the task has no question"
    if plan.stage.reads_tables and not asked.tables:
        return "the task has no table to look at"
    return ""


def refuse(plan: RunPlan, asked: TaskInput, message: str) -> bytes:
    """The task line with the top-level error that every later stage leaves alone."""
    hint = "rescan it with `winnow scan`"
    diagnostics.error(DataError(message, place=_place(asked), hint=hint))
    record = {k: v for k, v in asked.task.items() if k != plan.stage.name}
    return dump({**record, "error": {"stage": plan.stage.name, "message": message}})


def prepare(plan: RunPlan, asked: TaskInput) -> bytes | None:
    """The line to write where the stage need not run; None where it has to.

    Raises:
        SectionError: A section that the stage needs is missing or stale.
    """
    if not is_selected(plan, asked):
        return asked.line.raw + b"\n"
    if asked.shelf.damaged:
        raise DataError(
            f"its catalog has a line that cannot be read ({asked.shelf.damaged})",
            hint="the task is passed on as it was; mend the line",
        )
    _not_by_another(plan, asked)
    why = unusable(plan, asked)
    if why:
        return refuse(plan, asked, why)
    check = Check(asked.task, asked.hashes, _place(asked), asked.line.place)
    try:
        check.needed(plan.stage, stale_ok=plan.stale_ok)
    except MissingSection as error:
        if plan.only is not None:
            raise
        plan.lacking.append(error)
        return asked.line.raw + b"\n"
    plan.ready += 1
    _say_conflicts(plan.stage, asked)
    return None


def _say_conflicts(stage: Stage, asked: TaskInput) -> None:
    """Warn of what a section that the stage reads says in two ways."""
    from stages.core.readers import conflicts

    for name in (*stage.needs, *stage.needs_any, *stage.uses):
        found = section(asked.task, name)
        for text in conflicts(name, found, asked.tables) if found else ():
            diagnostics.warn(_told(text, asked))


def _told(text: str, asked: TaskInput) -> WinnowError:
    """A note as a warning on the task; what stands before its semicolon is its kind."""
    what, _, hint = text.partition("; ")
    return WinnowError(what, place=_place(asked), hint=hint)


def _not_by_another(plan: RunPlan, asked: TaskInput) -> None:
    """A task that a model failed on is not made by the built-in judge because nobody named one.

    Raises:
        UsageError: It would be.
    """
    meta = (section(asked.task, plan.stage.name) or {}).get("meta")
    before = meta.get("model") if isinstance(meta, Mapping) else None
    if plan.failed_only and plan.unnamed and before not in (None, "builtin"):
        raise UsageError(
            f"its last run asked {visible(str(before), 80)}, and no --model is given",
            hint="name it again, or --model builtin; the task is passed on as it was",
        )


def call(plan: RunPlan, asked: TaskInput, model: TaskModel | None) -> Section | Awaitable[Section]:
    """What the stage's function returns: a section, or an awaitable of one."""
    wanted = {}
    for capability in plan.stage.wants:
        found = PROVIDERS[capability](plan, asked, model)
        if found is not None:
            wanted[capability.value] = found
    return plan.stage.run(asked.task, asked.tables, **wanted, **plan.options)


def _folder(plan: RunPlan, asked: TaskInput, model: TaskModel | None) -> TaskFolder | None:
    root = asked.shelf.catalog.get("root")
    if root is None or not os.path.isdir(root):
        return None
    return TaskFolder(*(os.path.isfile(f"{root}/{name}") for name in (TASK, SOLVER)))


Provider = Callable[[RunPlan, TaskInput, "TaskModel | None"], object]


def _shared(name: str) -> Provider:
    """The provider of an option that all stages with a model share; None leaves it to the stage."""
    return lambda plan, asked, model: plan.shared.get(name)


PROVIDERS: Mapping[Capability, Provider] = {
    Capability.CATALOG: lambda plan, asked, model: asked.shelf.catalog,
    Capability.MODEL: lambda plan, asked, model: model,
    Capability.DATABASE: lambda plan, asked, model: plan.database and plan.database(asked),
    Capability.VALUES: lambda plan, asked, model: plan.values and plan.values(asked),
    Capability.PROGRESS: lambda plan, asked, model: (
        None if plan.dry else partial(_progress, plan, asked, diagnostics.progress_from_threads())
    ),
    Capability.FOLDER: _folder,
    Capability.LANG: _shared("lang"),
    Capability.TIMEOUT: _shared("timeout"),
    Capability.TEMPERATURE: _shared("temperature"),
}
"""What each capability is, for one task of a run."""


def _progress(
    plan: RunPlan,
    asked: TaskInput,
    tell: Callable[[int, int | None, str], None],
    done: int,
    total: int | None,
    what: str,
) -> None:
    if plan.client is not None:  # `async_runner` shows it beside the requests
        plan.told = f"{done}{f'/{total}' if total else ''} {what}"
        return
    tell(done, total, f"{what} ({asked.task['task_id']})")


def complete(
    plan: RunPlan, asked: TaskInput, found: Mapping[str, object], model: TaskModel | None
) -> dict[str, object]:
    """The section that the stage made, with its ``meta``, checked against its schema."""
    usage = model.meta() if model is not None else {"model": "builtin"} if plan.stage.asks else {}
    return finalize(found, plan.stage, asked.task, asked.hashes, usage)


def finish(
    plan: RunPlan, asked: TaskInput, found: Mapping[str, object], model: TaskModel | None
) -> bytes:
    """The task line with its new section; what has to be said of it is said."""
    done = complete(plan, asked, found, model)
    if done.get("error"):
        # A provider that is away fails every task alike: one line says it for all.
        diagnostics.error(WinnowError(str(done["error"]), place=_place(asked)), shown=1)
    for text in cast("Sequence[str]", done.get("notes", ())):
        diagnostics.warn(_told(str(text), asked))
    _summarise(plan, asked, done)
    return dump(with_section(asked.task, plan.stage.name, done))


def _summarise(plan: RunPlan, asked: TaskInput, done: Mapping[str, object]) -> None:
    """Say what is left of the first tasks; `totals` says it of all."""
    if plan.stage.counts is None or plan.dry:
        return
    counts = plan.stage.counts(done)
    plan.counted += 1
    plan.counts = tuple(map(sum, zip(plan.counts or (0,) * len(counts), counts, strict=True)))
    show = diagnostics.note if plan.counted <= SUMMARIES_SHOWN else diagnostics.detail
    show(f"{asked.task['task_id']}: {plan.stage.summary.format(*map(Count, counts))}")


def totals(plan: RunPlan) -> None:
    """One line over all tasks, and one for every task id that was asked for and not met."""
    if plan.counted > SUMMARIES_SHOWN:
        summary = plan.stage.summary.format(*map(Count, plan.counts))
        diagnostics.note(f"{plan.counted} tasks: {summary}")
    _say_lacking(plan)
    for name in sorted((plan.only or frozenset()) - plan.seen):
        diagnostics.error(DataError(f"no task {name}", hint="`winnow show` lists them"))


def _say_lacking(plan: RunPlan) -> None:
    """Tasks that lack a needed section were left out of an earlier stage by its ``--tasks``; where
    all lack it, the earlier stage has not run."""
    if not plan.ready:
        for error in plan.lacking:
            diagnostics.error(error)
    elif plan.lacking:
        number = len(plan.lacking)
        them = (
            "1 task is passed on as it" if number == 1 else f"{number} tasks are passed on as they"
        )
        needed = " or ".join(plan.stage.needs or plan.stage.needs_any)
        diagnostics.note(f"{them} came: {needed} ran on other tasks only")


def report_failure(asked: TaskInput, error: Exception) -> bytes:
    """Report the error; the task goes on as it was, and so do the others."""
    if isinstance(error, OSError):
        raise error  # the output's own: a closed pipe, a full disk
    if not isinstance(error, WinnowError):
        diagnostics.traceback(error)
        what = f"unexpected {type(error).__name__}: {error}"
        error = WinnowError(what, hint="a fault of winnow; --verbose shows where")
    error.place = error.place or _place(asked)
    diagnostics.error(error)
    return asked.line.raw + b"\n"


def _place(asked: TaskInput) -> str:
    return asked.task["task_id"]


def pass_through(item: CatalogLines | BadLine, out: Output) -> None:
    """Write what no stage works on."""
    if isinstance(item, CatalogLines):
        for raw in item.lines():
            out.write(raw)
        return
    diagnostics.error(item.error)
    if item.raw is not None:
        out.write(item.raw + b"\n")


def run_now(plan: RunPlan, items: Iterator[Item], out: Output) -> None:
    """Work on the tasks one after the other, without an event loop."""
    for item in items:
        if isinstance(item, TaskInput):
            out.write(_one_now(plan, item))
            out.flush()
        else:
            pass_through(item, out)
    totals(plan)


def _one_now(plan: RunPlan, asked: TaskInput) -> bytes:
    try:
        ready = prepare(plan, asked)
        if ready is not None:
            return ready
        return finish(plan, asked, at_once(call(plan, asked, None)), None)
    except Exception as error:
        return report_failure(asked, error)


def at_once(found: Section | Awaitable[Section]) -> Section:
    """The section; a coroutine is driven to its end, which needs no loop where no model is
    asked."""
    if isinstance(found, Mapping):
        return found
    try:
        found.__await__().send(None)
    except StopIteration as stop:
        value: Section = stop.value
        return value
    raise RuntimeError("a stage waited for something although no model was given")
