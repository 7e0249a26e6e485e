"""The parent's end of the process that takes foreign formats apart."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO

from stages.core.documents.content import CellGrid, Reading, ReadLimits
from stages.core.errors import SourceError

_CODE = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from stages.core.documents.child import main; main()"
)
_ROOT = str(Path(__file__).resolve().parents[3])
_START_SECONDS = 20.0
"""Beside the limit of a document: the child's own start on a busy machine."""


def read_isolated(
    path: Path, kind: str, stream: IO[bytes], limits: ReadLimits, *, ocr: bool = False
) -> Reading:
    """What a child process reads of an open file, ended when it is late or answers too much.

    Args:
        path: For messages.
        kind: A value of `KINDS`.
        stream: The file, open.
        limits: Of time, memory and output.
        ocr: Whether scanned pages are read by character recognition.

    Raises:
        SourceError: It cannot be read; ``what`` says why in one line.
    """
    request = {"file": stream.fileno(), "kind": kind, "limits": asdict(limits), "ocr": ocr}
    try:
        with _started(stream.fileno()) as process:
            try:
                data = _answer(process, json.dumps(request).encode() + b"\n", limits)
            finally:
                process.kill()
        return _reading(json.loads(data or '{"error": "memory"}'))
    except SourceError as error:
        raise SourceError(error.what, place=str(path)) from None
    except (ValueError, TypeError, KeyError):
        raise SourceError("the process that reads it gave no answer", place=str(path)) from None


def _started(file: int) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [sys.executable, "-c", _CODE, _ROOT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=[file],
            start_new_session=True,
            env={
                **os.environ,
                "RAYON_NUM_THREADS": "1",
                "MALLOC_ARENA_MAX": "1",
                "OMP_NUM_THREADS": "1",
            },
        )
    except OSError as error:
        raise SourceError(f"the process that reads it did not start: {error.strerror}") from None


def _answer(process: subprocess.Popen[bytes], request: bytes, limits: ReadLimits) -> bytes:
    """All that the child says, within the limits."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError):
        process.stdin.write(request)
        process.stdin.flush()
    deadline = time.monotonic() + limits.seconds + _START_SECONDS
    parts: list[bytes] = []
    size = 0
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
            raise SourceError(f"takes longer than {limits.seconds:g} seconds to read")
        part = os.read(process.stdout.fileno(), 1 << 20)
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
        if size > 4 * limits.output:
            raise SourceError(f"holds more than {limits.output:,} bytes of text")


def _reading(answer: dict[str, object]) -> Reading:
    """The answer, each field of its kind: the child has met hostile input."""
    if "error" in answer:
        error = str(answer["error"])
        raise SourceError(
            "needs more memory or time than is allowed" if error == "memory" else error
        )
    grids = [_grid(grid) for grid in _list(answer["grids"])]
    reading = Reading(
        _texts(answer["lines"]),
        grids,
        _texts(answer["warnings"]),
        bool(answer["truncated"]),
        _numbers(answer["pages"]),
    )
    if len(reading.pages) not in (0, len(reading.lines)):
        raise ValueError("pages and lines differ")
    return reading


def _grid(value: object) -> CellGrid:
    if not isinstance(value, dict):
        raise TypeError("no grid")
    cells = [_texts(row) for row in _list(value["cells"])]
    lines, pages = _numbers(value["lines"]), _numbers(value["pages"])
    if len(lines) != len(cells) or len(pages) not in (0, len(cells)):
        raise ValueError("rows and lines differ")
    header = value["header"]
    return CellGrid(
        cells, lines, header if isinstance(header, int) else None, pages, str(value["title"])
    )


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError("no list")
    return value


def _texts(value: object) -> list[str]:
    return [text.replace("\0", "") if isinstance(text, str) else "" for text in _list(value)]


def _numbers(value: object) -> list[int]:
    return [number if isinstance(number, int) else 0 for number in _list(value)]
