"""Asking a model what each candidate table does for a question (seed 004, 4.1).

One call sees all candidates where they fit; else batches are asked side by side, and one
more call makes one analysis of theirs and may set right what a batch alone could not see.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stages.core import prompts
from stages.core.errors import ModelError
from stages.core.excerpts import Excerpts
from stages.core.lang import Lang
from stages.core.linking.brief import EXCERPTS, Brief, brief
from stages.core.linking.packing import Batch, packed
from stages.core.linking.replies import Reader
from stages.core.linking.roles import ROLES, Semantics
from stages.core.linking.schema_text import Sheet
from stages.core.model.together import ask_together
from stages.core.text import block, safe_lines, visible

if TYPE_CHECKING:
    from stages.core.model import Model, Reply, Request
    from stages.core.records import Task

FUNCTION, ANALYSIS = 1_000, 8_000
"""Characters kept of what a model says about a table, and about the whole."""

BRIEF_SHARE = 3
"""The part of a prompt, one in so many, that question, plan and evidence may take."""

REPLY_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "query_specific_content_analysis": {"type": "string"},
        "table_functions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "table": {"type": "string"},
                    "function": {"type": "string"},
                    "roles": {"type": "array", "items": {"enum": list(ROLES)}},
                },
                "required": ["table", "function", "roles"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["query_specific_content_analysis", "table_functions"],
    "additionalProperties": False,
}
"""JSON Schema of a reply, of a batch and of the merge alike."""

PROMPTS = ("system", "user", "merge", "merge_user")


@dataclass(frozen=True)
class Read:
    """What came of asking.

    Args:
        said: What the model says; tables that it says nothing of are missing.
        batches: Batches that were asked about.
        notes, error: As the section has them.
    """

    said: Semantics
    batches: int = 0
    notes: tuple[str, ...] = ()
    error: str = ""


def prompt_hash(lang: Lang) -> str:
    """Hash of all instructions of `summarize`."""
    return prompts.combined_hash(*(prompts.load("summarize", role, lang) for role in PROMPTS))


async def ask(
    model: Model,
    task: Task,
    sheets: Sequence[Sheet],
    lang: Lang,
    *,
    most: int,
    timeout: float | None,
    excerpts: Excerpts = EXCERPTS,
) -> Read:
    """What the model says of the candidate tables.

    Args:
        model: Whom to ask.
        task: The question and what is known about it.
        sheets: The candidates, in groups.
        lang: Language of the instructions.
        most: Tokens of one whole prompt.
        timeout: Seconds for one call.
        excerpts: How much of knowledge and video is shown.

    Raises:
        Exception: Whatever a call raises that is no `ModelError`.
    """
    from stages.core.model.dry import tokens_in

    paper = brief(task, lang, tokens=most // BRIEF_SHARE, excerpts=excerpts)
    notes = [f"the {name} is cut in the prompts" for name in paper.cut]
    size: Callable[[Batch], int] = lambda batch: tokens_in(_request(paper, batch))  # noqa: E731
    if size(Batch(())) > most // 2:
        error = f"instructions and question alone fill half of --max-tokens {most}; raise it"
        return Read(Semantics("", {}, {}), 0, tuple(notes), f"nothing was asked: {error}")
    batches, split = packed(sheets, size, least=most, most=most)
    answers = await ask_together(model, [_request(paper, batch) for batch in batches], timeout)
    read = [
        _read(Reader(batch), answer)
        for batch, answer in zip(batches, answers, strict=True)
        if not isinstance(answer, ModelError)
    ]
    error = _error(answers)
    said = _together(read)
    if len(read) > 1:
        said, failed = await _merged(model, paper, read, said, most, timeout)
        error = "; ".join(filter(None, (error, failed)))
    return Read(said, len(batches), (*notes, *split), error)


def _request(paper: Brief, batch: Batch) -> Request:
    return _asked(paper, "system", "user", n_tables=len(batch.ids), tables=batch.body)


def _asked(paper: Brief, system: str, user: str, **values: Any) -> Request:
    from stages.core.model import Request

    messages = (
        {"role": "system", "content": prompts.load("summarize", system, paper.lang).render()},
        {
            "role": "user",
            "content": prompts.load("summarize", user, paper.lang).render(**paper.blocks, **values),
        },
    )
    return Request(messages=messages, schema=REPLY_SCHEMA, name="query_semantics")


def _read(reader: Reader, answer: Reply) -> Semantics:
    """What one reply says; of several words on one table the last counts."""
    functions: dict[str, str] = {}
    roles: dict[str, tuple[str, ...]] = {}
    for entry in answer.data["table_functions"]:
        for name in sorted(reader.tables(entry["table"])):
            functions[name] = _clean(entry["function"], FUNCTION)
            roles[name] = tuple(role for role in ROLES if role in entry["roles"])
    analysis = _clean(answer.data["query_specific_content_analysis"], ANALYSIS)
    return Semantics(analysis, functions, roles)


def _together(read: Sequence[Semantics]) -> Semantics:
    """The replies one after the other; a table shown in several batches has all its roles."""
    functions: dict[str, str] = {}
    roles: dict[str, set[str]] = {}
    for said in read:
        for name, function in said.functions.items():
            before = functions.get(name)
            functions[name] = f"{before} {function}" if before else function
            roles.setdefault(name, set()).update(said.roles[name])
    ordered = {name: tuple(r for r in ROLES if r in own) for name, own in roles.items()}
    return Semantics("\n".join(filter(None, (s.analysis for s in read))), functions, ordered)


async def _merged(
    model: Model,
    paper: Brief,
    read: Sequence[Semantics],
    said: Semantics,
    most: int,
    timeout: float | None,
) -> tuple[Semantics, str]:
    """One analysis of those of all batches, and why there is none where the call fails."""
    request = _merge_request(paper, read, said, most)
    answer = (await ask_together(model, [request], timeout))[0]
    if isinstance(answer, ModelError):
        return said, f"the analyses of {len(read)} batches could not be merged: {answer}"
    spelled = {visible(name): name for name in said.functions} | {n: n for n in said.functions}
    functions, roles = {**said.functions}, {**said.roles}
    for entry in answer.data["table_functions"]:
        name = spelled.get(entry["table"])
        if name is not None:
            functions[name] = _clean(entry["function"], FUNCTION) or functions[name]
            roles[name] = tuple(role for role in ROLES if role in entry["roles"])
    analysis = _clean(answer.data["query_specific_content_analysis"], ANALYSIS)
    return Semantics(analysis or said.analysis, functions, roles), ""


def _merge_request(paper: Brief, read: Sequence[Semantics], said: Semantics, most: int) -> Request:
    """The merge, with texts short enough to stay within the limit, or fewer of them."""
    from stages.core.model.dry import tokens_in

    chars, n_tables = ANALYSIS, len(said.functions)
    while True:
        analyses = [block("analysis", safe_lines(one.analysis, chars)) for one in read]
        lines = [
            f"- {visible(name)} [{', '.join(said.roles[name])}]: {visible(function, chars // 8)}"
            for name, function in list(said.functions.items())[:n_tables]
        ]
        texts = {"analyses": "\n\n".join(analyses), "functions": block("tables", "\n".join(lines))}
        request = _asked(paper, "merge", "merge_user", **texts)
        if tokens_in(request) <= most or chars <= 64:
            return request
        chars, n_tables = chars // 2, n_tables if chars > 500 else n_tables // 2


def _clean(said: str, limit: int) -> str:
    """Printable text of a bounded length: no lone surrogate, which no line can hold."""
    return said.strip()[:limit].encode("utf-8", "replace").decode("utf-8")


def _error(answers: Sequence[Reply | ModelError]) -> str:
    failures = [answer for answer in answers if isinstance(answer, ModelError)]
    if not failures:
        return ""
    what = f"{len(failures)} of {len(answers)} calls failed"
    return f"{what}, so the built-in judge speaks for their tables: {failures[0]}"
