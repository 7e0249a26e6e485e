"""The stages of a run on one task, one after the other, in one process.

A stage is called as its command calls it: what it needs is looked for, its function is called,
its section is checked and stamped. Nothing is printed; what went wrong is part of the result.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import click
import orjson

from stages.core.errors import DataError, UsageError, WinnowError
from stages.core.jsontypes import JsonObject
from stages.core.lines.lines import Line, TaskInput, dump
from stages.core.lines.sections import Check, with_section
from stages.core.params import Options
from stages.core.run.config import RunConfig, StageChoice
from stages.core.runtime.command import stage_named
from stages.core.runtime.keywords import StageKeywords, as_written
from stages.core.runtime.runner import RunPlan, call, complete, unusable
from stages.core.runtime.stage import Stage

if TYPE_CHECKING:
    from stages.core.model.base import BaseClient
    from stages.core.model.options import ModelOptions

SOLVER_KEYS = ("memory_mode", "mysql_probe_budget", "max_steps")
"""Keys of the configuration that are options of the stage that has one of that name."""


@dataclass(frozen=True)
class ChainStage:
    """A stage with the values of all its options.

    Attributes:
        stage: The stage.
        own: Values of its own options.
        common: Values of those that stages share.
    """

    stage: Stage
    own: Options
    common: Options

    @property
    def asks(self) -> bool:
        """Whether a model is asked."""
        return self.stage.asks and self.common["model"] != "builtin"


def chain_of(config: RunConfig) -> list[ChainStage]:
    """The chain of a configuration.

    Raises:
        DataError: An option is unknown or has a value that cannot be, or a stage comes before
            what it needs; the place is ``file:line:column``.
    """
    made: list[ChainStage] = []
    for choice in config.stages:
        stage = stage_named(choice.name)
        before = {earlier.stage.name for earlier in made}
        lacking = [name for name in stage.needs if name not in before]
        if stage.needs_any and not before & {*stage.needs_any}:
            lacking.append(" or ".join(stage.needs_any))
        if lacking:
            what, hint = f"{choice.name} needs {lacking[0]}", "put it before this one"
            raise DataError(what, place=choice.place, hint=hint)
        made.append(_with_options(stage, choice, config))
    return made


def _with_options(stage: Stage, choice: StageChoice, config: RunConfig) -> ChainStage:
    """The stage with its options as click reads them, so that a file means what a flag does."""
    keywords = StageKeywords(stage)
    given = {**_of_model(config, keywords.known), **_of_solver(config, keywords.known)}
    words = [word for name, value in given.items() for word in keywords.words(name, value)]
    for key, value in choice.options.items():
        try:
            words += keywords.words(key, value)
        except DataError as error:
            error.place = _place(choice, key)
            raise
    try:
        return ChainStage(stage, *keywords.values(words))
    except click.UsageError as error:
        text = error.format_message().rstrip(".").replace("\n", " ")
        where = _blamed(choice, error, keywords)
        raise DataError(f"{choice.name}: {text}", place=where) from None


def _place(choice: StageChoice, key: str) -> str:
    return choice.places.get(key, choice.place)


def _blamed(choice: StageChoice, error: click.UsageError, keywords: StageKeywords) -> str:
    """The place of the option that click complains of."""
    param = getattr(error, "param", None)
    name = param.name if param is not None else None
    key = next((key for key in choice.options if keywords.named(key) == name), "")
    return _place(choice, key)


def _of_model(config: RunConfig, known: Mapping[str, click.Option]) -> dict[str, object]:
    """The values of ``model`` in the configuration, by the options that they are."""
    found = dict(config.model)
    options = cast("Mapping[str, object]", found.pop("options", {}))
    found["option"] = [f"{key}={as_written(value)}" for key, value in options.items()]
    found["model"] = found.pop("id", None)
    cache = found.pop("cache", None)
    if cache is False:
        found["no_cache"] = True
    elif isinstance(cache, str):
        found["cache"] = cache
    return {name: value for name, value in found.items() if name in known}


def _of_solver(config: RunConfig, known: Mapping[str, click.Option]) -> dict[str, object]:
    """Keys of the seed's configuration that are options of this stage."""
    return {
        name: config.record[name] for name in SOLVER_KEYS if name in config.record and name in known
    }


@dataclass(frozen=True)
class Step:
    """What one stage came to on one task.

    Attributes:
        stage: Its name.
        began: Seconds since 1970.
        seconds: How long it took.
        line: The task line after it, without its newline; None where it made none.
        error: What failed; empty where nothing did.
    """

    stage: str
    began: float
    seconds: float
    line: bytes | None
    error: str = ""


Clients = Callable[["ModelOptions"], "BaseClient"]
"""Makes, or finds again, the client for one way of reaching a model."""


@dataclass
class Chain:
    """The stages of a run, with the models that they ask and the data that they open.

    Args:
        stages: The chain.
        clients: Makes clients.
    """

    stages: Sequence[ChainStage]
    clients: Clients
    _plans: list[RunPlan] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Make one plan a stage; data is opened where a stage asks for it."""
        from stages.core.model.options import model_options
        from stages.core.runtime.sessions import DataSessions

        widest = max(self.stages, key=lambda each: "cache" in each.common).common
        self.data = DataSessions(widest)
        for each in self.stages:
            client = self.clients(model_options(each.common)) if each.asks else None
            shared = each.common if each.stage.asks else {}
            self._plans.append(
                RunPlan(
                    each.stage,
                    each.own,
                    client=client,
                    shared=shared,
                    database=self.data.of,
                    values=self.data.values_of,
                    dry=True,
                )
            )

    async def run(
        self, asked: TaskInput, begun: Callable[[str], None] = lambda stage: None
    ) -> list[Step]:
        """Every stage on the task, up to the first that fails.

        Args:
            asked: The task after scan.
            begun: Called with the name of each stage as it begins.
        """
        steps: list[Step] = []
        for plan in self._plans:
            begun(plan.stage.name)
            step = await _step(plan, asked)
            steps.append(step)
            if step.line is None:
                break
            asked = TaskInput(
                Line(step.line, orjson.loads(step.line), asked.line.place),
                asked.shelf,
                asked.tables,
                asked.hashes,
            )
        return steps

    def close(self) -> None:
        """Close what data is open, at once."""
        self.data.stop()
        self.data.close()


async def _step(plan: RunPlan, asked: TaskInput) -> Step:
    """One stage on one task; whatever it raises is told in the step."""
    began, start = time.time(), time.perf_counter()
    line, error = None, ""
    try:
        done = await _made(plan, asked)
        line = dump(with_section(asked.task, plan.stage.name, done)).rstrip(b"\n")
        error = str(done.get("error") or "")
    except WinnowError as problem:
        error = f"{problem.what}; {problem.hint}" if problem.hint else problem.what
    except OSError as problem:
        from stages.core.diagnostics import os_message

        error = os_message(problem)
    except Exception as problem:
        error = f"unexpected {type(problem).__name__}: {problem}"
    return Step(plan.stage.name, began, time.perf_counter() - start, line, error)


async def _made(plan: RunPlan, asked: TaskInput) -> JsonObject:
    """The section of one stage.

    Raises:
        WinnowError: The stage cannot run on this task, or failed.
    """
    earlier = asked.task.get("error")
    if earlier is not None:
        raise DataError(earlier["message"], hint=f"said {earlier['stage']}")
    if asked.shelf.damaged:
        raise DataError(f"its catalog has a line that cannot be read ({asked.shelf.damaged})")
    if why := unusable(plan, asked):
        raise DataError(why)
    Check(asked.task, asked.hashes, asked.task["task_id"]).needed(plan.stage, stale_ok=False)
    model = None
    if plan.client is not None:
        model = plan.client.for_task(asked.task["task_id"], plan.stage.name)
    found = call(plan, asked, model)
    made = await found if isinstance(found, Awaitable) else found
    return complete(plan, asked, made, model)


def asked_of(stages: Sequence[ChainStage]) -> JsonObject:
    """By stage, the model that it asks and where: the environment may have named them."""
    return {
        each.stage.name: {key: each.common[key] for key in ("model", "base_url", "temperature")}
        for each in stages
        if each.asks
    }


def check_model(stages: Sequence[ChainStage]) -> None:
    """Refuse, before anything runs, a model that cannot be reached as it is named.

    Raises:
        UsageError: The values contradict each other.
    """
    from stages.core.model.options import model_options

    for each in stages:
        if each.asks:
            try:
                model_options(each.common)
            except UsageError as error:
                error.place = error.place or each.stage.name
                raise
