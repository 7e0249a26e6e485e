"""What refining sees of each candidate table: its columns, its mark, and what was found out.

The mark of `explore` is a note, not a decision (seed 004, 4.3 and 5.2). What comes from data
or from another answer goes through `core.text`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import TYPE_CHECKING, cast

from stages.core.lang import Lang
from stages.core.lines.sections import or_empty, section
from stages.core.linking.column_refs import Group, column_refs
from stages.core.linking.refine.choice import within
from stages.core.linking.render import sheet
from stages.core.records import Summarize, Table, TableJudgment, Task
from stages.core.text import visible

if TYPE_CHECKING:
    from stages.core.linking.render import Sheet

NAME, NOTE = 200, 300
"""Characters shown of a name, and of a reason, an observation or a summary."""

BRIEF = 60
"""Characters of a reason where columns are shown by name only."""

_WORDS: Mapping[Lang, Mapping[str, str]] = {
    "en": {"columns": "columns:", "names": "columns by name only:", "seen": "seen",
           "role": "expected", "found": "explored", "why": "needed", "error": "exploration failed",
           "colon": ": ", "part": "(part of its columns)"},
    "zh": {"columns": "列：", "names": "仅列名：", "seen": "观察", "role": "预期职责", "found": "探索结论",  # noqa: E501
           "why": "理由", "error": "探索失败", "colon": "：", "part": "（部分列）"},
}  # fmt: skip


class TableDetail(IntEnum):
    """How much is shown of a table.

    NAMES: columns by name. NAMED: those that `explore` named with all that is known, the
    others by name. FULL: all with all that is known.
    """

    NAMES = 0
    NAMED = 1
    FULL = 2


@dataclass(frozen=True)
class Candidate:
    """One candidate table.

    Args:
        table: Its line.
        columns: Candidate columns that pruning kept, innermost fields by dotted path.
        relevant: The mark of `explore`.
        named: What `explore` says of columns, by name as it gives it.
        about: What is known of the table, by kind of text.
    """

    table: Table
    columns: tuple[str, ...]
    relevant: bool = True
    named: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Canonical name."""
        return self.table["name"]

    @cached_property
    def said(self) -> dict[str, Mapping[str, str]]:
        """What `explore` says, by candidate column; a nested column speaks for its fields."""
        return {
            unit: self.named[name]
            for name in self.named
            for unit in within(self.table, [name])
            if unit in self.columns
        }

    @property
    def wanted(self) -> tuple[str, ...]:
        """The columns that the mark stands for: those named; all where none is, or where
        exploring failed and might have named any."""
        named = tuple(unit for unit in self.columns if unit in self.said)
        return self.columns if self.about.get("error") else named or self.columns


def candidates(task: Task, tables: Sequence[Table]) -> list[Candidate]:
    """The candidate tables by name; what pruning kept and the catalog has.

    A table that was not explored counts as marked relevant.
    """
    kept: Mapping[str, Sequence[str]] = or_empty(section(task, "prune")).get("kept", {})
    judged = or_empty(section(task, "explore")).get("table_judgments", {})
    expected = _expected(or_empty(section(task, "summarize")))
    return [
        _candidate(table, kept[table["name"]], judged.get(table["name"]), expected)
        for table in sorted(tables, key=lambda table: table["name"])
        if table["name"] in kept
    ]


def _expected(summarized: Summarize) -> dict[str, str]:
    """The roles and the function that `summarize` expects of each table (seed 004, 5.1).

    >>> _expected({"roles": {"a": ["target", "bridge"]}, "table_functions": {"a": "names it"}})
    {'a': '[target, bridge] names it'}
    """
    functions, roles = summarized.get("table_functions", {}), summarized.get("roles", {})
    return {
        name: " ".join(
            filter(
                None,
                (f"[{', '.join(roles[name])}]" if roles.get(name) else "", functions.get(name, "")),
            )
        )
        for name in {**functions, **roles}
    }


def _candidate(
    table: Table, kept: Sequence[str], judged: TableJudgment | None, expected: Mapping[str, str]
) -> Candidate:
    about = {
        "role": expected.get(table["name"], ""),
        "found": judged["table_summary"] if judged else "",
        "error": judged.get("error", "") if judged else "",
    }
    named = {
        item["column_name"]: cast("Mapping[str, str]", item)
        for item in (judged["relevant_columns"] if judged else ())
    }
    columns = tuple(within(table, kept))
    return Candidate(table, columns, judged["relevant"] if judged else True, named, about)


@dataclass(frozen=True)
class CandidatePart:
    """A table, or some of its columns, as one prompt shows it.

    Args:
        candidate: The table.
        columns: The candidate columns shown.
        detail: How much of each.
        lang: Language of the few words of our own.
    """

    candidate: Candidate
    columns: tuple[str, ...]
    detail: TableDetail
    lang: Lang

    @property
    def text(self) -> str:
        """The lines of the piece."""
        words = _WORDS[self.lang]
        lined = [name for name in self.columns if self._in_full(name)]
        others = [name for name in self.columns if not self._in_full(name)]
        lines = [self._head(), *self._about()]
        if lined:
            lines += [words["columns"], *(line for name in lined for line in self._column(name))]
        if others:
            listed = ", ".join(self._short(name) for name in others)
            lines.append(f"{words['names']} {listed}")
        return "\n".join(lines)

    def _in_full(self, name: str) -> bool:
        if self.detail is TableDetail.NAMED:
            return name in self.candidate.said
        return self.detail is TableDetail.FULL

    def _head(self) -> str:
        mark = "RELEVANT" if self.candidate.relevant else "IRRELEVANT"
        part = _WORDS[self.lang]["part"] if len(self.columns) < len(self.candidate.columns) else ""
        return f"### [MARKED {mark}] {self._sheet.heads[0]} {part}".rstrip()

    def _about(self) -> list[str]:
        words = _WORDS[self.lang]
        limit = NOTE if self.detail else BRIEF
        return [
            f"{words[kind]}{words['colon']}{visible(said, limit)}"
            for kind, said in self.candidate.about.items()
            if said
        ]

    def _column(self, name: str) -> list[str]:
        words = _WORDS[self.lang]
        lines = [f"- {self._lines[name]}"]
        said = self.candidate.said.get(name, {})
        for kind, key in (("why", "relevance_reason"), ("seen", "observations")):
            if said.get(key):
                lines.append(f"  {words[kind]}{words['colon']}{visible(said[key], NOTE)}")
        return lines

    def _short(self, name: str) -> str:
        said = self.candidate.said.get(name, {}).get("relevance_reason", "")
        return visible(name, NAME) + (f" ({visible(said, BRIEF)})" if said else "")

    @cached_property
    def _sheet(self) -> Sheet:
        table = self.candidate.table
        return sheet(Group((table,), tuple(column_refs(table))), self.lang)

    @cached_property
    def _lines(self) -> Mapping[str, str]:
        return dict(zip(column_refs(self.candidate.table), self._sheet.lines, strict=True))
