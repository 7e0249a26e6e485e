"""Cells of a server's answer as those of every answer, and the size they may have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from stages.core.sandbox.limits import Limits

WHOLE = ("BIGINT", "INTEGER", "SMALLINT", "TINYINT", "UBIGINT", "UINTEGER", "USMALLINT", "UTINYINT")
REAL = ("DOUBLE", "FLOAT")


BATCH = 200
"""Rows that are asked for at once, at most."""
_COPIES = 16
"""Bytes that a character may take while it is read: on the wire, decoded, and in a row."""


def room(limits: Limits, columns: int) -> int:
    """Characters of a cell, so that one row never passes the memory of the statement."""
    return max(1, min(limits.cell, limits.memory * 1024**2 // (_COPIES * max(columns, 1))))


def batch(limits: Limits, columns: int) -> int:
    """Rows to ask for at once, so that they never pass the memory of the statement."""
    row = _COPIES * max(columns, 1) * room(limits, columns)
    return max(1, min(BATCH, limits.memory * 1024**2 // row))


def cell(value: Any, kind: str) -> Any:
    """A cell that came as text, as the value of its type; what is no number stays text."""
    if value is None or not isinstance(value, str):
        return value
    try:
        if kind in WHOLE:
            return int(value)
        if kind in REAL:
            return float(value)
        if kind.startswith("DECIMAL"):
            return Decimal(value)
    except (ValueError, InvalidOperation):
        return value
    if kind == "BOOLEAN":
        return value in ("true", "t")
    return value


def taken(
    found: Iterable[Sequence[Any]], kinds: Sequence[str], rows: int, limits: Limits
) -> tuple[list[tuple[Any, ...]], bool, bool]:
    """The rows that fit.

    Returns:
        The rows, whether there are more, and whether it was their size that ended them.
    """
    out: list[tuple[Any, ...]] = []
    size = 0
    for row in found:
        if len(out) == rows:
            return out, True, False
        size += sum(len(value) if isinstance(value, str) else 16 for value in row)
        if size > limits.answer:
            return out, True, True
        out.append(tuple(cell(value, kind) for value, kind in zip(row, kinds, strict=True)))
    return out, False, False
