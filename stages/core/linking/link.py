"""The model's choice of tables and columns, between recall and fusion (seed 002).

What recall found is shown to the model in batches, and its replies are read as names of
the catalog; `core.judge.priors.model_choice` puts them into the judgment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stages.core import prompts
from stages.core.jsontypes import JsonMapping
from stages.core.lang import Lang
from stages.core.lines import schema
from stages.core.linking.brief import write_vote_prompt
from stages.core.linking.packing import split
from stages.core.linking.render import preview
from stages.core.names import Names
from stages.core.records import Column, Table, Task

if TYPE_CHECKING:
    from stages.core.judge.judgment import Judgment, RankedTable
    from stages.core.model import Request

POOL = 300
"""Tables shown to the model at most, in rank order; the kept ones are always shown."""

BATCH_TOKENS = 12_000
"""Tokens of one user message; the upper limit that published pruning uses for a batch
(APEX-SQL, batches of 8,000 to 12,000)."""


@dataclass(frozen=True)
class ChoiceBatch:
    """The tables of one call, in rank order, and the call's user message."""

    tables: tuple[str, ...]
    message: str


@dataclass(frozen=True)
class Choice:
    """What one reply chose: by canonical name, the columns by their names in the catalog.

    Attributes:
        seen: Tables that the model was shown.
        chosen: Tables that it named, with columns.
        reasons: Its reasons by table.
        unknown: Names that are no table or column of the batch.
    """

    seen: frozenset[str]
    chosen: Mapping[str, frozenset[str]]
    reasons: Mapping[str, str]
    unknown: tuple[str, ...] = ()


def prompt_hash(lang: Lang) -> str:
    """Hash of the instructions and of the form of the user message."""
    return prompts.combined_hash(*(prompts.load("link", role, lang) for role in ("system", "user")))


def requests(batches: Sequence[ChoiceBatch], lang: Lang) -> list[Request]:
    """One request a batch."""
    from stages.core.model import Request

    system = prompts.load("link", "system", lang).render()
    return [
        Request(
            messages=(
                {"role": "system", "content": system},
                {"role": "user", "content": batch.message},
            ),
            schema=schema.reply("link"),
            name="schema_choice",
        )
        for batch in batches
    ]


def choice_batches(
    task: Task,
    tables: Sequence[Table],
    judgment: Judgment,
    lang: Lang,
    *,
    tokens: int = BATCH_TOKENS,
) -> list[ChoiceBatch]:
    """What recall found, packed into messages that stay within ``tokens``.

    A table that alone is over the limit is shown with its best-ranked columns only.

    Args:
        task: The question and what is known about it.
        tables: All tables of the catalog.
        judgment: The model-free ranking; it decides what is shown, and in which order.
        lang: Language of the messages.
        tokens: Tokens of one user message at most.
    """
    from stages.core.tokens import count

    vote_prompt = write_vote_prompt(task, lang)
    room = max(tokens - count(vote_prompt.user_input([], "link")), tokens // 4)
    by_name = {table["name"]: table for table in tables}
    names = [ranked.name for ranked in _pool(judgment) if ranked.name in by_name]
    blocks = [_fitting(by_name[name], judgment, lang, room) for name in names]
    costs = [count(block) + 1 for block in blocks]
    return [
        ChoiceBatch(
            tuple(names[i] for i in span), vote_prompt.user_input([blocks[i] for i in span], "link")
        )
        for span in split(costs, room)
    ]


def _pool(judgment: Judgment) -> list[RankedTable]:
    """The tables to show, in rank order: all of a small catalog, else what is kept or
    has any evidence."""
    if len(judgment.tables) <= POOL:
        return list(judgment.tables)
    found = [t for t in judgment.tables if t.keep or t.evidence]
    spare = max(0, POOL - sum(t.keep for t in found))
    others = {t.name for t in [t for t in found if not t.keep][:spare]}
    return [t for t in found if t.keep or t.name in others]


def _fitting(table: Table, judgment: Judgment, lang: Lang, room: int) -> str:
    """The table's block, with fewer and fewer columns until it is within ``room``."""
    from stages.core.tokens import count

    text, n = preview(table, lang), len(table["columns"])
    if count(text) <= room:
        return text
    own = (column for column in judgment.columns if column.table == table["name"])
    ranks = {column.name: place for place, column in enumerate(own)}
    while count(text) > room and n > 1:
        n = n * 2 // 3
        text = preview(_narrow(table, ranks, n), lang)
        text += f"\n  (… {len(table['columns']) - n} more columns)"
    return text


def _narrow(table: Table, ranks: Mapping[str, int], n: int) -> Table:
    """The table with its ``n`` best-ranked columns, in their old order."""
    places = range(len(table["columns"]))
    best = sorted(places, key=lambda i: (ranks.get(table["columns"][i]["name"], len(ranks)), i))[:n]
    columns: list[Column] = [table["columns"][i] for i in sorted(best)]
    names = {column["name"] for column in columns}
    sample = [{k: v for k, v in row.items() if k in names} for row in table.get("sample", [])]
    return {**table, "columns": columns, "sample": sample}


def parse_choice(reply: JsonMapping, batch: ChoiceBatch, tables: Sequence[Table]) -> Choice:
    """What a reply chose, its names resolved without regard to case, quotes and schema.

    Args:
        reply: Data that fits its schema; an empty list says that none of these is needed.
        batch: What the model was shown.
        tables: All tables of the catalog.
    """
    seen = set(batch.tables)
    names = Names([table for table in tables if table["name"] in seen])
    chosen: dict[str, set[str]] = {}
    reasons: dict[str, str] = {}
    unknown: list[str] = []
    for entry in reply["tables"]:
        table = names.table(entry["table_name"])
        if table is None:
            unknown.append(entry["table_name"])
            continue
        found = {
            name: names.column(table, name.rsplit(".", 1)[-1]) or names.column(table, name)
            for name in entry["columns"]
        }
        chosen.setdefault(table, set()).update(name for name in found.values() if name)
        reasons.setdefault(table, entry["reason"])
        unknown += [f"{table}.{name}" for name, column in found.items() if not column]
    frozen = {table: frozenset(columns) for table, columns in chosen.items()}
    return Choice(frozenset(seen), frozen, reasons, tuple(unknown))
