"""The parent's end of a child: start it, ask it, and end it when it is late."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from stages.core.errors import SqlError, SqlFailed, SqlLimit, SqlUnavailable
from stages.core.jsontypes import JsonMapping
from stages.core.sandbox.limits import GRACE, Cell, Limits

START_SECONDS = 20.0
_CODE = "import sys; sys.path.insert(0, sys.argv[1]); from stages.core.sandbox.engine.child import main; main()"  # noqa: E501
_ROOT = str(Path(__file__).resolve().parents[4])

_NO_START = "the process that runs SQL did not start"
_START_HINT = "close other programs to free memory and files, and run again"


class Died(SqlError):
    """The child ended without an answer."""


class EngineError(SqlFailed):
    """The engine's own words, before they are made fit for a model; ``kind`` refused or failed."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Worker:
    """One child process over a fixed set of files.

    Args:
        files: DuckDB file, canonical name of its table, and columns that are not to be seen.
        limits: For memory and time.
        functions: Names that may be called in expressions, and in FROM.

    Raises:
        SqlUnavailable: The child does not start.
    """

    def __init__(
        self,
        files: Sequence[tuple[Path, str, Sequence[str]]],
        limits: Limits,
        functions: tuple[Sequence[str], Sequence[str]],
    ) -> None:
        self.limits = limits
        self._process = _started()
        self._rest = b""
        request = {
            "op": "open",
            "files": [[str(path), name, list(hidden)] for path, name, hidden in files],
            "memory": limits.memory,
            "scalar": list(functions[0]),
            "table": list(functions[1]),
        }
        try:
            list(self._ask(request, START_SECONDS))
        except SqlError as error:
            self.close()
            raise SqlUnavailable(f"{_NO_START}: {error.what}", hint=_START_HINT) from None

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """Process id, for whoever watches memory."""
        return self._process.pid

    def describe(self, sql: str) -> tuple[list[str], list[str]]:
        """Names and types of the columns of a statement.

        Raises:
            SqlError: As `run`.
        """
        request = {"op": "describe", "sql": sql, "seconds": self.limits.seconds}
        answer = list(self._ask(request, self.limits.seconds + GRACE))[-1]
        return answer["columns"], answer["types"]

    def run(
        self, sql: str, types: Sequence[str], rows: int, seconds: float
    ) -> tuple[list[list[Cell]], bool, bool]:
        """Rows of a statement, whether there are more, and whether the size of the answer cut it.

        Raises:
            SqlLimit: It took too long or too much memory; the child has ended.
            SqlFailed: The engine says no; ``what`` is its message.
            SqlUnavailable: A file of a table can no longer be read.
            Died: The child ended for another reason.
        """
        request = {
            "op": "run",
            "sql": sql,
            "types": list(types),
            "rows": rows,
            "seconds": seconds,
            "cell": self.limits.cell,
            "bytes": self.limits.answer,
        }
        found: list[list[Cell]] = []
        last: JsonMapping = {}
        for last in self._ask(request, seconds + GRACE):
            found += last.get("rows", [])
        return found, bool(last.get("more")), bool(last.get("bytes"))

    def kill(self) -> None:
        """End the child, from any thread; whoever waits for its answer is told that it died."""
        with suppress(OSError):
            self._process.kill()

    def close(self) -> None:
        """End the child; it never has anything to save."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(OSError):  # the pipe broke when the child ended
                    stream.close()

    def _ask(self, request: Mapping[str, object], seconds: float) -> list[JsonMapping]:
        """All answers to one request; the last one ends it."""
        deadline = time.monotonic() + seconds
        answers: list[JsonMapping] = []
        try:
            stdin = _stream(self._process.stdin)
            stdin.write(json.dumps(request).encode() + b"\n")
            stdin.flush()
            while not answers or "rows" in answers[-1]:
                answers.append(json.loads(self._line(deadline)))
        except (BrokenPipeError, EOFError):
            self._process.wait()
            raise self._death() from None
        except TimeoutError:
            self.close()
            raise self._late() from None
        self._raise_error(answers[-1])
        return answers

    def _line(self, deadline: float) -> bytes:
        """The next line; the pipe is read without waiting beyond the deadline."""
        descriptor = _stream(self._process.stdout).fileno()
        pieces = [self._rest]
        while b"\n" not in pieces[-1]:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                raise TimeoutError
            piece = os.read(descriptor, 1 << 18)
            if not piece:
                raise EOFError
            pieces.append(piece)
        line, _, self._rest = b"".join(pieces).partition(b"\n")
        return line

    def _raise_error(self, answer: Mapping[str, object]) -> None:
        kind = answer.get("error")
        if not kind:
            return
        if kind in ("time", "memory", "broken"):
            self.close()
        if kind == "time":
            raise self._late()
        if kind == "memory":
            raise self._too_large()
        if kind == "broken":
            raise Died("the engine gave up", hint="write the statement differently")
        message = str(answer.get("message", ""))
        if kind == "unavailable":
            self.close()
            what = f"the data could not be read: {message.partition(chr(10))[0][:200]}"
            raise SqlUnavailable(what, hint="is the disk of the cache folder sound?")
        raise EngineError(str(kind), message)

    def _death(self) -> SqlError:
        """What a child without an answer died of, by its signal."""
        if self._process.returncode == -24:  # SIGXCPU
            return self._late()
        return self._too_large()

    def _late(self) -> SqlLimit:
        return SqlLimit(
            f"stopped after {self.limits.seconds:g} s, the time limit",
            hint="ask for less: filter, aggregate, or join on keys",
        )

    def _too_large(self) -> SqlLimit:
        return SqlLimit(
            f"stopped at {self.limits.memory} MB, the memory limit",
            hint="ask for less: filter, aggregate, or shorter values",
        )


def _started() -> subprocess.Popen[bytes]:
    """The child, which knows nothing of the environment.

    Raises:
        SqlUnavailable: The system starts no process.
    """
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-c", _CODE, _ROOT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"TZ": "UTC", "LC_ALL": "C.UTF-8", "MALLOC_ARENA_MAX": "1"},
            cwd="/",
            start_new_session=True,
            close_fds=True,
        )
    except (OSError, ValueError) as error:
        raise SqlUnavailable(f"{_NO_START}: {error}", hint=_START_HINT) from None


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream
