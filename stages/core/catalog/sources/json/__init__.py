"""JSON in the shapes it is found in: an array of records, ``{"table", "records"}``, JSON
lines, arrays deeper down, columns side by side, or a single object; values may be nested.

What becomes a table, the first that fits:

- a file of values one after the other (``.jsonl``, ``.ndjson``, or so by content): one table,
  a row for each value; a single object is one row;
- an array: one table, a row for each element; elements that are arrays become columns by
  place, elements that are neither get one column;
- arrays up to three keys deep (``{"table": …, "records": […]}``, ``{"data": {"items": […]}}``):
  one table for each, named by the file where it names it, else by its key;
- an object of like objects: one row each, the key in a column of its own;
- an object of equally long arrays (pandas' column forms): one row for each place.

Objects within a row stay one column: a STRUCT, with its fields by dotted path (arrays walked
through), or a MAP where its keys are values themselves; arrays are lists. What is nested
deeper than a type can be (`types.DEEP`) is text, with a warning; what is nested deeper than
the reader goes is skipped, with the reason. A row may have thousands of keys: each is a column.
Any of it may be packed with gzip or zstd.

The sample is streamed (`json.stream`) and never holds a large file; where the tables
are in it is found by `json.shape`, and goes into the table line's reader.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from stages.core.catalog.bytes import encoding, sampling
from stages.core.catalog.source_table import ScanOptions, SourceTable
from stages.core.catalog.sources.json import columns, shape
from stages.core.catalog.sources.json.stream import NotJson, Stream, is_torn
from stages.core.errors import SourceError
from stages.core.records import Rows, Table

if TYPE_CHECKING:
    import duckdb

KIND = "json"
SUFFIXES = tuple(
    kind + packed for kind in (".json", ".jsonl", ".ndjson") for packed in ("", ".gz", ".zst")
)
SEVERAL = False


def scan(path: Path, options: ScanOptions) -> Iterator[SourceTable]:
    """The tables of a JSON file, from a bounded sample of its bytes.

    Args:
        path: A file with one of `SUFFIXES`.
        options: What to show, and the user's word on the encoding.

    Raises:
        SourceError: The file cannot be opened, holds nothing, or is not JSON.
    """
    sample = sampling.take(path)
    while True:
        found = encoding.detect(sample.parts, whole=sample.whole, override=options.encoding)
        stream, places = _places(path, sample, found)
        if sample.whole or any(place.records and not _bare(place) for place in places):
            break
        if len(sample.head) >= sampling.MOST:
            raise SourceError(
                f"no whole record in the first {sampling.MOST} bytes",
                place=path.name,
                hint="leave it out",
            )
        sample = sampling.take(path, head=len(sample.head) * 4)
    for place in places:
        alone = sum(1 for other in places if other.shape != "object") == 1
        yield _raw(path, options, sample, found, stream, place, alone=alone)


def _bare(place: shape.Place) -> bool:
    """Whether the sample ended before a table was seen: one object, and nothing after it."""
    return place.shape == "lines" and len(place.records) == 1


def _places(
    path: Path, sample: sampling.ByteSample, found: encoding.Encoding
) -> tuple[Stream, list[shape.Place]]:
    """The tables that begin in the head."""
    text = found.decode(sample.head, first=True, last=sample.whole)
    pieces = iter([text])
    stream = Stream(lambda: next(pieces, ""))
    stream.torn = is_torn(text)
    if not stream.peek():
        raise SourceError("the file holds nothing but blanks", place=path.name, hint="leave it out")
    try:
        places = shape.places(stream, lines=_lines(path))
        if (stream.broken or (stream.cut and sample.whole)) and not any(
            place.records for place in places
        ):
            raise NotJson("no line of it is")
        return stream, places
    except NotJson as error:
        raise SourceError(
            f"not JSON: {error}", place=path.name, hint="mend the file or leave it out"
        ) from None


def _lines(path: Path) -> bool:
    """Whether the file's name promises JSON lines."""
    return any(suffix in (".jsonl", ".ndjson") for suffix in map(str.lower, path.suffixes[-2:]))


def _raw(
    path: Path,
    options: ScanOptions,
    sample: sampling.ByteSample,
    found: encoding.Encoding,
    stream: Stream,
    place: shape.Place,
    *,
    alone: bool,
) -> SourceTable:
    """One table as a record."""
    rows, title = place.rows(), ""
    if not sample.whole and alone and place.shape != "object":
        more, title = _further(sample, found, place, rows)
        rows += more
    table = columns.columns_of(rows)
    reader = _reader(found, stream, place, sample, table)
    raw = SourceTable(
        name=_name(path, place, title),
        inner=place.inner,
        columns=columns.records(table, options, whole=sample.whole),
        rows=_rows(path, options, sample, rows, reader),
        checked="full" if sample.whole else "sample",
        warnings=_warnings(found, stream, place, sample, table),
        reader=reader,
    )
    if not table.names:
        raw.checked, raw.error = "none", "no records, so the columns are not known"
    if options.values:
        raw.sample = columns.shown(table, options.sample_rows)
    return raw


def _name(path: Path, place: shape.Place, title: str) -> str:
    """The table's name: the file's own word, else its key, else the file's name."""
    stem = sampling.stem(path)
    if place.shape == "object":
        return f"{stem}_{shape.BESIDE}"
    return place.name or title or stem


def _reader(
    found: encoding.Encoding,
    stream: Stream,
    place: shape.Place,
    sample: sampling.ByteSample,
    table: columns.Columns,
) -> dict[str, object]:
    """How the file is read: where the table is, and whether DuckDB may read it itself."""
    reader: dict[str, object] = {"encoding": found.name, **place.reader()}
    if table.renamed:
        reader["keys"] = table.renamed
    mended = (
        stream.repeated
        or stream.mended
        or stream.broken
        or stream.torn
        or (stream.cut and sample.whole)
    )
    if found.errors != "strict" or mended or table.deep:
        reader["rewrite"] = True
    return reader


def _further(
    sample: sampling.ByteSample,
    found: encoding.Encoding,
    place: shape.Place,
    rows: list[shape.Row],
) -> tuple[list[shape.Row], str]:
    """Rows of the middle and the tail, and the name that the tail may give the table."""
    keys = {key for row in rows for key in row}
    more: list[shape.Row] = []
    title = ""
    for part in sample.parts[1:]:
        text = found.decode(part, first=False, last=part is sample.tail)
        if place.shape in ("lines", "array", "member"):
            more += shape.in_part(text, keys, place.shape == "lines")
        if place.shape == "member" and part is sample.tail:
            title = shape.name_in_tail(text)
    return more, title


def _rows(
    path: Path,
    options: ScanOptions,
    sample: sampling.ByteSample,
    rows: list[shape.Row],
    reader: dict[str, object],
) -> Rows:
    """Row count: exact for a file read whole or on request, else bytes over bytes a row."""
    if sample.whole or reader["shape"] == "object":
        return {"count": len(rows), "how": "exact"}
    if options.exact:
        from stages.core.catalog.sources.json import loader

        return {"count": loader.count(path, reader), "how": "exact"}
    sampled = sum(map(len, sample.parts))
    return {"count": round(sample.content * len(rows) / sampled), "how": "estimate"}


def _warnings(
    found: encoding.Encoding,
    stream: Stream,
    place: shape.Place,
    sample: sampling.ByteSample,
    table: columns.Columns,
) -> list[str]:
    """What a reader should know of how the file was read."""
    deep, renamed = table.deep, table.renamed
    notes = {
        found.warning: bool(found.warning),
        "objects with the same key twice; the last one counts": stream.repeated,
        "commas too many or missing; they are passed over": stream.mended,
        "the file ends inside a value or is broken there; what stood before is read": stream.cut
        and sample.whole,
        f"lines that are not JSON: {stream.broken} of the sample; they are left out": stream.broken,
        "halves of characters (\\ud83d without its other half); they are read as U+FFFD": stream.torn,  # noqa: E501
        **dict.fromkeys(place.notes, True),
        f"nested too deeply for a type of their own, so text: {', '.join(deep)}": deep,
        f"keys that could not be column names as they stand: {', '.join(renamed.values())}": renamed,  # noqa: E501
        "only the start of the file was looked at for members that are tables": place.shape
        == "member"
        and not sample.whole
        and place.inner is not None,
    }
    return [note for note, holds in notes.items() if holds]


def load(con: duckdb.DuckDBPyConnection, path: Path, table: Table, target: str) -> None:
    """Write all rows of one table of the file into ``target``; see `json.loader`.

    Raises:
        SourceError: The file cannot be read.
    """
    from stages.core.catalog.sources.json import loader

    loader.load(con, path, table, target)
