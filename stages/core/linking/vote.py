"""Voting over tables: rounds are sampled, cleaned, tallied (first seed, 2.3 and 4).

Cleaning and tallying are pure, and go by the order in which rounds are handed in: by sample
number, never by arrival.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from stages.core.errors import ModelError, NotCached, NotSent, Unreachable
from stages.core.jsontypes import JsonMapping, JsonValue
from stages.core.lang import Lang
from stages.core.model.request import ask_together
from stages.core.records import Table, Vote

if TYPE_CHECKING:
    from stages.core.model import Model, Request


UNVOTED_TALLY: Mapping[Lang, str] = {"zh": "0/0(默认相关)", "en": "0/0(kept by default)"}
"""Tally of a table that no round named (first seed, 4.4)."""

UNVOTED_REASON: Mapping[Lang, str] = {
    "zh": "所有轮均未判定, 按召回优先默认相关",
    "en": "no round judged it; kept by default, recall first",
}
"""Reason of a table that no round named (first seed, 4.4)."""


@dataclass(frozen=True)
class Verdict:
    """What one round says about one table."""

    relevant: bool
    reason: str


@dataclass(frozen=True)
class TableOutcome:
    """What all rounds together say about one table.

    Args:
        relevant: Whether it is shown in full.
        tally: ``yes/n``, n counting the rounds that named the table.
        reason: One reason that goes with the outcome; may be empty.
    """

    relevant: bool
    tally: str
    reason: str


Round: TypeAlias = Mapping[str, Verdict]
"""The verdicts of one round by canonical name; a table that is missing is an abstention."""


def clean(reply: JsonMapping, valid: Collection[str]) -> dict[str, Verdict]:
    """The verdicts of one reply that count (first seed, 4.3).

    Names that are not exactly a candidate's canonical name are ignored; of several verdicts
    on one table the last counts.

    Args:
        reply: Data that fits its schema.
        valid: Canonical names of the candidates.
    """
    return {
        verdict["table_name"]: Verdict(verdict["relevant"], _printable(verdict["reason"]))
        for verdict in reply["verdicts"]
        if verdict["table_name"] in valid
    }


def decide(rounds: Sequence[Round], table: str, lang: Lang) -> TableOutcome:
    """The outcome for one table by majority, ties kept (first seed, 4.4).

    >>> decide([{"a": Verdict(True, "x")}, {"a": Verdict(False, "y")}, {}], "a", "en")
    TableOutcome(relevant=True, tally='1/2', reason='x')
    """
    verdicts = [votes[table] for votes in rounds if table in votes]
    if not verdicts:
        return without_votes(lang)
    yes = sum(verdict.relevant for verdict in verdicts)
    relevant = yes * 2 >= len(verdicts)
    return TableOutcome(relevant, f"{yes}/{len(verdicts)}", _reason(verdicts, relevant))


def without_votes(lang: Lang, reason: str = "") -> TableOutcome:
    """The outcome for a table without votes: kept, since silence never drops a table."""
    return TableOutcome(True, UNVOTED_TALLY[lang], reason or UNVOTED_REASON[lang])


def result(
    task_id: str,
    tables: Sequence[Table],
    outcomes: Mapping[str, TableOutcome],
    *,
    rounds_ok: int,
    error: str = "",
) -> Vote:
    """The TableRelevanceResult, its fields in the order of the first seed, 2.3.

    Args:
        task_id: Of the task.
        tables: All tables of the catalog in file order, always-keep tables among them.
        outcomes: By canonical name, one for each table that is not always kept.
        rounds_ok: Rounds that went into the outcomes.
        error: Why the answer is only the safe one; empty where it is not.
    """
    voted = candidates(tables)
    names = [table["name"] for table in voted]
    kept = [name for name in names if outcomes[name].relevant]
    always = [table["name"] for table in tables if table.get("always_keep", False)]
    folded = [table for table in voted if not outcomes[table["name"]].relevant]
    return {
        "task_id": task_id,
        "per_table": {name: outcomes[name].relevant for name in names},
        "relevant_tables": kept + always,
        "skipped_tables": [table["name"] for table in folded],
        "always_keep": always,
        "skipped_describe_keys": [table["describe_key"] for table in folded],
        "reasons": {name: outcomes[name].reason for name in names},
        "all_tables": names,
        "vote_tally": {name: outcomes[name].tally for name in names},
        "n_rounds_ok": rounds_ok,
        "error": error,
    }


def candidates(tables: Sequence[Table]) -> list[Table]:
    """The tables that are judged: all but those always kept."""
    return [table for table in tables if not table.get("always_keep", False)]


def _reason(verdicts: Sequence[Verdict], relevant: bool) -> str:
    """The first reason that agrees with the outcome, else the first there is."""
    agreeing = [verdict.reason for verdict in verdicts if verdict.relevant == relevant]
    others = [verdict.reason for verdict in verdicts]
    return next((reason for reason in agreeing + others if reason), "")


def _printable(reason: str) -> str:
    """Without white space around it, and without lone surrogates, which no line can hold."""
    return reason.strip().encode("utf-8", "replace").decode("utf-8")


# Asking a model the same thing in several rounds, until enough have come through.

ROUNDS = 5
"""Rounds that are wanted (first seed, 4.1)."""

ROUND_SECONDS = 90.0
"""Time limit of one round (first seed, 4.1)."""

SPARE_BATCHES = 2
"""Batches allowed beyond one for each round (first seed, 4.2)."""

FINAL = (NotCached, NotSent)
"""Failures that asking again cannot mend."""


@dataclass(frozen=True)
class Rounds:
    """What came of the rounds.

    Args:
        replies: Data of the rounds that came through, in the order of their sample numbers.
        batches: Batches that were sent.
        error: The failure of the lowest sample number that is still missing; empty where
            all rounds came through.
    """

    replies: tuple[JsonValue, ...]
    batches: int
    error: str = ""


async def sample_rounds(
    model: Model, request: Request, *, rounds: int = ROUNDS, timeout: float | None = ROUND_SECONDS
) -> Rounds:
    """Ask until ``rounds`` replies are there, or the batches are used up.

    Args:
        model: Whom to ask; bounds how many calls run at once.
        request: What to ask; its sample number is set for each round.
        rounds: Replies wanted; at least one is asked for.
        timeout: Seconds for one call.

    Raises:
        Exception: Whatever a call raises that is no `ModelError`, once the batch is over.
    """
    wanted = max(1, rounds)
    replies: dict[int, object] = {}
    failures: dict[int, ModelError] = {}
    batches = 0
    while batches < wanted + SPARE_BATCHES and not _hopeless(failures, replies):
        missing = [sample for sample in range(wanted) if sample not in replies]
        # What one sample learnt holds for the others: no reply was of use yet.
        vain = [sample for sample in failures if failures[sample].in_vain and not replies]
        missing = [sample for sample in missing if sample not in vain]
        if not missing:
            break
        batches += 1
        failures = {sample: failures[sample] for sample in vain}
        asked = [replace(request, sample=sample) for sample in missing]
        answers = await ask_together(model, asked, timeout)
        for sample, answer in zip(missing, answers, strict=True):
            if isinstance(answer, ModelError):
                failures[sample] = answer
            else:
                replies[sample] = answer.data
    error = str(failures[min(failures)]) if failures else ""
    return Rounds(tuple(replies[sample] for sample in sorted(replies)), batches, error)


def _hopeless(failures: dict[int, ModelError], replies: dict[int, object]) -> bool:
    """Whether nothing is left but failures that asking again cannot mend.

    A refusal that is certain to repeat, an answer that is of no use, and a model that could
    not be reached after the retries of its client, are among them unless some round came
    through: then others may.
    """
    return bool(failures) and all(
        isinstance(failure, FINAL) or (not replies and _lasting(failure))
        for failure in failures.values()
    )


def _lasting(failure: ModelError) -> bool:
    away = isinstance(failure, Unreachable) and failure.sat_out
    return failure.certain or failure.in_vain or away
