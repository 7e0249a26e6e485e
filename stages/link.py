"""Link a question to the tables and columns it needs: ranked, with evidence, and no model.

The built-in judge looks at names, descriptions, values, keys and the question's form, and
gives every table and column a calibrated probability; what it needs to reach the strict
recall asked for is kept, never a fixed number of tables. The evidence that counted stands
with each table, so that a person sees why.

With --model, a model is shown what this found and chooses among it; it can add tables and
columns, and lower the score of others, but not remove any.

  winnow scan examples/task_15 | winnow link | winnow show
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from stages.core.errors import ModelError
from stages.core.judge.channels import SWITCHES as CHANNELS
from stages.core.judge.priors.hints import RECALL, Hints
from stages.core.lang import Lang, choose
from stages.core.params import FileContent, FiniteFloatRange
from stages.core.records import Link, Meta, Table, Task
from stages.core.runtime.stage import JUDGES, Stage

if TYPE_CHECKING:
    from stages.core.judge import Judgment
    from stages.core.judge.judgment import ValueSearch
    from stages.core.judge.priors.hints import Ready
    from stages.core.judge.priors.query_log import QueryLog
    from stages.core.judge.priors.rules import RuleFile
    from stages.core.linking.link import Choice, ChoiceBatch
    from stages.core.model import Model

MAX_TOKENS = 12_000
"""Tokens of one message to the model; more tables go into further messages."""


async def link(
    task: Task,
    tables: Sequence[Table],
    *,
    model: Model | None = None,
    lang: str = "auto",
    timeout: float | None = None,
    recall: float = RECALL,
    loss_tokens: float | None = None,
    without: Sequence[str] = (),
    rules: RuleFile | None = None,
    history: QueryLog | None = None,
    index: Path | None = None,
    values: ValueSearch | None = None,
    max_tokens: int = MAX_TOKENS,
) -> Link:
    """The link section of one task.

    Args:
        task: Its question, evidence, knowledge and video are read.
        tables: All tables of the catalog.
        model: Who chooses among what recall found; None leaves the judge's own answer.
        lang: Language of the instructions: ``zh``, ``en``, or ``auto``.
        timeout: Seconds for one call.
        recall, loss_tokens: Strict table recall to aim at, else what a needed table is worth.
        without: Channels of the judge that are switched off.
        rules: What the user adds or forbids for certain questions.
        history: Which tables past SQL used together.
        index: Folder that keeps the judge's indexes between runs; None keeps none.
        values: Looks the question's words up in the data; None where no rows are at hand.
        max_tokens: Tokens of one message to the model.

    Raises:
        DataError: The task has no question.
    """
    hints = Hints(recall, tuple(without), rules, history, index, values, loss_tokens)
    ready = hints.ready(task, tables)
    if model is None:
        asked = FusedJudgment(ready.judged())
    else:
        lang = choose(lang, task.get("question", ""))
        asked = await _ask_model(model, ready, tables, lang, timeout, max_tokens)
    if values is not None and values.error:
        asked = replace(asked, error="; ".join(filter(None, (values.error, asked.error))))
    return _section(asked, hints, task, tables, max_tokens)


def _section(
    asked: FusedJudgment, hints: Hints, task: Task, tables: Sequence[Table], max_tokens: int
) -> Link:
    """The section; the rules have the last word, over the model's too."""
    from stages.core.judge.priors.rules import apply_rules
    from stages.core.judge.section import to_section

    found, applied = asked.judgment, hints.applied(task, tables)
    past = hints.history if "co-occurrence" not in hints.without else None
    notes = [*found.notes, *(past.notes if past else ()), *asked.notes]
    if applied is not None:
        found = apply_rules(found, applied)
        notes += applied.unknown
    options = hints.options | ({"max_tokens": max_tokens} if max_tokens != MAX_TOKENS else {})
    made = to_section(found, tables)
    if notes:
        made["notes"] = notes
    if asked.error:
        made["error"] = asked.error
    made["meta"] = cast("Meta", {**asked.meta, **({"options": options} if options else {})})
    return made


@dataclass(frozen=True)
class FusedJudgment:
    """The judgment after the model's choice, and what to say about it."""

    judgment: Judgment
    meta: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    error: str = ""


async def _ask_model(
    model: Model,
    ready: Ready,
    tables: Sequence[Table],
    lang: Lang,
    timeout: float | None,
    max_tokens: int,
) -> FusedJudgment:
    """Ask about every batch at once; a batch whose call failed keeps the judge's scores."""
    from stages.core.judge.priors.model_choice import apply_model_choice, named
    from stages.core.linking.link import choice_batches, prompt_hash

    alone = ready.alone()
    batches = choice_batches(ready.task, tables, alone, lang, tokens=max_tokens)
    choices, failures = await _choices(model, batches, tables, lang, timeout)
    unknown = sorted({name for choice in choices for name in choice.unknown})
    notes = (f"the model named what is not there: {_names(unknown)}",) if unknown else ()
    error = ""
    if failures:
        where = f"{len(failures)} of {len(batches)} calls failed, " if len(batches) > 1 else ""
        error = f"{where}the judge's own scores stand: {failures[0]}"
    meta = {"lang": lang, "prompt": prompt_hash(lang)}
    chosen = named(choices)
    added = chosen - {table.name for table in alone.tables if table.keep}
    return FusedJudgment(
        apply_model_choice(ready.judged(chosen), choices, tables, added), meta, notes, error
    )


async def _choices(
    model: Model,
    batches: Sequence[ChoiceBatch],
    tables: Sequence[Table],
    lang: Lang,
    timeout: float | None,
) -> tuple[list[Choice], list[ModelError]]:
    """What came back, in the order of the batches, and what failed."""
    from stages.core.linking.link import parse_choice, requests
    from stages.core.model.request import ask_together

    choices: list[Choice] = []
    failures: list[ModelError] = []
    answers = await ask_together(model, requests(batches, lang), timeout)
    for batch, answer in zip(batches, answers, strict=True):
        if isinstance(answer, ModelError):
            failures.append(answer)
        else:
            choices.append(parse_choice(answer.data, batch, tables))
    return choices, failures


def _names(names: Sequence[str], most: int = 10) -> str:
    """The first names, none of them long; whoever shows the note escapes it."""
    sound = (name.encode("utf-8", "replace").decode() for name in names[:most])
    short = [name if len(name) <= 80 else f"{name[:79]}…" for name in sound]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(short) + more


def _counts(made: Link) -> tuple[int, ...]:
    """Tables kept, tables in all, columns kept, columns in all."""
    tables, columns = (
        sum(item["keep"] for item in part) for part in (made["tables"], made["columns"])
    )
    return tables, made["n_tables"], columns, made["n_columns"]


def _index_folder() -> Path:
    from stages.core.paths import CACHES, cache_dir

    return cache_dir() / CACHES["indexes"]


def _read_rules(path: Path) -> RuleFile:
    from stages.core.judge.priors.rules import read_rules

    return read_rules(path)


def _read_history(path: Path) -> QueryLog:
    from stages.core.judge.priors.query_log import read_history

    return read_history(path)


STAGE = Stage(
    link,
    wants=JUDGES,
    options=(
        click.Option(
            ["--recall"],
            type=FiniteFloatRange(0, 1),
            default=RECALL,
            show_default=True,
            help="Strict table recall to aim at; higher keeps more.",
        ),
        click.Option(
            ["--loss-tokens"],
            type=FiniteFloatRange(0),
            metavar="TOKENS",
            help="Keep tables by what they cost, instead of --recall: those whose chance times"
            " this is more than their tokens.",
        ),
        click.Option(
            ["--without"],
            type=click.Choice(CHANNELS),
            multiple=True,
            metavar="CHANNEL",
            help=f"Switch a channel off; may be given again. One of {', '.join(CHANNELS)}.",
        ),
        click.Option(
            ["--rules"],
            type=FileContent(_read_rules),
            metavar="FILE",
            help="YAML rules: when the question matches, add or forbid tables and columns.",
        ),
        click.Option(
            ["--history"],
            type=FileContent(_read_history),
            metavar="FILE",
            help="Past SQL: tables used together there count as neighbours.",
        ),
        click.Option(
            ["--index"],
            type=click.Path(file_okay=False, path_type=Path),
            metavar="DIR",
            default=_index_folder,
            show_default="index in winnow's cache folder",
            help="Folder that keeps the indexes of catalogs between runs.",
        ),
        click.Option(
            ["--max-tokens"],
            type=click.IntRange(min=1000),
            default=MAX_TOKENS,
            show_default=True,
            help="Tokens of one message to the model; more tables go into further messages.",
        ),
    ),
    counts=_counts,
    summary="kept {0} of {1:table}, {2} of {3:column}",
)
