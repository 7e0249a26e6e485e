"""The bytes of one array out of a large JSON file, copied without reading its values.

`{"table": …, "records": [ … ]}` holds an array that DuckDB reads well once it stands alone.
Where it ends is told by its brackets; those inside texts are told from the others by
counting quotation marks, on whole blocks of bytes at a time. What stands in the array is not
looked at: DuckDB does that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from stages.core.catalog.jsonstream import Broken, Cut

_BLANK = re.compile(rb"[ \t\r\n]*")
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_WORD = re.compile(rb"[^\s,\]}]*")


def array(pieces: Iterator[bytes], path: list[str]) -> Iterator[bytes]:
    """The bytes of the array under a path of keys, brackets included.

    Args:
        pieces: UTF-8 content of the file.
        path: Keys from the top down; the first of equal keys counts.

    Raises:
        Broken: There is no such array, or what stands before it is not JSON.
        Cut: The file ends inside it.
    """
    cursor = _Cursor(pieces)
    for key in path:
        cursor.enter(key)
    if cursor.next() != b"[":
        raise Broken("no array where one is expected")
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
            Cut: There is no more.
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
            raise Cut
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
            raise Broken("no object where one is expected")
        self.at += 1
        while self.next() == b'"':
            key = self.taken(_TEXT)
            if self.next() != b":":
                raise Broken("a key without a value")
            self.at += 1
            self.next()
            if json.loads(key, strict=False) == wanted:
                return
            self.skip()
            if self.next() == b",":
                self.at += 1
        raise Broken(f"no member {wanted!r}")

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
