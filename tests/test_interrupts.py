"""How commands end from outside: Ctrl-C at any moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import tomllib

import orjson
import pytest

from tests.llm_server import LlmServer, Say, obliging
from tests.test_manners import GOOD, lines, task
from tests.tools import ROOT, environment

SCRIPT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["winnow"]
ENTRIES = {
    "bin": [str(ROOT / "bin" / "collapse")],
    "-m stages": [sys.executable, "-m", "stages", "collapse"],
    "-m stages.cli": [sys.executable, "-m", "stages.cli", "collapse"],
    "console script": [
        sys.executable,
        "-c",
        "from {} import {} as main; main()".format(*SCRIPT.split(":")),
        "collapse",
    ],
}


def start(argv: list[str], **more) -> subprocess.Popen[bytes]:
    piped = subprocess.PIPE
    options = {"env": environment(), "cwd": ROOT, **more}
    return subprocess.Popen(argv, stdin=piped, stdout=piped, stderr=piped, **options)


def until(true) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("argv", ENTRIES.values(), ids=ENTRIES)
@pytest.mark.parametrize("slow", ["click", "stages/collapse"])
def test_ctrl_c_while_a_command_loads_is_130_and_silent(tmp_path, argv, slow):
    """A module that takes its time to load stands before the real one."""
    loading = "import os, time\nos.write(1, b'loading')\nfor _ in range(1000): time.sleep(0.01)\n"
    if slow == "click":
        (tmp_path / "click.py").write_text(loading)
    else:
        (tmp_path / "sitecustomize.py").write_text(
            "import importlib._bootstrap_external as files\n"
            "get = files.SourceLoader.get_code\n"
            f"slow = {loading!r}\n"
            "def code(self, name):\n"
            "    return compile(slow, name, 'exec') if name == 'stages.collapse' else get(self, name)\n"
            "files.SourceLoader.get_code = code\n"
        )
    path = os.pathsep.join([str(tmp_path), environment()["PYTHONPATH"]])
    process = start(argv, env=environment({"PYTHONPATH": path}))
    assert process.stdout is not None
    assert process.stdout.read(7) == b"loading"
    process.send_signal(signal.SIGINT)
    _out, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (130, b"")


@pytest.mark.parametrize("number", [signal.SIGINT])
def test_tasks_that_were_finished_are_written_though_a_model_still_answers_others(number):
    def answer(request, n):
        return Say(hang=True) if "slow one" in str(request["messages"]) else obliging(request, n)

    catalog = GOOD.splitlines(keepends=True)[:2]
    asked = lines(task("1"), {**task("2"), "question": "the slow one"}, task("3"))
    with LlmServer(answer) as server:
        model = ["--model", "openai/test", "--base-url", server.base_url, "--no-cache"]
        process = start([sys.executable, "-m", "stages", "vote", "--rounds", "1", *model])
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


def test_importing_the_package_changes_no_handler():
    code = (
        "import signal; numbers = (signal.SIGINT, signal.SIGTERM)\n"
        "before = [signal.getsignal(n) for n in numbers]\n"
        "from stages.cli import status; status(['collapse', '--schema'])\n"
        "assert before == [signal.getsignal(n) for n in numbers]"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env=environment(), cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
