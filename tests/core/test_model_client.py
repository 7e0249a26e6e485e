"""Replies of a real server on loopback that fails as it is told: mended, tried again, refused."""

from __future__ import annotations

import asyncio
import json
import re
import time
from dataclasses import replace
from typing import Any

import pytest

from stages.core.errors import (
    CallFailed,
    ReplyCut,
    ReplyInvalid,
    Unreachable,
)
from stages.core.model import Client, ModelOptions
from tests.helpers.llm_server import Say, schema_of
from tests.helpers.model_asking import FINE, REQUEST, SCHEMA, ask, ask_all, asking


def test_a_reply_comes_checked_with_its_tokens() -> None:
    with asking([FINE]) as (server, options):
        reply = ask(options)
    assert (reply.data, reply.tokens_in, reply.tokens_out) == ({"a": 1}, 10, 3)
    assert (reply.calls, reply.cached, reply.usd) == (1, False, None)
    [sent] = server.requests
    assert sent["messages"] == [dict(message) for message in REQUEST.messages]
    assert sent["response_format"]["json_schema"] == {
        "name": "number",
        "schema": SCHEMA,
        "strict": True,
    }
    assert set(sent) == {"model", "messages", "response_format"}


def test_settings_reach_the_server_and_a_request_overrules_them() -> None:
    with asking([FINE]) as (server, options):
        options = replace(options, temperature=0.7, options={"top_p": 0.5})
        ask(options)
        ask(options, replace(REQUEST, temperature=0.0, max_tokens=99))
    first, second = server.requests
    assert (first["temperature"], first["top_p"], first.get("max_tokens")) == (0.7, 0.5, None)
    assert (second["temperature"], second["max_tokens"]) == (0.0, 99)


def test_plain_text_is_asked_for_and_read_without_a_schema() -> None:
    with asking(["<think>hm</think>Seven."]) as (server, options):
        reply = ask(options, replace(REQUEST, schema=None))
    assert reply.data == "Seven."
    assert "response_format" not in server.requests[0]


PASSING = {
    "408": Say(status=408),
    "409": Say(status=409),
    "429": Say(status=429),
    "500": Say(status=500),
    "503": Say(status=503),
    "dropped": Say(drop=True),
    "torn": Say(data={"a": 1}, torn=True),
    "no JSON": Say(raw=b"<html>oops</html>"),
    "an error in a 200": Say(raw=b'{"error": {"message": "overloaded", "code": 529}}'),
    "no choices": Say(raw=b'{"choices": []}'),
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING.keys())
def test_a_failure_that_may_pass_is_sent_again(fault: Say) -> None:
    with asking([fault, fault, FINE]) as (server, options):
        reply = ask(options)
    assert reply.data == {"a": 1}
    assert reply.calls == 1
    assert len(server.requests) == 3


def test_retries_end() -> None:
    with (
        asking([Say(status=503, text="busy")]) as (server, options),
        pytest.raises(Unreachable, match="busy"),
    ):
        ask(options)
    assert len(server.requests) == 5


@pytest.mark.parametrize(
    ("status", "hint"), [(401, "key"), (403, "key"), (404, "--model"), (418, "teapot")]
)
def test_a_refusal_is_not_sent_again(status: int, hint: str) -> None:
    with asking([Say(status=status, text="teapot")]) as (server, options):
        [error] = asyncio.run(ask_all(options, REQUEST))
    assert isinstance(error, Unreachable)
    assert hint in str(error)
    assert len(server.requests) == 1


def test_retry_after_is_waited_for() -> None:
    with asking([Say(status=429, headers={"Retry-After": "0.4"}), FINE]) as (_, options):
        start = time.monotonic()
        ask(options)
        assert time.monotonic() - start >= 0.4


def test_a_wait_of_hours_is_a_refusal() -> None:
    with (
        asking([Say(status=429, headers={"Retry-After": "7200"})]) as (server, options),
        pytest.raises(Unreachable),
    ):
        ask(options)
    assert len(server.requests) == 1


MENDED = {
    "wrong schema": ('{"b": 2}', "'a' is a required property|Additional properties"),
    "wrong type": ('{"a": "one"}', "not of type 'integer'"),
    "broken": ('{"a":', "no end"),
    "prose": ("one", "no JSON value"),
    "empty": ("", "empty"),
}


@pytest.mark.parametrize(("text", "why"), MENDED.values(), ids=MENDED.keys())
def test_a_bad_reply_goes_back_once_with_the_error(text: str, why: str) -> None:
    with asking([Say(text=text, tokens=(5, 2)), FINE]) as (server, options):
        reply = ask(options)
    assert (reply.data, reply.calls, reply.tokens_in, reply.tokens_out) == ({"a": 1}, 2, 15, 5)
    messages = server.requests[1]["messages"]
    assert messages[:2] == server.requests[0]["messages"]
    assert [m["content"] for m in messages[2:-1]] == ([text] if text else [])
    assert re.search(why, messages[-1]["content"])


def test_two_bad_replies_are_no_answer() -> None:
    with asking(['{"b": 1}']) as (server, options), pytest.raises(ReplyInvalid):
        ask(options)
    assert len(server.requests) == 2


def test_an_empty_text_is_no_answer_either() -> None:
    with asking([""]) as (server, options), pytest.raises(ReplyInvalid, match="empty"):
        ask(options, replace(REQUEST, schema=None))
    assert len(server.requests) == 2


@pytest.mark.parametrize("after", ["", "\n" * 500, "\nLet me explain: the"])
def test_a_cut_reply_counts_where_its_value_is_whole(after: str) -> None:
    with asking([Say(text=f'{{"a": 1}}{after}', cut=True)]) as (server, options):
        assert ask(options).data == {"a": 1}
    assert len(server.requests) == 1


@pytest.mark.parametrize("text", ['{"a": 1', '{"a": 1}, {"a": ', '<think>{"a": 1} or', ""])
def test_a_cut_reply_is_never_used_where_its_value_is_not(text: str) -> None:
    said = Say(text=text, cut=True, extra={"reasoning_content": '{"a": 1}'})
    with asking([said]) as (server, options), pytest.raises(ReplyCut):
        ask(options)
    assert len(server.requests) == 1


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_a_cut_reply_gets_more_room_once_where_there_was_a_limit(name: str) -> None:
    with asking([Say(text='{"a"', cut=True), FINE]) as (server, options):
        if name == "max_tokens":
            reply = ask(options, replace(REQUEST, max_tokens=10))
        else:
            reply = ask(replace(options, options={name: 10}))
    assert [request[name] for request in server.requests] == [10, 40]
    assert reply.calls == 2


@pytest.mark.parametrize("refused", [1, 2, 3])
def test_the_form_of_replies_is_found_by_trying(refused: int) -> None:
    """A server that refuses json_schema, then tools, then any response_format."""

    def answer(request: dict[str, Any], n: int) -> Say:
        form = request.get("response_format", {}).get("type") or (
            "tool" if request.get("tools") else ""
        )
        if form in ["json_schema", "tool", "json_object"][:refused]:
            return Say(status=400, text=f"{form} is not supported")
        return FINE

    async def twice(options: ModelOptions) -> None:
        client = Client(options)
        first, second = [await client.ask(replace(REQUEST, sample=n)) for n in range(2)]
        assert first.data == second.data == {"a": 1}
        assert first.calls == 1
        await client.close()

    with asking(answer) as (server, options):
        asyncio.run(twice(options))
    assert len(server.requests) == refused + 2  # what was learnt is not tried again
    last = server.requests[-1]
    if refused == 1:
        assert schema_of(last) == SCHEMA
    else:
        assert json.dumps(SCHEMA, separators=(",", ":")) in last["messages"][-1]["content"]
        assert last["messages"][0] == REQUEST.messages[0]


@pytest.mark.parametrize("status", [400, 404, 422, 500, 501])
def test_a_form_may_be_refused_with_any_status_that_names_it(status: int) -> None:
    def answer(request: dict[str, Any], n: int) -> Say:
        refused = Say(status=status, text="No endpoints found that support structured outputs")
        return refused if "response_format" in request else FINE

    with asking(answer) as (server, options):
        assert ask(options).data == {"a": 1}
    assert len(server.requests) == 2


def test_a_request_that_is_refused_in_every_form_fails_by_itself() -> None:
    with (
        asking([Say(status=400, text="too long")]) as (server, options),
        pytest.raises(CallFailed, match="too long"),
    ):
        ask(options)
    assert len(server.requests) == 4


def test_after_a_proven_form_a_refused_request_is_not_tried_in_others() -> None:
    with asking([FINE, Say(status=400, text="too long")]) as (server, options):
        options = replace(options, concurrency=1)
        found = asyncio.run(ask_all(options, REQUEST, replace(REQUEST, sample=1)))
    assert isinstance(found[1], CallFailed)
    assert len(server.requests) == 2
