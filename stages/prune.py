"""Prune what a question plainly does not need, down to columns: the safe superset.

A model is shown the schema in batches, with question, plan and evidence, and asked from both
sides: what is obviously irrelevant, and what is relevant. Only what every sample calls
irrelevant goes; whatever any sample calls relevant stays, and so do columns of recognition
(id, code, name, type), keys, and everything that a failed call was about. Tables that are
always kept or pinned are not asked about.

With --model builtin (the default) the built-in judge lets go what it has no evidence for.

  winnow scan examples/task_15 | winnow plan | winnow prune | jq -c 'select(.prune).prune.kept'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import click

from stages.core.excerpts import KNOWLEDGE_CHARS, VIDEO_CHARS, Excerpts
from stages.core.excerpts import OPTIONS as EXCERPTS
from stages.core.lang import choose
from stages.core.lines.sections import section
from stages.core.linking.batches import LEAST_TOKENS, MOST_TOKENS
from stages.core.linking.column_refs import column_refs, group_tables
from stages.core.linking.judgment import kept_by_judge
from stages.core.linking.prune.ask import SAMPLES, PruneOptions, ask, prompt_hash
from stages.core.linking.prune.builtin import (
    MAX_COLUMNS,
    ProtectedColumns,
    best_of,
    by_evidence,
    cut,
)
from stages.core.linking.prune.scores import scores
from stages.core.linking.prune.tally import PruneOutcome, merge, superset_section
from stages.core.linking.render import sheet, table_text, whole
from stages.core.params import count_option
from stages.core.readers import pinned
from stages.core.records import Meta, Prune, Table, Task
from stages.core.runtime.stage import JUDGES, TASK_INPUTS, Stage

if TYPE_CHECKING:
    from stages.core.judge.judgment import ValueSearch
    from stages.core.lang import Lang
    from stages.core.linking.render import Sheet
    from stages.core.model import Model

CALL_SECONDS = 120.0
"""Time limit of one call; a reply may list hundreds of columns."""

_DEFAULTS = {
    "samples": SAMPLES,
    "min_tokens": LEAST_TOKENS,
    "max_tokens": MOST_TOKENS,
    "max_columns": MAX_COLUMNS,
    "skip_under": 0,
}


async def prune(
    task: Task,
    tables: Sequence[Table],
    *,
    model: Model | None = None,
    lang: str = "auto",
    timeout: float | None = CALL_SECONDS,
    samples: int = SAMPLES,
    min_tokens: int = LEAST_TOKENS,
    max_tokens: int = MOST_TOKENS,
    max_columns: int = MAX_COLUMNS,
    skip_under: int = 0,
    knowledge_chars: int = KNOWLEDGE_CHARS,
    video_chars: int = VIDEO_CHARS,
    values: ValueSearch | None = None,
) -> Prune:
    """The tables and columns that survive.

    Args:
        task: Its question, evidence, plan and passages are shown; pins are followed.
        tables: All of the catalog; their order changes nothing.
        model: Whom to ask; None is the built-in judge.
        lang, timeout: Language of the instructions; seconds for one call.
        samples: Samples of each side.
        min_tokens, max_tokens: Tokens of one whole prompt.
        max_columns: Candidate columns above which they are cut by evidence.
        skip_under: Ask nothing where all tables together take fewer tokens.
        knowledge_chars, video_chars: Characters shown of these to a model; 0 shows all.
        values: Looks words up in the data for the built-in judge.
    """
    ordered = sorted(tables, key=lambda table: table["name"])
    guarded = ProtectedColumns(_judged(task, ordered), ordered)
    excerpts = Excerpts(knowledge_chars, video_chars)
    terms = PruneOptions(samples, min_tokens, max_tokens, timeout, excerpts)
    if model is None:
        found = _builtin(task, guarded, values)
    else:
        lang = choose(lang, task.get("question", ""))
        found = await _by_model(model, task, guarded, lang, terms, skip_under)
    options = {
        "samples": samples,
        "min_tokens": min_tokens,
        "max_tokens": max_tokens,
        "max_columns": max_columns,
        "skip_under": skip_under,
    }
    made, by_judge = _section(task, guarded, found, options, values)
    used = _sources(task, by_judge or model is None, model is not None)
    made["meta"] = cast("Meta", {"from": used, **found.meta, **_differing(options, excerpts)})
    return made


def _sources(task: Task, judged: bool, asked: bool) -> list[str]:
    """``meta.from``: link counts where the judge's scores do, prepare where a model is asked."""
    used = [*TASK_INPUTS, "pin", "tables", "plan"]
    used += ["link"] if judged and section(task, "link") is not None else []
    return [*used, "prepare"] if asked else used


def _differing(options: Mapping[str, int], excerpts: Excerpts) -> dict[str, object]:
    """``options`` for ``meta``, with what is not at its default; empty where all is."""
    given = {name: value for name, value in options.items() if value != _DEFAULTS[name]}
    given |= excerpts.differing
    return {"options": given} if given else {}


@dataclass(frozen=True)
class Survivors:
    """What is left, before the budget.

    Args:
        outcome: What stays of the tables that are judged.
        batches: Batches that were asked about.
        notes, error, meta: As the section has them.
    """

    outcome: PruneOutcome
    batches: int = 0
    notes: tuple[str, ...] = ()
    error: str = ""
    meta: Mapping[str, object] = field(default_factory=dict)


def _judged(task: Task, tables: Sequence[Table]) -> list[Table]:
    """The tables that may go: all that have columns and are neither always kept nor pinned."""
    keep = pinned(task.get("pin", {}), tables)[0]["keep"]
    return [
        table
        for table in tables
        if table["columns"] and not table.get("always_keep", False) and table["name"] not in keep
    ]


async def _by_model(
    model: Model,
    task: Task,
    guarded: ProtectedColumns,
    lang: Lang,
    terms: PruneOptions,
    skip_under: int,
) -> Survivors:
    """What the model leaves, or everything where there is nothing to ask."""
    sheets = [sheet(group, lang) for group in group_tables(guarded.judged)]
    everything = PruneOutcome(
        {table["name"]: frozenset(column_refs(table)) for table in guarded.judged}
    )
    skipped = _skipped(sheets, skip_under)
    if skipped:
        return Survivors(everything, meta={"lang": lang, "skipped": skipped})
    asked = await ask(model, task, sheets, lang, terms)
    outcome = everything
    if asked.votes:
        names, keys = guarded.names, guarded.keys
        outcome = merge(guarded.judged, asked.votes, names=names, keys=keys)
    meta = {"lang": lang, "prompt": prompt_hash(lang)}
    return Survivors(outcome, len(asked.votes), asked.notes, asked.error, meta)


def _skipped(sheets: Sequence[Sheet], skip_under: int) -> str:
    """What ``meta.skipped`` says where nothing need be asked; empty where it must."""
    if not sheets:
        return "there is no table to judge"
    if skip_under <= 0:
        return ""
    from stages.core.tokens import total

    texts = (
        table_text(
            whole(made), {name: f"t{n}" for n, name in enumerate(made.group.names, start=1)}, "g1"
        )
        for made in sheets
    )
    tokens = total(texts)
    n_tables = sum(len(made.heads) for made in sheets)
    what = f"{n_tables} tables of {tokens} tokens, under --skip-under {skip_under}"
    return what if tokens < skip_under else ""


def _builtin(task: Task, guarded: ProtectedColumns, values: ValueSearch | None) -> Survivors:
    """What evidence leaves and whatever `vote --recall 0.97` keeps; everything where it would
    leave nothing.

    The budget may cut columns of these, but not the best of a table.
    """
    judged, whole = guarded.judged, kept_by_judge(task, guarded.tables, values)
    thought = scores(task, guarded.tables, values)
    kept = by_evidence(guarded, thought, whole)
    refused = bool(judged) and not kept
    if refused:
        kept = {table["name"]: frozenset(column_refs(table)) for table in judged}
    names = frozenset(table["name"] for table in judged)
    best = frozenset(
        unit
        for table in judged
        if table["name"] in whole
        for unit in best_of(table, thought, guarded.names | guarded.joining)
    )
    return Survivors(PruneOutcome(kept, names, best, refused=refused))


def _section(
    task: Task,
    guarded: ProtectedColumns,
    found: Survivors,
    options: Mapping[str, int],
    values: ValueSearch | None,
) -> tuple[Prune, bool]:
    """The section: the budget applied, and tables that are not judged added.

    Returns:
        It without ``meta``, and whether the budget made the judge's scores count.
    """
    outcome, notes = found.outcome, list(found.notes)
    names = {table["name"] for table in guarded.judged}
    others = {
        t["name"]: frozenset(column_refs(t)) for t in guarded.tables if t["name"] not in names
    }
    kept, before = {**outcome.kept}, None
    if outcome.refused:
        notes.append("everything would have been deleted, so everything is kept")
    else:
        left = _within_budget(task, guarded, outcome, options["max_columns"], values)
        if left is not None:
            before = {**outcome.kept, **others}
            kept = left
            notes.append(f"over --max-columns {options['max_columns']}: cut by evidence")
    made = superset_section(
        guarded.tables,
        {**kept, **others},
        cut=before,
        contested=outcome.contested,
        batches=found.batches,
        notes=notes,
        error=found.error,
    )
    return made, before is not None


def _within_budget(
    task: Task,
    guarded: ProtectedColumns,
    outcome: PruneOutcome,
    budget: int,
    values: ValueSearch | None,
) -> dict[str, frozenset[str]] | None:
    """What stays within the budget; None where it is not reached.

    Only what was judged counts and is cut: what a failed call was about stays as it is.
    """
    open_to_cut = [table for table in guarded.judged if table["name"] in outcome.judged]
    n_columns = sum(len(outcome.kept.get(table["name"], ())) for table in open_to_cut)
    if n_columns <= budget:
        return None
    left = cut(
        open_to_cut,
        outcome.kept,
        scores(task, guarded.tables, values),
        relevant=outcome.relevant,
        plain=guarded.names | guarded.keys,
        budget=budget,
    )
    untouched = {n: kept for n, kept in outcome.kept.items() if n not in outcome.judged}
    return {**untouched, **left}


def _counts(made: Prune) -> tuple[int, ...]:
    return made["n_kept_columns"], made["n_columns"], made["n_kept_tables"], made["n_tables"]


STAGE = Stage(
    prune,
    needs=("plan",),
    uses=("link", "prepare"),
    inputs=(*TASK_INPUTS, "pin"),
    wants=JUDGES,
    options=(
        click.Option(
            ["--samples"],
            type=click.IntRange(1, 9),
            default=SAMPLES,
            show_default=True,
            help="Samples of each side for every batch.",
        ),
        count_option(
            "--min-tokens",
            LEAST_TOKENS,
            "Tokens of a whole prompt at which a batch is closed; more where the task's texts "
            "alone take most of them.",
            unit="TOKENS",
        ),
        count_option(
            "--max-tokens", MOST_TOKENS, "Tokens that no prompt goes over.", unit="TOKENS"
        ),
        count_option("--max-columns", MAX_COLUMNS, "Columns above which they are cut by evidence."),
        count_option(
            "--skip-under",
            0,
            "Ask nothing where all tables take fewer tokens; 0 is off.",
            least=0,
            unit="TOKENS",
        ),
        *EXCERPTS,
    ),
    counts=_counts,
    summary="kept {0} of {1:column} in {2} of {3:table}",
)
