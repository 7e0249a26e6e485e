"""A whole table of a JSON file into one DuckDB table.

The bytes of one array out of a large JSON file, copied without reading its values.

`{"table": …, "records": [ … ]}` holds an array that DuckDB reads well once it stands alone.
Where it ends is told by its brackets; those inside texts are told from the others by
counting quotation marks, on whole blocks of bytes at a time. What stands in the array is not
looked at: DuckDB does that.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from stages.core.catalog.bytes import encoding, sampling
from stages.core.catalog.duck.sql import create, lasting, quote, text, transform
from stages.core.catalog.sources.json import shape as json_shape
from stages.core.catalog.sources.json import types as json_types
from stages.core.catalog.sources.json.stream import CutOff, NotJson, Stream, whole
from stages.core.errors import SourceError
from stages.core.jsontypes import JsonObject
from stages.core.records import Table

if TYPE_CHECKING:
    import duckdb

_BLANK = re.compile(rb"[ \t\r\n]*")
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_WORD = re.compile(rb"[^\s,\]}]*")


def array(pieces: Iterator[bytes], path: list[str]) -> Iterator[bytes]:
    """The bytes of the array under a path of keys, brackets included.

    Args:
        pieces: UTF-8 content of the file.
        path: Keys from the top down; the first of equal keys counts.

    Raises:
        NotJson: There is no such array, or what stands before it is not JSON.
        CutOff: The file ends inside it.
    """
    cursor = _Cursor(pieces)
    for key in path:
        cursor.enter(key)
    if cursor.next() != b"[":
        raise NotJson("no array where one is expected")
    return cursor.nested()


class _Cursor:
    """A place in bytes that arrive in pieces."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.pieces = pieces
        self.data = b""
        self.at = 0

    def more(self) -> None:
        """Read on, at least as much as is waiting, so that retries stay linear.

        Raises:
            CutOff: There is no more.
        """
        waiting = [self.data[self.at :]]
        wanted = max(1, len(waiting[0]))
        while wanted > 0:
            piece = next(self.pieces, None)
            if piece is None:
                break
            waiting.append(piece)
            wanted -= len(piece)
        if len(waiting) == 1:
            raise CutOff
        self.data, self.at = b"".join(waiting), 0

    def next(self) -> bytes:
        """The next byte that is not blank."""
        while True:
            found = _BLANK.match(self.data, self.at)
            self.at = found.end() if found else self.at
            if self.at < len(self.data):
                return self.data[self.at : self.at + 1]
            self.more()

    def taken(self, pattern: re.Pattern[bytes]) -> bytes:
        """What matches at the cursor, which moves behind it; read on until it is whole."""
        while not (found := pattern.match(self.data, self.at)) or found.end() == len(self.data):
            self.more()
        self.at = found.end()
        return found[0]

    def enter(self, wanted: str) -> None:
        """Go to the value of a member of the object at the cursor."""
        if self.next() != b"{":
            raise NotJson("no object where one is expected")
        self.at += 1
        while self.next() == b'"':
            key = self.taken(_TEXT)
            if self.next() != b":":
                raise NotJson("a key without a value")
            self.at += 1
            self.next()
            if json.loads(key, strict=False) == wanted:
                return
            self.skip()
            if self.next() == b",":
                self.at += 1
        raise NotJson(f"no member {wanted!r}")

    def skip(self) -> None:
        """Go behind the value at the cursor."""
        first = self.next()
        if first in (b"[", b"{"):
            for _ in self.nested():
                pass
        else:
            self.taken(_TEXT if first == b'"' else _WORD)

    def nested(self) -> Iterator[bytes]:
        """The bytes of the array or object at the cursor, which moves behind it."""
        depth, inside = 0, False
        while True:
            block = self.data[self.at :]
            if (len(block) - len(block.rstrip(b"\\"))) % 2:  # it escapes what comes next
                block = block[:-1]
            end, depth, inside = _closes(block, depth, inside)
            self.at += end or len(block)
            yield block[:end] if end else block
            if end:
                return
            self.more()


def _closes(block: bytes, depth: int, inside: bool) -> tuple[int, int, bool]:
    """How many bytes of a block go up to where the outermost bracket closes, 0 where it does
    not; and how many brackets and whether a text are open after the block."""
    import numpy as np

    if b"\\" in block:
        block = block.replace(b"\\\\", b"__").replace(b'\\"', b"__")
    data = np.frombuffer(block, np.uint8)
    marks = np.flatnonzero(data == ord('"'))
    folded = data | 32  # "[" and "{" become 123, "]" and "}" 125
    brackets = np.flatnonzero((folded == 123) | (folded == 125))
    brackets = brackets[(np.searchsorted(marks, brackets) + inside) % 2 == 0]
    depths = depth + np.cumsum(124 - folded[brackets].astype(np.int64))
    closed = np.flatnonzero(depths == 0)
    if closed.size:
        return int(brackets[closed[0]]) + 1, 0, False
    after = int(depths[-1]) if depths.size else depth
    return 0, after, inside ^ bool(marks.size % 2)


# A whole table of a JSON file into one DuckDB table.

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

    reader: JsonObject = table.get("source", {}).get("reader", {})
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


def count(path: Path, reader: JsonObject) -> int:
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


def _plain(path: Path, copy: Path, reader: JsonObject) -> Path | None:
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
        if reader["shape"] != "member" and encoding.is_plain(path, reader["encoding"]):
            return path
        pieces = encoding.utf8_pieces(path, reader["encoding"])
        with copy.open("wb") as file:
            member = reader["shape"] == "member"
            file.writelines(array(pieces, reader["path"]) if member else pieces)
        return copy
    except (NotJson, CutOff):
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
    types = json_types.holding(con, relation, nested)
    made = {
        name: quote(name) if kind == "JSON" else transform(quote(name), kind)
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


def _rows(path: Path, reader: JsonObject) -> Iterator[json_shape.Row]:
    """Rows up to the end of the file or to where it stops being JSON.

    Raises:
        SourceError: The file cannot be read.
    """
    try:
        with encoding.text_of(path, reader["encoding"], "replace") as file:
            yield from json_shape.rows(Stream(lambda: file.read(_PIECE), noting=False), reader)
    except (CutOff, NotJson):
        return
    except (OSError, EOFError) as error:
        raise sampling.unreadable(path, error) from error


def _rewrite(path: Path, clean: Path, names: list[str], reader: JsonObject) -> int:
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


def _dumped(line: json_shape.Row) -> bytes:
    """One line of JSON; what is nested too deeply for DuckDB stands in it as a text."""
    import orjson

    for name, value in line.items():
        if isinstance(value, (dict, list)) and json_types.depth(value) >= json_types.DEEP:
            line[name] = json_types.dump(value)
    try:
        return orjson.dumps(line)
    except (TypeError, ValueError):  # whole numbers beyond 64 bits, lone surrogates
        made = whole(json.dumps(line, ensure_ascii=False, separators=(",", ":")))
        return made.replace(":NaN", ":null").replace("Infinity", "null").encode()
