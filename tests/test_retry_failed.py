"""``--retry-failed``: who made a task is who makes it again."""

from __future__ import annotations

import pytest

from tests.helpers.llm_server import LlmServer, Say
from tests.helpers.tools import run
from tests.helpers.vote_lines import CATALOG, lines, table, task


@pytest.fixture(scope="module")
def failed() -> bytes:
    """Two tasks, both of which a model failed on."""
    with LlmServer(lambda request, n: Say(status=401, text="no")) as server:
        asked = ["vote", "--model", "openai/x", "--base-url", server.base_url, "--no-cache"]
        done = run(*asked, stdin=lines(CATALOG, table(), task(), task("2")))
    assert done.status == 3
    assert done.tasks[0]["vote"]["meta"]["model"] == "openai/x"
    return done.out


def test_a_task_of_a_model_is_not_made_by_the_judge_unasked(failed: bytes) -> None:
    done = run("vote", "--retry-failed", stdin=failed)
    assert done.status == 2
    assert done.out == failed
    assert "its last run asked openai/x, and no --model is given" in done.err
    assert "--model builtin" in done.err


def test_the_judge_makes_it_where_it_is_named(failed: bytes) -> None:
    done = run("vote", "--retry-failed", "--model", "builtin", stdin=failed)
    assert done.status == 0
    assert [one["vote"]["meta"]["model"] for one in done.tasks] == ["builtin"] * 2
    done = run("vote", "--retry-failed", stdin=failed, env={"WINNOW_MODEL": "builtin"})
    assert done.status == 0


def test_the_model_makes_it_where_it_is_named_again(failed: bytes) -> None:
    with LlmServer() as server:
        asked = ["vote", "--model", "openai/x", "--base-url", server.base_url, "--no-cache"]
        done = run(*asked, "--retry-failed", stdin=failed)
    assert done.status == 0
    assert [one["vote"]["error"] for one in done.tasks] == ["", ""]


def test_tasks_that_have_not_failed_are_passed_on_in_silence(failed: bytes) -> None:
    good = run("vote", stdin=lines(CATALOG, table(), task()))
    done = run("vote", "--retry-failed", stdin=good.out)
    assert (done.status, done.out) == (0, good.out)
