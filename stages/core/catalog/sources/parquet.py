"""Parquet files: everything but a few rows comes from the footer.

A file is one table. Nested columns stay nested: a STRUCT type with its fields by dotted
path, lists as ``T[]``, maps as MAP. Types are the file's own, so they are never wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from stages.core.catalog.duck import rows as duck_rows
from stages.core.catalog.duck.rows import ColumnSpec, Row
from stages.core.catalog.duck.sql import quote, text
from stages.core.catalog.source_table import ScanOptions, SourceTable
from stages.core.errors import SourceError
from stages.core.records import Table

if TYPE_CHECKING:
    import duckdb

KIND = "parquet"
SUFFIXES = (".parquet", ".pq", ".parq")
SEVERAL = False
MAGIC = (0, b"PAR1")
ENCRYPTED = b"PARE"
SECONDS = 20.0
"""For the few rows of one file; a row group can be large."""


def scan(path: Path, options: ScanOptions) -> Iterator[SourceTable]:
    """The one table of a Parquet file, from its footer and three short ranges of rows.

    Raises:
        SourceError: It is no Parquet file, is encrypted, or its footer is damaged.
    """
    import duckdb

    _check(path)
    with duckdb.connect(config=duck_rows.CONFIG) as con:
        try:
            relation = _relation(path)
            description = con.execute(f"SELECT * FROM {relation} LIMIT 0").description or []
            count = _count(con, path)
            optional = _optional(con, path)
        except duckdb.Error as error:
            raise SourceError(f"damaged: {duck_rows.told(error, path)}", place=path.name) from None
        raw = SourceTable(path.name[: -len(path.suffix)], [], rows={"count": count, "how": "exact"})
        named = [
            ColumnSpec(item[0], str(item[1]), nullable=optional.get(item[0]))
            for item in description
        ]
        rows: list[Row] = []
        try:
            with duck_rows.within(con, SECONDS):
                rows = _rows(con, path, [column.name for column in named], count, options)
            raw.checked = "full"
        except duckdb.Error as error:
            raw.checked, raw.error = (
                "declared",
                f"its rows cannot be read: {duck_rows.told(error, path)}",
            )
        duck_rows.fill(raw, named, [item[1] for item in description], rows, options)
    yield raw


def _check(path: Path) -> None:
    """Tell what is no Parquet by the four bytes at either end, before an engine reads it."""
    with path.open("rb") as file:
        head = file.read(4)
        file.seek(-min(4, path.stat().st_size), 2)
        tail = file.read(4)
    if ENCRYPTED in (head, tail):
        raise SourceError("an encrypted Parquet file", place=path.name, hint="leave it out")
    if head != MAGIC[1]:
        raise SourceError("not a Parquet file", place=path.name, hint="leave it out")
    if tail != MAGIC[1]:
        raise SourceError("a Parquet file that is cut off", place=path.name, hint="copy it again")


def _relation(path: Path, *, numbered: bool = False) -> str:
    """``read_parquet`` of one file whose name is no pattern, whatever characters it holds."""
    name = "".join(f"[{char}]" if char in "*?[" else char for char in str(path))
    return f"read_parquet({text(name)}, hive_partitioning=false, file_row_number={str(numbered).lower()})"  # noqa: E501


def _count(con: duckdb.DuckDBPyConnection, path: Path) -> int:
    found = con.execute(f"SELECT count(*) FROM {_relation(path)}").fetchone()
    return int(found[0]) if found else 0


def _optional(con: duckdb.DuckDBPyConnection, path: Path) -> dict[str, bool]:
    """Whether the file's schema lets a top-level column be null."""
    name = "".join(f"[{char}]" if char in "*?[" else char for char in str(path))
    rows = con.execute(
        f"SELECT name, repetition_type, coalesce(num_children, 0) FROM parquet_schema({text(name)})"
    ).fetchall()
    found: dict[str, bool] = {}
    at = 1
    while at < len(rows):
        column, repetition, _ = rows[at]
        found.setdefault(column, repetition != "REQUIRED")
        at = _after(rows, at)
    return found


def _after(rows: list[tuple[str, str, int]], at: int) -> int:
    """Place of the next element of the schema tree that is not below this one."""
    left = 1
    while left and at < len(rows):
        left += int(rows[at][2]) - 1
        at += 1
    return at


def _rows(
    con: duckdb.DuckDBPyConnection, path: Path, names: list[str], count: int, options: ScanOptions
) -> list[Row]:
    """Rows from head, middle and tail; whole row groups outside of these are not read."""
    if not options.values or not names:
        return []
    chosen = duck_rows.text_list(names, options.cell)
    head = duck_rows.limit(options, len(names))
    rows = con.execute(f"SELECT {chosen} FROM {_relation(path)} LIMIT {head}").fetchall()
    if count <= head or "file_row_number" in map(str.lower, names):
        return rows
    for size, start in ((duck_rows.MIDDLE, count // 2), (duck_rows.TAIL, count - duck_rows.TAIL)):
        size = min(size, head)
        low = max(start, head)
        rows += con.execute(
            f"SELECT {chosen} FROM {_relation(path, numbered=True)} "
            f"WHERE file_row_number BETWEEN {low} AND {low + size - 1}"
        ).fetchall()
    return rows


def load(con: duckdb.DuckDBPyConnection, path: Path, table: Table, target: str) -> None:
    """Write all rows of the file into ``target``, the columns of the table line in its order.

    Raises:
        SourceError: It cannot be read, or lacks a column of the line.
    """
    import duckdb

    _check(path)
    chosen = ", ".join(quote(column["name"]) for column in table["columns"]) or "*"
    try:
        con.execute(
            f"CREATE OR REPLACE TABLE {quote(target)} AS SELECT {chosen} FROM {_relation(path)}"
        )
    except (duckdb.IOException, duckdb.BinderException, duckdb.InvalidInputException) as error:
        raise SourceError(
            f"cannot be read: {duck_rows.told(error, path)}", place=path.name
        ) from None
