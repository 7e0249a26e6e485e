"""Running the command line, as a user does (a process, bytes in and out) or in this process."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from stages.cli import status
from tests.helpers.fork_server import warm

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Done:
    """How one process ended."""

    status: int
    out: bytes
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The lines on stdout, decoded."""
        return [orjson.loads(line) for line in self.out.splitlines()]

    @property
    def tasks(self) -> list[dict[str, Any]]:
        """The task lines."""
        return [line for line in self.lines if line["kind"] == "task"]


def run(
    *argv: str,
    stdin: bytes = b"",
    cwd: Path = ROOT,
    env: Mapping[str, str] | None = None,
    timeout: float = 60,
) -> Done:
    """Run ``winnow ARGV`` in a process; the model is the built-in judge unless told otherwise."""
    if any(key.startswith(COLD) for key in env or ()):
        return _cold(argv, stdin, cwd, environment(env), timeout)
    code, out, err = warm().run(argv, stdin, cwd, environment(env), timeout)
    return Done(code, out, err.decode())


COLD = ("PYTHON", "LC_", "LANG")
"""Variables that the interpreter reads when it starts."""


def _cold(
    argv: Sequence[str], stdin: bytes, cwd: Path, env: Mapping[str, str], timeout: float
) -> Done:
    done = subprocess.run(
        [sys.executable, "-m", "stages", *argv],
        input=stdin,
        capture_output=True,
        cwd=cwd,
        env=env,
        timeout=timeout,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr.decode())


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a test's process: nothing of the developer's own winnow settings."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("WINNOW_", "OPENAI_"))
    }
    path = os.pathsep.join(filter(None, [str(ROOT), kept.get("PYTHONPATH")]))
    return {**kept, "PYTHONPATH": path, "NO_COLOR": "1", "COLUMNS": "120", **(more or {})}


def on_terminal(argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> tuple[str, str]:
    """Run a command whose stdout is a terminal: what the terminal got, and what stderr said."""
    ours, theirs = os.openpty()
    with subprocess.Popen(
        argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE
    ) as process:
        os.close(theirs)
        pieces = []
        with suppress(OSError):  # the end of a terminal is an error on Linux
            while piece := os.read(ours, 1 << 16):
                pieces.append(piece)
        os.close(ours)
        said = process.stderr.read() if process.stderr else b""
    return b"".join(pieces).decode().replace("\r\n", "\n"), said.decode()


def pipe(first: bytes, *commands: Sequence[str], **options: Any) -> Done:
    """Pass lines through several commands, each of which has to end well."""
    done = Done(0, first, "")
    for command in commands:
        done = run(*command, stdin=done.out, **options)
        assert done.status == 0, (command, done.err)
    return done


def winnow(folder, *args, stdin=b""):
    """One command in this process, in the folder, with a cache below it; what it wrote and said."""
    out, err, before = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO(), sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin), "utf-8")
    try:
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.chdir(folder)
            patch.setenv("WINNOW_CACHE", str(folder / "cache"))
            code = status(list(args))
            out.flush()
    finally:
        sys.stdin = before
    return SimpleNamespace(
        returncode=code, stdout=out.buffer.getvalue(), stderr=err.getvalue().encode()
    )


def imported(argv: list[str], stdin: bytes = b"", env: Mapping[str, str] | None = None) -> set[str]:
    """Top-level modules that one run of the command line imported."""
    code = (
        "import sys\nfrom stages.cli import status\ncode = status(sys.argv[1:])\n"
        "sys.stderr.write('MODULES ' + ' '.join({m.split('.')[0] for m in sys.modules}))\nsys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *argv],
        input=stdin,
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        check=False,
    )
    return set(done.stderr.decode().rpartition("MODULES ")[2].split())
