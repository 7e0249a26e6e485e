"""What each table does for a question, without a model: roles from keys and matched words.

The roles are those of seed 004, 4.1: target (gives the output), filter (gives a condition),
bridge (joins two others), calculation (gives the numbers).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stages.core.lang import Lang
from stages.core.linking.phrases import phrases
from stages.core.linking.standing import Standing, standing
from stages.core.selection import listed
from stages.core.text import visible

if TYPE_CHECKING:
    from stages.core.judge import Edge, RankedColumn
    from stages.core.records import Column, Table, Task

ROLES = ("target", "filter", "bridge", "calculation")

SPOKEN = frozenset(["name", "description", "value", "glossary", "synonym", "model", "rule"])
"""Evidence by which the question itself speaks of a table or column."""

_NUMBER = re.compile(r"[A-Z]*INT|DOUBLE|FLOAT|REAL|DECIMAL|NUMERIC|HUGEINT", re.IGNORECASE)
_DAY = re.compile(r"DATE|TIME", re.IGNORECASE)
_DAY_WORDS = frozenset(
    ["date", "time", "year", "month", "day", "日期", "时间", "年份", "年", "月份"]
)
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)")

_SAID: Mapping[Lang, Mapping[str, str]] = {
    "en": {
        "target": "gives output", "filter": "gives a condition", "bridge": "joins other tables",
        "calculation": "gives numbers", "none": "nothing in the question speaks of it; kept to be safe",
        "by": "by {names}", "value": "holds {words}", "joins": "joins {names}", "asks": "The question asks: {text}",
        "role": "{role}: {names}", "keys": "Joined by {keys}", "; ": "; ",
    },
    "zh": {
        "target": "提供输出", "filter": "提供筛选条件", "bridge": "连接其他表",
        "calculation": "提供计算用的数值", "none": "题目没有提到它，为稳妥而保留",
        "by": "列 {names}", "value": "含有值 {words}", "joins": "关联 {names}", "asks": "题目要求：{text}",
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
    task: Task, tables: Sequence[Table], candidates: Sequence[Table], lang: Lang
) -> Semantics:
    """The answer of the built-in judge.

    Args:
        task: What is asked; its ``link`` section is used where it stands.
        tables: All tables of the catalog, by name.
        candidates: The surviving ones, with their surviving columns.
        lang: Language of the texts.
    """
    from stages.core.judge.keys import key_graph

    found, graph = standing(task, tables), key_graph(candidates)
    asked = _Asked(task.get("question", ""), lang)
    roles: dict[str, tuple[str, ...]] = {}
    for table in candidates:
        near = graph.neighbours.get(table["name"], frozenset())
        roles[table["name"]] = _roles(table, found, asked, len(near))
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
    return Semantics(_analysis(asked, roles, graph.edges), functions, roles)


class _Asked:
    """The forms of a question."""

    def __init__(self, question: str, lang: Lang) -> None:
        self.question, self.lang = question, lang
        found = phrases(question, lang)
        self.filters = " ".join(found.get("filter", ())).lower()
        self.dated = bool(_YEAR.search(question))
        self.counts = " ".join(
            phrase for kind in ("aggregate", "compare", "order") for phrase in found.get(kind, ())
        ).lower()


def _roles(table: Table, found: Standing, asked: _Asked, near: int) -> tuple[str, ...]:
    """The roles of one table, in the order of `ROLES`."""
    types = {column["name"]: column for column in table["columns"]}
    spoken = [
        column
        for column in found.columns.get(table["name"], ())
        if column.name in types and any(item.type in SPOKEN for item in column.evidence)
    ]
    keys = _keys(table)
    own = {
        "target": any(c.name not in keys for c in spoken) or _named(found, table["name"]),
        "filter": any(_filters(c, types[c.name], asked, c.name in keys) for c in spoken)
        or (asked.dated and any(map(_is_day, table["columns"]))),
        "calculation": bool(asked.counts)
        and any(_is_number(types[c.name]) and c.name not in keys for c in spoken),
    }
    own["bridge"] = near > 1 and (not own["target"] or len(keys) * 2 >= len(types))
    return tuple(role for role in ROLES if own[role])


def _named(found: Standing, table: str) -> bool:
    """Whether the question names the table, and it is likely to be needed."""
    ranked = found.table(table)
    return ranked.score >= 0.5 and any(item.type in SPOKEN for item in ranked.evidence)


def _filters(column: RankedColumn, record: Column, asked: _Asked, key: bool) -> bool:
    """Whether a condition of the question is about the column; about a key only by a value."""
    if any(item.type == "value" for item in column.evidence):
        return True
    if asked.dated and _is_day(record):
        return True
    said = [word.lower() for item in column.evidence for word in item.words]
    return not key and any(word in asked.filters for word in said)


def _is_day(column: Column) -> bool:
    """Whether a column holds days or moments, by its type or its name."""
    from stages.core.judge.words import split

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
    table: Table, roles: Sequence[str], found: Standing, near: Sequence[str], lang: Lang
) -> str:
    """One sentence: the roles, the columns and values that speak for them, the tables joined."""
    said = _SAID[lang]
    columns = [
        column
        for column in found.columns.get(table["name"], ())
        if any(item.type in SPOKEN for item in column.evidence)
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


def _analysis(asked: _Asked, roles: Mapping[str, Sequence[str]], edges: Sequence[Edge]) -> str:
    """The question, the tables of each role, and the keys between them."""
    said = _SAID[asked.lang]
    lines = [said["asks"].format(text=visible(asked.question, 500))]
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
