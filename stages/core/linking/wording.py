"""Reasons and observations of the built-in exploration, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stages.core.judge.reason import reason
from stages.core.judge.types import Evidence, RankedTable
from stages.core.lang import Lang
from stages.core.linking.facts import Facts, Overlap
from stages.core.text import cell, quoted, visible

VALUES = 5
"""Matching values named of one column."""

_WORDS: Mapping[Lang, Mapping[str, str]] = {
    "en": {
        "full": "no nulls in {rows} rows", "null": "{nulls} of {rows} rows are null",
        "empty": "all {rows} rows are null", "no rows": "the table has no rows",
        "holds": "holds {values}", "keys": "{found} of {keys} distinct values of {left} stand in {right}",
        "no data": "no data: {why}", "unseen": "not looked at",
        "match": "matches {words}", "kept": "kept because unsure", "named": "its values are named by the question",
        "joins": "joins {table}", "rows": "{rows} rows", "and": "; ",
    },
    "zh": {
        "full": "{rows} 行中没有空值", "null": "{rows} 行中有 {nulls} 行为空值",
        "empty": "{rows} 行全为空值", "no rows": "表中没有行",
        "holds": "取值包含 {values}", "keys": "{left} 的 {keys} 个不同值中有 {found} 个出现在 {right}",
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

    def evidence(self, evidence: Sequence[Evidence]) -> str:
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
        self, table: str, column: str, facts: Facts, overlaps: Sequence[Overlap]
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

    def _filled(self, column: str, facts: Facts) -> str:
        rows, filled = facts.rows, facts.filled.get(column)
        if rows is None or filled is None:
            return ""
        if not rows:
            return self._words["no rows"]
        kind = "full" if filled == rows else "null" if filled else "empty"
        return self._words[kind].format(rows=rows, nulls=rows - filled)

    def _keys(self, found: Overlap) -> str:
        edge = found.edge
        left = f"{quoted(edge.left)}.{quoted(edge.left_columns[0])}"
        right = f"{quoted(edge.right)}.{quoted(edge.right_columns[0])}"
        return self._words["keys"].format(
            left=left, right=right, keys=found.keys, found=found.found
        )

    def summary(self, ranked: RankedTable, facts: Facts, relevant: bool) -> str:
        """What the judge says of the table, and its size."""
        said = [
            reason(RankedTable(ranked.name, ranked.score, relevant, ranked.evidence), self._lang)
        ]
        if facts.error:
            said.append(self._words["no data"].format(why=visible(facts.error, 200)))
        elif facts.rows is not None:
            said.append(self._words["rows"].format(rows=facts.rows))
        return self._words["and"].join(said)
