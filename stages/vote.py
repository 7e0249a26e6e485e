"""Vote on which tables a question needs: several rounds, each table by majority.

Every round is shown the question, its evidence, the knowledge, the video and all candidate
tables (columns and first two rows), and gives a verdict with a reason on each table. Ties,
silence and failures keep a table. What is not kept stays queryable: it is only folded to
one line in the prompt. Tables of prepared documents are always kept and not voted on.

With --model builtin (the default) the built-in judge gives the one round.

  winnow scan examples/task_15 | winnow vote > build/task_15.vote.jsonl
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import click

from stages.core.errors import DataError
from stages.core.excerpts import KNOWLEDGE_CHARS, VIDEO_CHARS
from stages.core.excerpts import OPTIONS as EXCERPTS
from stages.core.judge.priors.hints import LOSS_TOKENS, VOTED
from stages.core.lang import Lang, choose
from stages.core.lines import schema
from stages.core.lines.sections import section
from stages.core.linking.vote import (
    ROUND_SECONDS,
    ROUNDS,
    Rounds,
    TableOutcome,
    candidates,
    clean,
    decide,
    result,
    sample_rounds,
    without_votes,
)
from stages.core.params import FiniteFloatRange, count_option
from stages.core.records import Meta, Table, Task, Vote
from stages.core.runtime.stage import JUDGES, TASK_INPUTS, Stage

if TYPE_CHECKING:
    from stages.core.judge.judgment import ValueSearch
    from stages.core.linking.brief import VotePrompt
    from stages.core.model import Model

MAX_TOKENS = 100_000
"""Tokens of one user input; more is judged in batches of tables."""

_SKIPPED_REASON: Mapping[Lang, str] = {
    "zh": "全部候选表本来就放得下, 未投票, 默认相关",
    "en": "all candidate tables fit as they are; not voted on, kept by default",
}


async def vote(
    task: Task,
    tables: Sequence[Table],
    *,
    model: Model | None = None,
    lang: str = "auto",
    rounds: int = ROUNDS,
    timeout: float | None = ROUND_SECONDS,
    skip_under: int = 0,
    max_tokens: int = MAX_TOKENS,
    knowledge_chars: int = KNOWLEDGE_CHARS,
    video_chars: int = VIDEO_CHARS,
    recall: float | None = None,
    loss_tokens: float = LOSS_TOKENS,
    values: ValueSearch | None = None,
) -> Vote:
    """The TableRelevanceResult of one task (first seed, 2.3).

    Args:
        task: What is asked; its ``link`` section, where there is one, is the judge's answer.
        tables: All tables of the catalog in file order; the result keeps that order.
        model: Whom to ask; None is the built-in judge.
        lang: Language of instructions and reasons: ``zh``, ``en`` or ``auto``.
        rounds, timeout: Rounds that are to come through; seconds for one.
        skip_under, max_tokens: Tokens of all tables under which nothing is asked, and of a user
            input above which tables are judged in batches.
        knowledge_chars, video_chars: Characters shown of these; 0 shows all.
        recall: Share of needed tables to keep; None goes by ``loss_tokens`` (`select.by_cost`).
        values: Looks words up in the data for the judge.

    Raises:
        DataError: The task has no question.
    """
    question = task.get("question", "")
    if not question.strip():
        hint = 'add a "question" to the task line'
        raise DataError("the task has no question", place=task["task_id"], hint=hint)
    lang, voted = choose(lang, question), candidates(tables)
    if not voted:
        answer = VoteAnswer({}, 0, {"skipped": "there is no candidate table"})
    elif model is None:
        answer = _builtin(task, tables, lang, recall, loss_tokens, values)
    else:
        terms = VoteOptions(rounds, timeout, skip_under, max_tokens, knowledge_chars, video_chars)
        answer = await _by_model(model, task, voted, lang, terms)
    made = result(
        task["task_id"], tables, answer.outcomes, rounds_ok=answer.rounds_ok, error=answer.error
    )
    made["meta"] = cast("Meta", {"from": [*TASK_INPUTS, "tables"], "lang": lang, **answer.meta})
    return made


@dataclass(frozen=True)
class VoteOptions:
    """On what terms a model is asked; each option as `vote` explains it."""

    rounds: int
    timeout: float | None
    skip_under: int
    max_tokens: int
    knowledge_chars: int
    video_chars: int

    def differing(self) -> Meta:
        """``meta.options``: what shapes the answer and is not at its default."""
        return _differing(
            rounds=(self.rounds, ROUNDS),
            skip_under=(self.skip_under, 0),
            max_tokens=(self.max_tokens, MAX_TOKENS),
            knowledge_chars=(self.knowledge_chars, KNOWLEDGE_CHARS),
            video_chars=(self.video_chars, VIDEO_CHARS),
        )


@dataclass(frozen=True)
class VoteAnswer:
    """Outcomes of all candidates, the rounds behind them, parts of ``meta``, and an error."""

    outcomes: Mapping[str, TableOutcome]
    rounds_ok: int
    meta: Meta = field(default_factory=lambda: Meta())
    error: str = ""


def _differing(**options: tuple[object, object]) -> Meta:
    """``options`` with what is not at its default, or nothing; (value, default) by name."""
    given = {name: value for name, (value, default) in options.items() if value != default}
    return {"options": given} if given else {}


async def _by_model(
    model: Model, task: Task, voted: Sequence[Table], lang: Lang, terms: VoteOptions
) -> VoteAnswer:
    """The answer of the model, or the safe one where nothing is to be asked or can be."""
    from stages.core.linking.brief import write_vote_prompt
    from stages.core.linking.render import previews

    vote_prompt = write_vote_prompt(
        task, lang, knowledge_chars=terms.knowledge_chars, video_chars=terms.video_chars
    )
    blocks = previews(voted, lang)
    if skipped := _fits(blocks, terms.skip_under):
        kept = without_votes(lang, _SKIPPED_REASON[lang])
        meta: Meta = {"skipped": skipped, **terms.differing()}
        return VoteAnswer({table["name"]: kept for table in voted}, 0, meta)
    batches = _batches(vote_prompt, blocks, terms.max_tokens)
    if batches:
        return await _ask_model(model, vote_prompt, voted, blocks, batches, terms)
    what = f"question, knowledge and video alone are over --max-tokens {terms.max_tokens}"
    error = f"{what}; raise it, or lower --knowledge-chars or --video-chars"
    return VoteAnswer(
        {table["name"]: without_votes(lang) for table in voted}, 0, terms.differing(), error
    )


async def _ask_model(
    model: Model,
    vote_prompt: VotePrompt,
    voted: Sequence[Table],
    blocks: Sequence[str],
    batches: Sequence[range],
    terms: VoteOptions,
) -> VoteAnswer:
    """The answer of all rounds over all batches; the batches are asked side by side."""
    import asyncio

    polls = await asyncio.gather(
        *(_sample(model, vote_prompt, [blocks[i] for i in batch], terms) for batch in batches)
    )
    outcomes: dict[str, TableOutcome] = {}
    for batch, answered in zip(batches, polls, strict=True):
        names = [voted[place]["name"] for place in batch]
        cleaned = [clean(reply, frozenset(names)) for reply in answered.replies]
        outcomes |= {name: decide(cleaned, name, vote_prompt.lang) for name in names}
    meta: Meta = {**terms.differing(), "prompt": vote_prompt.prompt_hash}
    rounds_ok = min(len(answered.replies) for answered in polls)
    return VoteAnswer(outcomes, rounds_ok, meta, _error(polls, terms.rounds))


async def _sample(
    model: Model, vote_prompt: VotePrompt, blocks: Sequence[str], terms: VoteOptions
) -> Rounds:
    """All rounds over one batch of tables."""
    from stages.core.model import Request

    messages = (
        {"role": "system", "content": vote_prompt.instructions},
        {"role": "user", "content": vote_prompt.user_input(blocks)},
    )
    request = Request(messages=messages, schema=schema.reply("vote"), name="table_relevance")
    return await sample_rounds(model, request, rounds=terms.rounds, timeout=terms.timeout)


def _batches(vote_prompt: VotePrompt, blocks: Sequence[str], max_tokens: int) -> list[range]:
    """Batches of tables whose user input stays within the limit; none where nothing fits.

    A table that is over the limit by itself is asked about alone and in full.
    """
    from stages.core.tokens import count

    whole = vote_prompt.user_input(blocks)
    # No token is shorter than a byte, so most inputs need no counting.
    if len(whole.encode("utf-8", "replace")) <= max_tokens or count(whole) <= max_tokens:
        return [range(len(blocks))]
    room = max_tokens - count(vote_prompt.user_input([]))
    # The two line breaks between blocks may cost a token of their own.
    from stages.core.linking.packing import split

    return split([count(text) + 1 for text in blocks], room) if room > 0 else []


def _error(polls: Sequence[Rounds], rounds: int) -> str:
    """Why there is no verdict on some tables; empty where every batch had a round."""
    for number, answered in enumerate(polls, start=1):
        if not answered.replies:
            where = f" on batch {number} of {len(polls)}" if len(polls) > 1 else ""
            return f"none of {max(1, rounds)} rounds came through{where}: {answered.error}"
    return ""


def _fits(blocks: Sequence[str], skip_under: int) -> str:
    """What ``meta.skipped`` says where all tables fit; empty where they do not."""
    if skip_under <= 0:
        return ""
    from stages.core.tokens import total

    tokens = total(blocks)
    if tokens >= skip_under:
        return ""
    return f"{len(blocks)} tables of {tokens} tokens, under --skip-under {skip_under}"


def _builtin(
    task: Task,
    tables: Sequence[Table],
    lang: Lang,
    recall: float | None,
    loss_tokens: float,
    values: ValueSearch | None,
) -> VoteAnswer:
    """The one round of the built-in judge, by the ``link`` section where it stands."""
    from stages.core.judge import RankedTable, judge, reason

    link = section(task, "link")
    if link is None:
        found = judge(
            task,
            tables,
            recall=VOTED if recall is None else recall,
            loss_tokens=loss_tokens if recall is None else None,
            columns=False,
            seek=values,
        )
        ranked = {table.name: table for table in found.tables}
        meta = _differing(recall=(recall, None), loss_tokens=(loss_tokens, LOSS_TOKENS))
    else:
        from stages.core.linking.judgment import ranked_table

        ranked = {item["name"]: ranked_table(item) for item in link["tables"]}
        meta = {"from": [*TASK_INPUTS, "tables", "link"]}
    outcomes = {}
    for name in (table["name"] for table in candidates(tables)):
        # A link section leaves out the tables it found nothing about; the judge none.
        one = ranked.get(name) or RankedTable(name, 0.0, link is None)
        outcomes[name] = TableOutcome(one.keep, "1/1" if one.keep else "0/1", reason(one, lang))
    return VoteAnswer(outcomes, 1, meta)


def _counts(made: Vote) -> tuple[int, int]:
    """Tables kept, and tables in all."""
    return len(made["relevant_tables"]), len(made["all_tables"]) + len(made["always_keep"])


STAGE = Stage(
    vote,
    uses=("link",),
    wants=JUDGES,
    options=(
        count_option("--rounds", ROUNDS, "Rounds that are to come through."),
        count_option(
            "--skip-under",
            0,
            "Ask nothing and keep all tables where their blocks take less; 0 is off.",
            least=0,
            unit="TOKENS",
        ),
        count_option(
            "--max-tokens",
            MAX_TOKENS,
            "Tokens of a user input above which tables are judged in batches.",
            unit="TOKENS",
        ),
        *EXCERPTS,
        click.Option(
            ["--recall"],
            type=FiniteFloatRange(0, 1),
            metavar="SHARE",
            help="builtin: share of needed tables to keep, instead of --loss-tokens.",
        ),
        click.Option(
            ["--loss-tokens"],
            type=FiniteFloatRange(0),
            default=LOSS_TOKENS,
            metavar="TOKENS",
            show_default=True,
            help="builtin: what losing a needed table costs; tables stay that cost less than"
            " this times their chance. Where `link` has run, it decides.",
        ),
    ),
    counts=_counts,
    summary="kept {0} of {1:table}",
)
