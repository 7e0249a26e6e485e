"""The prompts that open the rounds of refining.

What all rounds of a task share stands first, so that providers' prompt caches hit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stages.core import prompts
from stages.core.excerpts import Excerpts
from stages.core.lang import Lang
from stages.core.linking.brief import EXCERPTS, Brief
from stages.core.linking.candidates import Candidate
from stages.core.linking.connect import JoinPath
from stages.core.linking.portions import Dealt, Portion, dealt
from stages.core.linking.rounds import QUERIES, reply_schema
from stages.core.records import Task
from stages.core.sections import section
from stages.core.text import block, quoted, safe_lines

if TYPE_CHECKING:
    from stages.core.model import Request

ROLES = ("system", "user", "results")

ANALYSIS = 4_000
"""Characters shown of the analysis."""


def prompt_hash(lang: Lang) -> str:
    """Hash of all instructions of `refine`."""
    return prompts.combined_hash(*(prompts.load("refine", role, lang) for role in ROLES))


@dataclass(frozen=True)
class Way:
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
        paper: Brief,
        task: Task,
        number: int,
        way: Way,
        confirmed: str,
        paths: Sequence[JoinPath],
    ) -> None:
        self._paper, self._number, self._way = paper, number, way
        said = str((section(task, "summarize") or {}).get("query_specific_content_analysis", ""))
        listed = "\n".join(f"p{n}: {path_text(path)}" for n, path in enumerate(paths, start=1))
        self._blocks = {
            "analysis": block("analysis", safe_lines(said, ANALYSIS)) if said.strip() else "",
            "confirmed": block("confirmed", confirmed) if confirmed else "",
            "paths": block("paths", listed) if listed else "",
        }
        self._schema = reply_schema(paths=bool(paths))
        self.too_long = ""

    def request(self, portion: Portion, partial: bool) -> Request:
        """The request that opens the conversation over a portion."""
        from stages.core.model import Request

        def load(role: str) -> prompts.Template:
            return prompts.load("refine", role, self._way.lang)

        user = load("user").render(
            **self._paper.blocks,
            **self._blocks,
            round=self._number,
            candidates=portion.body,
            partial=partial,
        )
        system = load("system").render(dialect=self._way.dialect, most=QUERIES)
        messages = ({"role": "system", "content": system}, {"role": "user", "content": user})
        return Request(messages=messages, schema=self._schema, name=f"refine_round{self._number}")

    def dealt(self, shown: Sequence[tuple[Candidate, Sequence[str]]]) -> Dealt:
        """The candidates in portions."""
        from stages.core.model.dry import tokens_in

        most = self._way.most
        size: Callable[[Portion], int] = lambda portion: tokens_in(self.request(portion, True))  # noqa: E731
        alone = size(Portion(()))
        if alone > most * 3 // 4:
            self.too_long = (
                f"instructions and question alone take {alone} tokens: raise --max-tokens {most}"
            )
            return Dealt(
                (Portion(()),), tuple((i.name, c) for i, columns in shown for c in columns)
            )
        return dealt(shown, size, most=most, lang=self._way.lang)
