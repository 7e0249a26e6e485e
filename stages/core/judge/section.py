"""A judgment as the sparse ``link`` section: what is kept, and the best of what is not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

from stages.core.judge.judgment import EvidencePiece, Judgment, RankedColumn, RankedTable
from stages.core.records import Link, Table

SPARE_TABLES, SPARE_COLUMNS = 100, 300
"""Tables and columns listed beyond the kept ones, the best-ranked with evidence: enough
to see what was nearly kept, and no section grows with its catalog."""

PIECES, WORDS = 6, 5
"""Pieces of evidence listed for one table or column, and words of one piece."""

DIGITS = 4
"""Digits of a score; more would differ between machines."""

Item = TypeVar("Item", RankedTable, RankedColumn)


def to_section(found: Judgment, tables: Sequence[Table]) -> Link:
    """The section without its ``meta``, after ``schemas/link.schema.json``.

    Args:
        found: The judgment.
        tables: All tables of the catalog.
    """
    listed = _sparse(found.tables, SPARE_TABLES)
    names = {table.name for table in listed}
    columns = _sparse([c for c in found.columns if c.keep or c.table in names], SPARE_COLUMNS)
    made = {
        "tables": [{"name": table.name, **_scored(table)} for table in listed],
        "columns": [{"table": c.table, "name": c.name, **_scored(c)} for c in columns],
        "edges": [
            {
                "left": e.left,
                "left_columns": list(e.left_columns),
                "right": e.right,
                "right_columns": list(e.right_columns),
                "how": e.how,
            }
            for e in found.edges
        ],
        "n_tables": len(tables),
        "n_columns": found.n_columns,
    }
    return cast("Link", made)


def _sparse(ranked: Sequence[Item], spare: int) -> list[Item]:
    """The kept ones and ``spare`` others with evidence, in rank order."""
    listed = []
    for item in ranked:
        if item.keep:
            listed.append(item)
        elif item.evidence and spare:
            spare -= 1
            listed.append(item)
    return listed


def _scored(item: RankedTable | RankedColumn) -> dict[str, object]:
    score = min(max(round(item.score, DIGITS), 0.0), 1.0)
    heaviest = sorted(item.evidence, key=lambda piece: -abs(piece.weight))[:PIECES]
    pieces = [_piece(piece) for piece in heaviest]
    return {"score": score, "keep": item.keep, "evidence": pieces}


def _piece(piece: EvidencePiece) -> dict[str, object]:
    made: dict[str, object] = {
        "type": piece.type,
        "words": list(piece.words[:WORDS]),
        "weight": round(piece.weight, DIGITS),
    }
    return {**made, "note": piece.note} if piece.note else made
