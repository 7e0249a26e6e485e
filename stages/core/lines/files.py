"""Files of winnow's own lines: how their bytes are read, and what tells them from data.

A shell may write them in another encoding than winnow does: PowerShell's ``>`` makes UTF-16
with a mark of it, an editor puts one before UTF-8.
"""

from __future__ import annotations

import codecs
import os
import re
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import orjson

MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
CHUNK = 1 << 18
HEAD = 1 << 20
"""Bytes in which the first line of a file is looked for."""
PART = re.compile(r"\..+\.\d+\.part")
"""Names of files that winnow has not finished; see `io.replace_file`."""
_LINE = re.compile(
    rb'\{"kind":"(?:catalog","v":\d|table","catalog":"|task","(?:catalog|task_id)":")'
)


def raw_lines(stream: IO[bytes]) -> Iterator[bytes]:
    """The lines of a stream as UTF-8 without a mark, each with the newline it has."""
    first = stream.readline()
    for mark, name in MARKS:
        if first.startswith(mark):
            yield from _decoded(first[len(mark) :], stream, name)
            return
    if first:
        yield first.removeprefix(codecs.BOM_UTF8)
    yield from stream


def _decoded(first: bytes, stream: IO[bytes], name: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(name)("replace")
    text = decoder.decode(first)
    while True:
        chunk = stream.read(CHUNK)
        text += decoder.decode(chunk, final=not chunk)
        *whole, text = text.split("\n")
        for line in whole:
            yield line.encode("utf-8", "replace") + b"\n"
        if not chunk:
            break
    if text:
        yield text.encode("utf-8", "replace")


def first_line(path: Path) -> bytes:
    """The first line of a file that is not blank, as UTF-8; cut where it is very long.

    Raises:
        OSError: It cannot be read.
    """
    import io

    with open(path, "rb") as file:
        head = io.BytesIO(file.read(HEAD))
    return next((line for line in raw_lines(head) if line.strip()), b"").strip()


def holds_lines(path: Path) -> bool:
    """Whether a file holds lines of winnow: its first one is whole and fits its schema, or is
    too long to be seen whole and begins as winnow writes it."""
    try:
        line = first_line(path)
    except OSError:
        return False
    if b'"kind"' not in line:
        return False
    try:
        record: object = orjson.loads(line)
    except orjson.JSONDecodeError:
        return _LINE.match(line) is not None
    from stages.core.errors import LineError
    from stages.core.lines import schema

    kind = record.get("kind") if isinstance(record, dict) else None
    if kind not in ("catalog", "table", "task"):
        return False
    try:
        schema.check(record, kind, place=str(path))
    except LineError:
        return False
    return True


@dataclass(frozen=True)
class Targets:
    """Files that the running command writes, which are no data to it.

    Attributes:
        paths: Real paths.
        nodes: Device and inode, of what a shell has opened.
    """

    paths: frozenset[str] = frozenset()
    nodes: frozenset[tuple[int, int]] = frozenset()

    @classmethod
    def of(cls, output: str | None) -> Targets:
        """The target of ``-o``, or the file that stdout goes to."""
        if output not in (None, "-"):
            return cls(paths=frozenset((os.path.realpath(str(output)),)))
        try:
            info = os.fstat(sys.stdout.fileno())
        except (OSError, ValueError, AttributeError):
            return cls()
        regular = stat.S_ISREG(info.st_mode)
        return cls(nodes=frozenset(((info.st_dev, info.st_ino),)) if regular else frozenset())

    def holds(self, path: Path, info: os.stat_result) -> bool:
        """Whether a file is one of them."""
        return (info.st_dev, info.st_ino) in self.nodes or (
            bool(self.paths) and os.path.realpath(path) in self.paths
        )
