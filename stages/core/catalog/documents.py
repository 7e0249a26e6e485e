"""Documents of a root: kind, size, headings and first lines, read from a bounded prefix.

A describe of the folder prints a document's headings and first 20 lines (the contest's
describe_context_dir); a preview cuts lines at 400 characters. Nothing more is read, so a
1 GB text costs as little as a small one.
"""

from __future__ import annotations

import re
from pathlib import Path

from stages.core.catalog.encoding import detect
from stages.core.records import Document

FIRST_LINES = 20
LINE_CHARS = 400
HEADINGS = 200
PREFIX_BYTES = 1 << 18
TEXT_KINDS = ("md", "markdown", "txt", "rst")
HEADED_KINDS = ("md", "markdown", "txt")
_HEADING = re.compile(r" {0,3}#{1,6}\s+\S")
_FENCE = re.compile(r" {0,3}(```|~~~)")


def document(path: str, full: Path, *, values: bool = True) -> Document:
    """The record of one document.

    Args:
        path: Path relative to the root.
        full: Where it lies.
        values: False leaves the first lines out; headings are structure and stay.

    Raises:
        OSError: It cannot be read.
    """
    kind = full.suffix.lower().lstrip(".")
    record: Document = {"path": path, "kind": kind, "bytes": full.stat().st_size}
    if kind in TEXT_KINDS:
        with open(full, "rb") as stream:
            data = stream.read(PREFIX_BYTES)
        lines = decode(data, whole=len(data) < PREFIX_BYTES).splitlines()
        if kind in HEADED_KINDS:
            record["headings"] = headings(lines)
        if values:
            record["first_lines"] = [cut(line, LINE_CHARS) for line in lines[:FIRST_LINES]]
    return record


def headings(lines: list[str]) -> list[str]:
    """Markdown headings outside of fenced code, with their number signs, at most 200."""
    found: list[str] = []
    fenced = False
    for line in lines:
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and _HEADING.match(line):
            found.append(cut(line.strip(), LINE_CHARS))
    return found[:HEADINGS]


def cut(text: str, limit: int) -> str:
    """At most ``limit`` characters; ``…`` is the last of them where something is left out."""
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"


def decode(data: bytes, *, whole: bool = True) -> str:
    """Text of bytes in an unknown encoding; never fails, bad bytes become U+FFFD.

    Args:
        data: The bytes.
        whole: False where the bytes are a prefix, whose last character may be cut.
    """
    encoding = detect([data], whole=whole)
    try:
        return encoding.decode(data, first=True, last=whole)
    except UnicodeDecodeError:
        return data.decode(encoding.name, "replace")


def read_text(path: Path) -> str:
    """A whole small text (knowledge.md, timeline.txt), line ends as ``\\n``.

    Raises:
        OSError: It cannot be read.
    """
    return decode(path.read_bytes()).replace("\r\n", "\n").replace("\r", "\n")
