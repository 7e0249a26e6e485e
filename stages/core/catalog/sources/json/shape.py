"""Where the tables are in a JSON file, and the rows of one.

The rows of a table in a JSON file whose place is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from stages.core.catalog import headers
from stages.core.catalog.sources.csv.table import Grid
from stages.core.catalog.sources.json.stream import NotJson, Stream, values
from stages.core.jsontypes import JsonObject, JsonValue


def rows(stream: Stream, reader: JsonObject) -> Iterator[Row]:
    """All rows of the table that a reader describes, one at a time where its shape allows.

    Raises:
        NotJson: The text is not JSON somewhere; rows before that have been given.
        CutOff: It ends too early; likewise.
    """
    names, shape = reader.get("names", []), reader["shape"]
    if shape == "keyed":
        stream.peek()
        for key in stream.members():
            value = stream.value()
            yield {reader["key"]: key, **row(value, names)}
    elif shape == "object":
        yield _rest(stream, reader.get("used", []))
    elif shape == "columns":
        yield from transpose(stream.value())
    else:
        records = iter(_records(stream, reader))
        if reader.get("header"):
            next(records, None)
        yield from (row(record, names) for record in records)


def _rest(stream: Stream, paths: Sequence[Sequence[str]]) -> Row:
    """`_without` of the object at the cursor; the values under the paths are not held."""
    stream.peek()
    rest: Row = {}
    for key in stream.members():
        inner = [path[1:] for path in paths if path[0] == key]
        mark = stream.peek()
        if not inner:
            rest[key] = stream.value()
        elif all(inner) and mark == "{":
            if part := _rest(stream, inner):
                rest[key] = part
        elif mark == "[":
            for _ in stream.elements():
                pass
        else:
            stream.value()
    return rest


def _records(stream: Stream, reader: JsonObject) -> Iterable[JsonValue]:
    """The records of the shapes that can be streamed."""
    if reader["shape"] == "lines":
        return values(stream)
    for wanted in reader.get("path", []):
        stream.peek()
        for key in stream.members():
            if key == wanted:
                break
            stream.value()
        else:
            raise NotJson(f"no member {wanted!r}")
    if stream.peek() != "[":
        raise NotJson("no array where one is expected")
    return stream.elements()


_NAMED = re.compile(r'"(?:table|table_name)"\s*:\s*"((?:[^"\\]++|\\.)*+)"')


def name_in_tail(tail: str) -> str:
    """The table's name where it follows the records, at the end of a large file."""
    found = _NAMED.search(tail, tail.rfind("]") + 1)
    return found[1] if found else ""


def in_part(text: str, keys: set[str], lines: bool) -> list[JsonValue]:
    """Records of a sample from further on in a file: where one ends and the next begins,
    and what follows has at least half of its keys in common with the head's records.

    Args:
        keys: Keys of the head's records.
        lines: Whether records stand on lines.
    """
    from stages.core.catalog.sources.json.stream import CutOff

    starts = re.finditer(r"\n(?=\s*\{)" if lines else r"\}\s*,\s*(?=\{)", text)
    for start, _ in zip(starts, range(200), strict=False):
        pieces = iter([text[start.end() :] if lines else "[" + text[start.end() :]])
        stream = Stream(lambda pieces=pieces: next(pieces, ""))  # type: ignore[misc]
        stream.peek()
        found: list[JsonValue] = []
        try:
            for record in values(stream) if lines else stream.elements():
                if not isinstance(record, dict) or len(keys & set(record)) * 2 < len(
                    keys | set(record)
                ):
                    break
                found.append(record)
        except (CutOff, NotJson):
            pass
        if found:
            return found
    return []


# Where the tables are in a JSON file.

Row = JsonObject
_DESCRIBING = frozenset({"columns", "fields", "schema", "header", "headers"})
BESIDE = "top"
"""Ends the name of the table of what lies beside the tables of a file."""
_HEADED = 200  # records that a header is told from
_DEPTH = 3  # keys above a table, at most
_ALIKE = 50  # members of an object that are compared with each other


@dataclass
class Place:
    """One table in a file.

    Args:
        shape: One of the shapes above.
        path: Keys from the top down to the table.
        records: The values that were sampled, as they stand.
        name: The table's name where the file gives one.
        inner: The same where the file holds several tables.
        names: Column names where records are arrays.
        header: Whether the first of such records holds the names.
        used: Paths of the tables that an ``object`` has beside it.
        notes: What was decided without certainty.
        key: Column for the key of a ``keyed`` table.
    """

    shape: str
    path: list[str] = field(default_factory=list)
    records: list[JsonValue] = field(default_factory=list)
    name: str = ""
    inner: str | None = None
    names: list[str] = field(default_factory=list)
    key: str = ""
    header: bool = False
    used: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def reader(self) -> JsonObject:
        """What `rows` needs to find the table again."""
        made: JsonObject = {"shape": self.shape}
        given = {
            "path": self.path,
            "names": self.names,
            "key": self.key,
            "header": self.header,
            "used": self.used,
        }
        return made | {name: value for name, value in given.items() if value}

    def rows(self) -> list[Row]:
        """The sampled records as rows."""
        records = self.records[1:] if self.header else self.records
        return [row(record, self.names) for record in records]

    def named(self, given: Sequence[str] = ()) -> Place:
        """The same with columns named, where records are arrays: as given, by a header in the
        first record, or by position."""
        records = self.records
        if not records or not all(isinstance(record, list) for record in records):
            return self
        width = max(map(len, records))
        if not given and (head := _header(records, width)):
            given, self.header = head.names, True
            self.notes += head.warnings
        self.names = [*given, *(f"column{at}" for at in range(len(given), width))]
        return self


def row(record: JsonValue, names: list[str]) -> Row:
    """A record as a row: arrays by position, anything else in the column ``value``."""
    if isinstance(record, dict):
        return record
    if isinstance(record, list) and names:
        return dict(zip(names, record, strict=False))
    return {"value": record}


def places(stream: Stream, *, lines: bool) -> list[Place]:
    """The tables that begin in the text of a stream, with their records as far as it goes.

    Args:
        lines: Whether the file's name promises JSON lines.

    Raises:
        NotJson: The text is not JSON from the start.
        CutOff: It ends inside the first value, before any table.
    """
    first = stream.peek()
    if first == "[":
        head = stream.partial()
        if stream.cut or stream.peek() not in ("[", "{"):
            return [Place("array", records=head).named()]
        return [Place("lines", records=[head, *_until_cut(values(stream))]).named()]
    if first != "{" or lines:
        return [Place("lines", records=list(_until_cut(values(stream)))).named()]
    top = stream.partial(_DEPTH)
    if stream.peek() and not stream.cut:
        return [Place("lines", records=[top, *_until_cut(values(stream))])]
    return in_object(top, cut=stream.cut)


def _until_cut(found: Iterator[object]) -> Iterator[JsonValue]:
    """Values up to one that is cut or broken."""
    from stages.core.catalog.sources.json.stream import CutOff

    try:
        yield from found
    except (CutOff, NotJson):
        return


def _header(records: list[list[JsonValue]], width: int) -> Grid | None:
    """The table under a first record that holds the names, as in a CSV file."""
    first = records[0]
    if len(records) < 2 or len(first) < width or not all(isinstance(x, str) for x in first):
        return None
    if not all(x.strip() for x in first) or len(set(first)) < width:
        return None
    some = records[1:_HEADED]
    text = [first, *([*map(_plain, row), *[""] * (width - len(row))] for row in some)]
    made = headers.build(text)
    if not made.header or made.skip or len(made.names) != width:
        return None
    typed = any(isinstance(x, (int, float, dict, list)) for row in some for x in row)
    made.warnings = [] if typed else [note for note in made.warnings if "certainty" in note]
    return made


def _plain(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else "1" if isinstance(value, (int, float)) else "{}"


def in_object(top: Row, *, cut: bool) -> list[Place]:
    """Tables in a file that is one object.

    Args:
        top: The object, as far as the sample goes.
        cut: Whether the sample ends inside it.
    """
    found = _arrays(top)
    if found:
        return _members(top, found | _deeper(top, found))
    if _is_columns(top, cut):
        return [Place("columns", records=transpose(top))]
    if _is_keyed(top, cut):
        key = "key" if not any("key" in value for value in top.values()) else "_key"
        return [
            Place("keyed", records=[{key: name, **value} for name, value in top.items()], key=key)
        ]
    return [Place("lines", records=[top])]


def _deeper(
    top: Row, found: Mapping[tuple[str, ...], object]
) -> dict[tuple[str, ...], list[object]]:
    """Arrays of objects within the members beside the tables of the highest level."""
    if max(map(len, found)) > 1:
        return {}
    beside = {k: v for k, v in top.items() if isinstance(v, dict) and k not in _DESCRIBING}
    return {
        (key, *path): array
        for key, value in beside.items()
        for path, array in _arrays(value, _DEPTH - 1).items()
        if all(isinstance(item, dict) for item in array)
    }


def _arrays(top: Row, depth: int = _DEPTH) -> dict[tuple[str, ...], list[object]]:
    """Arrays of records by path: those of the highest level that has any."""
    found: dict[tuple[str, ...], list[object]] = {
        (key,): value for key, value in top.items() if _holds_records(key, value)
    }
    if len(found) > 1:
        found = {path: value for path, value in found.items() if path[0] not in _DESCRIBING}
    if found or depth <= 1:
        return found
    inner = [(key, value) for key, value in top.items() if isinstance(value, dict)]
    if len(inner) > depth:  # a record of many parts, or an object of objects
        return {}
    return {
        (key, *path): array
        for key, value in inner
        for path, array in _arrays(value, depth - 1).items()
    }


def _holds_records(key: str, value: object) -> bool:
    """Whether a member is a table: an array of objects or arrays, or named ``records``."""
    if not isinstance(value, list):
        return False
    if key == "records":
        return True
    return bool(value) and all(isinstance(item, (dict, list)) for item in value)


def _members(top: Row, found: dict[tuple[str, ...], list[object]]) -> list[Place]:
    """One table for each array; a file that names its table has one."""
    title = next((top[key] for key in ("table", "table_name") if isinstance(top.get(key), str)), "")
    if ("records",) in found and (title or set(top) <= {"records", *_DESCRIBING}):
        found = {path: array for path, array in found.items() if path == ("records",)}
    highest = min(map(len, found))
    several = sum(1 for path in found if len(path) == highest) > 1
    described: object = next(
        (top[key] for key in ("columns", "fields", "header") if key in top), []
    )
    made = []
    for path, records in found.items():
        inner = ".".join(path) if several or len(path) > highest else None
        place = Place("member", list(path), records, inner or title, inner)
        names = _described(described)
        beside = [key for key in top if key in _DESCRIBING and (key,) not in found]
        if beside and not (names and place.named(names).names):
            place.notes.append(f"members beside the table are not in it: {', '.join(beside)}")
        made.append(place.named(names))
    return [*made, *_beside(top, list(found))]


def _beside(top: Row, paths: Sequence[tuple[str, ...]]) -> list[Place]:
    """One row of the members of an object that are in no table."""
    used = [list(path) for path in paths]
    used += [[key] for key in ("table", "table_name", *sorted(_DESCRIBING)) if key in top]
    rest = _without(top, used)
    return [Place("object", records=[rest], inner=BESIDE, used=used)] if rest else []


def _without(value: Row, paths: Sequence[Sequence[str]]) -> Row:
    """An object without the values under some paths of keys, nor what they leave empty."""
    rest: Row = {}
    for key, item in value.items():
        inner = [path[1:] for path in paths if path[0] == key]
        if inner and isinstance(item, dict) and all(inner):
            item = _without(item, inner)
        if not inner or (all(inner) and item):
            rest[key] = item
    return rest


def _described(columns: object) -> list[str]:
    """Column names out of a list of names or of objects with a name."""
    items = columns if isinstance(columns, list) else []
    named = [item.get("name") if isinstance(item, dict) else item for item in items]
    return [str(name) for name in named] if all(isinstance(name, str) for name in named) else []


def _is_columns(top: Row, cut: bool) -> bool:
    """Whether an object holds a table column by column."""
    parts = list(top.values())
    if cut or not parts:
        return False
    if all(isinstance(part, list) for part in parts):
        scalar = not any(isinstance(item, (dict, list)) for part in parts for item in part)
        return scalar and len({len(part) for part in parts}) == 1 and len(parts[0]) > 0
    if not all(isinstance(part, dict) and part for part in parts):
        return False
    numbers = [str(at) for at in range(len(parts[0]))]
    return all(list(part) == numbers for part in parts)


def transpose(top: Row) -> list[Row]:
    """Rows of a table that is held column by column."""
    columns = [list(part.values()) if isinstance(part, dict) else part for part in top.values()]
    return [dict(zip(top, cells, strict=True)) for cells in zip_longest(*columns)]


def _is_keyed(top: Row, cut: bool) -> bool:
    """Whether an object holds like objects: three or more that share half of their keys, or
    two that have the same ones."""
    parts = list(top.values())[: _ALIKE + 1]
    if cut:
        parts = parts[:-1]  # the last may be cut
    if len(parts) < 2 or not all(isinstance(part, dict) and part for part in parts):
        return False
    union = {key for part in parts for key in part}
    if len(parts) == 2:
        return len(union) > 1 and set(parts[0]) == set(parts[1])
    return all(len(part) * 2 >= len(union) for part in parts)
