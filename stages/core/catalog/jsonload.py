"""A whole table of a JSON file into one DuckDB table.

DuckDB reads JSON lines and arrays; an array inside an object, and a file that is not plain
UTF-8, are copied first so that it can. Scalars are read as text and checked while they are
cast (`sqltext.create`): told a type, DuckDB would round ``1.5`` to 2 without a word. The type
of nested columns comes from what they hold (`catalog.structure`). Where DuckDB refuses the
file (repeated keys, commas too many, an end too early) and for every other shape, the rows
are streamed by `catalog.jsonstream` into JSON lines that it takes.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stages.core.catalog import (
    jsonrows,
    jsonshape,
    jsonslice,
    jsontypes,
    recode,
    sampling,
    structure,
)
from stages.core.catalog.jsonstream import Broken, Cut, Stream, whole
from stages.core.catalog.sqltext import create, lasting, quote, text, transformed
from stages.core.errors import SourceError
from stages.core.records import Table

if TYPE_CHECKING:
    import duckdb

Columns = list[tuple[str, str]]
_PIECE = 1 << 20  # characters read at a time
_OBJECT = 1 << 22  # bytes of an object that DuckDB makes room for at first


def load(con: duckdb.DuckDBPyConnection, path: Path, table: Table, target: str) -> None:
    """Write all rows into ``target``, with the columns of the table line and their types,
    wider ones where a value does not fit.

    Raises:
        SourceError: The file cannot be read, or the line says nothing of its columns.
    """
    import duckdb

    reader: dict[str, Any] = table.get("source", {}).get("reader", {})
    columns = [(column["name"], column["type"]) for column in table["columns"]]
    if not columns or "shape" not in reader:
        raise SourceError(
            "the table line does not say how to read it", place=path.name, hint="scan again"
        )
    with tempfile.TemporaryDirectory(prefix="winnow-") as folder:
        if plain := _plain(path, Path(folder, "plain.json"), reader):
            try:
                _create(con, plain, reader["shape"], columns, target)
                return
            except duckdb.Error as error:
                if lasting(error):
                    raise
                plain.unlink() if plain != path else None
        clean = Path(folder, "clean.jsonl")
        longest = _rewrite(path, clean, [name for name, _ in columns], reader)
        _create(con, clean, "lines", columns, target, longest)


def count(path: Path, reader: dict[str, Any]) -> int:
    """Rows of the whole file, read the same way as `load` does.

    Raises:
        SourceError: The file cannot be read.
    """
    import duckdb

    with tempfile.TemporaryDirectory(prefix="winnow-") as folder:
        if plain := _plain(path, Path(folder, "plain.json"), reader):
            try:
                with duckdb.connect() as con:
                    relation = _relation(plain, [("value", "JSON")], reader["shape"])
                    found = con.execute(f"SELECT count(*) FROM {relation}").fetchone()
                return int(found[0]) if found else 0
            except duckdb.Error:
                pass
    return sum(1 for _ in _rows(path, reader))


def _plain(path: Path, copy: Path, reader: dict[str, Any]) -> Path | None:
    """A file of the table's records that DuckDB may take: the file itself, or a copy of what
    it needs in UTF-8; None where it has to be rewritten.

    Raises:
        SourceError: The file cannot be read.
    """
    if {"rewrite", "keys", "names", "key", "used"} & set(reader):
        return None
    if reader["shape"] not in ("lines", "array", "member"):
        return None
    try:
        if reader["shape"] != "member" and recode.is_plain(path, reader["encoding"]):
            return path
        pieces = recode.utf8_pieces(path, reader["encoding"])
        with copy.open("wb") as file:
            member = reader["shape"] == "member"
            file.writelines(jsonslice.array(pieces, reader["path"]) if member else pieces)
        return copy
    except (Broken, Cut):
        return None
    except (OSError, EOFError) as error:
        raise sampling.unreadable(path, error) from error


def _relation(path: Path, columns: Columns, shape: str, longest: int = _OBJECT) -> str:
    """``read_json`` of nested columns as JSON and all others as text; its buffers grow with
    the longest object."""
    spelt = ", ".join(
        f"{text(name)}: '{'JSON' if _nested(kind) else 'VARCHAR'}'" for name, kind in columns
    )
    form = "newline_delimited" if shape == "lines" else "array"
    packed = sampling.compression(path) or "none"
    return (
        f"read_json({text(str(path))}, columns={{{spelt}}}, format='{form}', records=true, "
        f"maximum_object_size={max(_OBJECT, longest + 16)}, compression='{packed}')"
    )


def _create(
    con: duckdb.DuckDBPyConnection,
    path: Path,
    shape: str,
    columns: Columns,
    target: str,
    longest: int = _OBJECT,
) -> None:
    """Make the table out of what the columns hold; a nested one that DuckDB cannot cast to
    its type after all stays JSON."""
    import duckdb

    relation = _relation(path, columns, shape, longest)
    nested = [(name, kind) for name, kind in columns if _nested(kind)]
    types = structure.holding(con, relation, nested)
    made = {
        name: quote(name) if kind == "JSON" else transformed(quote(name), kind)
        for name, kind in types.items()
    }
    try:
        create(con, relation, columns, target, made)
    except (duckdb.ConversionException, duckdb.InvalidInputException):
        if not any(kind != "JSON" for kind in types.values()):
            raise
        create(con, relation, columns, target, {name: quote(name) for name in made})


def _nested(kind: str) -> bool:
    return kind == "JSON" or kind.endswith("[]") or kind.startswith(("STRUCT", "MAP"))


def _rows(path: Path, reader: dict[str, Any]) -> Iterator[jsonshape.Row]:
    """Rows up to the end of the file or to where it stops being JSON.

    Raises:
        SourceError: The file cannot be read.
    """
    try:
        with recode.text_of(path, reader["encoding"], "replace") as file:
            yield from jsonrows.rows(Stream(lambda: file.read(_PIECE), noting=False), reader)
    except (Cut, Broken):
        return
    except (OSError, EOFError) as error:
        raise sampling.unreadable(path, error) from error


def _rewrite(path: Path, clean: Path, names: list[str], reader: dict[str, Any]) -> int:
    """The same rows as JSON lines with exactly these columns.

    Returns:
        Bytes of the longest line.
    """
    longest = 0
    keys = [reader.get("keys", {}).get(name, name) for name in names]
    with clean.open("wb") as file:
        for row in _rows(path, reader):
            line = {name: row.get(key) for name, key in zip(names, keys, strict=True)}
            longest = max(longest, file.write(_dumped(line) + b"\n"))
    return longest


def _dumped(line: jsonshape.Row) -> bytes:
    """One line of JSON; what is nested too deeply for DuckDB stands in it as a text."""
    import orjson

    for name, value in line.items():
        if isinstance(value, (dict, list)) and jsontypes.depth(value) >= jsontypes.DEEP:
            line[name] = jsontypes.dumped(value)
    try:
        return orjson.dumps(line)
    except (TypeError, ValueError):  # whole numbers beyond 64 bits, lone surrogates
        made = whole(json.dumps(line, ensure_ascii=False, separators=(",", ":")))
        return made.replace(":NaN", ":null").replace("Infinity", "null").encode()
