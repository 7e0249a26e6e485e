"""How commands end from outside: Ctrl-C at any moment, SIGTERM, SIGHUP."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import orjson
import pytest

from tests.helpers.llm_server import LlmServer, Say, obliging
from tests.helpers.tools import ROOT, environment
from tests.helpers.vote_lines import ARGV, GOOD, VOTE, lines, task

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
ENDINGS = (signal.SIGTERM, signal.SIGHUP)


def start(argv: list[str], **more) -> subprocess.Popen[bytes]:
    """A process that a hang-up ends, though the tests themselves may run under nohup."""
    piped = subprocess.PIPE
    options = {"env": environment(), "cwd": ROOT, "preexec_fn": hear, **more}
    return subprocess.Popen(argv, stdin=piped, stdout=piped, stderr=piped, **options)


def hear() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


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


@pytest.mark.parametrize("number", ENDINGS)
@pytest.mark.parametrize("times", [1, 2])
def test_signal_leaves_no_part_file_and_ends_the_process(tmp_path, number, times):
    target = tmp_path / "out.jsonl"
    target.write_text("old")
    process = start([*ARGV, "-o", str(target)])
    assert process.stdin is not None
    process.stdin.write(GOOD)
    process.stdin.flush()
    until(lambda: any(part.stat().st_size for part in tmp_path.glob(".*.part")))
    for _ in range(times):  # `timeout` sends it twice
        process.send_signal(number)
    _out, err = process.communicate(timeout=20)
    assert process.returncode == -number
    assert err.count(b"\n") == 1
    assert b"Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]
    assert target.read_text() == "old"


def test_signal_while_a_native_module_loads_is_no_fault_of_that_module(tmp_path):
    """jsonschema_rs imports decimal, and takes what is raised there for a broken Python."""
    (tmp_path / "decimal.py").write_text(
        "import os, time\nos.write(2, b'loading')\nfor _ in range(50): time.sleep(0.01)\n"
        "from _decimal import *\n"
    )
    path = os.pathsep.join([str(tmp_path), environment()["PYTHONPATH"]])
    process = start(ARGV, env=environment({"PYTHONPATH": path}))
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write(GOOD)
    process.stdin.flush()
    assert process.stderr.read(7) == b"loading"
    process.send_signal(signal.SIGTERM)
    _out, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (-signal.SIGTERM, b"winnow collapse: terminated\n")


def test_shell_sees_143_of_a_job_in_the_background(tmp_path):
    """Where Ctrl-C is ignored from the start."""
    script = (
        f"{' '.join(ARGV)} -o {tmp_path}/out <&3 & "
        f"until ls -A {tmp_path} | grep -q part; do sleep 0.01; done; kill $!; wait $!; echo $?"
    )
    reading, writing = os.pipe()
    done = subprocess.run(
        ["bash", "-c", f"exec 3<&{reading}; {script}"],
        pass_fds=[reading],
        capture_output=True,
        env=environment(),
        cwd=ROOT,
        timeout=20,
        check=False,
    )
    os.close(reading)
    os.close(writing)
    assert done.stdout == b"143\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", ENDINGS)
@pytest.mark.parametrize("later", [0, 0.2])
def test_signal_to_a_whole_group_is_one_line_though_workers_are_ended_with_it(
    tmp_path, number, later
):
    for place in range(3000):
        (tmp_path / f"t{place}.csv").write_text("a,b\n1,2\n")
    process = start(
        [sys.executable, "-m", "stages", "scan", str(tmp_path), "--no-cache"],
        start_new_session=True,
    )
    children = f"/proc/{process.pid}/task/{process.pid}/children"
    until(lambda: len(Path(children).read_text().split()) == 2)
    time.sleep(later)
    os.killpg(process.pid, number)
    _out, err = process.communicate(timeout=20)
    assert process.returncode == -number
    assert err.count(b"\n") == 1, err


def test_hang_up_that_the_caller_ignores_stays_ignored():
    process = start(ARGV, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(GOOD)
    process.stdin.flush()
    [process.stdout.readline() for _ in range(3)]
    process.send_signal(signal.SIGHUP)
    out, err = process.communicate(lines(task("2", vote=VOTE)), timeout=20)
    assert (process.returncode, err) == (0, b"")
    assert orjson.loads(out)["task_id"] == "2"


def test_second_signal_ends_what_cannot_be_unwound():
    """Stdout is a pipe that nobody reads, so that what is finished cannot be written."""
    catalog = GOOD.splitlines(keepends=True)[:2]
    asked = lines(task("1", knowledge="x" * 300_000))
    with LlmServer(obliging) as server:
        model = ["--model", "openai/test", "--base-url", server.base_url, "--no-cache"]
        argv = [sys.executable, "-m", "stages", "vote", "--rounds", "1", *model]
        process = start(argv, env=environment({"PYTHONUNBUFFERED": ""}))
        assert process.stdin is not None
        process.stdin.write(b"".join(catalog) + asked)
        process.stdin.flush()
        assert process.stdout is not None
        process.stdout.read(1)  # the rest is on its way
        process.send_signal(signal.SIGTERM)
        time.sleep(1.2)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == -signal.SIGTERM


@pytest.mark.parametrize("number", [signal.SIGINT, *ENDINGS])
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
