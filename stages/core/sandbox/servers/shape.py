"""A statement as it goes to a server, and the cells of its answer.

Cells of a server's answer as those of every answer, and the size they may have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from stages.core.dialects import BY_SQL
from stages.core.records import Table
from stages.core.sandbox.gate.gate import CheckedQuery
from stages.core.sandbox.gate.normal import write
from stages.core.sandbox.gate.order import plain
from stages.core.sandbox.limits import Cell, Limits

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


def cell(value: Cell, kind: str) -> Cell:
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
    found: Iterable[Sequence[Cell]], kinds: Sequence[str], rows: int, limits: Limits
) -> tuple[list[tuple[Cell, ...]], bool, bool]:
    """The rows that fit.

    Returns:
        The rows, whether there are more, and whether it was their size that ended them.
    """
    out: list[tuple[Cell, ...]] = []
    size = 0
    for row in found:
        if len(out) == rows:
            return out, True, False
        size += sum(len(value) if isinstance(value, str) else 16 for value in row)
        if size > limits.answer:
            return out, True, True
        out.append(tuple(cell(value, kind) for value, kind in zip(row, kinds, strict=True)))
    return out, False, False


# The statement as it goes to a server: a full order, no more rows than asked for, short cells.

WRAPPER = "winnow_answer"
SORTED_ROWS = 1_000_000
"""Rows of a table without a key up to which all of it is sorted to answer a plain read."""
UNORDERED = "rows come in no fixed order: the table is large and has no primary key"

ROLLED_UP = "rows come in the server's own order, which WITH ROLLUP does not let be set"


@dataclass(frozen=True)
class ShapedQuery:
    """The query with its order and its limit, and a note where the order stays free."""

    query: exp.Query
    note: str = ""


def shape_query(
    checked: CheckedQuery, positions: Sequence[int], rows: int, dialect: str
) -> ShapedQuery:
    """A copy of a checked query in a full order.

    A plain read of one table is ordered by its primary key, which costs nothing; any other
    query by all its columns that can be sorted, after what it is ordered by itself.

    Args:
        checked: The query.
        positions: Positions of the columns that the server can sort.
        rows: Rows to be fetched, one more included to tell whether there are more.
        dialect: The server's dialect.
    """
    query = checked.tree.copy()
    if isinstance(query, exp.Subquery):
        query = exp.select("*").from_(query)
    note = ""
    order = query.args.get("order")
    if not BY_SQL[dialect].orders_rollup and _rolled_up(query):
        note = "" if order is not None else ROLLED_UP
    elif order is not None:
        for position in positions:
            order.append("expressions", _sorted(exp.Literal.number(position), dialect))
    elif plain(query) and checked.tables:
        note = _by_key(query, checked.tables[0], positions, dialect)
    else:
        _by_position(query, positions, dialect)
    if query.args.get("limit") is None:
        query.set("limit", exp.Limit(expression=exp.Literal.number(rows)))
    return ShapedQuery(query, note)


def _rolled_up(query: exp.Query) -> bool:
    """Whether sums of groups are asked for, beside which MariaDB takes no ORDER BY."""
    group = query.args.get("group")
    return group is not None and any(group.args.get(key) for key in ("rollup", "cube"))


def _by_key(query: exp.Query, table: Table, positions: Sequence[int], dialect: str) -> str:
    key = table.get("primary_key", [])
    hidden = {column["name"] for column in table["columns"] if column.get("hidden")}
    if key and not hidden & set(key):
        columns = [exp.column(exp.to_identifier(name, quoted=True)) for name in key]
        query.set("order", exp.Order(expressions=[_sorted(column, dialect) for column in columns]))
        return ""
    count = table.get("rows", {"count": None})["count"]
    if count is None or count > SORTED_ROWS:
        return UNORDERED
    _by_position(query, positions, dialect)
    return ""


def _by_position(query: exp.Query, positions: Sequence[int], dialect: str) -> None:
    parts = [_sorted(exp.Literal.number(position), dialect) for position in positions]
    if parts:
        query.set("order", exp.Order(expressions=parts))


def _sorted(this: exp.Expr, dialect: str) -> exp.Ordered:
    """An item of ORDER BY; nulls stand where the server puts them by itself."""
    return exp.Ordered(this=this, nulls_first=BY_SQL[dialect].nulls_first)


def wrap(query: exp.Query, cells: Sequence[str], rows: int, dialect: str) -> str:
    """The text that is sent: the query under names of our own, each cell as an expression.

    Args:
        query: The query.
        cells: SQL for each column, which is called ``c1``, ``c2`` and so on.
        rows: Rows to be fetched.
        dialect: The server's dialect.
    """
    names = ", ".join(f"c{at}" for at in range(1, len(cells) + 1))
    inner = write(query, dialect)
    return (
        f"WITH {WRAPPER} ({names}) AS ({inner}) "
        f"SELECT {', '.join(cells)} FROM {WRAPPER} LIMIT {rows}"
    )
