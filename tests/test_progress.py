"""What a run shows on a terminal while it goes on, and that nothing of it stays."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.helpers import linking_chain as chain
from tests.helpers.llm_server import LlmServer, Say, obliging
from tests.helpers.runs import Desk
from tests.helpers.tools import ROOT, environment, pipe, run


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A task with every section that a stage needs."""
    root = chain.write(tmp_path_factory.mktemp("task"))
    return pipe(run("scan", str(root)).out, ["plan"], ["prune"], ["summarize"], ["explore"]).out


def on_terminal(argv: list[str], lines: bytes, *, both: bool) -> tuple[str, bytes]:
    """What a terminal got from stderr, and from stdout too if ``both``; and what a pipe got."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "stages", *argv],
        stdin=subprocess.PIPE,
        stdout=slave if both else subprocess.PIPE,
        stderr=slave,
        cwd=ROOT,
        env=environment({"TERM": "xterm"}),
    )
    os.close(slave)
    assert process.stdin
    process.stdin.write(lines)
    process.stdin.close()
    piped = process.stdout.read() if process.stdout else b""
    told = b""
    while True:
        try:
            part = os.read(master, 65_536)
        except OSError:  # the other side is closed
            break
        told += part
        if not part:
            break
    process.wait(60)
    os.close(master)
    return told.decode().replace("\r\n", "\n"), piped


def seen(told: str) -> list[str]:
    """The lines as they stand on the terminal in the end: what follows a return overwrites."""
    found = []
    for line in told.split("\n"):
        shown = ""
        for part in line.split("\r"):
            shown = part + shown[len(part) :]
        found.append(shown.rstrip())
    return found


def slow(request: dict[str, Any], n: int) -> Say:
    return replace(obliging(request, n), delay=0.4 + 0.4 * (n % 3))


@pytest.mark.parametrize(
    "stage", ["plan", "link", "vote", "prune", "summarize", "explore", "refine"]
)
def test_a_stage_shows_how_far_its_model_is_in_the_midst_of_a_pipe(
    stage: str, lines: bytes
) -> None:
    with LlmServer(slow) as server:
        argv = [stage, "--model", "openai/x", "--base-url", server.base_url, "--no-cache"]
        told, piped = on_terminal(argv, lines, both=False)
    assert " requests answered, " in told
    if stage == "explore":
        assert " tables explored, " in told
    assert not any("requests answered" in line for line in seen(told))
    assert piped.count(b"\n") == lines.count(b"\n")


def test_the_counter_is_gone_before_the_first_result(lines: bytes) -> None:
    with LlmServer(slow) as server:
        argv = ["vote", "--model", "openai/x", "--base-url", server.base_url, "--no-cache"]
        told, _ = on_terminal(argv, lines, both=True)
    assert "requests answered" in told
    for line in filter(None, seen(told)):
        assert line.startswith(('{"', "winnow vote: "))
        assert "requests answered" not in line


def test_nothing_of_it_goes_anywhere_but_to_a_terminal(lines: bytes, tmp_path: Path) -> None:
    with LlmServer(slow) as server:
        argv = ["vote", "--model", "openai/x", "--base-url", server.base_url, "--no-cache"]
        assert "requests answered" not in run(*argv, stdin=lines).err
        told, _ = on_terminal([*argv, "-q"], lines, both=False)
    assert told == ""


def test_in_a_log_a_line_now_and_then_tells_that_a_command_is_alive(lines: bytes) -> None:
    code = (
        "from stages.core import diagnostics\ndiagnostics.TOLD_EVERY = 0.3\n"
        "from stages.cli import main\nmain()"
    )
    with LlmServer(slow) as server:
        argv = ["vote", "--model", "openai/x", "--base-url", server.base_url, "--no-cache"]
        done = subprocess.run(
            [sys.executable, "-c", code, *argv],
            input=lines, capture_output=True, cwd=ROOT, env=environment(), check=False,
        )  # fmt: skip
    told = [line for line in done.stderr.decode().splitlines() if "requests answered" in line]
    assert told
    assert all(line.startswith("winnow vote: ") and "\r" not in line for line in told)


def test_a_run_shows_stages_rate_and_failures_on_a_terminal(tmp_path: Path) -> None:
    desk = Desk.at(tmp_path / "desk")

    def some(request: dict[str, Any], n: int) -> Say:
        refused = Say(text="no", status=400)
        return refused if n == 12 else replace(obliging(request, n), delay=0.1)

    with LlmServer(some) as server:
        model = {"id": "openai/x", "base_url": server.base_url, "cache": False}
        desk.config(stages=[{"vote": {"rounds": 3}}], model=model, store=str(tmp_path / "runs"))
        config = {**yaml.safe_load((desk.folder / "run.yaml").read_text())}
        config["dataset"] = {
            key: str(desk.folder / value) for key, value in config["dataset"].items()
        }
        (desk.folder / "run.yaml").write_text(yaml.safe_dump(config))
        told, piped = on_terminal(
            ["run", "--config", str(desk.folder / "run.yaml")], b"", both=False
        )
    assert piped.decode().strip().startswith(str(tmp_path / "runs" / "run-"))
    assert "/4 tasks, vote 1" in told
    assert "/min" in told or "/s" in told
    assert " left" in told
    assert not any("tasks, vote" in line for line in seen(told)), "the counter does not stay"
