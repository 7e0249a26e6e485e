"""Refine the candidates into the focused set: one connected schema for the question.

A model sees all tables that `prune` kept, each marked as `explore` judged it, and puts the
schema together; in a second round it sees what is chosen and what is left, and only adds. In
each round it may verify by queries over several tables. After each round keys that join the
choice are added; where chosen tables are not connected, the shortest join path through the
whole catalog is offered, and taken unless it is declined with a reason. Where a call fails,
all that it was about stays. --apex FILE writes the results of all tasks in one JSON file.

With --model builtin (the default) the tables marked relevant stand, narrowed by the built-in
judge where the marks are its own, and are joined up.

  winnow scan DIR | winnow plan | winnow prune | winnow summarize | winnow explore | winnow refine
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import click

from stages.core.excerpts import KNOWLEDGE_CHARS, VIDEO_CHARS, Excerpts
from stages.core.excerpts import OPTIONS as EXCERPTS
from stages.core.lang import Lang, choose
from stages.core.lines.sections import section
from stages.core.linking.refine.apex import apex
from stages.core.linking.refine.batches import MOST_TOKENS
from stages.core.linking.refine.joining import LIMIT
from stages.core.records import Meta, Refine, RefinePath, RefineRound, Table, Task
from stages.core.runtime.stage import JUDGES, TASK_INPUTS, Capability, Report, Stage

if TYPE_CHECKING:
    from stages.core.judge.judgment import ValueSearch
    from stages.core.linking.join_graph import Relations
    from stages.core.linking.refine.candidates import Candidate
    from stages.core.linking.refine.joining import Guard
    from stages.core.linking.refine.refiner import Progress
    from stages.core.model import Model
    from stages.core.sandbox.session import Data

CALL_SECONDS = 120.0

UNKNOWN = 100
"""Names that mean nothing that the section lists."""


async def refine(
    task: Task,
    tables: Sequence[Table],
    *,
    model: Model | None = None,
    database: Data | None = None,
    lang: str = "auto",
    timeout: float | None = CALL_SECONDS,
    max_tokens: int = MOST_TOKENS,
    guard: int = LIMIT,
    knowledge_chars: int = KNOWLEDGE_CHARS,
    video_chars: int = VIDEO_CHARS,
    values: ValueSearch | None = None,
) -> Refine:
    """The refined schema of one task.

    Args:
        task: Its ``prune``, ``summarize`` and ``explore`` sections say what there is to
            choose from; ``plan``, ``prepare`` and ``link`` are used where they stand.
        tables: All tables of the catalog; their order changes nothing.
        model: Whom to ask; None takes the marks of ``explore``, narrowed where they are the
            built-in judge's.
        database: What queries run on; None where the catalog has no data.
        lang: Language of the instructions: ``zh``, ``en`` or ``auto``.
        timeout: Seconds for one call.
        max_tokens: Tokens of the prompt that opens a round.
        guard: Columns of one kind from which on the key guard adds none.
        knowledge_chars, video_chars: Characters shown of these to a model; 0 shows all.
        values: Looks words up in the data for the built-in judge.
    """
    from stages.core.linking.join_graph import relations_of
    from stages.core.linking.refine.candidates import candidates
    from stages.core.linking.refine.joining import Guard

    lang = choose(lang, task.get("question", ""))
    found, relations = candidates(task, tables), relations_of(tables)
    safe = _failed_before(task)
    limit = None if safe else guard
    keys = Guard(relations, {item.name: item.columns for item in found}, limit, lang)
    work = _RefineTask(task, tables, found, relations, keys, lang, safe, values)
    meta: Meta = {"from": _sources(task, model), "lang": lang}
    if model is None:
        return work.section(work.builtin(), meta)
    excerpts = Excerpts(knowledge_chars, video_chars)
    made = await work.by_model(model, database, max_tokens, timeout, excerpts)
    return work.section(made, {**meta, **_meta_of_model(lang, max_tokens, guard, excerpts)})


@dataclass(frozen=True)
class _RefineTask:
    """One task with what is known of it.

    Args:
        safe: Whether an earlier stage failed in part.
    """

    task: Task
    tables: Sequence[Table]
    candidates: Sequence[Candidate]
    relations: Relations
    keys: Guard
    lang: Lang
    safe: bool
    values: ValueSearch | None

    def builtin(self) -> Progress:
        """The marks of exploring, narrowed where they are the judge's own."""
        from stages.core.linking.refine.builtin import focus, mark
        from stages.core.linking.refine.refiner import Progress

        made = Progress()
        if self.safe:
            mark(made.selection, self.candidates, self.lang)
        else:
            focus(made.selection, self.task, self.tables, self.candidates, self.lang, self.values)
        self.keys.inner(made.selection)
        return made

    async def by_model(
        self,
        model: Model,
        data: Data | None,
        most: int,
        timeout: float | None,
        excerpts: Excerpts,
    ) -> Progress:
        """Both rounds; the marks beside the choice where it is empty or an earlier stage failed."""
        from stages.core.linking.refine.builtin import mark
        from stages.core.linking.refine.refiner import Refiner
        from stages.core.linking.refine.rounds import RefineOptions

        dialect = data.dialect if data is not None else "duckdb"
        way = RefineOptions(self.lang, most, timeout, dialect, excerpts)
        made = await Refiner(
            model, data, self.task, self.candidates, self.relations, self.keys, way, safe=self.safe
        ).run()
        empty = not made.selection.tables
        if empty or self.safe:
            mark(made.selection, self.candidates, self.lang)
            made.note(self.keys.add(made.selection)[1])
        if empty and made.selection.tables:
            made.note(["the model chose nothing, so the tables marked relevant stand"])
        elif empty:
            made.note(["no table is relevant"])
        elif self.safe:
            made.note(["an earlier stage failed in part, so the tables marked relevant stay"])
        return made

    def section(self, made: Progress, meta: Mapping[str, object]) -> Refine:
        """The section: the choice joined up."""
        from stages.core.linking.refine.joining import join

        every = self.safe or bool(made.errors)
        joined = join(
            made.selection,
            self.relations,
            self.keys,
            self.lang,
            declined=made.declined,
            every=every,
        )
        unknown = list(made.unknown)
        if unknown:
            joined.notes.append(f"{len(unknown)} names in answers mean nothing in the catalog")
        return {
            "refined_schema": made.selection.schema(self.tables),
            "rounds": cast(list[RefineRound], made.rounds),
            "paths": cast(list[RefinePath], joined.paths),
            "unknown": unknown[:UNKNOWN],
            "unconnected": joined.unconnected,
            "notes": [*made.notes, *joined.notes],
            "error": "; ".join(made.errors),
            "meta": cast("Meta", dict(meta)),
        }


def _failed_before(task: Task) -> bool:
    """Whether a stage whose result is used here failed in part."""
    names = ("plan", "prune", "summarize", "explore")
    return any((section(task, name) or {}).get("error") for name in names)


def _sources(task: Task, model: Model | None) -> list[str]:
    """``meta.from``: what was looked at; sections that are optional count where they stand."""
    optional = ("plan", "prepare") if model is not None else ("plan", "link")
    stand = [name for name in optional if section(task, name) is not None]
    return [*TASK_INPUTS, "tables", "prune", "summarize", "explore", *stand]


def _meta_of_model(lang: Lang, max_tokens: int, guard: int, excerpts: Excerpts) -> Meta:
    """What ``meta`` says of an answer by a model."""
    from stages.core.linking.refine.rounds import prompt_hash

    options = {"max_tokens": (max_tokens, MOST_TOKENS), "guard": (guard, LIMIT)}
    given = {name: value for name, (value, default) in options.items() if value != default}
    given |= excerpts.differing
    return {"prompt": prompt_hash(lang), **({"options": given} if given else {})}


def _counts(made: Refine) -> tuple[int, ...]:
    """Refined columns and tables, and tables on join paths that were added."""
    refined = made["refined_schema"].values()
    taken = sum("declined" not in path for path in made["paths"])
    return sum(len(one["relevant_columns"]) for one in refined), len(refined), taken


STAGE = Stage(
    refine,
    needs=("prune", "summarize", "explore"),
    uses=("plan", "prepare", "link"),
    wants=(*JUDGES, Capability.DATABASE),
    options=(
        click.Option(
            ["--max-tokens"],
            type=click.IntRange(min=500),
            default=MOST_TOKENS,
            show_default=True,
            metavar="TOKENS",
            help="Tokens of the prompt that opens a round; more candidates take more prompts.",
        ),
        click.Option(
            ["--guard"],
            type=click.IntRange(min=0),
            default=LIMIT,
            show_default=True,
            metavar="N",
            help="Columns of one kind (declared keys, shared values, equal names) from which on "
            "the key guard adds none.",
        ),
        *EXCERPTS,
    ),
    report=Report(
        click.Option(
            ["--apex"],
            type=click.Path(allow_dash=True),
            metavar="FILE",
            help="Write the results of all tasks, with judgments and groups, as one JSON object.",
        ),
        apex,
    ),
    counts=_counts,
    summary="{0:column} in {1:table}, {2:join path} added",
)
