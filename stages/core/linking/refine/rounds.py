"""One outer round of refining, and the prompts that open it.

The prompts that open the rounds of refining.

What all rounds of a task share stands first, so that providers' prompt caches hit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import orjson

from stages.core import prompts
from stages.core.errors import ModelError, SqlUnavailable
from stages.core.excerpts import Excerpts
from stages.core.jsontypes import JsonMapping
from stages.core.lang import Lang
from stages.core.lines import schema
from stages.core.lines.sections import or_empty, section
from stages.core.linking.brief import EXCERPTS, Brief
from stages.core.linking.join_graph import JoinPath
from stages.core.linking.refine.batches import RefineBatch, RefineBatches, pack
from stages.core.linking.refine.candidates import Candidate
from stages.core.records import Statement, Task
from stages.core.sandbox.result_cache import QueryOutcome, shown
from stages.core.text import block, quoted, safe_lines, visible

if TYPE_CHECKING:
    from stages.core.model import Model, Request
    from stages.core.sandbox.session import Data

PARTS = ("system", "user", "results")

ANALYSIS = 4_000
"""Characters shown of the analysis."""


def prompt_hash(lang: Lang) -> str:
    """Hash of all instructions of `refine`."""
    return prompts.combined_hash(*(prompts.load("refine", role, lang) for role in PARTS))


@dataclass(frozen=True)
class RefineOptions:
    """How a task is refined.

    Args:
        lang: Language of the instructions.
        most: Tokens of the prompt that opens a round.
        timeout: Seconds for one call.
        dialect: SQL dialect of queries.
        excerpts: How much of knowledge and video is shown.
    """

    lang: Lang
    most: int
    timeout: float | None
    dialect: str
    excerpts: Excerpts = EXCERPTS


def path_text(path: JoinPath) -> str:
    """One path in words: its tables, and what joins them."""
    tables = " - ".join(quoted(name) for name in path.tables)
    joins = "; ".join(
        f"{quoted(edge.left)}.{quoted(left)} = {quoted(edge.right)}.{quoted(right)} ({edge.how})"
        for edge in path.joins
        for left, right in zip(edge.left_columns, edge.right_columns, strict=False)
    )
    return f"{tables}: {joins}"


class RoundPrompt:
    """The prompts of one round.

    Attributes:
        too_long: Why nothing can be asked; empty where it can.
    """

    def __init__(
        self,
        brief: Brief,
        task: Task,
        number: int,
        options: RefineOptions,
        confirmed: str,
        paths: Sequence[JoinPath],
    ) -> None:
        self._brief, self._number, self._options = brief, number, options
        said = str(or_empty(section(task, "summarize")).get("query_specific_content_analysis", ""))
        listed = "\n".join(f"p{n}: {path_text(path)}" for n, path in enumerate(paths, start=1))
        self._blocks = {
            "analysis": block("analysis", safe_lines(said, ANALYSIS)) if said.strip() else "",
            "confirmed": block("confirmed", confirmed) if confirmed else "",
            "paths": block("paths", listed) if listed else "",
        }
        self._schema = schema.reply("refine.paths" if paths else "refine")
        self.too_long = ""

    def request(self, batch: RefineBatch, partial: bool) -> Request:
        """The request that opens the conversation over a batch."""
        from stages.core.model import Request

        def load(role: str) -> prompts.Template:
            return prompts.load("refine", role, self._options.lang)

        user = load("user").render(
            **self._brief.blocks,
            **self._blocks,
            round=self._number,
            candidates=batch.body,
            partial=partial,
        )
        system = load("system").render(dialect=self._options.dialect, most=QUERIES)
        messages = ({"role": "system", "content": system}, {"role": "user", "content": user})
        return Request(messages=messages, schema=self._schema, name=f"refine_round{self._number}")

    def batches(self, shown: Sequence[tuple[Candidate, Sequence[str]]]) -> RefineBatches:
        """The candidates in batches."""
        from stages.core.model.dry_run import tokens_in

        most = self._options.most
        size: Callable[[RefineBatch], int] = lambda batch: tokens_in(self.request(batch, True))  # noqa: E731
        alone = size(RefineBatch(()))
        if alone > most * 3 // 4:
            self.too_long = (
                f"instructions and question alone take {alone} tokens: raise --max-tokens {most}"
            )
            return RefineBatches(
                (RefineBatch(()),), tuple((i.name, c) for i, columns in shown for c in columns)
            )
        return pack(shown, size, most=most, lang=self._options.lang)


# One outer round of refining: for each batch a conversation of at most two calls.

QUERIES = 8
"""Queries run in a round of one batch (as `explore`; seed 004, 4.2)."""

RESULT_CHARS, LEAST_CHARS, SQL_CHARS = 12_000, 600, 1_000
"""Characters of all results that the second call shows, of one at least, and of a statement."""

CONFIRM = "CONFIRM"


@dataclass(frozen=True)
class RoundOptions:
    """How a round is asked.

    Args:
        lang: Language of the instructions.
        timeout: Seconds for one call.
        paths: Whether join paths are on offer.
    """

    lang: Lang
    timeout: float | None
    paths: bool = False


@dataclass
class RoundReply:
    """What came of one batch.

    Args:
        batch: What was shown.
        replies: One or two, in order.
        log: Statements that ran, with their results.
        error: Why a call failed; then what was shown stays.
    """

    batch: RefineBatch
    replies: list[JsonMapping] = field(default_factory=list)
    log: list[Statement] = field(default_factory=list)
    error: str = ""

    @property
    def confirmed(self) -> bool:
        """Whether the last reply says ``[CONFIRM]``."""
        return bool(self.replies) and _confirms(self.replies[-1])


def _confirms(reply: Mapping[str, object]) -> bool:
    return CONFIRM in str(reply["status"]).upper()


async def ask_round(
    model: Model,
    data: Data | None,
    asked: Sequence[tuple[RefineBatch, Request]],
    terms: RoundOptions,
) -> list[RoundReply]:
    """A conversation over every batch, side by side; in their order.

    Raises:
        Exception: Whatever a call raises that is no `ModelError`.
    """
    import asyncio

    outcomes = (_converse(model, data, batch, request, terms) for batch, request in asked)
    return list(await asyncio.gather(*outcomes))


async def _converse(
    model: Model, data: Data | None, batch: RefineBatch, request: Request, terms: RoundOptions
) -> RoundReply:
    from dataclasses import replace

    outcome = RoundReply(batch)
    try:
        first = (await model.ask(request, timeout=terms.timeout)).data
        outcome.replies.append(first)
        queries = [sql for sql in first["exploration_queries"] if sql.strip()]
        if not queries or _confirms(first):
            return outcome
        told = await _run(data, queries, outcome, terms.lang)
        # A reply from the cache has its keys in another order.
        content = orjson.dumps(first, option=orjson.OPT_SORT_KEYS).decode()
        said = {"role": "assistant", "content": content}
        second = replace(request, messages=(*request.messages, said, told))
        outcome.replies.append((await model.ask(second, timeout=terms.timeout)).data)
    except (ModelError, SqlUnavailable) as error:
        outcome.error = str(error)
    return outcome


async def _run(
    data: Data | None, queries: Sequence[str], outcome: RoundReply, lang: Lang
) -> Mapping[str, str]:
    """Run the queries; the message that tells what came of them."""
    import asyncio

    asked = queries[:QUERIES] if data is not None else []
    ran = await asyncio.gather(*(data.ask(sql) for sql in asked)) if data is not None else []
    outcome.log += [tried.log for tried in ran]
    text = prompts.load("refine", "results", lang).render(
        results=_results(ran),
        reason="the catalog has no data" if lang == "en" else "目录中没有数据",
        dropped=len(queries) - len(asked) if ran else 0,
        most=QUERIES,
    )
    return {"role": "user", "content": text}


def _results(ran: Sequence[QueryOutcome]) -> str:
    """The statements as they ran, each with its result, as one data block."""
    if not ran:
        return ""
    limit = max(LEAST_CHARS, RESULT_CHARS // len(ran))
    parts = []
    for tried in ran:
        notes = [f"note: {note}" for note in (tried.result.notes if tried.result else ())]
        res = shown(tried.result, limit) if tried.result else tried.res
        parts.append(
            "\n".join([f"-- {visible(tried.sql, SQL_CHARS)}", *map(safe_lines, notes), res])
        )
    return block("results", "\n\n".join(parts))
