"""One outer round of refining: for each portion a conversation of at most two calls.

Seed 004, 5.2 and 5.3. The first call gives the round's schema; where it also gives queries
and does not say ``[CONFIRM]``, they are run, and a second call gives the schema again in view
of the results, in the place of the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from stages.core import prompts
from stages.core.errors import ModelError, SqlUnavailable
from stages.core.lang import Lang
from stages.core.linking.portions import Portion
from stages.core.linking.results import Tried, shown
from stages.core.records import Statement
from stages.core.text import block, safe_lines, visible

if TYPE_CHECKING:
    from stages.core.linking.data import Data
    from stages.core.model import Model, Request

QUERIES = 8
"""Queries run in a round of one portion (as `explore`; seed 004, 4.2)."""

RESULT_CHARS, LEAST_CHARS, SQL_CHARS = 12_000, 600, 1_000
"""Characters of all results that the second call shows, of one at least, and of a statement."""

CONFIRM = "CONFIRM"

_COLUMN: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "column_name": {"type": "string"},
        "relevance_reason": {"type": "string"},
    },
    "required": ["column_name", "relevance_reason"],
    "additionalProperties": False,
}
_TABLE: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "table": {"type": "string"},
        "relevant_columns": {"type": "array", "items": _COLUMN},
    },
    "required": ["table", "relevant_columns"],
    "additionalProperties": False,
}
_DECLINED: Mapping[str, Any] = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "reason": {"type": "string"}},
    "required": ["path", "reason"],
    "additionalProperties": False,
}


def reply_schema(*, paths: bool) -> Mapping[str, Any]:
    """JSON Schema of a reply; with ``paths`` join paths may be declined."""
    properties: dict[str, Any] = {
        "refined_schema": {"type": "array", "items": _TABLE},
        "exploration_queries": {"type": "array", "items": {"type": "string"}},
        **({"declined_paths": {"type": "array", "items": _DECLINED}} if paths else {}),
        "status": {"type": "string"},
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


@dataclass(frozen=True)
class Terms:
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
class Talk:
    """What came of one portion.

    Args:
        portion: What was shown.
        replies: One or two, in order.
        log: Statements that ran, with their results.
        error: Why a call failed; then what was shown stays.
    """

    portion: Portion
    replies: list[Mapping[str, Any]] = field(default_factory=list)
    log: list[Statement] = field(default_factory=list)
    error: str = ""

    @property
    def confirmed(self) -> bool:
        """Whether the last reply says ``[CONFIRM]``."""
        return bool(self.replies) and _confirms(self.replies[-1])


def _confirms(reply: Mapping[str, Any]) -> bool:
    return CONFIRM in str(reply["status"]).upper()


async def ask_round(
    model: Model,
    data: Data | None,
    asked: Sequence[tuple[Portion, Request]],
    terms: Terms,
) -> list[Talk]:
    """A conversation over every portion, side by side; in their order.

    Raises:
        Exception: Whatever a call raises that is no `ModelError`.
    """
    import asyncio

    talks = (_talk(model, data, portion, request, terms) for portion, request in asked)
    return list(await asyncio.gather(*talks))


async def _talk(
    model: Model, data: Data | None, portion: Portion, request: Request, terms: Terms
) -> Talk:
    from dataclasses import replace

    talk = Talk(portion)
    try:
        first = (await model.ask(request, timeout=terms.timeout)).data
        talk.replies.append(first)
        queries = [sql for sql in first["exploration_queries"] if sql.strip()]
        if not queries or _confirms(first):
            return talk
        told = await _run(data, queries, talk, terms.lang)
        # A reply from the cache has its keys in another order.
        content = orjson.dumps(first, option=orjson.OPT_SORT_KEYS).decode()
        said = {"role": "assistant", "content": content}
        second = replace(request, messages=(*request.messages, said, told))
        talk.replies.append((await model.ask(second, timeout=terms.timeout)).data)
    except (ModelError, SqlUnavailable) as error:
        talk.error = str(error)
    return talk


async def _run(
    data: Data | None, queries: Sequence[str], talk: Talk, lang: Lang
) -> Mapping[str, str]:
    """Run the queries; the message that tells what came of them."""
    import asyncio

    asked = queries[:QUERIES] if data is not None else []
    ran = await asyncio.gather(*(data.ask(sql) for sql in asked)) if data is not None else []
    talk.log += [tried.log for tried in ran]
    text = prompts.load("refine", "results", lang).render(
        results=_results(ran),
        reason="the catalog has no data" if lang == "en" else "目录中没有数据",
        dropped=len(queries) - len(asked) if ran else 0,
        most=QUERIES,
    )
    return {"role": "user", "content": text}


def _results(ran: Sequence[Tried]) -> str:
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
