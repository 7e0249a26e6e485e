"""Running the command line as a user does: as a process, with bytes in and out."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

ROOT = Path(__file__).resolve().parents[1]


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
    """Run ``winnow ARGV``; the model is the built-in judge unless told otherwise."""
    done = subprocess.run(
        [sys.executable, "-m", "stages", *argv],
        input=stdin, capture_output=True, cwd=cwd, env=environment(env), timeout=timeout, check=False,
    )  # fmt: skip
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
