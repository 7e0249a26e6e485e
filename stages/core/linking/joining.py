"""The last step of refining: join paths for what is not connected, and what remains so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stages.core.lang import Lang
from stages.core.linking.connect import JoinPath, Relations
from stages.core.linking.guard import Guard, join_pick
from stages.core.linking.picked import Picked
from stages.core.selection import listed

if TYPE_CHECKING:
    from collections.abc import Mapping

LISTED = 50
"""Paths that the section lists before they are only counted."""


@dataclass(frozen=True)
class Joined:
    """What joining came to.

    Args:
        paths: Entries of the section.
        unconnected: Parts that no key joins; empty where there is one.
        notes: What is worth knowing.
    """

    paths: list[dict[str, Any]]
    unconnected: list[list[str]]
    notes: list[str]


def join(
    picked: Picked,
    relations: Relations,
    guard: Guard,
    lang: Lang,
    *,
    declined: Mapping[tuple[str, str], str],
    every: bool,
) -> Joined:
    """Add the shortest join paths between chosen tables that are not connected.

    Args:
        picked: The choice; grows by the keys along the paths and the tables that hold them.
        relations: Keys of the catalog.
        guard: Adds the keys between chosen tables.
        lang: Language of the reasons.
        declined: Reasons against paths, by their ends.
        every: Add all paths that any smaller choice might have needed, whatever was declined.
    """
    paths = relations.paths(picked.tables, every=every)
    entries, notes = [], []
    for path in paths:
        reason = "" if every else declined.get(path.ends, "")
        if not reason:
            _take(path, picked, relations, lang)
        entries.append(_entry(path, reason))
    guard.inner(picked)
    if len(entries) > LISTED:
        notes.append(f"{len(entries) - LISTED} more join paths were added than are listed")
    parts = relations.components(picked.tables)
    if len(parts) > 1:
        notes.append(_note(parts, any(entry.get("declined") for entry in entries)))
    return Joined(entries[:LISTED], parts if len(parts) > 1 else [], notes)


def _take(path: JoinPath, picked: Picked, relations: Relations, lang: Lang) -> None:
    for edge in path.joins:
        ends = ((edge.left, edge.left_columns), (edge.right, edge.right_columns))
        for table, names in ends:
            picked.add_table(table)
            for name in names:
                column = relations.column(table, name)
                if column is not None:
                    picked.add(table, column, join_pick(edge, lang))


def _entry(path: JoinPath, declined: str) -> dict[str, Any]:
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
