"""Documents to text and tables: one reader for every kind, no model asked.

`read_document` gives the lines of a document and the tables that stand in it, `tables_of_prose`
the table of a text that is written by one pattern, `write_tables` a SQLite file of them.
"""

from __future__ import annotations

import os
from pathlib import Path

from stages.core.catalog.documents import decode
from stages.core.documents.content import (
    DocumentColumn,
    DocumentContent,
    DocumentTable,
    FailedLine,
    Reading,
    ReadLimits,
)
from stages.core.documents.database import failed_file, write_tables
from stages.core.documents.grids import tables_of
from stages.core.documents.markdown import read_markdown
from stages.core.documents.prose import tables_of_prose
from stages.core.errors import SourceError, os_words

__all__ = [
    "KINDS",
    "DocumentColumn",
    "DocumentContent",
    "DocumentTable",
    "FailedLine",
    "ReadLimits",
    "failed_file",
    "read_document",
    "tables_of_prose",
    "write_tables",
]

KINDS = {".md": "markdown", ".markdown": "markdown", ".txt": "text", ".rst": "text"}
"""Kinds of documents by the ending of their files, in lower case."""


def read_document(path: Path, limits: ReadLimits | None = None) -> DocumentContent:
    """The text of a document and the tables that stand in it.

    Args:
        path: Of the file; its ending says what it is.
        limits: What is beyond them is left out and told in ``warnings``.

    Raises:
        SourceError: It cannot be read at all; ``what`` says why in one line.
    """
    limits = limits or ReadLimits()
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        raise SourceError("not a kind of document that is read", place=str(path))
    try:
        reading = _read_text(path, limits)
    except OSError as error:
        raise SourceError(f"cannot be read: {os_words(error)}", place=str(path)) from None
    return DocumentContent(
        path.name,
        kind,
        reading.lines,
        tables_of(reading.grids, path.stem),
        reading.warnings,
        reading.truncated,
        reading.pages,
    )


def _read_text(path: Path, limits: ReadLimits) -> Reading:
    """Markdown or plain text, up to the limit of bytes, its tables read in this process."""
    with open(path, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        data = stream.read(limits.bytes)
    if b"\0" in data[:8192] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SourceError("holds binary data, no text", place=str(path))
    lines = decode(data, whole=len(data) >= size).replace("\r\n", "\n").replace("\r", "\n")
    reading = read_markdown(_bounded(lines.split("\n"), limits))
    if len(data) < size:
        reading.truncated = True
        reading.warnings.append(f"read to {len(data):,} of {size:,} bytes; the rest is left out")
    if any(line.endswith(CUT) for line in reading.lines):
        reading.truncated = True
        reading.warnings.append(f"lines are cut at {limits.line:,} characters")
    return reading


CUT = " …(cut)"
"""Ends a line that was longer than the limit."""


def _bounded(lines: list[str], limits: ReadLimits) -> list[str]:
    if lines and not lines[-1]:
        lines.pop()
    return [line if len(line) <= limits.line else line[: limits.line] + CUT for line in lines]
