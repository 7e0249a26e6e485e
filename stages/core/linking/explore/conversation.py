"""The conversation about one table, and the view of the table that it begins with.

One candidate table as the model that explores it sees it: the columns that were kept.

A table that is too large for its share of the prompt shows less of each column, and in the
end fewer columns; how many are left out is told.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stages.core import prompts
from stages.core.errors import ModelError, SqlUnavailable
from stages.core.excerpts import Excerpts
from stages.core.jsontypes import JsonValue
from stages.core.lang import Lang
from stages.core.lines import schema
from stages.core.lines.sections import or_empty, section
from stages.core.linking.brief import EXCERPTS
from stages.core.linking.explore.judgments import TableFinding, parse_judgment
from stages.core.records import Column, Field, Statement, Table, Task
from stages.core.sandbox.result_cache import QueryOutcome
from stages.core.text import block, cell, quoted, safe_lines, visible

if TYPE_CHECKING:
    from stages.core.model import Model
    from stages.core.sandbox.session import Data

NAMES = 40
"""Similar tables named; more are counted."""


@dataclass(frozen=True)
class ColumnDetail:
    """How much is shown of each column.

    Args:
        note: Characters of a description.
        examples: Example values.
    """

    note: int
    examples: int


DETAILS = (ColumnDetail(300, 3), ColumnDetail(80, 1), ColumnDetail(0, 0))
"""From most to least; the first that fits is taken."""


def kept_columns(table: Table, kept: Sequence[str]) -> list[tuple[Column, list[Field]]]:
    """The columns that were kept, each with its fields that were.

    Args:
        table: The table line.
        kept: Names of columns, or dotted paths of fields where only some of a column stay.

    >>> table = {"columns": [{"name": "a", "type": "INT"}, {"name": "b", "type": "INT"}]}
    >>> [column["name"] for column, _ in kept_columns(table, ["b"])]
    ['b']
    """
    wanted = set(kept)
    found = []
    for column in table["columns"]:
        fields = column.get("fields", [])
        if column["name"] not in wanted:
            fields = [field for field in fields if field["name"] in wanted]
            if not fields:
                continue
        found.append((column, fields))
    return found


def table_view(table: Table, kept: Sequence[str], max_tokens: int) -> str:
    """The table's block, within so many tokens.

    Args:
        table: The table line.
        kept: As in `kept_columns`.
        max_tokens: Tokens that the block may take.
    """
    from stages.core.tokens import count

    head = list(_head(table))
    columns = kept_columns(table, kept)
    lines: list[str] = []
    for detail in DETAILS:
        lines = [line for column, fields in columns for line in _column(column, fields, detail)]
        if count("\n".join(head + lines)) <= max_tokens:
            return "\n".join(head + lines)
    return "\n".join(head + _first(lines, max_tokens - count("\n".join(head))))


def _first(lines: Sequence[str], room: int) -> list[str]:
    """As many lines as fit, and how many are left out."""
    from stages.core.tokens import count

    shown: list[str] = []
    for line in lines:
        room -= count(line) + 1
        if room < 0:
            break
        shown.append(line)
    return [*shown, f"(and {len(lines) - len(shown)} more columns)"]


def _head(table: Table) -> Iterator[str]:
    yield f"### {quoted(table['name'])}"
    about = table.get("description") or table.get("comment") or table.get("nl_name")
    if about:
        yield visible(about, DETAILS[0].note)
    rows = table.get("rows", {"count": None, "how": "unknown"})
    if rows["count"] is not None:
        yield f"rows: {rows['count']} ({rows['how']})"
    if table.get("primary_key"):
        yield f"primary key: {_listed(table['primary_key'])}"
    for key in table.get("foreign_keys", []):
        other = f"{quoted(key['ref_table'])}({_listed(key['ref_columns'])})"
        yield f"foreign key: {_listed(key['columns'])} -> {other}"
    yield "columns:"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(quoted(name) for name in names)


def _column(column: Column, fields: Sequence[Field], detail: ColumnDetail) -> Iterator[str]:
    """One line for a column, or one for each of its fields."""
    note = column.get("description") or column.get("comment") or column.get("nl_name") or ""
    if not fields:
        yield _line(quoted(column["name"]), column, note, detail)
        return
    for field in fields:
        path = ".".join(quoted(part) for part in field["name"].split("."))
        yield _line(path, field, field.get("description") or note, detail)


def _line(name: str, column: Column | Field, note: str, detail: ColumnDetail) -> str:
    text = f"- {name} {visible(column['type'], 120)}"
    if note and detail.note:
        text += f": {visible(note, detail.note)}"
    examples = column.get("examples", [])[: detail.examples]
    if examples:
        text += f" (e.g. {', '.join(repr_of(value) for value in examples)})"
    return text


def repr_of(value: str) -> str:
    """A value in single quotes, as SQL writes it."""
    return "'" + cell(value).replace("'", "''") + "'"


def similar(table: str, groups: Mapping[str, Sequence[str]]) -> list[str]:
    """The other tables of the table's group, by name.

    >>> similar("a", {"a": ["a", "b"], "c": ["c", "d"]})
    ['b']
    """
    for names in groups.values():
        if table in names:
            return sorted(name for name in names if name != table)
    return []


def similar_view(table: str, groups: Mapping[str, Sequence[str]]) -> str:
    """The names of similar tables on one line; empty where there are none."""
    names = similar(table, groups)
    more = f" (and {len(names) - NAMES} more)" if len(names) > NAMES else ""
    return _listed(names[:NAMES]) + more


# The conversation about one table: queries, results, at most two rounds, then the judgment.

ROUNDS = 2
"""Rounds of queries at most (seed 004, 4.2)."""

QUERIES = 8
"""Queries run in a round (seed 004, 4.2: 3 to 8)."""

TABLE_TOKENS = 8_000
"""Tokens of the table's own block."""

PASSAGES = 6_000
"""Characters shown of passages that `prepare` found."""

COMPLETE = "COMPLETE"


@dataclass(frozen=True)
class ExploreOptions:
    """How a table is explored.

    Args:
        lang: Language of the instructions.
        rounds: Rounds of queries at most.
        timeout: Seconds for one call.
        max_tokens: Tokens of the table's own block.
        excerpts: How much of knowledge and video is shown.
    """

    lang: Lang
    rounds: int = ROUNDS
    timeout: float | None = None
    max_tokens: int = TABLE_TOKENS
    excerpts: Excerpts = EXCERPTS


class NoJudgment(Exception):
    """The conversation ended without a judgment; ``log`` is what had been run."""

    def __init__(self, error: ModelError | SqlUnavailable, log: Sequence[Statement]) -> None:
        super().__init__(str(error))
        self.log = log


def prompt_hash(lang: Lang) -> str:
    """Hash of all instructions of the stage."""
    return prompts.combined_hash(
        *(prompts.load("explore", role, lang) for role in ("system", "user", "results"))
    )


async def explore_table(
    model: Model, data: Data, task: Task, table: Table, kept: Sequence[str], terms: ExploreOptions
) -> TableFinding:
    """The judgment that the model reaches by way of its queries.

    Args:
        model: Whom to ask.
        data: What the queries run on.
        task: The question, and the sections about it.
        table: The table.
        kept: Its columns that `prune` kept.
        terms: How it is explored.

    Raises:
        NoJudgment: A call failed or the data was out of reach, and no judgment came.
    """
    exploration = Exploration(model, data, terms, _opening(task, table, kept, data.dialect, terms))
    try:
        await exploration.explore()
        reply = await exploration.judged()
    except (ModelError, SqlUnavailable) as error:
        raise NoJudgment(error, exploration.log) from None
    return parse_judgment(reply, table, exploration.log)


class Exploration:
    """A conversation as it grows.

    Attributes:
        log: The statements that ran, and their results.
    """

    def __init__(
        self, model: Model, data: Data, terms: ExploreOptions, opening: Sequence[Mapping[str, str]]
    ) -> None:
        self.model, self.data, self.terms = model, data, terms
        self.messages = list(opening)
        self.log: list[Statement] = []

    async def explore(self) -> None:
        """All rounds; a later one that fails ends them, for there is something to judge by.

        Raises:
            ModelError: The first round failed.
            SqlUnavailable: The data cannot be reached.
        """
        for number in range(1, self.terms.rounds + 1):
            # The first round has to bring a query, for no table is judged unseen; a later one that
            # brings too few is no reason to ask again.
            try:
                asked = await self._ask(
                    f"explore.{'first' if number == 1 else 'round'}", "explore_queries"
                )
            except ModelError:
                if not self.log:
                    raise
                # The last message asked for a round; the judgment is asked for in its place.
                self.messages[-1] = self._said(self._results, None)
                return
            queries = [_encodable(sql) for sql in asked["queries"] if sql.strip()]
            ended = COMPLETE in asked["status"].upper() or number == self.terms.rounds
            await self._run(queries, None if ended or not queries else number + 1)
            if ended or not queries:
                return

    async def judged(self) -> JsonValue:
        """The reply that is the judgment.

        Raises:
            ModelError: It did not come.
        """
        return await self._ask("explore.judgment", "table_judgment")

    async def _ask(self, shape: str, name: str) -> JsonValue:
        from stages.core.model import Request

        request = Request(tuple(self.messages), schema.reply(shape), name)
        reply = await self.model.ask(request, timeout=self.terms.timeout)
        content = _encodable(json.dumps(reply.data, ensure_ascii=False, sort_keys=True))
        self.messages.append({"role": "assistant", "content": content})
        return reply.data

    async def _run(self, queries: Sequence[str], following: int | None) -> None:
        """Run the queries of a round, and tell the model what came of them."""
        import asyncio

        ran = await asyncio.gather(*(self.data.ask(sql) for sql in queries[:QUERIES]))
        self.log += [tried.log for tried in ran]
        self._results = {"results": _results(ran), "dropped": max(0, len(queries) - QUERIES)}
        self.messages.append(self._said(self._results, following))

    def _said(self, results: Mapping[str, object], following: int | None) -> dict[str, str]:
        template = prompts.load("explore", "results", self.terms.lang)
        text = template.render(**results, most=QUERIES, round=following, rounds=self.terms.rounds)
        return {"role": "user", "content": text}


def _encodable(text: str) -> str:
    """The text without lone surrogates, which no request can hold."""
    return text.encode("utf-8", "replace").decode()


def _results(ran: Sequence[QueryOutcome]) -> str:
    """The statements as they ran, each with its result, as one data block."""
    parts = []
    for tried in ran:
        notes = [f"note: {note}" for note in (tried.result.notes if tried.result else ())]
        parts.append("\n".join([f"-- {tried.log['sql']}", *map(safe_lines, notes), tried.res]))
    return block("results", "\n\n".join(parts)) if parts else ""


def _opening(
    task: Task, table: Table, kept: Sequence[str], dialect: str, terms: ExploreOptions
) -> list[dict[str, str]]:
    """Instructions, and the user message: the task first, then what is about this table."""
    summary = or_empty(section(task, "summarize"))
    analysis = summary.get("query_specific_content_analysis", "")
    function = summary.get("table_functions", {}).get(table["name"], "")
    groups = or_empty(section(task, "prune")).get("groups", {})
    system = prompts.load("explore", "system", terms.lang)
    user = prompts.load("explore", "user", terms.lang)
    told = user.render(
        question=_block("question", task.get("question", "")),
        evidence=_block("evidence", task.get("evidence", "")),
        knowledge=_block("knowledge", task.get("knowledge", ""), terms.excerpts.limit("knowledge")),
        video=_block("video", task.get("video", ""), terms.excerpts.limit("video")),
        passages=_block("passages", passages(task), PASSAGES),
        plan=_block("plan", or_empty(section(task, "plan")).get("logical_plan", "")),
        analysis=_block("analysis", analysis),
        table=block("table", table_view(table, kept, terms.max_tokens)),
        function=_block("function", function),
        similar=_data(similar_view(table["name"], groups)),
        rounds=terms.rounds,
    )
    instructions = system.render(dialect=dialect, rounds=terms.rounds)
    return [{"role": "system", "content": instructions}, {"role": "user", "content": told}]


def _block(kind: str, text: str, limit: int | None = None) -> str:
    """The text as a data block; empty where it is."""
    return block(kind, safe_lines(text.strip(), limit)) if text.strip() else ""


def _data(names: str) -> str:
    return block("similar", names) if names else ""


def passages(task: Task) -> str:
    """The passages that `prepare` found for the task, one after the other; empty without any."""
    found = or_empty(section(task, "prepare")).get("passages", ())
    items = found if isinstance(found, list) else ()
    texts = [str(item.get("text", "")) if isinstance(item, Mapping) else item for item in items]
    return "\n\n".join(text.strip() for text in texts if isinstance(text, str) and text.strip())
