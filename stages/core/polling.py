"""Asking a model the same thing in several rounds, until enough have come through.

The first seed, 4.1 and 4.2: all rounds go out at once; what failed is asked again in
batches of just what is missing, up to two batches more than there are rounds. A round that
is asked again keeps its sample number, so that a replay finds it under the same key.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from stages.core.errors import ModelError, NotCached, NotSent, Unreachable
from stages.core.model.together import ask_together

if TYPE_CHECKING:
    from stages.core.model import Model, Request

ROUNDS = 5
"""Rounds that are wanted (first seed, 4.1)."""

ROUND_SECONDS = 90.0
"""Time limit of one round (first seed, 4.1)."""

SPARE_BATCHES = 2
"""Batches allowed beyond one for each round (first seed, 4.2)."""

FINAL = (NotCached, NotSent)
"""Failures that asking again cannot mend."""


@dataclass(frozen=True)
class Poll:
    """What came of the rounds.

    Args:
        replies: Data of the rounds that came through, in the order of their sample numbers.
        batches: Batches that were sent.
        error: The failure of the lowest sample number that is still missing; empty where
            all rounds came through.
    """

    replies: tuple[Any, ...]
    batches: int
    error: str = ""


async def poll(
    model: Model, request: Request, *, rounds: int = ROUNDS, timeout: float | None = ROUND_SECONDS
) -> Poll:
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
    replies: dict[int, Any] = {}
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
    return Poll(tuple(replies[sample] for sample in sorted(replies)), batches, error)


def _hopeless(failures: dict[int, ModelError], replies: dict[int, Any]) -> bool:
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
