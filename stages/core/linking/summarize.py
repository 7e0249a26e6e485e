"""What each table does for a question: asked of a model, or by roles from keys and matched words.

The roles are those of seed 004, 4.1: target (gives the output), filter (gives a condition),
bridge (joins two others), calculation (gives the numbers).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stages.core import prompts
from stages.core.errors import ModelError
from stages.core.excerpts import Excerpts
from stages.core.judge.channels import OWN
from stages.core.lang import Lang
from stages.core.lines import schema
from stages.core.linking.batches import Batch, packed
from stages.core.linking.brief import EXCERPTS, Brief, write_brief
from stages.core.linking.judgment import JudgeRanks, judgment_for
from stages.core.linking.plan import phrases
from stages.core.linking.prune.replies import ReplyReader
from stages.core.linking.render import Sheet
from stages.core.model.request import ask_together
from stages.core.text import block, listed, safe_lines, visible

if TYPE_CHECKING:
    from stages.core.judge import Edge, RankedColumn
    from stages.core.judge.judgment import ValueSearch
    from stages.core.model import Model, Reply, Request
    from stages.core.records import Column, Table, Task

ROLES = ("target", "filter", "bridge", "calculation")

_NUMBER = re.compile(r"[A-Z]*INT|DOUBLE|FLOAT|REAL|DECIMAL|NUMERIC|HUGEINT", re.IGNORECASE)
_DAY = re.compile(r"DATE|TIME", re.IGNORECASE)
_DAY_WORDS = frozenset(
    ["date", "time", "year", "month", "day", "日期", "时间", "年份", "年", "月份"]
)
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")

_SAID: Mapping[Lang, Mapping[str, str]] = {
    "en": {
        "target": "gives output", "filter": "gives a condition", "bridge": "joins other tables",
        "calculation": "gives numbers", "none": "nothing in the question speaks of it; kept to be safe",  # noqa: E501
        "by": "by {names}", "value": "holds {words}", "joins": "joins {names}", "asks": "The question asks: {text}",  # noqa: E501
        "role": "{role}: {names}", "keys": "Joined by {keys}", "; ": "; ",
    },
    "zh": {
        "target": "提供输出", "filter": "提供筛选条件", "bridge": "连接其他表",
        "calculation": "提供计算用的数值", "none": "题目没有提到它，为稳妥而保留",
        "by": "列 {names}", "value": "含有值 {words}", "joins": "关联 {names}", "asks": "题目要求：{text}",  # noqa: E501
        "role": "{role}：{names}", "keys": "连接：{keys}", "; ": "；",
    },
}  # fmt: skip


@dataclass(frozen=True)
class Semantics:
    """What tables do for a question.

    Args:
        analysis: The question and the schema as a whole.
        functions: What each table does, by canonical name.
        roles: Its roles, by canonical name; none where nothing speaks for one.
    """

    analysis: str
    functions: Mapping[str, str]
    roles: Mapping[str, tuple[str, ...]]


def semantics(
    task: Task,
    tables: Sequence[Table],
    candidates: Sequence[Table],
    lang: Lang,
    values: ValueSearch | None = None,
) -> Semantics:
    """The answer of the built-in judge.

    Args:
        task: What is asked; its ``link`` section is used where it stands.
        tables: All tables of the catalog, by name.
        candidates: The surviving ones, with their surviving columns.
        lang: Language of the texts.
        values: Looks words up in the data.
    """
    from stages.core.judge.index.keys import key_graph

    found, graph = judgment_for(task, tables, values), key_graph(candidates)
    terms = _QuestionWords(task.get("question", ""), lang)
    roles: dict[str, tuple[str, ...]] = {}
    for table in candidates:
        near = graph.neighbours.get(table["name"], frozenset())
        roles[table["name"]] = _roles(table, found, terms, len(near))
    if candidates and not any("target" in own for own in roles.values()):
        best = max(candidates, key=lambda table: found.table(table["name"]).score)["name"]
        roles[best] = ("target", *roles[best])
    functions = {
        table["name"]: _function(
            table,
            roles[table["name"]],
            found,
            sorted(graph.neighbours.get(table["name"], ())),
            lang,
        )
        for table in candidates
    }
    return Semantics(_analysis(terms, roles, graph.edges), functions, roles)


class _QuestionWords:
    """The forms of a question."""

    def __init__(self, question: str, lang: Lang) -> None:
        self.question, self.lang = question, lang
        found = phrases(question, lang)
        self.filters = " ".join(found.get("filter", ())).lower()
        self.dated = bool(_YEAR.search(question))
        self.counts = " ".join(
            phrase for kind in ("aggregate", "compare", "order") for phrase in found.get(kind, ())
        ).lower()


def _roles(table: Table, found: JudgeRanks, terms: _QuestionWords, near: int) -> tuple[str, ...]:
    """The roles of one table, in the order of `ROLES`."""
    types = {column["name"]: column for column in table["columns"]}
    spoken = [
        column
        for column in found.columns.get(table["name"], ())
        if column.name in types and any(item.type in OWN for item in column.evidence)
    ]
    keys = _keys(table)
    own = {
        "target": any(c.name not in keys for c in spoken) or _named(found, table["name"]),
        "filter": any(_filters(c, types[c.name], terms, c.name in keys) for c in spoken)
        or (terms.dated and any(map(_is_day, table["columns"]))),
        "calculation": bool(terms.counts)
        and any(_is_number(types[c.name]) and c.name not in keys for c in spoken),
    }
    own["bridge"] = near > 1 and (not own["target"] or len(keys) * 2 >= len(types))
    return tuple(role for role in ROLES if own[role])


def _named(found: JudgeRanks, table: str) -> bool:
    """Whether the question names the table, and it is likely to be needed."""
    ranked = found.table(table)
    return ranked.score >= 0.5 and any(item.type in OWN for item in ranked.evidence)


def _filters(column: RankedColumn, record: Column, terms: _QuestionWords, key: bool) -> bool:
    """Whether a condition of the question is about the column; about a key only by a value."""
    if any(item.type == "value" for item in column.evidence):
        return True
    if terms.dated and _is_day(record):
        return True
    said = [word.lower() for item in column.evidence for word in item.words]
    return not key and any(word in terms.filters for word in said)


def _is_day(column: Column) -> bool:
    """Whether a column holds days or moments, by its type or its name."""
    from stages.core.judge.language.tokenize import split

    return bool(_DAY.match(column["type"])) or not _DAY_WORDS.isdisjoint(split(column["name"]))


def _is_number(column: Column) -> bool:
    """Whether a column or a field in it holds numbers."""
    types = [field["type"] for field in column.get("fields", [])] or [column["type"]]
    return any(_NUMBER.match(kind) for kind in types)


def _keys(table: Table) -> set[str]:
    """The columns of declared keys."""
    foreign = {name for key in table.get("foreign_keys", []) for name in key["columns"]}
    return foreign | set(table.get("primary_key", []))


def _function(
    table: Table, roles: Sequence[str], found: JudgeRanks, near: Sequence[str], lang: Lang
) -> str:
    """One sentence: the roles, the columns and values that speak for them, the tables joined."""
    said = _SAID[lang]
    columns = [
        column
        for column in found.columns.get(table["name"], ())
        if any(item.type in OWN for item in column.evidence)
    ]
    values = [w for c in columns for item in c.evidence if item.type == "value" for w in item.words]
    parts = [said[role] for role in roles] or [said["none"]]
    if columns:
        parts.append(said["by"].format(names=listed(c.name for c in columns)))
    if values:
        parts.append(said["value"].format(words=listed(dict.fromkeys(values))))
    if near:
        parts.append(said["joins"].format(names=listed(near)))
    return said["; "].join(parts)


def _analysis(
    terms: _QuestionWords, roles: Mapping[str, Sequence[str]], edges: Sequence[Edge]
) -> str:
    """The question, the tables of each role, and the keys between them."""
    said = _SAID[terms.lang]
    lines = [said["asks"].format(text=visible(terms.question, 500))]
    for role in ROLES:
        names = [table for table, own in roles.items() if role in own]
        if names:
            lines.append(said["role"].format(role=role, names=listed(names)))
    keys = [
        f"{edge.left}.{'+'.join(edge.left_columns)} = {edge.right}.{'+'.join(edge.right_columns)}"
        for edge in edges
    ]
    if keys:
        lines.append(said["keys"].format(keys=listed(keys)))
    return "\n".join(lines)


# Asking a model what each candidate table does for a question (seed 004, 4.1).

FUNCTION, ANALYSIS = 1_000, 8_000
"""Characters kept of what a model says about a table, and about the whole."""

BRIEF_SHARE = 3
"""The part of a prompt, one in so many, that question, plan and evidence may take."""

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
    from stages.core.model.dry_run import tokens_in

    brief = write_brief(task, lang, tokens=most // BRIEF_SHARE, excerpts=excerpts)
    notes = [f"the {name} is cut in the prompts" for name in brief.cut]
    size: Callable[[Batch], int] = lambda batch: tokens_in(_request(brief, batch))  # noqa: E731
    if size(Batch(())) > most // 2:
        error = f"instructions and question alone fill half of --max-tokens {most}; raise it"
        return Read(Semantics("", {}, {}), 0, tuple(notes), f"nothing was asked: {error}")
    batches, split = packed(sheets, size, least=most, most=most)
    answers = await ask_together(model, [_request(brief, batch) for batch in batches], timeout)
    read = [
        _read(ReplyReader(batch), answer)
        for batch, answer in zip(batches, answers, strict=True)
        if not isinstance(answer, ModelError)
    ]
    error = _error(answers)
    said = _together(read)
    if len(read) > 1:
        said, failed = await _merged(model, brief, read, said, most, timeout)
        error = "; ".join(filter(None, (error, failed)))
    return Read(said, len(batches), (*notes, *split), error)


def _request(brief: Brief, batch: Batch) -> Request:
    return _prompt(brief, "system", "user", n_tables=len(batch.ids), tables=batch.body)


def _prompt(brief: Brief, system: str, user: str, **values: object) -> Request:
    from stages.core.model import Request

    messages = (
        {"role": "system", "content": prompts.load("summarize", system, brief.lang).render()},
        {
            "role": "user",
            "content": prompts.load("summarize", user, brief.lang).render(**brief.blocks, **values),
        },
    )
    return Request(messages=messages, schema=schema.reply("summarize"), name="query_semantics")


def _read(reader: ReplyReader, answer: Reply) -> Semantics:
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
    brief: Brief,
    read: Sequence[Semantics],
    said: Semantics,
    most: int,
    timeout: float | None,
) -> tuple[Semantics, str]:
    """One analysis of those of all batches, and why there is none where the call fails."""
    request = _merge_request(brief, read, said, most)
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


def _merge_request(brief: Brief, read: Sequence[Semantics], said: Semantics, most: int) -> Request:
    """The merge, with texts short enough to stay within the limit, or fewer of them."""
    from stages.core.model.dry_run import tokens_in

    chars, n_tables = ANALYSIS, len(said.functions)
    while True:
        analyses = [block("analysis", safe_lines(one.analysis, chars)) for one in read]
        lines = [
            f"- {visible(name)} [{', '.join(said.roles[name])}]: {visible(function, chars // 8)}"
            for name, function in list(said.functions.items())[:n_tables]
        ]
        texts = {"analyses": "\n\n".join(analyses), "functions": block("tables", "\n".join(lines))}
        request = _prompt(brief, "merge", "merge_user", **texts)
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
