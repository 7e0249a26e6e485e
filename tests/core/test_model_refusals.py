"""What a provider has refused for good is not asked again in the same run."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import orjson
import pytest

from stages.core.errors import CallFailed, ModelError
from stages.core.model import Client, ModelOptions
from tests.helpers.llm_server import LlmServer, Say, obliging
from tests.helpers.model_asking import FINE, REQUEST, ask, ask_all, asking
from tests.helpers.tools import Done, run
from tests.helpers.vote_lines import CATALOG, lines, table, task

LONG = "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens."


def vote(say: Say, *options: str) -> tuple[Done, int]:
    """Two tasks, of which the second is answered by ``say`` alone; and how often it was asked."""

    def answer(request: dict[str, Any], n: int) -> Say:
        return say if "the bad one" in str(request["messages"]) else obliging(request, n)

    asked = lines(CATALOG, table(), task("1"), {**task("2"), "question": "the bad one"})
    with LlmServer(answer) as server:
        model = ["--model", "openai/test", "--base-url", server.base_url, "--no-cache"]
        done = run("vote", *model, *options, stdin=asked)
        times = sum("the bad one" in str(request["messages"]) for request in server.requests)
    return done, times


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 422])
def test_refills_of_a_vote_do_not_ask_what_is_refused_for_certain(status: int) -> None:
    done, times = vote(Say(status=status, text="no such thing"), "--concurrency", "1")
    assert times == 1
    assert done.status == 1
    good, bad = done.tasks
    assert good["vote"]["n_rounds_ok"] == 5
    assert bad["vote"]["per_table"] == {"a": True}, "failure keeps tables"
    assert f"HTTP {status}: no such thing" in bad["vote"]["error"]


def test_rounds_that_are_under_way_at_once_are_all() -> None:
    assert vote(Say(status=403, text="no"))[1] == 5


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_refusals_that_may_pass_are_asked_again(status: int) -> None:
    done, times = vote(Say(status=status, text="later"), "--rounds", "1", "--retries", "0")
    assert times == 3, "one batch and two more"
    assert done.tasks[1]["vote"]["per_table"] == {"a": True}


def test_one_refusal_beside_answers_to_the_same_is_asked_again() -> None:
    """One of several servers behind an address may be out of order."""

    def answer(request: dict[str, Any], n: int) -> Say:
        return (
            Say(status=404, text="no such model")
            if n == 0
            else replace(obliging(request, n), delay=0.2)
        )

    with LlmServer(answer) as server:
        model = ["--model", "openai/test", "--base-url", server.base_url, "--no-cache"]
        done = run("vote", *model, stdin=lines(CATALOG, table(), task()))
    assert (done.status, done.tasks[0]["vote"]["n_rounds_ok"]) == (0, 5)
    assert len(server.requests) == 6


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (400, LONG),
        (400, "prompt is too long: 210000 tokens > 200000 maximum"),
        (400, "the request exceeds the available context size"),
        (400, "The input token count exceeds the maximum number of tokens allowed"),
        (413, "entity too large"),
    ],
)
def test_what_is_too_long_is_tried_in_no_other_form_and_says_what_to_do(status, text) -> None:
    with asking([Say(status=status, text=text)]) as (server, options):
        with pytest.raises(ModelError, match="--max-tokens"):
            ask(options)
        assert len(server.requests) == 1


def test_samples_share_a_refusal_and_other_requests_do_not() -> None:
    def answer(request: dict[str, Any], n: int) -> Say:
        return Say(status=400, text=LONG) if "How many?" in str(request) else FINE

    other = replace(REQUEST, messages=({"role": "user", "content": "How few?"},))
    with asking(answer) as (server, options):
        options = replace(options, concurrency=1)
        found = asyncio.run(ask_all(options, REQUEST, replace(REQUEST, sample=1), other))
        assert len(server.requests) == 2
    assert [type(each).__name__ for each in found[:2]] == ["CallFailed"] * 2
    assert str(found[0]) == str(found[1])
    assert found[2].data == {"a": 1}


def test_refusal_of_a_mending_call_says_nothing_of_the_request() -> None:
    async def twice(options: ModelOptions) -> Any:
        client = Client(options)
        try:
            with pytest.raises(CallFailed, match="maximum context"):
                await client.ask(REQUEST)
            return await client.ask(REQUEST)
        finally:
            await client.close()

    said = [Say(text="nonsense"), Say(status=400, text=LONG), FINE]
    with asking(said) as (server, options):
        assert asyncio.run(twice(options)).data == {"a": 1}
        assert len(server.requests) == 3


def test_log_names_what_was_not_sent(tmp_path) -> None:
    log = tmp_path / "log.jsonl"
    vote(Say(status=401, text="no"), "--concurrency", "1", "--log", str(log))
    outcomes = [orjson.loads(line)["outcome"] for line in log.read_bytes().splitlines()]
    assert outcomes.count("http 401") == 1
    assert outcomes.count("refused before") == 4
