"""Judgments without a model: what the judge says and a few statements saw, in words.

Reasons and observations of the built-in exploration, in words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from stages.core.errors import SqlUnavailable
from stages.core.judge.channels import OWN
from stages.core.judge.judgment import EvidencePiece, RankedTable
from stages.core.judge.wording import reason
from stages.core.lang import Lang
from stages.core.linking.column_refs import column_of, column_refs
from stages.core.linking.explore.judgments import judge_column, judgment
from stages.core.linking.explore.profile import (
    KeyOverlap,
    TableProfile,
    facts_of,
    overlap,
    sought,
    unreadable,
)
from stages.core.linking.judgment import JudgeRanks, judgment_for
from stages.core.records import JudgedColumn, Table, TableJudgment, Task
from stages.core.text import cell, quoted, visible

if TYPE_CHECKING:
    from stages.core.judge.index.keys import KeyGraph
    from stages.core.judge.judgment import ValueSearch
    from stages.core.sandbox.session import Data

VALUES = 5
"""Matching values named of one column."""

_WORDS: Mapping[Lang, Mapping[str, str]] = {
    "en": {
        "full": "no nulls in {rows} rows", "null": "{nulls} of {rows} rows are null",
        "empty": "all {rows} rows are null", "no rows": "the table has no rows",
        "holds": "holds {values}", "keys": "{found} of {keys} distinct values of {left} stand in {right}",  # noqa: E501
        "no data": "no data: {why}", "unseen": "not looked at",
        "match": "matches {words}", "kept": "kept because unsure", "named": "its values are named by the question",  # noqa: E501
        "joins": "joins {table}", "rows": "{rows} rows", "and": "; ",
    },
    "zh": {
        "full": "{rows} 行中没有空值", "null": "{rows} 行中有 {nulls} 行为空值",
        "empty": "{rows} 行全为空值", "no rows": "表中没有行",
        "holds": "取值包含 {values}", "keys": "{left} 的 {keys} 个不同值中有 {found} 个出现在 {right}",  # noqa: E501
        "no data": "没有数据：{why}", "unseen": "未查看",
        "match": "匹配 {words}", "kept": "不确定时保留", "named": "题目提到了它的取值",
        "joins": "连接 {table}", "rows": "共 {rows} 行", "and": "；",
    },
}  # fmt: skip


class Wording:
    """The words of one language."""

    def __init__(self, lang: Lang) -> None:
        self._lang = lang
        self._words = _WORDS[lang]

    def evidence(self, evidence: Sequence[EvidencePiece]) -> str:
        """Why the judge keeps a column."""
        words = dict.fromkeys(word for item in evidence for word in item.words)
        if not words:
            return self._words["kept"]
        listed = ", ".join(f'"{visible(word, 80)}"' for word in list(words)[:VALUES])
        return self._words["match"].format(words=listed)

    def named(self) -> str:
        """A column whose values the question names."""
        return self._words["named"]

    def joins(self, table: str) -> str:
        """A column that leads to another table."""
        return self._words["joins"].format(table=quoted(table))

    def unsure(self) -> str:
        """A column without evidence in a table that has to have one."""
        return self._words["kept"]

    def observations(
        self, table: str, column: str, facts: TableProfile, overlaps: Sequence[KeyOverlap]
    ) -> str:
        """What the statements saw of a column."""
        if facts.error:
            return self._words["no data"].format(why=visible(facts.error, 200))
        said = [self._filled(column, facts)]
        if facts.matches.get(column):
            values = ", ".join(f"'{cell(value)}'" for value in facts.matches[column][:VALUES])
            said.append(self._words["holds"].format(values=values))
        said += [
            self._keys(found)
            for found in overlaps
            if (table, column)
            in (
                (found.edge.left, found.edge.left_columns[0]),
                (found.edge.right, found.edge.right_columns[0]),
            )
        ]
        return self._words["and"].join(filter(None, said)) or self._words["unseen"]

    def _filled(self, column: str, facts: TableProfile) -> str:
        rows, filled = facts.rows, facts.filled.get(column)
        if rows is None or filled is None:
            return ""
        if not rows:
            return self._words["no rows"]
        kind = "full" if filled == rows else "null" if filled else "empty"
        return self._words[kind].format(rows=rows, nulls=rows - filled)

    def _keys(self, found: KeyOverlap) -> str:
        edge = found.edge
        left = f"{quoted(edge.left)}.{quoted(edge.left_columns[0])}"
        right = f"{quoted(edge.right)}.{quoted(edge.right_columns[0])}"
        return self._words["keys"].format(
            left=left, right=right, keys=found.keys, found=found.found
        )

    def summary(self, ranked: RankedTable, facts: TableProfile, relevant: bool) -> str:
        """What the judge says of the table, and its size."""
        said = [
            reason(RankedTable(ranked.name, ranked.score, relevant, ranked.evidence), self._lang)
        ]
        if facts.error:
            said.append(self._words["no data"].format(why=visible(facts.error, 200)))
        elif facts.rows is not None:
            said.append(self._words["rows"].format(rows=facts.rows))
        return self._words["and"].join(said)


# Judgments without a model: what the judge says, and what a few statements saw.

OVERLAPS = 4
"""Relations of one table whose keys are compared."""


@dataclass(frozen=True)
class TableFindings:
    """What the statements saw of all candidate tables."""

    facts: Mapping[str, TableProfile]
    overlaps: Mapping[str, Sequence[KeyOverlap]]


class Observer:
    """The judge and the statements for one task.

    Args:
        task: The question, and the ``link`` section where it stands.
        tables: All tables of the catalog.
        kept: Candidate columns of the candidate tables.
        data: The catalog's data; None where there is none.
        lang: Language of reasons and observations.
    """

    def __init__(
        self,
        task: Task,
        tables: Sequence[Table],
        kept: Mapping[str, Sequence[str]],
        data: Data | None,
        lang: Lang,
        values: ValueSearch | None = None,
    ) -> None:
        self._task, self._tables, self._kept, self._data = task, tables, kept, data
        self._values = values
        chosen = {table["name"]: table for table in tables if table["name"] in kept}
        self._by_name = {name: chosen[name] for name in sorted(chosen)}
        self._say = Wording(lang)

    def judgments(self, progress: Callable[[int], object]) -> dict[str, TableJudgment]:
        """A judgment for every candidate table.

        Args:
            progress: Told the number of tables that have been looked at.
        """
        seen = self._look(progress)
        relevant = self._relevant(seen)
        return {
            name: self._judged(table, name in relevant, seen, relevant)
            for name, table in self._by_name.items()
        }

    def safe(self, table: Table, facts: TableProfile, error: str = "") -> TableJudgment:
        """The judgment of a table that could not be explored: relevant, by the judge alone.

        Args:
            table: The table.
            facts: Why there are no rows, where there are none.
            error: Why its exploration failed although there are.
        """
        made = self._judged(
            table, True, TableFindings({table["name"]: facts}, {}), frozenset(self._by_name)
        )
        if error:
            made["error"] = error
        return made

    @cached_property
    def _judge(self) -> JudgeRanks:
        return judgment_for(self._task, self._tables, self._values)

    @cached_property
    def _graph(self) -> KeyGraph:
        from stages.core.judge.index.keys import key_graph

        return key_graph(list(self._by_name.values()))

    def _look(self, progress: Callable[[int], object]) -> TableFindings:
        from stages.core.judge.question.question import read

        asked = read(self._task)
        values = sought({*asked.quoted, *asked.spans, *map(str.lower, asked.named)})
        done = iter(range(1, len(self._by_name) + 1))

        def look(table: Table) -> TableProfile:
            found = facts_of(self._data, table, self._kept[table["name"]], values)
            progress(next(done))
            return found

        tables = list(self._by_name.values())
        found = self._data.each(look, tables) if self._data else [look(table) for table in tables]
        facts = {table["name"]: fact for table, fact in zip(tables, found, strict=True)}
        return TableFindings(facts, self._compared(facts))

    def _compared(self, facts: dict[str, TableProfile]) -> dict[str, list[KeyOverlap]]:
        """The first relations of every table that has data, compared once for both its ends.

        Tables that can no longer be reached are marked in ``facts``.
        """
        seen: dict[str, list[KeyOverlap]] = {name: [] for name in self._by_name}
        if self._data is None:
            return seen
        for edge in self._graph.edges:
            ends = (edge.left, edge.right)
            full = all(len(seen[end]) >= OVERLAPS for end in ends)
            if full or any(facts[end].error for end in ends):
                continue
            try:
                found = overlap(self._data, edge, self._by_name)
            except SqlUnavailable as error:
                facts.update(dict.fromkeys(ends, unreadable(str(error))))
                continue
            if found is not None:
                for end in ends:
                    seen[end].append(found)
        return seen

    def _relevant(self, seen: TableFindings) -> frozenset[str]:
        base = {
            name
            for name, table in self._by_name.items()
            if self._judge.table(name).keep
            or seen.facts[name].matches
            or seen.facts[name].error
            or table.get("always_keep")
        }
        if not base:
            return frozenset(self._by_name)
        near = {
            name
            for name in self._by_name
            if self._graph.neighbours.get(name, frozenset()) & base and self._has_evidence(name)
        }
        return frozenset(base | near | self._graph.bridges(base))

    def _has_evidence(self, name: str) -> bool:
        return any(item.type in OWN for item in self._judge.table(name).evidence)

    def _judged(
        self, table: Table, is_relevant: bool, seen: TableFindings, relevant: frozenset[str]
    ) -> TableJudgment:
        name = table["name"]
        facts, overlaps = seen.facts[name], seen.overlaps.get(name, ())
        columns = list(self._columns(table, seen, relevant)) if is_relevant else []
        return judgment(
            table,
            relevant=is_relevant,
            columns=columns,
            summary=self._say.summary(self._judge.table(name), facts, is_relevant),
            log=[*facts.log, *(found.log for found in overlaps)],
            error=facts.error if facts.failed else "",
        )

    def _columns(
        self, table: Table, seen: TableFindings, relevant: frozenset[str]
    ) -> Iterator[JudgedColumn]:
        """Columns that the judge keeps, whose values match, or that join a relevant table."""
        facts = seen.facts[table["name"]]
        reasons = self._reasons(table, facts, relevant)
        for name in column_refs(table):
            if name in reasons:
                overlaps = seen.overlaps.get(table["name"], ())
                said = self._say.observations(table["name"], name, facts, overlaps)
                yield judge_column(name, "; ".join(dict.fromkeys(reasons[name])), said)

    def _reasons(
        self, table: Table, facts: TableProfile, relevant: frozenset[str]
    ) -> dict[str, list[str]]:
        """Why each column counts, by candidate column; never empty for a table with columns."""
        allowed = self._candidates(table)
        found: dict[str, list[str]] = {}
        for column in self._judge.columns.get(table["name"], ()):
            if column.keep:
                for name in allowed.get(column.name, ()):
                    found.setdefault(name, []).append(self._say.evidence(column.evidence))
        for name in facts.matches:
            found.setdefault(name, []).append(self._say.named())
        for name, other in self._joins(table["name"], relevant):
            for inner in allowed.get(name, ()):
                found.setdefault(inner, []).append(self._say.joins(other))
        if not found:
            first = next((names[0] for names in allowed.values() if names), None)
            return {first: [self._say.unsure()]} if first else {}
        return found

    def _candidates(self, table: Table) -> dict[str, list[str]]:
        """Candidate columns by each name that they may go by: their own, and their column's."""
        kept = set(self._kept[table["name"]])
        found: dict[str, list[str]] = {}
        for name, parent in column_of(table).items():
            if name in kept or parent in kept:
                for spelling in dict.fromkeys((name, parent)):
                    found.setdefault(spelling, []).append(name)
        return found

    def _joins(self, name: str, relevant: frozenset[str]) -> Iterator[tuple[str, str]]:
        """Key columns of the table, each with the relevant table it leads to."""
        for edge in self._graph.edges:
            if edge.left == name and edge.right in relevant:
                yield from ((column, edge.right) for column in edge.left_columns)
            elif edge.right == name and edge.left in relevant:
                yield from ((column, edge.left) for column in edge.right_columns)
