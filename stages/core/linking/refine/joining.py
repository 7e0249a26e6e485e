"""What joins the chosen columns: the key guard after each round, join paths in the end.

The key guard: columns that join what was chosen, added without asking.

Seed 004, 5.4: unselected candidate columns that share a name with a selected one, all of
them if fewer than 20, else none. Here declared keys come first, then shared values, and
equal names only between two tables that neither joins to each other (DESIGN 10), whatever
else they are joined to; the seed's fixed reason stands on equal names alone. The keys
between two chosen tables are always added.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stages.core.lang import Lang
from stages.core.linking.column_refs import ColumnRef
from stages.core.linking.join_graph import JoinPath, Relations
from stages.core.linking.refine.choice import ColumnChoice, Selection
from stages.core.names import fold
from stages.core.text import listed, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stages.core.judge.judgment import Edge

LIMIT = 20
"""Columns of one kind from which on none is added (seed 004, 5.4)."""

KINDS = ("declared keys", "shared values", "equal names")

SAME_NAME = ColumnChoice(
    "Auto-preserved: Shares name with a selected column (potential Foreign Key).",
    "Automatically added for graph connectivity.",
)
"""The seed's own words (004, 5.4)."""

_WORDS: Mapping[Lang, Mapping[str, str]] = {
    "en": {"joins": "Joins {left} to {right}: {how}.", "declared": "declared key",
           "value": "shared values", "name": "key name", "seen": "Added by the key guard."},
    "zh": {"joins": "连接 {left} 与 {right}：{how}。", "declared": "声明的外键",
           "value": "共有取值", "name": "键名相符", "seen": "由连接键保护自动加入。"},
}  # fmt: skip


def join_pick(edge: Edge, lang: Lang) -> ColumnChoice:
    """The reason of a column that a relation runs over."""
    words = _WORDS[lang]
    left = ", ".join(f"{quoted(edge.left)}.{quoted(name)}" for name in edge.left_columns)
    right = ", ".join(f"{quoted(edge.right)}.{quoted(name)}" for name in edge.right_columns)
    reason = words["joins"].format(left=left, right=right, how=words[edge.how])
    return ColumnChoice(reason, words["seen"])


class Guard:
    """The key guard of one task.

    Args:
        relations: Keys of the catalog.
        candidates: Candidate columns that pruning kept, by table.
        limit: Columns of one kind from which on none is added; None adds any number.
        lang: Language of the reasons.
    """

    def __init__(
        self,
        relations: Relations,
        candidates: Mapping[str, Sequence[str]],
        limit: int | None,
        lang: Lang,
    ) -> None:
        self._relations, self._candidates = relations, candidates
        self._limit, self._lang = limit, lang

    def add(self, selection: Selection) -> tuple[list[ColumnRef], list[str]]:
        """Add what the choice lacks; what was added, and notes on what was not.

        Every kind looks at the choice as it came, so that what one adds draws in no more.
        """
        found = [list(columns) for columns in self._outer(selection)]
        namesakes = self._same_names(selection)
        found.append([(*unit, SAME_NAME) for unit in namesakes if namesakes[unit]])
        added = self.inner(selection)
        notes: list[str] = []
        for kind, columns in zip(KINDS, found, strict=True):
            new = {
                (table, name): pick
                for table, name, pick in columns
                if not selection.covers(table, name)
            }
            # The seed counts all columns of equal name, also those that a key joins.
            count = len(namesakes) if kind == KINDS[-1] else len(new)
            if new and self._limit is not None and count >= self._limit:
                notes.append(f"{count} columns join by {kind}: too many to add unasked")
                continue
            added += selection.add_all((*unit, pick) for unit, pick in new.items())
        return added, notes

    def inner(self, selection: Selection) -> list[ColumnRef]:
        """Add the keys between chosen tables, any number of them; what was added."""
        return selection.add_all(list(self._inner(selection)))

    def _inner(self, selection: Selection) -> Iterator[tuple[str, str, ColumnChoice]]:
        chosen = set(selection.tables)
        near = self._relations.graph.neighbours
        inside = {frozenset((a, b)) for a in chosen for b in near.get(a, frozenset()) & chosen}
        for pair in sorted(inside, key=sorted):
            for edge in self._relations.by_pair[pair]:
                if edge.how == "declared" or not self._relations.are_parts_of_one(
                    edge.left, edge.right
                ):
                    yield from self._keys(edge)

    def _keys(self, edge: Edge) -> Iterator[tuple[str, str, ColumnChoice]]:
        pick = join_pick(edge, self._lang)
        for table, names in ((edge.left, edge.left_columns), (edge.right, edge.right_columns)):
            for name in names:
                column = self._relations.column(table, name)
                if column is not None:
                    yield table, column, pick

    def _outer(self, selection: Selection) -> tuple[Iterator[tuple[str, str, ColumnChoice]], ...]:
        return (self._other_ends(selection, "declared"), self._other_ends(selection, "value"))

    def _other_ends(
        self, selection: Selection, how: str
    ) -> Iterator[tuple[str, str, ColumnChoice]]:
        """Candidate columns at the other end of a relation from a chosen column."""
        for edge in self._relations.graph.edges:
            if edge.how != how or self._relations.are_parts_of_one(edge.left, edge.right):
                continue
            pick = join_pick(edge, self._lang)
            for left, right in zip(edge.left_columns, edge.right_columns, strict=False):
                ends = ((edge.left, left), (edge.right, right))
                for (table, name), (other, far) in (ends, ends[::-1]):
                    here = self._relations.column(table, name)
                    there = self._relations.column(other, far)
                    if (
                        here
                        and there
                        and selection.covers(table, here)
                        and self._open(selection, other, there)
                    ):
                        yield other, there, pick

    def _same_names(self, selection: Selection) -> dict[ColumnRef, bool]:
        """Candidate columns that have the name of a chosen column of another table, and whether
        that name is all that could join the two tables."""
        holders: dict[str, list[str]] = {}
        for table, name in selection:
            holders.setdefault(fold(name), []).append(table)
        found: dict[ColumnRef, bool] = {}
        for table, columns in self._candidates.items():
            for name in columns:
                others = [
                    other
                    for other in holders.get(fold(name), ())
                    if other != table and not self._relations.are_parts_of_one(table, other)
                ]
                if others and self._open(selection, table, name):
                    found[table, name] = any(self._unjoined(table, other) for other in others)
        return found

    def _unjoined(self, table: str, other: str) -> bool:
        """Whether equal names are all that could join two tables."""
        edges = self._relations.by_pair.get(frozenset((table, other)), ())
        return all(edge.how == "name" for edge in edges)

    def _open(self, selection: Selection, table: str, column: str) -> bool:
        """Whether a candidate column is not chosen yet."""
        return column in self._candidates.get(table, ()) and not selection.covers(table, column)


# The last step of refining: join paths for what is not connected, and what remains so.

LISTED = 50
"""Paths that the section lists before they are only counted."""


@dataclass(frozen=True)
class JoinResult:
    """What joining came to.

    Args:
        paths: Entries of the section.
        unconnected: Parts that no key joins; empty where there is one.
        notes: What is worth knowing.
    """

    paths: list[dict[str, object]]
    unconnected: list[list[str]]
    notes: list[str]


def join(
    selection: Selection,
    relations: Relations,
    guard: Guard,
    lang: Lang,
    *,
    declined: Mapping[tuple[str, str], str],
    every: bool,
) -> JoinResult:
    """Add the shortest join paths between chosen tables that are not connected.

    Args:
        selection: The choice; grows by the keys along the paths and the tables that hold them.
        relations: Keys of the catalog.
        guard: Adds the keys between chosen tables.
        lang: Language of the reasons.
        declined: Reasons against paths, by their ends.
        every: Add all paths that any smaller choice might have needed, whatever was declined.
    """
    paths = relations.paths(selection.tables, every=every)
    entries, notes = [], []
    for path in paths:
        reason = "" if every else declined.get(path.ends, "")
        if not reason:
            _take(path, selection, relations, lang)
        entries.append(_entry(path, reason))
    guard.inner(selection)
    if len(entries) > LISTED:
        notes.append(f"{len(entries) - LISTED} more join paths were added than are listed")
    parts = relations.components(selection.tables)
    if len(parts) > 1:
        notes.append(_note(parts, any(entry.get("declined") for entry in entries)))
    return JoinResult(entries[:LISTED], parts if len(parts) > 1 else [], notes)


def _take(path: JoinPath, selection: Selection, relations: Relations, lang: Lang) -> None:
    for edge in path.joins:
        ends = ((edge.left, edge.left_columns), (edge.right, edge.right_columns))
        for table, names in ends:
            selection.add_table(table)
            for name in names:
                column = relations.column(table, name)
                if column is not None:
                    selection.add(table, column, join_pick(edge, lang))


def _entry(path: JoinPath, declined: str) -> dict[str, object]:
    joins = [
        {
            "left": edge.left,
            "left_columns": list(edge.left_columns),
            "right": edge.right,
            "right_columns": list(edge.right_columns),
            "how": edge.how,
        }
        for edge in path.joins
    ]
    why = {"declined": declined} if declined else {}
    return {"tables": list(path.tables), "joins": joins, **why}


def _note(parts: Sequence[Sequence[str]], declined: bool) -> str:
    shown = "; ".join(listed(part) for part in parts[:LISTED])
    why = (
        "no key leads from one to the other, or the path was declined"
        if declined
        else "no key leads from one to the other"
    )
    return f"the refined schema is in {len(parts)} parts ({shown}): {why}"
