"""How commands end by Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import orjson
import pytest

from tests.llm_server import LlmServer, Say, obliging
from tests.test_manners import GOOD, lines, task
from tests.tools import ROOT, environment


def start(argv: list[str], **more) -> subprocess.Popen[bytes]:
    piped = subprocess.PIPE
    options = {"env": environment(), "cwd": ROOT, **more}
    return subprocess.Popen(argv, stdin=piped, stdout=piped, stderr=piped, **options)


def until(true) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT])
def test_tasks_that_were_finished_are_written_though_a_model_still_answers_others(number):
    def answer(request, n):
        return Say(hang=True) if "slow one" in str(request["messages"]) else obliging(request, n)

    catalog = GOOD.splitlines(keepends=True)[:2]
    asked = lines(task("1"), {**task("2"), "question": "the slow one"}, task("3"))
    with LlmServer(answer) as server:
        model = ["--model", "openai/test", "--base-url", server.base_url, "--no-cache"]
        process = start([sys.executable, "-m", "stages.cli", "vote", "--rounds", "1", *model])
        assert process.stdin is not None
        process.stdin.write(b"".join(catalog) + asked)
        process.stdin.flush()
        until(lambda: len(server.requests) == 3)
        time.sleep(0.5)  # until the answers are taken
        process.send_signal(number)
        out, err = process.communicate(timeout=20)
    assert process.returncode == (130 if number == signal.SIGINT else -number)
    assert b"Traceback" not in err
    written = [orjson.loads(line) for line in out.splitlines()]
    assert [line["task_id"] for line in written if line["kind"] == "task"] == ["1", "3"]
