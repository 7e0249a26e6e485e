"""Delimited text: CSV and TSV, as they are found and not as they should be.

The sample is read by Python's `csv`, which takes every kind of line end and ragged rows as
they come; the table's shape and types are decided on its cells (`csv.dialect`,
`catalog.headers`). What was decided goes into the table line's reader, and loading reads the
whole file by it.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from stages.core.catalog import headers
from stages.core.catalog.bytes import cells, encoding, sampling
from stages.core.catalog.source_table import ScanOptions, SourceTable
from stages.core.catalog.sources.csv import dialect
from stages.core.catalog.sources.csv import table as csv_table
from stages.core.errors import SourceError
from stages.core.records import Column, Rows, Table

if TYPE_CHECKING:
    import duckdb

KIND = "csv"
SUFFIXES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".csv.zst", ".tsv.zst")
SEVERAL = False
OPENED = "a quotation mark is never closed; quotation marks are read as text from there on"


def scan(path: Path, options: ScanOptions) -> Iterator[SourceTable]:
    """The one table of a delimited text file, from a bounded sample of its bytes.

    Args:
        path: A file with one of `SUFFIXES`.
        options: What to show, and the user's word on the encoding.

    Raises:
        SourceError: The file cannot be opened, holds nothing, or is not text.
    """
    sample = sampling.take(path)
    found = encoding.detect(sample.parts, whole=sample.whole, override=options.encoding)
    text = found.decode(sample.head, first=True, last=sample.whole)
    if text.startswith("PK\x03\x04") or text[:4096].count("\0") * 10 > len(text[:4096]) > 0:
        raise SourceError("not text", place=path.name, hint="leave it out")
    prefer = "\t" if ".tsv" in path.name.lower()[-8:] else ","
    how = dialect.sniff(text, prefer=prefer)
    head = _head(path, sample, found, how, text)
    if len({len(row) for row in head}) != 1 or text.count(how.quote or '"') % 2:
        how = dialect.sniff(text, prefer=prefer, most=dialect.SECOND)  # records disagree
        head = _head(path, sample, found, how, text)
    if dialect.with_escape(how, text) != how:
        how = dialect.with_escape(how, text)
        head = _head(path, sample, found, how, text)
    opened = sample.whole and how.left_open(text)
    if opened:
        lines = (io.StringIO(text, newline="") for _ in range(2))
        head = [row for row in how.closed(*lines) if row]
    if not head:
        raise SourceError("the file holds no cells", place=path.name, hint="leave it out")
    more = _further(sample, found, how)
    if dialect.NULL in text:
        head, more = dialect.with_nulls(head), dialect.with_nulls(more)
    table = headers.build(head, more, _gap(how, text), options.header)
    if table.header:
        table.mark = csv_table.header_mark(head[table.skip], len(table.names))
    table.ragged = table.ragged or text[0] in "\r\n"  # DuckDB takes a blank line for the header
    table.estimate = _estimate(sample, len(head), len(more))
    if opened:
        table.ragged = True  # DuckDB would take what follows the mark for one cell
        table.warnings.append(OPENED)
    yield _raw(path, options, sample, found, how, table)


def _gap(how: dialect.CsvDialect, text: str) -> int:
    """Records above the first blank line, where it stands near the start of the file."""
    at = 0
    for record in how.reader(io.StringIO(text[: dialect.FIRST], newline="")):
        if not record and at:
            return at
        at += bool(record)
        if at > 3:
            break
    return 0


def _estimate(sample: sampling.ByteSample, head: int, more: int) -> int:
    """Rows of the whole file: those of the head, and after it as many a byte as in the
    middle and the tail where there are any."""
    rest = sum(map(len, sample.parts[1:]))
    density = more / rest if more else head / len(sample.head)
    return head + round(density * max(0.0, sample.content - len(sample.head)))


def _head(
    path: Path,
    sample: sampling.ByteSample,
    found: encoding.Encoding,
    how: dialect.CsvDialect,
    text: str,
) -> list[list[str]]:
    """Records of the head, without one that the sample's end cuts; where it holds no whole
    record the head grows up to `sampling.MOST`."""
    rows = how.rows(text)
    size = len(sample.head)
    while not sample.whole and len(rows) < 3 and size < sampling.MOST:
        size *= 4
        sample = sampling.take(path, head=size)
        rows = how.rows(found.decode(sample.head, first=True, last=sample.whole))
    return rows if sample.whole or len(rows) < 2 else rows[:-1]


def _further(
    sample: sampling.ByteSample, found: encoding.Encoding, how: dialect.CsvDialect
) -> list[list[str]]:
    """Whole records of the middle and the tail; a part may start inside a quoted cell, so
    both readings are tried and the one with more records of one width is taken."""
    rows: list[list[str]] = []
    for part in sample.parts[1:]:
        last = part is sample.tail
        text = found.decode(part, first=False, last=last)
        readings = [how.rows(text)]
        if how.quote and how.quote in text:
            readings.append(how.rows(how.quote + text))
        best = max(readings, key=_evenness)
        rows += best[1:] if last else best[1:-1]
    return rows


def _evenness(rows: list[list[str]]) -> int:
    """Records that have the commonest number of cells, where that is more than one."""
    widths = [len(row) for row in rows]
    return max((widths.count(width) for width in set(widths) if width > 1), default=0)


def _raw(
    path: Path,
    options: ScanOptions,
    sample: sampling.ByteSample,
    found: encoding.Encoding,
    how: dialect.CsvDialect,
    table: csv_table.Grid,
) -> SourceTable:
    """The table as a record."""
    reader: dict[str, object] = {
        "encoding": found.name,
        **how.record(),
        "header": table.header,
        "skip": table.skip,
        "width": len(table.names),
    }
    pointed = [name for at, name in enumerate(table.names) if _is_pointed(table, at)]
    if pointed:
        reader["pointed"] = pointed
    if table.units:
        reader["units"] = True
    if table.mark:
        reader["names"] = table.mark
    if _odd(table, how, found):
        reader["rewrite"] = True
    raw = SourceTable(
        name=sampling.stem(path),
        columns=_columns(table, options, sample.whole),
        rows=_rows(path, options, sample, table, reader),
        sample=_shown(table, options),
        checked="full" if sample.whole else "sample",
        warnings=[*filter(None, [found.warning]), *table.warnings],
        reader=reader,
    )
    if how.quote == "" and sample.whole:
        raw.warnings.append(OPENED)
    return raw


def _is_pointed(table: csv_table.Grid, at: int) -> bool:
    """Whether the whole numbers of a column of doubles are written with a point."""
    return table.types[at] == "DOUBLE" and any(
        text.rstrip(" ").endswith(".0") for text in table.values[at]
    )


def _odd(table: csv_table.Grid, how: dialect.CsvDialect, found: encoding.Encoding) -> bool:
    """Whether DuckDB's strict reading would differ from ours without saying so."""
    plain = how.quote == '"' and not how.escape and not how.skip_space
    return (
        table.ragged
        or bool(table.skip or table.units)
        or len(table.names) == 1
        or not plain
        or found.mark > 3
    )


def _columns(table: csv_table.Grid, options: ScanOptions, whole: bool) -> list[Column]:
    """Columns with type, nullability as far as it was seen, and examples."""
    columns: list[Column] = []
    for at, (name, kind) in enumerate(zip(table.names, table.types, strict=True)):
        null = table.nulls[at]
        column = Column(name=name, type=kind, nullable=True if null else False if whole else None)
        if at < len(table.units) and table.units[at]:
            column["comment"] = f"unit: {table.units[at]}"
        if options.values:
            picked = cells.spread(table.values[at], options.examples)
            column["examples"] = list(dict.fromkeys(cells.cast(kind, text) for text in picked))
        columns.append(column)
    return columns


def _shown(table: csv_table.Grid, options: ScanOptions) -> list[dict[str, str | None]]:
    """The first rows, as DuckDB would show them."""
    if not options.values:
        return []
    return [
        {
            name: cells.cast(kind, cell) if cell else None
            for name, kind, cell in zip(table.names, table.types, row, strict=True)
        }
        for row in table.body[: options.sample_rows]
    ]


def _rows(
    path: Path,
    options: ScanOptions,
    sample: sampling.ByteSample,
    table: csv_table.Grid,
    reader: dict[str, object],
) -> Rows:
    """Row count: exact for a file read whole or on request, else bytes over bytes a row."""
    if sample.whole:
        return {"count": len(table.body), "how": "exact"}
    if options.exact:
        from stages.core.catalog.sources.csv import loader

        return {"count": loader.count(path, reader), "how": "exact"}
    return {"count": table.estimate, "how": "estimate"}


def load(con: duckdb.DuckDBPyConnection, path: Path, table: Table, target: str) -> None:
    """Write all rows of the file into ``target``; see `csv.loader`.

    Raises:
        SourceError: The file cannot be read.
    """
    from stages.core.catalog.sources.csv import loader

    loader.load(con, path, table, target)
