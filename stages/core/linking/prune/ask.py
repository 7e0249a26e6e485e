"""Asking a model about the batches of a schema, from both sides (seed 004, 3.3).

Every batch is asked several times what is irrelevant and several times what is relevant, all
batches and samples at once. Within a task all prompts begin alike; within a batch they
differ only in the job at their end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from stages.core import prompts
from stages.core.errors import ModelError
from stages.core.excerpts import Excerpts
from stages.core.lang import Lang
from stages.core.lines import schema
from stages.core.linking.batches import Batch, packed
from stages.core.linking.brief import EXCERPTS, Brief, write_brief
from stages.core.linking.prune.replies import (
    PruneReply,
    ReplyReader,
)
from stages.core.linking.prune.tally import SideVote
from stages.core.linking.render import Sheet
from stages.core.model.request import ask_together
from stages.core.text import listed

if TYPE_CHECKING:
    from stages.core.model import Model, Reply, Request
    from stages.core.records import Task

SAMPLES = 2
"""Samples of each side (seed 004, 3.3)."""

BRIEF_SHARE = 2
"""The part of a prompt, one in so many, that question, plan and evidence may take."""

PARTS = ("system", "user", "negative", "positive")


@dataclass(frozen=True)
class PruneOptions:
    """On what terms the model is asked.

    Args:
        samples: Of each side.
        least, most: Tokens of one whole prompt.
        timeout: Seconds for one call.
        excerpts: How much of knowledge and video is shown.
    """

    samples: int
    least: int
    most: int
    timeout: float | None
    excerpts: Excerpts = EXCERPTS


@dataclass(frozen=True)
class SampledReplies:
    """What came of it.

    Args:
        votes: One for each batch, in order.
        notes: What was split, cut or not understood.
        error: Which calls failed and what that means; empty where none did.
    """

    votes: tuple[SideVote, ...] = ()
    notes: tuple[str, ...] = ()
    error: str = ""


def prompt_hash(lang: Lang) -> str:
    """Hash of all instructions of `prune`."""
    return prompts.combined_hash(*(prompts.load("prune", role, lang) for role in PARTS))


async def ask(
    model: Model, task: Task, sheets: Sequence[Sheet], lang: Lang, terms: PruneOptions
) -> SampledReplies:
    """All samples on all batches of the groups.

    Raises:
        Exception: Whatever a call raises that is no `ModelError`.
    """
    brief = write_brief(task, lang, tokens=terms.most // BRIEF_SHARE, excerpts=terms.excerpts)
    size = _measure(brief)
    notes = [f"the {name} is cut in the prompts" for name in brief.cut]
    if size(Batch(())) > terms.most * 3 // 4:
        error = f"instructions and question alone fill most of --max-tokens {terms.most}; raise it"
        return SampledReplies((), tuple(notes), f"nothing was asked: {error}")
    batches, split = packed(sheets, size, least=min(terms.least, terms.most), most=terms.most)
    requests = [request for batch in batches for request in _requests(brief, batch, terms.samples)]
    answers = await ask_together(model, requests, terms.timeout)
    votes, unknown = _votes(batches, answers, terms.samples)
    if unknown:
        notes.append(f"names in answers that mean nothing and were left out: {listed(unknown)}")
    return SampledReplies(tuple(votes), (*notes, *split), _error(votes, answers))


def _requests(brief: Brief, batch: Batch, samples: int) -> list[Request]:
    """The requests on one batch, negative samples first."""
    return [
        replace(request, sample=sample)
        for request in (_request(brief, batch, "negative"), _request(brief, batch, "positive"))
        for sample in range(samples)
    ]


def _request(brief: Brief, batch: Batch, side: str) -> Request:
    from stages.core.model import Request

    said = prompts.load("prune", "user", brief.lang).render(
        **brief.blocks,
        n_tables=len(batch.ids),
        tables=batch.body,
        job=prompts.load("prune", side, brief.lang).render(),
    )
    messages = (
        {"role": "system", "content": prompts.load("prune", "system", brief.lang).render()},
        {"role": "user", "content": said},
    )
    shape = schema.reply(f"prune.{side}")
    return Request(messages=messages, schema=shape, name=f"prune_{side}")


def _measure(brief: Brief) -> Callable[[Batch], int]:
    """Counts the tokens of the whole prompt over a batch, by the longer of the two jobs."""
    from stages.core.model.dry_run import tokens_in
    from stages.core.tokens import count

    jobs = {side: count(prompts.load("prune", side, brief.lang).source) for side in PARTS[2:]}
    longer = max(jobs, key=lambda side: jobs[side])
    return lambda batch: tokens_in(_request(brief, batch, longer))


def _votes(
    batches: Sequence[Batch], answers: Sequence[Reply | ModelError], samples: int
) -> tuple[list[SideVote], list[str]]:
    """The votes on each batch, and the names that mean nothing in it."""
    found: list[SideVote] = []
    unknown: dict[str, None] = {}
    for number, batch in enumerate(batches):
        reader = ReplyReader(batch)
        own = answers[number * 2 * samples : (number + 1) * 2 * samples]
        negatives = tuple(_said(reader.negative, answer) for answer in own[:samples])
        positives = tuple(_said(reader.positive, answer) for answer in own[samples:])
        found.append(SideVote(batch.columns, negatives, positives))
        for said in (*negatives, *positives):
            unknown |= dict.fromkeys(said.unknown if said else ())
    return found, list(unknown)


def _said(
    read: Callable[[Mapping[str, object]], PruneReply], answer: Reply | ModelError
) -> PruneReply | None:
    return None if isinstance(answer, ModelError) else read(answer.data)


def _error(votes: Sequence[SideVote], answers: Sequence[Reply | ModelError]) -> str:
    """How many calls failed and what was kept for it; empty where all came through."""
    failures = [answer for answer in answers if isinstance(answer, ModelError)]
    if not failures:
        return ""
    batches = sum(batch.failed for batch in votes)
    return (
        f"{len(failures)} of {len(answers)} calls failed, so nothing was deleted in "
        f"{batches} of {len(votes)} batches: {failures[0]}"
    )
