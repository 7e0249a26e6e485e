"""What a statement may cost, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

ALL = 2**31 - 2
"""Stands for no limit of rows or characters; servers take it for a whole number, and one more."""

GRACE = 0.75
"""Seconds after the time limit at which a child that did not stop by itself is killed."""


@dataclass(frozen=True)
class Limits:
    """The limits of one database; every one is an option of ``winnow query``.

    Args:
        seconds: Time for one statement, planning included.
        rows: Rows given back where the caller does not say.
        max_rows: Most rows that a caller can ask for.
        cell: Characters of one cell; what is cut is told as ``…(+N)``.
        memory: MiB for the engine; the child's address space gets little more.
        sql: Characters of a statement.
        tables: Table references of a statement. Planning 60 joins takes 0.06 s, 150 take 2.5 s.
        materialise: Bytes of a source above which its tables are not loaded.
        load_seconds: Time for loading one table, once.
        answer: Bytes of cell text in one answer; rows beyond are left out and told.
        clock: What ``now()`` and ``current_date`` say, UTC; a moving clock would make the
            same query give another answer tomorrow.
        privileged: Whether a role of a server may run queries that can do more than read.
    """

    seconds: float = 30.0
    rows: int = 50
    max_rows: int = 100_000
    cell: int = 200
    memory: int = 512
    sql: int = 20_000
    tables: int = 64
    materialise: int = 2 * 1024**3
    load_seconds: float = 600.0
    answer: int = 32 * 1024**2
    clock: str = "2026-01-01 00:00:00"
    privileged: bool = False


Cell: TypeAlias = bool | int | float | Decimal | str | None
"""A value of an answer; all that is neither number nor truth value is text as DuckDB casts it."""


@dataclass(frozen=True)
class Answer:
    """The rows of one statement.

    Args:
        columns: Names, as the engine gives them; they may repeat.
        types: DuckDB types, in the same order.
        rows: Cells are None, bool, int, float, `decimal.Decimal`, or text as DuckDB casts it
            (dates, lists, structs and all else), cut to the cell limit.
        truncated: Whether there were more rows.
        repairs: What was changed in the statement, and what to know about the result.
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    truncated: bool = False
    repairs: tuple[str, ...] = ()
