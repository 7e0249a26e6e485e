"""Reading and writing lines: catalogs, tables and tasks, one JSON object each.

Lines are read in order. Catalog and table lines pass through byte for byte; identical
ones merge, and two different lines for one table are an error unless the last one is
asked for. A line that cannot be read is reported and never stops the tasks of other
catalogs; the tasks of its own catalog are left as they are, because a table that went
missing must not look like a table that is not needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, cast

import orjson

from stages.core import diagnostics
from stages.core.errors import DataError, LineError, WinnowError
from stages.core.jsontypes import JsonObject
from stages.core.lines import edits, schema
from stages.core.lines.files import raw_lines
from stages.core.records import Catalog, Table, Task

KINDS = ("catalog", "table", "task")
STRANGE = 100
"""Lines at the start of a stream, none of them one of ours, after which it is taken for data."""
LAST_WINS = "keep one of the two, or let the last one stand with --last-wins"


def dump(record: Mapping[str, object]) -> bytes:
    """One line with its newline; keys stay in the order given."""
    return orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE)


def digest(*parts: bytes) -> str:
    """``sha256:…`` of the parts, each told apart from the next."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "big"))
        whole.update(part)
    return f"sha256:{whole.hexdigest()}"


@dataclass(frozen=True)
class Line:
    """One line as read: its bytes, its record, and where it stood."""

    raw: bytes
    record: JsonObject
    place: str

    @property
    def kind(self) -> str:
        """``catalog``, ``table`` or ``task``."""
        return str(self.record["kind"])


@dataclass
class CatalogLines:
    """One catalog line and its table lines, as they stand in the input."""

    id: str
    line: Line | None = None
    tables: dict[str, Line] = field(default_factory=dict)
    damaged: str = ""
    written: bool = False

    @property
    def catalog(self) -> Catalog:
        """The catalog record; a bare one where only table lines came."""
        if self.line is None:
            return {"kind": "catalog", "v": 1, "id": self.id, "name": self.id}
        return self._placed

    @cached_property
    def _placed(self) -> Catalog:
        """The catalog record, with its root as seen from the working folder."""
        assert self.line is not None
        catalog = cast("Catalog", self.line.record)
        if "root" not in catalog:
            return catalog
        sources = (table.get("source", {}) for table in self.records)
        files = [source["path"] for source in sources if "path" in source]
        files += [document["path"] for document in catalog.get("documents", ())]
        root = root_of(catalog["root"], self.line.place, files)
        return catalog if root == catalog["root"] else {**catalog, "root": root}

    @cached_property
    def records(self) -> list[Table]:
        """The table records, in the order of their lines."""
        return [cast("Table", line.record) for line in self.tables.values()]

    @cached_property
    def tables_hash(self) -> str:
        """A hash of the bytes of the table lines that their order does not change."""
        return digest(*sorted(line.raw for line in self.tables.values()))

    @property
    def catalog_hash(self) -> str:
        """A hash of the bytes of the catalog line."""
        return digest(self.line.raw if self.line else b"")

    def lines(self) -> Iterator[bytes]:
        """The catalog line and the table lines, as bytes with their newlines."""
        for line in ([self.line] if self.line else []) + list(self.tables.values()):
            yield line.raw + b"\n"

    def forget_derived(self) -> None:
        """Drop what was computed from the lines, after one of them changed."""
        self.__dict__.pop("records", None)
        self.__dict__.pop("_placed", None)
        self.__dict__.pop("tables_hash", None)


@dataclass(frozen=True)
class TaskInput:
    """A task line and its catalog as it stood when the task was read.

    Attributes:
        line: The task line.
        shelf: The catalog's lines; more may be added to it while the task is worked on.
        tables: The table records at the time.
        hashes: What staleness compares: the hashes of the table lines and the catalog line.
    """

    line: Line
    shelf: CatalogLines
    tables: list[Table]
    hashes: dict[str, str]

    @property
    def task(self) -> Task:
        """The task record."""
        return cast("Task", self.line.record)


def parse(raw: bytes, place: str, *, cut: bool = False) -> Line:
    """Decode and check one line.

    Args:
        raw: The line's bytes, without the newline.
        place: ``file:number``, for the error.
        cut: Whether the line is the last one and has no newline.

    Raises:
        LineError: It is not JSON, not an object with a known ``kind``, or breaks the
            schema of its kind. Its ``record`` attribute is what could be decoded.
    """
    try:
        record = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        what = "the line is cut off" if cut else f"not JSON: {error.msg}"
        hint = (
            "was the command before it interrupted?"
            if cut
            else f"each line is one JSON object, this one breaks at character {error.colno}"
        )
        raise LineError(what, place=place, hint=hint) from None
    kind = record.get("kind") if isinstance(record, dict) else None
    if kind not in KINDS:
        raise LineError(
            "no line of winnow: kind is none of catalog, table, task",
            place=place,
            hint="start with `winnow scan`",
        )
    try:
        schema.check(record, kind, place=place)
    except LineError as error:
        error.record = record
        raise
    return Line(raw, record, place)


def split(stream: IO[bytes], name: str) -> Iterator[tuple[bytes, str, bool]]:
    """The lines of a stream that are not blank: bytes, ``file:number``, whether cut."""
    for number, raw in enumerate(raw_lines(stream), 1):
        body = raw.rstrip(b"\r\n")
        if body.strip():
            yield body, f"{name}:{number}", not raw.endswith(b"\n")


def own(stream: IO[bytes], name: str) -> Iterator[tuple[bytes, str, bool]]:
    """The lines of a stream as `split` gives them, where it is a stream of winnow's lines at all.

    Broken lines are passed on, for each is told by itself; data that no scan has read yet
    would be nothing but broken lines.

    Raises:
        DataError: None of its first lines looks like one of the three kinds.
    """
    lines = split(stream, name)
    strange: list[tuple[bytes, str, bool]] = []
    for line in lines:
        if line[0].lstrip().startswith(b"{") and b'"kind"' in line[0]:
            yield from strange
            yield line
            yield from lines
            return
        strange.append(line)
        if len(strange) == STRANGE:
            break
    if strange:
        raise DataError("no lines of winnow in it", place=name, hint=scan_first(name))


def scan_first(name: str) -> str:
    """What to do with data that was given in place of lines.

    >>> scan_first("my data.csv"), scan_first("stdin")
    ("run `winnow scan 'my data.csv'` first", 'run `winnow scan PATH` on the data first')
    """
    from shlex import quote

    if name == "stdin":
        return "run `winnow scan PATH` on the data first"
    return f"run `winnow scan {quote(name)}` first"


@dataclass(frozen=True)
class BadLine:
    """A line that could not be used; ``raw`` is passed on where it was JSON at all."""

    error: LineError
    raw: bytes | None


Item = TaskInput | CatalogLines | BadLine
Taken = Line | CatalogLines | BadLine


class LineReader:
    """The catalogs seen so far; turns lines into shelves to write and tasks to work on."""

    def __init__(self, *, last_wins: bool = False) -> None:
        self.last_wins = last_wins
        self.shelves: dict[str, CatalogLines] = {}
        self.open: str | None = None

    def read(self, sources: Iterable[tuple[IO[bytes], str]]) -> Iterator[Item]:
        """Every task in order, each shelf before the first of its tasks, broken lines between.

        A shelf comes when its first task does, or at the end. With ``last_wins`` all lines
        are read before the first item comes, since a later line may replace an earlier one.

        Raises:
            LineError: Two different lines stand for one table or one catalog.
            DataError: A source is no file of lines at all.
        """
        lines = (found for stream, name in sources for found in own(stream, name))
        items = (item for raw, place, cut in lines for item in self._take(raw, place, cut))
        held = list(items) if self.last_wins else items
        for item in held:
            yield from self._ready(item)
        yield from self._unwritten()

    def _ready(self, item: Taken) -> Iterator[Item]:
        """The item; a task line with its catalog, which stands on the output before it."""
        if not isinstance(item, Line):
            yield item
            return
        shelf = self._shelf(item.record.get("catalog", ""))
        if not shelf.written:
            shelf.written = True
            yield shelf
        hashes = {"tables": shelf.tables_hash, "catalog": shelf.catalog_hash}
        yield TaskInput(item, shelf, shelf.records, hashes)

    def _unwritten(self) -> Iterator[CatalogLines]:
        for shelf in self.shelves.values():
            if not shelf.written:
                shelf.written = True
                yield shelf

    def _take(self, raw: bytes, place: str, cut: bool) -> Iterator[Taken]:
        try:
            line = parse(raw, place, cut=cut)
        except LineError as error:
            yield self._broken(error, raw)
            return
        edits.tell(line.record, line.kind, line.place)
        if line.kind == "task":
            self.open = None
            yield line
        else:
            yield from self._shelve(line)

    def _broken(self, error: LineError, raw: bytes) -> BadLine:
        """Mark the catalog that may have lost a table by this line."""
        record = error.record
        if record is None or record.get("kind") != "task":
            named = record.get("catalog") or record.get("id") if record else self.open
            if isinstance(named, str):
                self._shelf(named).damaged = error.place
        return BadLine(error, None if record is None else raw)

    def _shelf(self, key: str) -> CatalogLines:
        return self.shelves.setdefault(key, CatalogLines(key))

    def _shelve(self, line: Line) -> Iterator[CatalogLines]:
        """Put a catalog or table line where it belongs; a line for a written shelf follows it."""
        is_table = line.kind == "table"
        shelf = self._shelf(line.record["catalog" if is_table else "id"])
        self.open = shelf.id
        old = shelf.tables.get(line.record["name"]) if is_table else shelf.line
        if old is not None and old.raw == line.raw:
            return
        if old is not None and not self.last_wins:
            what = f"table {line.record['name']}" if is_table else "catalog"
            raise LineError(
                f"{what} stands here otherwise than at {old.place}",
                place=line.place,
                hint=LAST_WINS,
            )
        if is_table:
            shelf.tables[line.record["name"]] = line
        else:
            shelf.line = line
        shelf.forget_derived()
        if shelf.written:
            yield (
                CatalogLines(shelf.id, tables={"": line})
                if is_table
                else CatalogLines(shelf.id, line=line)
            )


class Output:
    """A binary stream that lines are written to, with one message where it fails."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self.stream = stream
        self.name = name

    def write(self, data: bytes) -> None:
        """Write, turning a full disk into a `WinnowError`; a closed pipe stays one."""
        diagnostics.clear_progress()
        try:
            self.stream.write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._failed(error) from None

    def flush(self) -> None:
        """Flush, with the same errors as `write`."""
        try:
            self.stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._failed(error) from None

    def _failed(self, error: OSError) -> WinnowError:
        return WinnowError(f"cannot write: {diagnostics.os_message(error)}", place=self.name)


def root_of(root: str, place: str, paths: Iterable[str]) -> str:
    """The root as seen from here.

    A relative root is first looked for beside the file of lines that names it, so that a
    folder can be moved with its lines, then in the working folder, where `scan` wrote it. A
    place counts where one of the catalog's files lies in it.

    Args:
        root: As the catalog line says it.
        place: ``file:number`` of that line.
        paths: Paths of the catalog's files, relative to the root.

    Returns:
        The first that counts; the root as it is where none does.
    """
    name = place.rpartition(":")[0]
    if not name or name == "stdin" or Path(root).is_absolute():
        return root
    beside = Path(name).parent / root
    some = [path for path, _ in zip(paths, range(3), strict=False)]
    for base in (beside, Path(root)):
        if any((base / path).exists() for path in some):
            return str(base)
    return root
