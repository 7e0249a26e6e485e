"""``--log FILE``: one JSON line a call, added as it ends."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from stages.core.errors import UsageError, os_words


@dataclass(frozen=True)
class Caller:
    """Who asks: a task, and the stage that works on it."""

    task: str = ""
    stage: str = ""


class CallLog:
    """The log file; without one, nothing is written.

    Every line is one write to a file opened for adding, so that processes can share it.

    Attributes:
        unwritten: Why the last line that could not be written was not; empty where all were.

    Raises:
        UsageError: The file cannot be written.
    """

    def __init__(self, path: Path | None) -> None:
        self.unwritten = ""
        self._file = None if path is None else _opened(path)

    def write(self, caller: Caller, key: str, **facts: Any) -> None:
        """Add a line: ``task``, ``stage``, ``request``, then ``facts`` as they are given."""
        if self._file is not None:
            line = {"task": caller.task, "stage": caller.stage, "request": key, **facts}
            try:
                os.write(self._file, orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
            except OSError as error:  # a full disk must not cost the answers
                self.unwritten = f"the log cannot be written: {os_words(error)}"

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    except OSError as error:
        raise UsageError(f"cannot write the log: {os_words(error)}", place=str(path)) from None
