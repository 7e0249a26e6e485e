"""Explore every candidate table in the data itself, and judge whether the question needs it.

Each table that `prune` kept has a conversation of its own: the model puts 3 to 8 SQL queries
a round, sees what comes back, at most twice, and then judges the table: which columns the
question needs, why, and what was seen in them. Tables are explored side by side. One whose
exploration fails, or that has no data, stays relevant. The statements that ran, and their
results, stand with each table; they are kept, so that a rerun reads no data.

With --model builtin (the default) a few fixed statements count rows, nulls and shared keys,
and look for the values that the question names.

  winnow scan DIR | winnow plan | winnow prune | winnow summarize | winnow explore | winnow show
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

import click

from stages.core.errors import DataError
from stages.core.excerpts import KNOWLEDGE_CHARS, VIDEO_CHARS, Excerpts
from stages.core.excerpts import OPTIONS as EXCERPTS
from stages.core.lang import choose
from stages.core.lines.sections import or_empty, section
from stages.core.records import Explore, Meta, Table, TableJudgment, Task
from stages.core.runtime.stage import JUDGES, TASK_INPUTS, Capability, Stage

if TYPE_CHECKING:
    from stages.core.judge.judgment import ValueSearch
    from stages.core.linking.explore.builtin import Observer
    from stages.core.linking.explore.conversation import ExploreOptions
    from stages.core.linking.explore.judgments import TableFinding
    from stages.core.model import Model
    from stages.core.sandbox.session import Data

ROUNDS = 2
CALL_SECONDS = 90.0
MAX_TOKENS = 8_000
"""Tokens of a table's own block in its prompt."""

AT_ONCE = 32
"""Conversations of one task at once: about twice the calls at once, since SQL takes time too."""

Progress = Callable[[int, int | None, str], object]


async def explore(
    task: Task,
    tables: Sequence[Table],
    *,
    model: Model | None = None,
    database: Data | None = None,
    progress: Progress | None = None,
    lang: str = "auto",
    timeout: float | None = CALL_SECONDS,
    rounds: int = ROUNDS,
    max_tokens: int = MAX_TOKENS,
    knowledge_chars: int = KNOWLEDGE_CHARS,
    video_chars: int = VIDEO_CHARS,
    values: ValueSearch | None = None,
) -> Explore:
    """The judgments of one task's candidate tables.

    Args:
        task: Its ``prune`` and ``summarize`` sections say what to explore and what for.
        tables: All tables of the catalog.
        model: Whom to ask; None judges by the built-in judge and a few statements.
        database: The catalog's data; None where it has none.
        progress: Told how many tables are done.
        lang, timeout: Language of the instructions; seconds for one call.
        rounds, max_tokens: Rounds of queries for a table; tokens of its own block.
        knowledge_chars, video_chars: Characters shown of these to a model; 0 shows all.
        values: Looks words up for the judge.

    Raises:
        DataError: The task has no question.
    """
    from stages.core.linking.explore.builtin import Observer

    lang, kept = choose(lang, _question(task)), _candidates(task, tables)
    observer = Observer(task, tables, kept, database, lang, values)
    told = _told(progress, len(kept))
    if database is not None:
        database.expect(list(kept))
    meta: Meta = {"from": _sources(task), "lang": lang}
    if model is None:
        return _section(observer.judgments(told), [], meta)
    from stages.core.linking.explore.conversation import ExploreOptions, prompt_hash

    excerpts = Excerpts(knowledge_chars, video_chars)
    terms = ExploreOptions(lang, rounds, timeout, max_tokens, excerpts)
    work = _ExploreTask(model, database, task, terms, observer, told)
    found = await work.all(_in_order(kept, tables))
    made = {one.judgment["table_full_name"]: one.judgment for one in found}
    meta |= {**_meta_of_model(terms), "prompt": prompt_hash(lang)}
    return _section(made, [note for judged in found for note in judged.notes], meta)


def _question(task: Task) -> str:
    question: str = task.get("question", "")
    if not question.strip():
        hint = 'add a "question" to the task line'
        raise DataError("the task has no question", place=task["task_id"], hint=hint)
    return question


def _meta_of_model(terms: ExploreOptions) -> Meta:
    """``meta.options``: what shapes the answer and is not at its default."""
    options = {"rounds": (terms.rounds, ROUNDS), "max_tokens": (terms.max_tokens, MAX_TOKENS)}
    given = {name: value for name, (value, default) in options.items() if value != default}
    given |= terms.excerpts.differing
    return {"options": given} if given else {}


def _candidates(task: Task, tables: Sequence[Table]) -> dict[str, list[str]]:
    """The columns that ``prune`` kept, by table; tables that the catalog has not are left out."""
    known = {table["name"] for table in tables}
    kept = or_empty(section(task, "prune")).get("kept", {})
    return {name: kept[name] for name in sorted(kept) if name in known}


def _in_order(
    kept: Mapping[str, Sequence[str]], tables: Sequence[Table]
) -> list[tuple[Table, Sequence[str]]]:
    """The candidate tables with the columns that were kept of each."""
    by_name = {table["name"]: table for table in tables}
    return [(by_name[name], columns) for name, columns in kept.items()]


def _sources(task: Task) -> list[str]:
    """``meta.from``: what was looked at; sections that are optional count where they stand."""
    optional = [name for name in ("plan", "prepare", "link") if section(task, name) is not None]
    return [*TASK_INPUTS, "tables", "prune", "summarize", *optional]


def _told(progress: Progress | None, total: int) -> Callable[[int], object]:
    def told(done: int) -> None:
        if progress is not None:
            progress(done, total, "tables explored")

    return told


def _section(judgments: Mapping[str, TableJudgment], notes: Sequence[str], meta: Meta) -> Explore:
    """The section; its error tells how many tables could not be explored, and the first why."""
    failed = [name for name, judgment in judgments.items() if judgment.get("error")]
    error = ""
    if failed:
        first = judgments[failed[0]]["error"]
        error = f"{len(failed)} of {len(judgments)} tables were not explored: {failed[0]}: {first}"
    made = {"table_judgments": {name: judgments[name] for name in sorted(judgments)}}
    noted = {"notes": list(notes)} if notes else {}
    return cast("Explore", {**made, **noted, "error": error, "meta": meta})


class _ExploreTask:
    """The conversations of one task."""

    def __init__(
        self,
        model: Model,
        data: Data | None,
        task: Task,
        terms: ExploreOptions,
        observer: Observer,
        told: Callable[[int], object],
    ) -> None:
        self.model, self.data, self.task, self.terms = model, data, task, terms
        self.observer, self.told = observer, told
        self.done = 0

    async def all(self, candidates: Sequence[tuple[Table, Sequence[str]]]) -> list[TableFinding]:
        """A judgment of every table, in their order, whoever ends first."""
        import asyncio

        places = asyncio.Semaphore(AT_ONCE)

        async def in_turn(table: Table, kept: Sequence[str]) -> TableFinding:
            async with places:
                return await self._one(table, kept)

        return list(await asyncio.gather(*(in_turn(*pair) for pair in candidates)))

    async def _one(self, table: Table, kept: Sequence[str]) -> TableFinding:
        from stages.core.linking.explore.conversation import NoJudgment, explore_table
        from stages.core.linking.explore.judgments import TableFinding
        from stages.core.linking.explore.profile import NO_DATA, TableProfile, unreadable

        try:
            if self.data is None or not self.data.has_data(table):
                return TableFinding(self.observer.safe(table, TableProfile(error=NO_DATA)))
            missing = await self._unreadable(self.data, table)
            if missing:
                return TableFinding(self.observer.safe(table, unreadable(missing)))
            return await explore_table(self.model, self.data, self.task, table, kept, self.terms)
        except NoJudgment as broken:
            made = self.observer.safe(table, TableProfile(), str(broken))
            made["exploration_log"] = list(broken.log)
            return TableFinding(made)
        finally:
            self.done += 1
            self.told(self.done)

    async def _unreadable(self, data: Data, table: Table) -> str:
        """Why no row of the table can be read; empty where one can, or the table is just empty."""
        from stages.core.errors import SqlUnavailable
        from stages.core.linking.explore.profile import probe

        try:
            return (await data.ask(probe(table), [table])).error
        except SqlUnavailable as error:
            return str(error)


def _counts(made: Explore) -> tuple[int, ...]:
    """Relevant tables, explored tables, relevant columns, statements run."""
    judgments = made["table_judgments"].values()
    return (
        sum(one["relevant"] for one in judgments),
        len(judgments),
        sum(len(one["relevant_columns"]) for one in judgments if one["relevant"]),
        sum(len(one["exploration_log"]) for one in judgments),
    )


STAGE = Stage(
    explore,
    needs=("prune", "summarize"),
    uses=("plan", "prepare", "link"),
    wants=(*JUDGES, Capability.DATABASE, Capability.PROGRESS),
    options=(
        click.Option(
            ["--rounds"],
            type=click.IntRange(min=1),
            default=ROUNDS,
            show_default=True,
            metavar="N",
            help="Rounds of queries for a table, at most.",
        ),
        click.Option(
            ["--max-tokens"],
            type=click.IntRange(min=500),
            default=MAX_TOKENS,
            show_default=True,
            metavar="TOKENS",
            help="Tokens of a table's columns in its prompt; a larger table shows less of each.",
        ),
        *EXCERPTS,
    ),
    counts=_counts,
    summary="{0} of {1:table} relevant with {2:column}, after {3:statement}",
)
