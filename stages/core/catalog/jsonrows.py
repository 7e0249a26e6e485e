"""The rows of a table in a JSON file whose place is known (`catalog.jsonshape`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from stages.core.catalog.jsonshape import Row, row, transposed
from stages.core.catalog.jsonstream import Broken, Stream, values


def rows(stream: Stream, reader: dict[str, Any]) -> Iterator[Row]:
    """All rows of the table that a reader describes, one at a time where its shape allows.

    Raises:
        Broken: The text is not JSON somewhere; rows before that have been given.
        Cut: It ends too early; likewise.
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
        yield from transposed(stream.value())
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


def _records(stream: Stream, reader: dict[str, Any]) -> Iterable[Any]:
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
            raise Broken(f"no member {wanted!r}")
    if stream.peek() != "[":
        raise Broken("no array where one is expected")
    return stream.elements()


_NAMED = re.compile(r'"(?:table|table_name)"\s*:\s*"((?:[^"\\]++|\\.)*+)"')


def name_in_tail(tail: str) -> str:
    """The table's name where it follows the records, at the end of a large file."""
    found = _NAMED.search(tail, tail.rfind("]") + 1)
    return found[1] if found else ""


def in_part(text: str, keys: set[str], lines: bool) -> list[Any]:
    """Records of a sample from further on in a file: where one ends and the next begins,
    and what follows has at least half of its keys in common with the head's records.

    Args:
        keys: Keys of the head's records.
        lines: Whether records stand on lines.
    """
    from stages.core.catalog.jsonstream import Cut

    starts = re.finditer(r"\n(?=\s*\{)" if lines else r"\}\s*,\s*(?=\{)", text)
    for start, _ in zip(starts, range(200), strict=False):
        pieces = iter([text[start.end() :] if lines else "[" + text[start.end() :]])
        stream = Stream(lambda pieces=pieces: next(pieces, ""))  # type: ignore[misc]
        stream.peek()
        found: list[Any] = []
        try:
            for record in values(stream) if lines else stream.elements():
                if not isinstance(record, dict) or len(keys & set(record)) * 2 < len(
                    keys | set(record)
                ):
                    break
                found.append(record)
        except (Cut, Broken):
            pass
        if found:
            return found
    return []
