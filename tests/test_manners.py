"""How every command behaves at its edges: pipes, disks, interrupts, broken input."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import orjson
import pytest

from tests.helpers.llm_server import LlmServer, Say, obliging
from tests.helpers.tools import ROOT, environment, run
from tests.helpers.vote_lines import ARGV, CATALOG, GOOD, VOTE, lines, table, task


def one_line(err: str) -> str:
    assert "Traceback" not in err
    assert err.count("\n") == 1, err
    return err


def test_good_lines_end_well():
    done = run("collapse", stdin=GOOD)
    assert done.status == 0
    assert done.tasks[0]["collapse"]["shown"]["line"] == ["a"]


def test_empty_input_is_a_note():
    done = run("collapse", stdin=b"")
    assert (done.status, done.out) == (0, b"")
    assert "no task" in one_line(done.err)


def test_blank_lines_change_nothing():
    assert (
        run("collapse", stdin=b"\n\n" + GOOD.replace(b"\n", b"\n\n")).out
        == run("collapse", stdin=GOOD).out
    )


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (b'{"kind":"task","task_id":"\xff\xfe"}\n', "stdin:4: not JSON"),
        (b"nonsense\n", "stdin:4: not JSON"),
        (b'{"kind":"task","task_id":"2","ques', "stdin:4: the line is cut off"),
        (b'{"kind":"task","task_id":2}\n', "stdin:4: task_id"),
    ],
)
def test_broken_line_is_one_error_and_the_rest_is_written(bad, words):
    done = run("collapse", stdin=GOOD + bad)
    assert done.status == 1
    assert words in one_line(
        "".join(line + "\n" for line in done.err.splitlines() if "stdin:4" in line)
    )
    assert done.tasks[0]["collapse"]["keys"] == ["a.csv"]


def test_table_line_that_cannot_be_read_leaves_its_tasks_as_they_were():
    broken = lines(CATALOG, table()) + b'{"kind":"table"\n' + lines(task(vote=VOTE))
    done = run("collapse", stdin=broken)
    assert done.status == 1
    assert "collapse" not in done.tasks[0]
    assert "stdin:3" in done.err


def test_fifty_megabyte_line():
    big = lines(CATALOG, table(), task(vote=VOTE, knowledge="x" * 50_000_000))
    done = run("collapse", stdin=big)
    assert done.status == 0
    assert len(done.tasks[0]["knowledge"]) == 50_000_000
    done = run("collapse", stdin=b"{" + b"x" * 50_000_000)
    assert done.status == 1
    assert len(done.err) < 1000


def shell(script: str) -> subprocess.CompletedProcess[bytes]:
    command = " ".join(ARGV)
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", script.replace("COLLAPSE", command)],
        input=GOOD,
        capture_output=True,
        env=environment(),
        cwd=ROOT,
        check=False,
    )


def test_full_disk_is_one_line():
    done = shell("COLLAPSE >/dev/full")
    assert done.returncode == 1
    assert "no space left" in one_line(done.stderr.decode())
    done = shell("COLLAPSE -o /dev/full")
    assert done.returncode == 1
    assert "no space left" in one_line(done.stderr.decode())


def test_closed_stdin_and_stdout_are_one_line():
    done = shell("COLLAPSE <&-")
    assert done.returncode == 1
    assert "stdin is closed" in one_line(done.stderr.decode())
    done = shell("COLLAPSE >&-")
    assert done.returncode == 1
    assert "stdout" in one_line(done.stderr.decode())


def test_closed_pipe_ends_quietly(tmp_path):
    many = tmp_path / "many.jsonl"
    many.write_bytes(
        lines(
            CATALOG, table(), *(task(str(n), vote=VOTE, knowledge="x" * 1000) for n in range(2000))
        )
    )
    done = shell(f"COLLAPSE {many} | head -n 1")
    assert done.returncode == 0
    assert done.stderr == b""


def test_missing_file_is_one_line():
    done = run("collapse", "/nowhere/at all.jsonl")
    assert done.status == 1
    assert "no such file" in one_line(done.err)


def test_lines_broken_over_many_are_told_in_short():
    pretty = b"\n".join(
        orjson.dumps(orjson.loads(line), option=orjson.OPT_INDENT_2) for line in GOOD.splitlines()
    )
    done = run("collapse", stdin=pretty * 20)
    assert done.status == 1
    assert "Traceback" not in done.err
    assert len(done.err.splitlines()) < 40


def test_view_without_stdout_is_one_line():
    script = " ".join([sys.executable, "-m", "stages", "show", ">&-"])
    done = shell(script)
    assert done.returncode == 1
    assert "stdout is closed" in one_line(done.stderr.decode())


def test_terminal_that_knows_few_characters():
    asked = GOOD.replace(b"how many?", "多少？".encode())
    done = run("show", stdin=asked, env={"PYTHONIOENCODING": "ascii"})
    assert (done.status, done.err) == (0, "")
    assert rb"\u591a\u5c11" in done.out
    assert done.out.isascii()


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (["show", "--why"], "winnow show"),
        (["vote", "--rounds"], "winnow vote"),
        (["nope"], "winnow"),
    ],
)
def test_wrong_command_line_names_the_help_to_read(argv, named):
    done = run(*argv)
    assert done.status == 2
    assert f"`{named} --help`" in one_line(done.err)


@pytest.mark.parametrize("argv", [["collapse", "--nope"], ["nope"], ["collapse", "--tasks", ","]])
def test_wrong_command_line_is_status_2(argv):
    done = run(*argv, stdin=GOOD)
    assert done.status == 2
    one_line(done.err)


def test_interrupt_is_130_and_one_line():
    process = subprocess.Popen(
        ARGV,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        cwd=ROOT,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(GOOD + lines(task("2", vote=VOTE)))
    process.stdin.flush()
    first = [process.stdout.readline() for _ in range(4)]
    process.send_signal(signal.SIGINT)
    _out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "interrupted" in err.decode().splitlines()[-1]
    assert "Traceback" not in err.decode()
    assert orjson.loads(first[3])["task_id"] == "2", "what was finished had been written"


def test_output_file_is_renamed_into_place(tmp_path):
    target = tmp_path / "out.jsonl"
    target.write_text("old")
    assert run("collapse", "-o", str(target), stdin=b"nonsense\n").status == 1
    assert run("collapse", "-o", str(target), stdin=GOOD).status == 0
    assert orjson.loads(target.read_bytes().splitlines()[2])["collapse"]["keys"] == ["a.csv"]
    assert [p.name for p in tmp_path.iterdir()] == ["out.jsonl"]
    done = run("collapse", "-o", str(tmp_path / "no" / "where.jsonl"), stdin=GOOD)
    assert done.status == 1
    one_line(done.err)


def test_tasks_works_on_some_and_passes_the_others():
    many = GOOD + lines(task("2", vote=VOTE), task("3"))
    done = run("collapse", "--tasks", "2", stdin=many)
    assert done.status == 0
    assert ["collapse" in t for t in done.tasks] == [False, True, False]
    done = run("collapse", "--tasks", "2,9", stdin=many)
    assert done.status == 1
    assert "no task 9" in done.err


def test_tasks_of_an_earlier_stage_are_no_fault_of_a_later_one():
    many = lines(CATALOG, table(), *(task(name) for name in "123"))
    voted = run("vote", "-q", "--tasks", "2", stdin=many)
    done = run("collapse", stdin=voted.out)
    assert done.status == 0
    assert ["collapse" in t for t in done.tasks] == [False, True, False]
    assert "2 tasks are passed on as they came: vote" in done.err
    assert "run `winnow" not in done.err
    chosen = run("collapse", "--tasks", "1", stdin=voted.out)
    assert (chosen.status, "run `winnow vote` first" in chosen.err) == (1, True)
    never = run("collapse", stdin=many)
    assert (never.status, never.err.count("run `winnow vote` first")) == (1, 3)


@pytest.mark.parametrize("stage", ["vote", "collapse", "show", "refine", "prompt"])
@pytest.mark.parametrize("name", ["products.csv", "many rows.jsonl", "shop.db", "folder"])
def test_data_in_place_of_lines_is_one_line_that_names_scan(tmp_path, stage, name):
    path = tmp_path / name
    if name == "folder":
        path.mkdir()
    else:
        rows = {"products.csv": b"id,name\n1,x\n", "many rows.jsonl": b'{"id":1}\n'}
        path.write_bytes(rows.get(name, b"SQLite format 3\0" + bytes(range(256))) * 200)
    done = run(stage, name, cwd=tmp_path)
    assert (done.status, done.out) == (1, b"")
    assert f"run `winnow scan {shlex.quote(name)}` first" in one_line(done.err)


def test_data_on_stdin_and_broken_lines_before_good_ones():
    for stage in ("vote", "scan"):
        assert "winnow scan PATH" in one_line(run(stage, stdin=b"id,name\n1,x\n" * 20).err)
    done = run("collapse", stdin=b"nonsense\n" * 3 + GOOD)
    assert (done.status, "collapse" in done.tasks[0]) == (1, True)
    assert done.err.count("not JSON") == 3
    assert "the line is cut off" in run("collapse", stdin=GOOD[:40]).err


@pytest.mark.parametrize("group", [(), ("evaluate",), ("cache",)])
def test_group_alone_prints_its_help_as_it_is(group):
    done = run(*group)
    assert (done.status, done.out) == (2, b"")
    assert done.err.encode() == run(*group, "--help").out


def test_safe_answers_are_in_the_file_where_no_call_came_through(tmp_path):
    target = tmp_path / "voted.jsonl"
    model = ["--model", "openai/test", "--base-url", "http://127.0.0.1:1/v1", "--no-cache"]
    asked = lines(CATALOG, table(), task("1"), task("2"))
    done = run("vote", *model, "--retries", "0", "-o", str(target), stdin=asked)
    assert done.status == 3
    assert "no call to openai/test came through; the safe answers were written" in done.err
    written = [orjson.loads(line) for line in target.read_bytes().splitlines()]
    assert [t["vote"]["relevant_tables"] for t in written if t["kind"] == "task"] == [["a"]] * 2


def test_task_without_question_or_table_gets_the_top_level_error_and_a_rerun_clears_it():
    blank = lines(CATALOG, table(), task("1", question=" "), task("2"))
    done = run("vote", stdin=blank)
    assert done.status == 1
    assert done.tasks[0]["error"]["stage"] == "vote"
    assert "vote" in done.tasks[1]
    later = run("collapse", stdin=done.out)
    assert "collapse" not in later.tasks[0]
    mended = done.out.replace(b'"question":" "', b'"question":"how many?"')
    again = run("vote", stdin=mended)
    assert again.status == 0
    assert "error" not in again.tasks[0]


def test_failures_of_one_kind_are_one_line_and_a_count_that_fits_a_terminal():
    def answer(request, n):
        return obliging(request, n) if "good" in str(request) else Say(status=400, text="no " * 99)

    tasks = [{**task("0"), "question": "a good one"}, *(task(str(n)) for n in range(1, 41))]
    with LlmServer(answer) as server:
        model = ["--model", "openai/test", "--base-url", server.base_url, "--no-cache"]
        done = run("vote", "-q", "--rounds", "1", *model, stdin=lines(CATALOG, table(), *tasks))
    first, count = done.err.splitlines()
    assert "none of 1 rounds came through" in first
    assert "winnow vote: 39 more like: none of 1 rounds came through" in count
    assert len(count) <= 120
    assert done.status == 1


def test_schema_is_printed():
    done = run("collapse", "--schema")
    assert orjson.loads(done.out)["title"] == "Collapse"


def test_same_input_same_bytes():
    assert run("collapse", stdin=GOOD).out == run("collapse", stdin=GOOD).out


def test_rerun_replaces_its_own_section_only():
    once = run("collapse", stdin=GOOD).out
    assert run("collapse", stdin=once).out == once


def test_starting_is_quick_beside_python_with_click_and_orjson():
    """Reported as a ratio; a noisy machine must not fail it, so only the gross case does."""

    def best(argv):
        times = []
        for _ in range(5):
            start = time.perf_counter()
            subprocess.run(
                argv, input=GOOD, capture_output=True, env=environment(), cwd=ROOT, check=True
            )
            times.append(time.perf_counter() - start)
        return min(times)

    bare = best([sys.executable, "-c", "import click, orjson"])
    ratio = best(ARGV) / bare
    print(f"collapse / bare = {ratio:.2f}")
    assert ratio < 4


def test_hostile_text_reaches_no_terminal(tmp_path):
    evil = task("1\x1b[31m\u202e", vote=VOTE)
    done = run("show", stdin=lines(CATALOG, table("a\x1b]0;x\x07"), evil))
    assert "\x1b" not in done.out.decode()
    assert "\u202e" not in done.out.decode()


def test_bin_is_the_same_command_from_any_folder(tmp_path):
    link = tmp_path / "collapse"
    link.symlink_to(ROOT / "bin" / "collapse")
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    for path in (ROOT / "bin" / "collapse", link):
        done = subprocess.run(
            [path], input=GOOD, capture_output=True, cwd=tmp_path, env=env, check=False
        )
        assert done.stdout == run("collapse", stdin=GOOD).out
    assert Path(link).is_symlink()
    whole = [ROOT / "bin" / "winnow", "collapse"]
    done = subprocess.run(
        whole, input=GOOD, capture_output=True, cwd=tmp_path, env=env, check=False
    )
    assert done.stdout == run("collapse", stdin=GOOD).out


def test_fault_in_one_task_is_one_line_and_disturbs_no_other(tmp_path):
    """A stage that fails on one task, run through the same wrapper as every stage."""
    code = (
        "import sys\nfrom stages.core.runtime import runner\nfrom stages.core.lines.lines import LineReader, Output\n"
        "from stages.core.runtime.stage import Stage\n"
        "def collapse(task, tables):\n"
        "    if task['task_id'] == '1': raise TypeError('boom')\n"
        "    return {'keys': [], 'shown': {'full': [], 'names': [], 'line': []}, 'by': []}\n"
        "plan = runner.RunPlan(Stage(collapse), {})\n"
        "items = LineReader().read([(sys.stdin.buffer, 'stdin')])\n"
        "runner.run_now(plan, items, Output(sys.stdout.buffer, 'stdout'))\n"
        "from stages.core import diagnostics\nsys.exit(diagnostics.exit_code())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=GOOD + lines(task("2", vote=VOTE)),
        capture_output=True,
        env=environment(),
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 1
    assert "1: unexpected TypeError: boom" in one_line(done.stderr.decode())
    first, second = [orjson.loads(line) for line in done.stdout.splitlines()][-2:]
    assert "collapse" not in first
    assert "collapse" in second
