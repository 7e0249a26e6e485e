"""Where lines come from and go to: stdin or files in, stdout or a file renamed into place out."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from stages.core.errors import DataError, UsageError
from stages.core.lines.lines import Output, scan_first

STDIN = "-"
BUFFER = 1 << 18


def inputs(files: Sequence[str]) -> Iterator[tuple[IO[bytes], str]]:
    """Each named file, or stdin where there is none or the name is ``-``, with its name.

    Raises:
        UsageError: stdin is a terminal and no file is named.
        DataError: stdin is closed, or a file cannot be opened.
    """
    for name in files or (STDIN,):
        if name == STDIN:
            yield _stdin(bool(files)), "stdin"
            continue
        try:
            stream = open(name, "rb", buffering=BUFFER)  # noqa: SIM115 - closed just below
        except OSError as error:
            from stages.core.diagnostics import os_message

            if isinstance(error, IsADirectoryError):
                what, hint = "a folder, and no file of lines", scan_first(name)
                raise DataError(what, place=name, hint=hint) from None
            raise DataError(os_message(error), place=name) from None
        with stream:
            yield stream, name


def _stdin(named: bool) -> IO[bytes]:
    if sys.stdin is None or sys.stdin.closed:
        raise DataError("stdin is closed", hint="pipe lines in, or name a file")
    if sys.stdin.isatty() and not named:
        raise UsageError("no input", hint="pipe lines in, name a file, or give - to type them")
    try:
        # A stream of our own: a thread that waits on it holds no lock that the exit needs.
        return open(sys.stdin.fileno(), "rb", closefd=False)
    except OSError:  # a stream in memory has no descriptor
        return sys.stdin.buffer


def to_terminal(path: str | None) -> bool:
    """Whether what `output` writes to is a terminal."""
    return path in (None, STDIN) and sys.stdout is not None and sys.stdout.isatty()


@contextmanager
def output(path: str | None) -> Iterator[Output]:
    """Stdout, or a file that takes the place of ``path`` when all went well.

    Raises:
        DataError: The file cannot be made, or stdout is closed.
    """
    if path is None or path == STDIN:
        if sys.stdout is None:
            raise DataError("stdout is closed", hint="write to a file with -o")
        out = Output(sys.stdout.buffer, "stdout")
        yield out
        out.flush()
        return
    with replace_file(Path(path)) as stream:
        out = Output(stream, path)
        yield out
        out.flush()


@contextmanager
def replace_file(path: Path) -> Iterator[IO[bytes]]:
    """A new file beside ``path`` that is renamed over it at the end, and removed on failure.

    Something that is no regular file (a device, a pipe) is written in place.
    """
    if path.exists() and not path.is_file():
        stream = open(path, "wb", buffering=BUFFER)  # noqa: SIM115 - see the last line
        try:
            yield stream
            stream.flush()
        finally:
            with suppress(OSError):  # the write that failed has been reported already
                stream.close()
        return
    target = path.resolve()
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with open(part, "wb", buffering=BUFFER) as stream:
            yield stream
        os.replace(part, target)
    except FileNotFoundError as error:
        raise DataError("no such folder", place=str(path), hint="make it first") from error
    finally:
        with suppress(OSError):
            part.unlink()
