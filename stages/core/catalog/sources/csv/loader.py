"""A whole delimited text file into one DuckDB table.

DuckDB reads the file itself, or a copy of it in UTF-8, where its strict reading is the same as
ours; it refuses ragged
rows, mixed line ends, stray quotation marks and bytes that are not UTF-8. Where it refuses,
and where `scan` saw that it would differ, the file is written anew by Python's `csv` as
plain UTF-8 with every row of one width, and DuckDB reads that.

DuckDB rounds ``1.5`` to 2 when told BIGINT, and drops the hour when told DATE. So all cells
are read as text and checked while they are cast (`duck.sql.create`).
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from stages.core.catalog.bytes import encoding as bytes_encoding
from stages.core.catalog.bytes import sampling
from stages.core.catalog.duck.sql import Style, create, lasting, quote, text
from stages.core.catalog.sources.csv.dialect import NULL, CsvDialect, with_nulls
from stages.core.catalog.sources.csv.table import header_mark
from stages.core.errors import SourceError
from stages.core.jsontypes import JsonObject
from stages.core.records import Table

if TYPE_CHECKING:
    import duckdb

_LINE = 1 << 21  # bytes of a record that DuckDB makes room for at first
_CLEAN = {"delimiter": ",", "header": False}


def load(con: duckdb.DuckDBPyConnection, path: Path, table: Table, target: str) -> None:
    """Write all rows of the file into ``target``, with the columns of the table line and
    their types, wider ones where a cell does not fit.

    Raises:
        SourceError: The file cannot be read, or the line says nothing of its columns.
    """
    import duckdb

    reader: JsonObject = table.get("source", {}).get("reader", {})
    names = [column["name"] for column in table["columns"]]
    if not names or "delimiter" not in reader:
        raise SourceError(
            "the table line does not say how to read it", place=path.name, hint="scan again"
        )
    again = _check_header(path, len(names), reader)
    columns = [(column["name"], column["type"]) for column in table["columns"]]
    style = Style(frozenset(reader.get("pointed", ())))
    with tempfile.TemporaryDirectory(prefix="winnow-") as folder:
        if not reader.get("rewrite"):
            try:
                plain = _utf8(path, Path(folder, "plain.csv"), reader)
                create(
                    con,
                    _without(_relation(plain, names, reader), names, again),
                    columns,
                    target,
                    style=style,
                )
                return
            except duckdb.Error as error:
                if lasting(error):
                    raise
        clean = Path(folder, "clean.csv")
        longest = _rewrite(path, clean, len(names), reader)
        create(
            con,
            _without(_relation(clean, names, _CLEAN, longest), names, again),
            columns,
            target,
            style=style,
        )


def _without(relation: str, names: list[str], header: list[str]) -> str:
    """The relation without rows that are the header again, as in files put together."""
    if len(header) < 2 or len(header) != len(names) or not all(header):
        return relation
    same = " AND ".join(
        f"{quote(name)} = {text(cell)}" for name, cell in zip(names, header, strict=True)
    )
    return f"(SELECT * FROM {relation} WHERE ({same}) IS NOT TRUE)"


def _check_header(path: Path, wide: int, reader: dict[str, object]) -> list[str]:
    """Columns are taken by their places, so the header has to be the one that was scanned.

    Returns:
        Its cells; empty where there is none.

    Raises:
        SourceError: It is not.
    """
    if "names" in reader:
        titled = {**reader, "header": False, "units": False}
        first = next(_records(path, titled), [""])  # a header of one blank cell is a blank line
        if header_mark(first, wide) != reader["names"]:
            what = "the file has other columns than when it was scanned"
            raise SourceError(what, place=path.name, hint="scan again")
        return first
    return []


def _utf8(path: Path, copy: Path, reader: JsonObject) -> Path:
    """The file itself where it is UTF-8, else a copy that is.

    Raises:
        SourceError: The file cannot be read.
    """
    if reader["encoding"] == "utf-8":
        return path
    try:
        with copy.open("wb") as file:
            file.writelines(bytes_encoding.utf8_pieces(path, reader["encoding"]))
    except (OSError, EOFError) as error:
        raise sampling.unreadable(path, error) from error
    return copy


def count(path: Path, reader: JsonObject) -> int:
    """Rows of the whole file, read the same way as `load` does.

    Raises:
        SourceError: The file cannot be read.
    """
    import duckdb

    if not reader.get("rewrite") and reader["encoding"] == "utf-8":
        names = [f"c{at}" for at in range(reader["width"])]
        try:
            with duckdb.connect() as con:
                found = con.execute(
                    f"SELECT count(*) FROM {_relation(path, names, reader)}"
                ).fetchone()
            return int(found[0]) if found else 0
        except duckdb.Error:
            pass
    return sum(1 for _ in _records(path, reader))


def _relation(path: Path, names: list[str], reader: JsonObject, longest: int = _LINE) -> str:
    """``read_csv`` of all columns as text, with nothing left to find out; its buffers grow
    with the longest record."""
    longest = max(longest, _LINE)
    columns = ", ".join(f"{text(name)}: 'VARCHAR'" for name in names)
    packed = {"gzip": "gzip", "zstd": "zstd"}.get(sampling.compression(path), "none")
    return (
        f"read_csv({text(str(path))}, auto_detect=false, columns={{{columns}}}, "
        f"delim={text(reader['delimiter'])}, quote='\"', escape='\"', "
        f"header={str(reader['header']).lower()}, strict_mode=true, nullstr=['', {text(NULL)}], "
        f"max_line_size={longest}, "
        f"buffer_size={longest * 16}, compression='{packed}')"
    )


def _records(path: Path, reader: JsonObject) -> Iterator[list[str]]:
    """Records of the table, without header, titles and blank lines.

    Raises:
        SourceError: The file cannot be read.
    """
    how = CsvDialect(reader["delimiter"], reader["quote"], reader["escape"], reader["skip_space"])
    skip = reader["skip"] + bool(reader["header"]) + bool(reader.get("units"))
    try:
        for record in _parsed(path, reader["encoding"], how):
            if not record:
                continue
            if skip:
                skip -= 1
                continue
            yield with_nulls([record])[0] if NULL in record else record
    except (OSError, EOFError, csv.Error) as error:
        raise sampling.unreadable(path, error) from error


def _parsed(path: Path, encoding: str, how: CsvDialect) -> Iterator[list[str]]:
    """All records, read as `scan` reads a whole file."""
    with (
        bytes_encoding.text_of(path, encoding, "replace") as lines,
        bytes_encoding.text_of(path, encoding, "replace") as again,
    ):
        yield from how.closed(lines, again)


def _rewrite(path: Path, clean: Path, width: int, reader: dict[str, object]) -> int:
    """The same rows as plain UTF-8 CSV, all of one width.

    Returns:
        Bytes that the longest record may take.
    """
    longest = 0
    padding = [""] * width
    with clean.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        for record in _records(path, reader):
            if len(record) != width:
                record = [*record[:width], *padding[len(record) :]]
            longest = max(longest, 4 * writer.writerow(record))
    return longest
