"""Documents to text and tables: one reader for every kind, no model asked.

`read_document` gives the lines of a document and the tables that stand in it, `tables_of_prose`
the table of a text that is written by one pattern, `write_tables` a SQLite file of them.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from stages.core.catalog.documents import decode
from stages.core.documents.content import (
    CellGrid,
    DocumentColumn,
    DocumentContent,
    DocumentTable,
    FailedLine,
    Reading,
    ReadLimits,
)
from stages.core.documents.database import failed_file, write_tables
from stages.core.documents.grids import tables_of
from stages.core.documents.isolation import read_isolated
from stages.core.documents.markdown import read_markdown
from stages.core.documents.prose import tables_of_prose
from stages.core.documents.subtitles import read_subtitles
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

KINDS = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".rst": "text",
    ".srt": "subtitles",
    ".vtt": "subtitles",
    ".html": "html",
    ".htm": "html",
    ".docx": "word",
    ".pdf": "pdf",
    ".xlsx": "workbook",
    ".xlsm": "workbook",
    ".xls": "workbook",
    ".ods": "workbook",
    ".pptx": "slides",
}
"""Kinds of documents by the ending of their files, in lower case."""

_OWN = {"markdown", "text", "subtitles"}
"""Kinds that are text: their lines are read in this process."""
_LONG = 1024**2
"""Bytes of text from which on its tables are looked for in the child process."""


def read_document(
    path: Path, limits: ReadLimits | None = None, *, ocr: bool = False
) -> DocumentContent:
    """The text of a document and the tables that stand in it.

    Args:
        path: Of the file; its ending says what it is.
        limits: What is beyond them is left out and told in ``warnings``.
        ocr: Whether scanned pages are read by character recognition, which needs its extra.

    Raises:
        SourceError: It cannot be read at all; ``what`` says why in one line.
    """
    limits = limits or ReadLimits()
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        raise SourceError("not a kind of document that is read", place=str(path))
    try:
        if kind in _OWN:
            reading = _read_text(path, kind, limits)
        else:
            reading = _read_foreign(path, kind, limits, ocr=ocr)
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


def _read_foreign(path: Path, kind: str, limits: ReadLimits, *, ocr: bool) -> Reading:
    """A format that a library takes apart, in a child process; long lines are cut here."""
    with open(path, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > limits.memory * 1024**2 // 4:
            raise SourceError(
                f"is larger than {limits.memory // 4:,} MiB and not read", place=str(path)
            )
        reading = read_isolated(path, kind, stream, limits, ocr=ocr)
    return _cut(reading, limits)


def _read_text(path: Path, kind: str, limits: ReadLimits) -> Reading:
    """Markdown, plain text or subtitles, up to the limit of bytes."""
    with open(path, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        data = stream.read(limits.bytes)
    if b"\0" in data[:8192] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SourceError("holds binary data, no text", place=str(path))
    text = decode(data, whole=len(data) >= size).replace("\r\n", "\n").replace("\r", "\n")
    lines = text.removesuffix("\n").split("\n") if text else []
    reading = read_subtitles(lines) if kind == "subtitles" else Reading(lines)
    if len(data) < size:
        reading.truncated = True
        reading.warnings.append(f"read to {len(data):,} of {size:,} bytes; the rest is left out")
    reading = _cut(reading, limits)
    if kind != "subtitles":
        reading.grids = _grids(path, reading, limits)
    return reading


def _grids(path: Path, reading: Reading, limits: ReadLimits) -> list[CellGrid]:
    """The tables of a text; of a long one, or one with HTML, in a child process."""
    html = any("<table" in line.lower() for line in reading.lines)
    if sum(map(len, reading.lines)) < _LONG and not html:
        return read_markdown(reading.lines).grids
    with tempfile.TemporaryFile() as stream:
        stream.write("\n".join(reading.lines).encode("utf-8", "replace"))
        stream.flush()
        stream.seek(0)
        try:
            return read_isolated(path, "text", stream, limits).grids
        except SourceError as error:
            reading.warnings.append(f"its tables are not read: {error.what}")
            return []


CUT = " …(cut)"
"""Ends a line that was longer than the limit."""


def _cut(reading: Reading, limits: ReadLimits) -> Reading:
    """The reading with lines cut at the limit, which is told."""
    if any(len(line) > limits.line for line in reading.lines):
        reading.lines = [
            line if len(line) <= limits.line else line[: limits.line] + CUT
            for line in reading.lines
        ]
        reading.truncated = True
        reading.warnings.append(f"lines are cut at {limits.line:,} characters")
    return reading
