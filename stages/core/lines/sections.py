"""Sections of a task: reading one, writing one, and knowing whether it is still true.

A section's ``meta.of`` is a hash of what it was made from, and ``meta.from`` names what
went into it: keys of the task, other sections, ``tables``, ``catalog``. A section counts
with its content but not its ``meta``, so that a rerun with the same outcome makes nothing
stale.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar, cast, overload

import orjson

from stages.core.errors import LineError, MissingSection, StaleSection
from stages.core.lines import schema
from stages.core.lines.lines import digest
from stages.core.records import Task

if TYPE_CHECKING:
    from stages.core.records import (
        Collapse,
        Describe,
        Explore,
        Link,
        Plan,
        Prune,
        Refine,
        Summarize,
        Vote,
    )
    from stages.core.runtime.stage import Stage


@overload
def section(task: Task, name: Literal["link"]) -> Link | None: ...
@overload
def section(task: Task, name: Literal["plan"]) -> Plan | None: ...
@overload
def section(task: Task, name: Literal["prune"]) -> Prune | None: ...
@overload
def section(task: Task, name: Literal["summarize"]) -> Summarize | None: ...
@overload
def section(task: Task, name: Literal["explore"]) -> Explore | None: ...
@overload
def section(task: Task, name: Literal["refine"]) -> Refine | None: ...
@overload
def section(task: Task, name: Literal["vote"]) -> Vote | None: ...
@overload
def section(task: Task, name: Literal["collapse"]) -> Collapse | None: ...
@overload
def section(task: Task, name: Literal["describe"]) -> Describe | None: ...
@overload
def section(task: Task, name: str) -> Mapping[str, object] | None: ...
def section(task: Task, name: str) -> object:
    """The section that stage ``name`` added to the task, or None where it has not run."""
    found = cast("Mapping[str, object]", task).get(name)
    return found if isinstance(found, Mapping) else None


Part = TypeVar("Part", bound=Mapping[str, object])


def or_empty(found: Part | None) -> Part:
    """The section, or where it has not run one without keys, which is read by ``get``."""
    return found if found is not None else cast("Part", {})


def sound(task: Task, place: str) -> tuple[Task, list[LineError]]:
    """The task without what breaks its schema, whole sections and ``meta``, and what that is.

    For commands that look at all sections: one that is damaged is told and otherwise not there.

    Args:
        task: The task line's record.
        place: ``file:number`` of its line.
    """
    record, errors = {**task}, []
    where = f"{place}: {task['task_id']}"
    for name, value in task.items():
        try:
            if schema.is_section(name):
                _check(value, name, where)
            if isinstance(value, Mapping) and "meta" in value:
                schema.check(
                    value["meta"],
                    "meta",
                    place=where,
                    within=f"{name}.meta",
                    strict=False,
                    hint="it is left out of account",
                )
        except LineError as error:
            errors.append(error)
            del record[name]
            if isinstance(value, Mapping) and error.what.startswith(f"{name}.meta"):
                record[name] = {key: item for key, item in value.items() if key != "meta"}
    return cast("Task", record), errors


def _check(found: object, name: str, where: str) -> None:
    """Raise `LineError` unless a section can be read; keys and a ``meta`` of its own may be any."""
    hint = f"rerun `winnow {name}`, or mend it by {schema.seen(name)}"
    schema.check(found, name, place=where, within=name, hint=hint, strict=False)


def fingerprint(task: Task, names: Iterable[str], hashes: Mapping[str, str]) -> str:
    """The hash of what ``names`` stand for on this task.

    Args:
        task: The task line's record.
        names: Keys of the task, sections, ``tables``, ``catalog``; their order is kept.
        hashes: The hashes of ``tables`` and ``catalog``.
    """
    values = [[name, hashes[name] if name in hashes else _content(task, name)] for name in names]
    return digest(orjson.dumps(values, option=orjson.OPT_SORT_KEYS))


def _content(task: Task, name: str) -> object:
    """A task's value without the ``meta`` of a section; None and absent are the same."""
    value = cast("Mapping[str, object]", task).get(name)
    if isinstance(value, Mapping):
        return {key: item for key, item in value.items() if key != "meta"}
    return value or None


def sources(stage: Stage) -> list[str]:
    """What a section of this stage is made from, unless it says so itself in ``meta.from``."""
    names = [*stage.inputs]
    names += ["tables"] if stage.reads_tables else []
    names += ["catalog"] if stage.reads_catalog else []
    return [*names, *stage.needs, *stage.needs_any, *stage.uses]


@dataclass(frozen=True, eq=False, repr=False)
class Check:
    """Whether the sections that a stage needs stand on a task and are fresh.

    Args:
        task: The task line's record.
        hashes: The hashes of ``tables`` and ``catalog``.
        place: The task, for the errors.
        line: ``file:number`` of its line, for what has to be mended there by hand.
    """

    task: Task
    hashes: Mapping[str, str]
    place: str
    line: str = ""

    def needed(self, stage: Stage, *, stale_ok: bool) -> None:
        """Raise unless the stage can run on the task.

        Raises:
            MissingSection: A section it needs does not stand.
            StaleSection: One was made from something else, and ``stale_ok`` is False.
            LineError: One breaks its schema.
        """
        for name in stage.needs:
            if section(self.task, name) is None:
                raise self._missing([name])
        if stage.needs_any and not any(section(self.task, n) for n in stage.needs_any):
            raise self._missing(stage.needs_any)
        for name in (*stage.needs, *stage.needs_any, *stage.uses):
            self._readable(name)
            if not stale_ok:
                self._fresh(name, set())

    def stands(self, name: str) -> bool:
        """Whether a section, and all that it rests on, was made from what is there now."""
        try:
            self._fresh(name, set())
        except StaleSection:
            return False
        return True

    def _missing(self, names: Sequence[str]) -> MissingSection:
        what = f"no section {' or '.join(names)}"
        return MissingSection(what, place=self.place, hint=f"run `winnow {names[0]}` first")

    def _readable(self, name: str) -> None:
        found = section(self.task, name)
        if found is not None and schema.exists(name):
            _check(found, name, f"{self.line}: {self.place}" if self.line else self.place)

    def _fresh(self, name: str, seen: set[str]) -> None:
        """Raise at the earliest stale section that ``name`` rests on.

        A section without ``meta.of`` was written by hand or by another tool, and stands.
        """
        found = section(self.task, name)
        meta = found.get("meta") if found else None
        if not isinstance(meta, Mapping) or "of" not in meta or name in seen:
            return
        names = _named(meta)
        for earlier in names:
            if earlier not in self.hashes:
                self._fresh(earlier, seen | {name})
        if fingerprint(self.task, names, self.hashes) != meta["of"]:
            raise StaleSection(
                f"section {name} was made from other {self._changed(names)}",
                place=self.place,
                hint=f"rerun `winnow {name}`, or go on with --stale",
            )

    def _changed(self, names: Sequence[str]) -> str:
        """What may have changed, for the message: sections, tables or task inputs."""
        kinds = [n for n in names if n in self.hashes or section(self.task, n) is not None]
        return " or ".join(["inputs", *kinds])


def _named(meta: Mapping[str, object]) -> list[str]:
    """What ``meta.from`` names; an edit that made it no list of names makes the section stale."""
    names = meta.get("from")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def finalize(
    found: Mapping[str, object],
    stage: Stage,
    task: Task,
    hashes: Mapping[str, str],
    usage: Mapping[str, object],
) -> dict[str, object]:
    """The section with its ``meta`` complete, checked against its schema.

    Args:
        found: What the stage returned; its own ``meta`` may hold lang, prompt, from…
        stage: The stage.
        task: The task as it was when the stage read it.
        hashes: The hashes of ``tables`` and ``catalog``.
        usage: model, calls, tokens and cost, where a model was asked.
    """
    own = dict(cast("Mapping[str, object]", found.get("meta", {})))
    names = cast("list[str] | None", own.pop("from", None)) or sources(stage)
    meta = {"of": fingerprint(task, names, hashes), "from": list(names), **own, **usage}
    done = {**{key: value for key, value in found.items() if key != "meta"}, "meta": meta}
    hint = "a fault of winnow, or of a section that it was made from"
    schema.check(done, stage.name, place=task["task_id"], within=stage.name, hint=hint)
    return done


def with_section(task: Task, name: str, value: Mapping[str, object]) -> dict[str, object]:
    """The task with the section added or replaced, every other key as and where it was."""
    record = {key: item for key, item in task.items() if key != "error"}
    record[name] = value
    return record
