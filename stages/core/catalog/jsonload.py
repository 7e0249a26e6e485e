"""A whole table of a JSON file into one DuckDB table.

DuckDB reads JSON lines and arrays itself, every column as JSON first: told a type, it would
round ``1.5`` to 2 without a word. What the columns really hold is then checked, types are
widened where they have to be, and the values are cast. Where DuckDB refuses the file
(repeated keys, commas too many, an end too early) and for every other shape, the rows are
streamed by `catalog.jsonstream` into JSON lines that it takes.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stages.core.catalog import jsonshape, jsontypes, sampling
from stages.core.catalog.jsonstream import Broken, Cut, Stream
from stages.core.catalog.sqltext import cast_or_null, quote, text, transformed, widened
from stages.core.errors import SourceError
from stages.core.records import Table

if TYPE_CHECKING:
    import duckdb

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
    if _direct(reader):
        try:
            _create(con, _relation(path, columns, reader["shape"]), columns, target)
            return
        except duckdb.Error:
            con.execute(f"DROP TABLE IF EXISTS {quote(target)}")
    with tempfile.TemporaryDirectory(prefix="winnow-") as folder:
        clean = Path(folder, "clean.jsonl")
        longest = _rewrite(path, clean, [name for name, _ in columns], reader)
        _create(con, _relation(clean, columns, "lines", longest), columns, target)


def count(path: Path, reader: dict[str, Any]) -> int:
    """Rows of the whole file, read the same way as `load` does.

    Raises:
        SourceError: The file cannot be read.
    """
    import duckdb

    if _direct(reader):
        try:
            with duckdb.connect() as con:
                relation = _relation(path, [("value", "JSON")], reader["shape"])
                found = con.execute(f"SELECT count(*) FROM {relation}").fetchone()
            return int(found[0]) if found else 0
        except duckdb.Error:
            pass
    return sum(1 for _ in _rows(path, reader))


def _direct(reader: dict[str, Any]) -> bool:
    """Whether DuckDB can read the file's records as they stand."""
    odd = {"rewrite", "keys", "names", "key", "path"} & set(reader)
    return not odd and reader["shape"] in ("lines", "array") and reader["encoding"] == "utf-8"


def _relation(
    path: Path, columns: list[tuple[str, str]], shape: str, longest: int = _OBJECT
) -> str:
    """``read_json`` of all columns as JSON; its buffers grow with the longest object."""
    spelt = ", ".join(f"{text(name)}: 'JSON'" for name, _ in columns)
    form = "array" if shape == "array" else "newline_delimited"
    packed = sampling.compression(path) or "none"
    return (
        f"read_json({text(str(path))}, columns={{{spelt}}}, format='{form}', records=true, "
        f"maximum_object_size={max(_OBJECT, longest + 16)}, compression='{packed}')"
    )


def _create(
    con: duckdb.DuckDBPyConnection, relation: str, columns: list[tuple[str, str]], target: str
) -> None:
    """Check what the columns hold, then make the table; a nested column that DuckDB still
    cannot cast stays JSON."""
    import duckdb

    holding = _held(con, relation, columns)
    try:
        _cast(con, relation, holding, target)
    except (duckdb.ConversionException, duckdb.InvalidInputException):
        plain = [(name, "JSON" if _nested(kind) else kind) for name, kind in holding]
        _cast(con, relation, plain, target)


def _cast(
    con: duckdb.DuckDBPyConnection, relation: str, columns: list[tuple[str, str]], target: str
) -> None:
    """Make the table with these types."""
    chosen = ", ".join(f"{_value(name, kind)} AS {quote(name)}" for name, kind in columns)
    inner = _texts(relation, columns)
    con.execute(f"CREATE OR REPLACE TABLE {quote(target)} AS SELECT {chosen} FROM {inner}")


def _value(name: str, kind: str) -> str:
    """Expression for one column of `_texts` with its type."""
    if kind == "JSON":
        return quote(name)
    return transformed(quote(name), kind) if _nested(kind) else cast_or_null(name, kind)


def _nested(kind: str) -> bool:
    return kind == "JSON" or kind.endswith("[]") or kind.startswith(("STRUCT", "MAP"))


def _texts(relation: str, columns: list[tuple[str, str]]) -> str:
    """The relation with scalar columns as text and nested ones as JSON."""
    chosen = ", ".join(
        quote(name) if _nested(kind) else f"{quote(name)} ->> '$' AS {quote(name)}"
        for name, kind in columns
    )
    return f"(SELECT {chosen} FROM {relation})"


def _held(
    con: duckdb.DuckDBPyConnection, relation: str, columns: list[tuple[str, str]]
) -> list[tuple[str, str]]:
    """The columns with types that hold every value."""
    scalars = [(name, kind) for name, kind in columns if not _nested(kind)]
    nested = [name for name, kind in columns if _nested(kind) and not kind.startswith("MAP")]
    inner = _texts(relation, columns)
    types = dict(columns) | (dict(widened(con, inner, scalars)) if scalars else {})
    if nested:
        asked = ", ".join(f"json_group_structure({quote(name)})" for name in nested)
        found = con.execute(f"SELECT {asked} FROM {inner}").fetchone() or ()
        for name, structure in zip(nested, found, strict=True):
            if types[name] != "JSON" and structure is not None:
                types[name] = jsontypes.structure_type(json.loads(structure))
    return [(name, types[name]) for name, _ in columns]


def _rows(path: Path, reader: dict[str, Any]) -> Iterator[jsonshape.Row]:
    """Rows up to the end of the file or to where it stops being JSON.

    Raises:
        SourceError: The file cannot be read.
    """
    from stages.core.catalog.sources.csv import text_of

    try:
        with text_of(path, reader["encoding"], "replace") as file:
            yield from jsonshape.rows(Stream(lambda: file.read(_PIECE)), reader)
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
        made = json.dumps(line, ensure_ascii=True, separators=(",", ":"))
        return made.replace(":NaN", ":null").replace("Infinity", "null").encode()
