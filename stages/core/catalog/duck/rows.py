"""Sampled rows of something DuckDB reads by itself (Parquet, DuckDB files) as columns and cells.

The engine casts the cells to text, so they are what a query over the loaded table shows.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stages.core.catalog.bytes.cells import spread
from stages.core.catalog.duck.interrupt import by_hand
from stages.core.catalog.duck.sql import quote
from stages.core.catalog.source_table import ScanOptions, SourceTable
from stages.core.records import Column, Field

if TYPE_CHECKING:
    import duckdb

HEAD, MIDDLE, TAIL = 100, 50, 50
CELLS = 20_000
"""Cells in one part of the sample, at most: tables of 2,000 columns give fewer rows."""
FIELDS = 3000
LEVELS = 40

Row = tuple[str | None, ...]
CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "memory_limit": "512MiB",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}
"""A connection that reads what it is told to and fetches nothing from elsewhere."""


@dataclass(frozen=True)
class ColumnSpec:
    """A column before its values are known."""

    name: str
    type: str
    declared: str = ""
    nullable: bool | None = None
    key: str = ""
    comment: str = ""
    generated: bool = False


def limit(options: ScanOptions, width: int, most: int = HEAD) -> int:
    """Rows of one part of the sample for a table of so many columns."""
    return max(options.sample_rows + 1, min(most, CELLS // max(1, width)))


def text_list(names: Sequence[str], cell: int) -> str:
    """What to SELECT so that all cells come as text, cut as `text.shorten` does."""
    return ", ".join(_cut(f"CAST({quote(name)} AS VARCHAR)", cell) for name in names)


def _cut(text: str, cell: int) -> str:
    return (
        f"CASE WHEN length({text}) > {cell} "
        f"THEN left({text}, {cell}) || '…(+' || (length({text}) - {cell}) || ')' ELSE {text} END"
    )


def fill(
    raw: SourceTable,
    named: Sequence[ColumnSpec],
    types: Sequence[object],
    rows: list[Row],
    options: ScanOptions,
) -> None:
    """Give a table its columns and its first rows.

    Args:
        raw: The table.
        named: Its columns.
        types: DuckDB's type object of each, for nested fields; None where it is not known.
        rows: Sampled rows, those of the head first; empty where none are to be had.
    """
    cells: list[tuple[str | None, ...]] = (
        list(zip(*rows, strict=True)) if rows else [()] * len(named)
    )
    raw.columns = [
        _column(column, kind, values, options)
        for column, kind, values in zip(named, types, cells, strict=True)
    ]
    if options.values:
        names = [column.name for column in named]
        raw.sample = [dict(zip(names, row, strict=True)) for row in rows[: options.sample_rows]]


def _column(
    named: ColumnSpec, kind: object, values: Sequence[str | None], options: ScanOptions
) -> Column:
    column: Column = {"name": named.name, "type": named.type}
    if named.declared and named.declared != named.type:
        column["declared"] = named.declared
    column["nullable"] = named.nullable
    if named.key:
        column["key"] = named.key  # type: ignore[typeddict-item]
    if named.comment:
        column["comment"] = named.comment
    if named.generated:
        column["generated"] = True
    if options.values:
        column["examples"] = spread([v for v in values if v is not None], options.examples)
    if kind is not None and "STRUCT" in named.type:
        column["fields"] = list(_fields(named.name, kind, 0))[:FIELDS]
    return column


def _fields(
    path: str,
    kind: Any,  # Any: what the children of a type are depends on its id
    level: int,
) -> Iterator[Field]:
    """The fields of a nested type by dotted path; arrays are walked through, maps are not.

    Args:
        path: The path so far.
        kind: DuckDB's type.
        level: How deep it stands.
    """
    while kind.id in ("list", "array"):
        kind = kind.children[0][1]
    if kind.id != "struct" or level > LEVELS:
        return
    for name, inner in kind.children:
        yield {"name": f"{path}.{name}", "type": str(inner)}
        yield from _fields(f"{path}.{name}", inner, level + 1)


@contextmanager
def within(con: duckdb.DuckDBPyConnection, seconds: float) -> Iterator[None]:
    """Interrupt what runs on the connection once the time is over."""
    timer = threading.Timer(seconds, con.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    except RuntimeError as error:
        if by_hand(error):
            raise KeyboardInterrupt from None
        raise
    finally:
        timer.cancel()
        timer.join()


def told(error: Exception, path: Path | None = None) -> str:
    """The first line of an engine's error, without its class, the file by its name alone."""
    first = (str(error).strip().splitlines() or [type(error).__name__])[0]
    words = first.partition(": ")[2] or first
    return words.replace(str(path), path.name) if path else words
