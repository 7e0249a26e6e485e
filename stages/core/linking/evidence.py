"""Pruning by evidence alone: what the built-in judge lets go, and what a budget cuts.

DESIGN 3: a column goes only when its evidence is zero and it is no key, no name column and
no neighbour of a scored table. A probability is never quite zero; the thresholds say what
counts as none. They were set on spider-dev and bird-train, where strict column recall stays
near 99 and 98 % with them; tools/bench_pruning.py measures it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from stages.core.linking.columns import Unit, column_of

if TYPE_CHECKING:
    from stages.core.linking.protect import Protected
    from stages.core.linking.scores import Scores
    from stages.core.records import Table

STRONG = 0.3
"""Table score from which all columns stay: what is asked of it is often not named as it is."""

WEAK = 0.07
"""Table score from which keys, names and columns with any evidence stay."""

OWN = 0.1
"""Column score from which it stays whatever its table has."""

SCORED = 0.5
"""Table score from which the columns stay that join its neighbours to it."""

MAX_COLUMNS = 2_000
"""Candidate columns above which evidence decides (seed 004, 3.3)."""


def by_evidence(
    guarded: Protected, scores: Scores, whole: Collection[str] = ()
) -> dict[str, frozenset[str]]:
    """The candidate columns that stay, by table; a table that is missing goes.

    Args:
        guarded: The tables that can be deleted, with their keys and name columns.
        scores: What the judge thinks of them.
        whole: Tables of which all columns stay: a bridge or a measure has no evidence of its own.
    """
    plain = guarded.names | guarded.joining
    beside = guarded.beside({n for n, score in scores.tables.items() if score >= SCORED})
    found = {}
    for table in guarded.judged:
        kept = frozenset(column_of(table))
        if table["name"] not in whole:
            kept = _staying(table, scores, plain, beside)
        if kept or not table["columns"]:
            found[table["name"]] = kept
    return found


def _staying(
    table: Table, scores: Scores, plain: Collection[Unit], beside: Collection[Unit]
) -> frozenset[str]:
    name, columns = table["name"], column_of(table)
    strength = scores.table(name)
    if strength >= STRONG:
        return frozenset(columns)
    return frozenset(
        unit
        for unit, column in columns.items()
        if (name, unit) in beside
        or (score := scores.column((name, unit), column)) >= OWN
        or (strength >= WEAK and (score > 0 or (name, unit) in plain))
    )


def cut(
    tables: Sequence[Table],
    kept: Mapping[str, frozenset[str]],
    scores: Scores,
    *,
    relevant: Collection[Unit],
    plain: Collection[Unit],
    budget: int,
) -> dict[str, frozenset[str]]:
    """What is left of these tables within the budget: what is relevant, then the best.

    Args:
        tables: The tables that can be cut, in an order of their own.
        kept: What stays of them so far.
        scores: What the judge thinks.
        relevant: Columns that stay at any price, and count.
        plain: Keys and name columns; of a table that scores well they come first.
        budget: Columns to keep of these tables; nothing is cut where no more stay.
    """
    staying = [(table, kept[table["name"]]) for table in tables if table["name"] in kept]
    if sum(len(columns) for _, columns in staying) <= budget:
        return {table["name"]: columns for table, columns in staying}
    found: dict[str, set[str]] = {
        table["name"]: {unit for unit in columns if (table["name"], unit) in relevant}
        for table, columns in staying
    }
    room = budget - sum(map(len, found.values()))
    ranked = sorted(
        (-_worth((table["name"], unit), column, scores, plain), place, table["name"], unit)
        for table, columns in staying
        for place, (unit, column) in enumerate(column_of(table).items())
        if unit in columns and unit not in found[table["name"]]
    )
    for _, _, name, unit in ranked[: max(0, room)]:
        found[name].add(unit)
    return {
        table["name"]: frozenset(found[table["name"]])
        for table, columns in staying
        if found[table["name"]] or not columns
    }


def _worth(unit: Unit, column: str, scores: Scores, plain: Collection[Unit]) -> float:
    """What a column is ranked by: its own score, or a share of its table's.

    Keys and names take half, since a table that is needed is joined or named by them.
    """
    share = 0.5 if unit in plain else 0.1
    return max(scores.column(unit, column), scores.table(unit[0]) * share)
