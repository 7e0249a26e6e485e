"""The process that takes foreign formats apart: limited, and free to be killed.

It gets an open file and gives one JSON object on its output: the fields of a `Reading`, or
``error`` with one line. It opens no file by a name from the document and asks no network.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
import zipfile
from dataclasses import asdict
from typing import IO

from stages.core.catalog.documents import decode
from stages.core.documents.content import Reading, ReadLimits

_PACKED = {"word", "workbook", "slides"}
_CHARSET = re.compile(rb"<meta[^<>]{0,200}?charset\s*=\s*[\"']?([\w.:-]{1,40})", re.I)


class NotRead(Exception):
    """The document cannot be read; the message says why in one line."""


def main() -> None:
    """Read the document on the descriptor that the first line of the input names."""
    request = json.loads(sys.stdin.buffer.readline())
    answers = _take_stdout()
    limits = ReadLimits(**request["limits"])
    _limit(limits, 4 if request["ocr"] else 1)
    try:
        with os.fdopen(int(request["file"]), "rb") as stream:
            answer = asdict(_read(str(request["kind"]), stream, limits, ocr=bool(request["ocr"])))
    except MemoryError:
        answer = {"error": "memory"}
    except NotRead as error:
        answer = {"error": str(error)}
    except Exception as error:
        answer = {"error": f"is broken: {_words(error)}"}
    answers.write(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace"))
    answers.flush()
    os._exit(0)


def _take_stdout() -> IO[bytes]:
    """The stream for the answer; whatever else prints, prints to nowhere."""
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    return answers


def _limit(limits: ReadLimits, room: int) -> None:
    """Limit address space and processor time, and let no file be written.

    Args:
        limits: Of memory and time.
        room: Times the memory that is allowed: models of characters reserve much.
    """
    with open("/proc/self/statm", "rb") as stream:
        used = int(stream.read().split()[0]) * resource.getpagesize()
    most = used + room * limits.memory * 1024**2
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    seconds = int(limits.seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    for limit in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE):
        resource.setrlimit(limit, (0, 0))


def _read(kind: str, stream: IO[bytes], limits: ReadLimits, *, ocr: bool) -> Reading:
    """Each kind by its reader, which is imported only here."""
    if kind in _PACKED:
        _check_package(stream, limits)
    if kind == "text":
        from stages.core.documents.html import tables_in_text
        from stages.core.documents.markdown import read_markdown

        lines = stream.read().decode("utf-8", "replace").split("\n")
        grids = [*read_markdown(lines).grids, *tables_in_text(lines, limits.cells)]
        return Reading(grids=sorted(grids, key=lambda grid: grid.lines[0]))
    if kind == "html":
        from stages.core.documents.html import read_html

        return read_html(_text(stream.read()), limits.cells)
    if kind == "word":
        from stages.core.documents.word import read_docx

        return read_docx(stream, limits)
    if kind == "workbook":
        from stages.core.documents.workbooks import read_workbook

        return read_workbook(stream, limits)
    if kind == "slides":
        from stages.core.documents.slides import read_pptx

        return read_pptx(stream, limits)
    from stages.core.documents.layout import NoLibrary
    from stages.core.documents.pdf import read_pdf

    try:
        return read_pdf(stream.read(), limits, ocr=ocr)
    except (NoLibrary, ValueError) as error:
        raise NotRead(str(error)) from None


def _check_package(stream: IO[bytes], limits: ReadLimits) -> None:
    """Refuse archives that unpack to more than the memory holds, and files that are encrypted."""
    head = stream.read(8)
    stream.seek(0)
    if head.startswith(b"\xd0\xcf\x11\xe0"):
        if b"E\0n\0c\0r\0y\0p\0t\0e\0d\0P\0a\0c\0k\0a\0g\0e" in stream.read():
            raise NotRead("is encrypted")
        stream.seek(0)
        return
    try:
        with zipfile.ZipFile(stream) as archive:
            size = sum(part.file_size for part in archive.infolist())
    except zipfile.BadZipFile:
        raise NotRead("is broken: not the archive that its name says") from None
    if size > limits.memory * 1024**2 // 2:
        raise NotRead(f"unpacks to {size // 1024**2:,} MiB, more than is read")
    stream.seek(0)


def _text(data: bytes) -> str:
    """HTML as text: in the encoding it declares where that is true, else as text files."""
    if found := _CHARSET.search(data[:4096]):
        try:
            return data.decode(found[1].decode())
        except (LookupError, UnicodeDecodeError):
            pass
    return decode(data)


def _words(error: Exception) -> str:
    """The library's words on one short line."""
    return " ".join((str(error) or type(error).__name__).split())[:200]
