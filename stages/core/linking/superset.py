"""The ``prune`` section: survivors, and what went, as sparse as it can be."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stages.core.linking.columns import folded, units
from stages.core.linking.groups import grouped
from stages.core.linking.pruning import Contested

if TYPE_CHECKING:
    from stages.core.records import Table

LISTED = 2_000
"""Deleted columns, and contested votes, that are listed before they are only counted."""

NOTES = 20
"""Notes that are written before they are only counted."""


def superset_section(
    tables: Sequence[Table],
    kept: Mapping[str, frozenset[str]],
    *,
    cut: Mapping[str, frozenset[str]] | None = None,
    contested: Sequence[Contested] = (),
    batches: int = 0,
    notes: Sequence[str] = (),
    error: str = "",
) -> dict[str, Any]:
    """The section without ``meta``, the same whatever the order of the table lines.

    Args:
        tables: All tables of the catalog, by name.
        kept: Candidate columns that stay, by table.
        cut: What stayed before the budget cut it, where it did.
        contested: Votes on what stays.
        batches: Batches that a model was asked about.
        notes: What is worth knowing.
        error: Why the answer is only the safe one.
    """
    whole = {table["name"]: tuple(units(table)) for table in tables}
    made: dict[str, Any] = {
        "kept": {t["name"]: folded(t, kept[t["name"]]) for t in tables if t["name"] in kept},
        "deleted": _lost(whole, whole, kept if cut is None else cut),
    }
    if cut is not None:
        made["cut"] = _lost(whole, cut, kept)
    shown = [table for table in tables if table["name"] in kept]
    several = [group.names for group in grouped(shown) if len(group.names) > 1]
    made |= {
        "groups": {group[0]: list(group) for group in several},
        "votes": [_vote(item) for item in contested[:LISTED]],
        "n_tables": len(tables),
        "n_columns": sum(map(len, whole.values())),
        "n_kept_tables": len(kept),
        "n_kept_columns": sum(map(len, kept.values())),
        "batches": batches,
        "notes": _few(list(notes), len(contested) - LISTED),
        "error": error,
    }
    return made


def _lost(
    whole: Mapping[str, Sequence[str]],
    before: Mapping[str, Collection[str]],
    after: Mapping[str, Collection[str]],
) -> dict[str, Any]:
    """Tables that went as a whole; and columns that went out of others, or their number.

    Args:
        whole: All candidate columns by table, in the order in which they are listed.
        before, after: What there was and what stays.
    """
    columns = {
        name: [unit for unit in own if unit in before[name] and unit not in after[name]]
        for name, own in whole.items()
        if name in before and name in after
    }
    columns = {name: units for name, units in columns.items() if units}
    many = sum(map(len, columns.values())) > LISTED
    return {
        "tables": [name for name in whole if name in before and name not in after],
        "columns": {n: len(c) for n, c in columns.items()} if many else columns,
    }


def _vote(item: Contested) -> dict[str, Any]:
    column = {"column": item.column} if item.column else {}
    counts = {"irrelevant": item.irrelevant, "relevant": item.relevant}
    return {"table": item.table, **column, **counts, "kept": item.kept}


def _few(notes: list[str], unlisted: int) -> list[str]:
    """The first notes, and how many more there are."""
    if unlisted > 0:
        notes = [*notes, f"{unlisted} more contested votes are not listed"]
    rest = len(notes) - NOTES
    return notes if rest <= 0 else [*notes[: NOTES - 1], f"{rest + 1} more notes are left out"]
