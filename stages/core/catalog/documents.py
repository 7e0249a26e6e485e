"""Documents of a root, and the mark of tables that `prepare` made from documents, which are
always kept.

Documents were judged once when they were prepared, so judging their tables again would
filter twice (first seed, 2.2). Any one of three signs suffices:

- an SQLite file holds a table named ``_winnow_prepared`` (its content is free, and it is no
  table of the catalog); this marks every table of the file;
- a file ``.prepared.json`` lies beside the data file; this marks every table of every file
  in that folder, not in the folders below it;
- the data file's stem is ``_doc_extracted``.
"""

from __future__ import annotations

import re
from pathlib import Path

from stages.core.catalog.bytes.encoding import detect
from stages.core.records import Document

MARK_TABLE = "_winnow_prepared"
MARK_FILE = ".prepared.json"
STEM = "_doc_extracted"
WORKDIR = "workdir"
"""Folder of a root that a task's work is written to."""
DOCUMENT_TABLES = f"{WORKDIR}/{STEM}.db"
"""Where the tables of a root's documents lie, relative to it."""


def is_prepared(path: Path) -> bool:
    """Whether the data file at ``path`` is known as prepared without opening it."""
    return path.name.split(".", 1)[0] == STEM or (path.parent / MARK_FILE).is_file()


# Documents of a root: kind, size, headings and first lines, read from a bounded prefix.

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
