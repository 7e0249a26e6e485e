"""The last word of the user's rules over a judgment: tables, columns, and what says so."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TypeVar

from stages.core.judge.rules import Applied
from stages.core.judge.types import Evidence, Judgment, RankedColumn, RankedTable

SURE = 0.99
"""Score of what a rule adds, at least."""

Item = TypeVar("Item", RankedTable, RankedColumn)


def ruled(found: Judgment, applied: Applied) -> Judgment:
    """The judgment in which what the rules add is kept, and what they forbid is not.

    A column that had no evidence of its own is listed where a rule adds it. Applying the
    same rules twice changes nothing.

    Args:
        found: The judgment of the catalog.
        applied: What the rules say to the question, in the catalog's names.
    """
    if not applied.add and not applied.forbid:
        return found
    tables = [_table(table, applied) for table in found.tables]
    scores = {table.name: table.score for table in tables}
    columns = [_column(column, applied) for column in found.columns]
    listed = {(column.table, column.name) for column in columns}
    for pair in applied.add_columns:
        if pair not in listed:
            bare = RankedColumn(*pair, scores.get(pair[0], SURE), True)
            columns.append(_column(bare, applied))
    kept = {table.name for table in tables if table.keep}
    return replace(
        found,
        tables=tuple(sorted(tables, key=lambda t: (not t.keep, -t.score))),
        columns=tuple(sorted(columns, key=lambda c: -c.score)),
        edges=tuple(edge for edge in found.edges if {edge.left, edge.right} <= kept),
    )


def _table(table: RankedTable, applied: Applied) -> RankedTable:
    return _moved(table, table.name, table.name, applied.add_tables, applied.forbid_tables, applied)


def _column(column: RankedColumn, applied: Applied) -> RankedColumn:
    pair = (column.table, column.name)
    if column.table in applied.forbid_tables:
        return replace(column, keep=False)
    return _moved(column, pair, column.table, applied.add_columns, applied.forbid_columns, applied)


def _moved(
    item: Item,
    key: object,
    table: str,
    add: Collection[object],
    forbid: Collection[object],
    applied: Applied,
) -> Item:
    """The item with the rule's evidence in front, where a rule names it."""
    if key not in add and key not in forbid:
        return item
    words, name = applied.notes.get(table, ("", ""))
    wanted = key in add
    piece = Evidence("rule", (words,) if words else (), 1.0 if wanted else -1.0, name)
    evidence = (piece, *(old for old in item.evidence if old.type != "rule"))
    score = max(item.score, SURE) if wanted else 0.0
    return replace(item, keep=wanted, score=score, evidence=evidence)
