"""winnow ask: what the whole pipe gives, in one call, from whatever the source is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.llm_server import LlmServer
from tests.helpers.tools import Done, pipe, run

EXAMPLE = "examples/orders"
BY = {
    "vote": ("vote",),
    "link": ("link",),
    "refine": ("plan", "prune", "summarize", "explore", "refine"),
}


def through_a_pipe(by: str) -> Done:
    stages = [(name,) for name in (*BY[by], "collapse", "describe", "prompt")]
    return pipe(run("scan", EXAMPLE).out, *stages)


@pytest.mark.parametrize("by", BY)
def test_the_lines_are_those_of_the_pipe(by: str) -> None:
    done = run("ask", EXAMPLE, "--by", by, "--out", "lines")
    assert (done.status, done.lines) == (0, through_a_pipe(by).lines)


def test_what_goes_out() -> None:
    (task,) = through_a_pipe("vote").tasks
    assert run("ask", EXAMPLE).out == run("prompt", "--text", stdin=through_a_pipe("vote").out).out
    assert json.loads(run("ask", EXAMPLE, "--out", "messages").out) == task["prompt"]["messages"]
    tables = run("ask", "-q", EXAMPLE, "--out", "tables")
    assert tables.out.decode().split() == task["collapse"]["shown"]["full"]
    assert tables.err == ""


def test_a_question_of_a_folder_a_file_and_lines(tmp_path: Path) -> None:
    question = ("Which supplier ships fastest?", "--evidence", "days, not hours", "--out", "lines")
    lines = tmp_path / "s.jsonl"
    assert run("scan", EXAMPLE, "-o", str(lines)).status == 0
    data = tmp_path / "people.csv"
    data.write_text("name,city\nAda,Oslo\nBo,Bergen\n")
    for source in (EXAMPLE, str(lines), str(data)):
        done = run("ask", source, *question)
        (task,) = done.tasks
        assert (done.status, task["question"], task["evidence"]) == (0, question[0], question[2])
        assert "prompt" in task
    again = run("ask", str(lines), "--out", "tables")
    assert again.out == run("ask", EXAMPLE, "--out", "tables").out


def test_the_prompt_has_the_style_and_the_budget_asked_for() -> None:
    given = ("--style", "chat", "--recall", "0.97", "--budget", "1500")
    chat = run("ask", EXAMPLE, *given, "--out", "lines")
    (task,) = chat.tasks
    assert [message["role"] for message in task["prompt"]["messages"]] == ["user"]
    assert task["prompt"]["tokens"] <= 1500


def test_a_model_votes_where_one_is_named() -> None:
    with LlmServer() as server:
        done = run(
            "ask", EXAMPLE, "--out", "lines", "--model", "openai/x", "--base-url", server.base_url,
            env={"OPENAI_API_KEY": "none"},
        )  # fmt: skip
        assert len(server.requests) == 5
    assert done.tasks[0]["vote"]["meta"]["model"] == "openai/x"


@pytest.mark.parametrize(
    ("args", "status", "words"),
    [
        (["/no/such", "q?"], 1, "no such folder"),
        ([], 2, "Missing argument 'SOURCE'"),
        ([EXAMPLE, "q?", "--by", "luck"], 2, "'luck' is not one of"),
    ],
)
def test_what_is_wrong_is_said(args: list[str], status: int, words: str) -> None:
    done = run("ask", *args)
    assert (done.status, done.out) == (status, b"")
    assert words in done.err


def test_several_tasks_have_no_one_prompt(tmp_path: Path) -> None:
    lines = tmp_path / "two.jsonl"
    lines.write_bytes(run("scan", EXAMPLE, "examples/task_15").out)
    done = run("ask", str(lines), "--out", "tables")
    assert (done.status, done.out) == (2, b"")
    assert "2 tasks, and only --out lines has room for all" in done.err
    assert len(run("ask", str(lines), "--out", "lines").tasks) == 2
    unnamed = run("ask", str(lines), "how many?", "--out", "tables")
    assert (unnamed.status, "--catalog: orders, task_15" in unnamed.err) == (2, True)
    assert run("ask", str(lines), "how many?", "--catalog", "orders", "--out", "lines").status == 0


def test_a_model_that_is_away_is_told_by_the_status_too() -> None:
    away = ("--model", "openai/x", "--base-url", "http://127.0.0.1:9", "--retries", "0")
    done = run("ask", EXAMPLE, *away, "--out", "tables", env={"OPENAI_API_KEY": "none"})
    assert done.status == 3
    assert "no call to openai/x came through" in done.err
    assert done.out


def test_a_folder_that_asks_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("n\n1\n")
    done = run("ask", str(tmp_path))
    assert (done.status, done.out) == (1, b"")
    assert "no question; give one after SOURCE" in done.err
