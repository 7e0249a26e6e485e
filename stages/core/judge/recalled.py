"""What past SQL adds to a judgment: why a table was lifted, and its columns in use."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from stages.core.judge.history import BoundHistory
from stages.core.judge.types import Evidence, Judgment, RankedColumn, RankedTable

STRONG = 0.5
"""Score from which a table speaks for those that past SQL uses with it."""

MOST_STRONG = 5
"""Tables that speak at most, the best-ranked."""

LEAST = 0.05
"""Share below which being used together is chance."""

IN_USE = 0.2
"""Share of a table's past statements from which a column of a kept table is kept."""

PULL = 0.5
"""How much of the distance to certainty a column gains that every past statement uses."""


def recalled(found: Judgment, history: BoundHistory, wanted: Collection[str] = ()) -> Judgment:
    """The judgment with co-occurrence among the evidence, and the columns in use lifted.

    Tables keep their scores and their rank, which the judge has set already; columns are
    added and raised, never lowered.

    Args:
        found: What the judge said with this history.
        history: Past SQL over the catalog.
        wanted: Tables that speak whatever their score: a model chose or a rule added them.
    """
    strong = [table for table in found.tables if table.score >= STRONG][:MOST_STRONG]
    loud = {table.name for table in strong}
    strong += [
        replace(table, score=max(table.score, STRONG))
        for table in found.tables
        if table.name in wanted and table.name not in loud
    ]
    beside = {table.name: history.cooccurrence(table.name) for table in strong}
    tables = tuple(_table(table, strong, beside) for table in found.tables)
    columns = {(column.table, column.name): column for column in found.columns}
    for table in tables:
        if table.keep:
            columns |= {(c.table, c.name): c for c in _columns(table, columns, history)}
    ranked = tuple(sorted(columns.values(), key=lambda column: -column.score))
    return replace(found, tables=tables, columns=ranked)


def _table(
    table: RankedTable, strong: list[RankedTable], beside: dict[str, dict[str, float]]
) -> RankedTable:
    """The table with the strong ones that past SQL uses it with."""
    shares = {
        other.name: other.score * beside[other.name].get(table.name, 0.0)
        for other in strong
        if other.name != table.name
    }
    found = sorted((name for name in shares if shares[name] >= LEAST), key=lambda n: -shares[n])
    if not found:
        return table
    piece = Evidence("co-occurrence", tuple(found), round(shares[found[0]], 2), "past SQL")
    return replace(table, evidence=(*table.evidence, piece))


def _columns(
    table: RankedTable, known: dict[tuple[str, str], RankedColumn], history: BoundHistory
) -> Iterator[RankedColumn]:
    """The columns of a kept table that past SQL uses, with that as evidence."""
    for used, share in history.column_use(table.name).items():
        name = history.names.column(table.name, used)
        if name is None or share < LEAST:
            continue
        column = known.get((table.name, name), RankedColumn(table.name, name, 0.0, False))
        score = 1 - (1 - column.score) * (1 - PULL * share * table.score)
        piece = Evidence("co-occurrence", (), round(share, 2), "past SQL")
        keep = column.keep or share >= IN_USE
        yield replace(column, score=score, keep=keep, evidence=(*column.evidence, piece))
