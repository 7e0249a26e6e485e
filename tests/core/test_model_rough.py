"""What servers, disks and command lines get wrong, and what must not come of it."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stages.core.errors import CallFailed, DataError, Unreachable, UsageError
from stages.core.model import Client, ModelOptions, Request
from stages.core.model.cache import FILE, Cache
from stages.core.model.options import model_options, scrub
from stages.core.model.structured import Unreadable, value, without_thoughts
from tests.helpers.llm_server import LlmServer, Say, obliging
from tests.helpers.model_asking import FINE, REQUEST, ask, asking
from tests.helpers.tools import run

NONSENSE = [
    b"[]", b"null", b"\xff\xfe", b'{"choices": []}', b'{"choices": [null]}', b'{"choices": "x"}',
    b'{"choices": [{"message": {"content": 5}}]}', b'{"choices": [{"message": {"tool_calls": [{}]}}]}',
    b'{"choices": [{"message": {"content": "{}"}}], "usage": {"prompt_tokens": "many"}}',
    b'{"error": {"message": null}}',
]  # fmt: skip


@pytest.mark.parametrize("raw", NONSENSE)
def test_a_malformed_answer_is_a_failed_call_and_nothing_worse(raw: bytes) -> None:
    with asking([Say(raw=raw)]) as (_, options), pytest.raises(Unreachable):
        ask(replace(options, retries=1))


def test_a_malformed_answer_is_sent_again() -> None:
    with asking([Say(raw=b'{"choices": [null]}'), FINE]) as (server, options):
        assert ask(options).data == {"a": 1}
    assert len(server.requests) == 2


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999/v1", "http://[::1/v1", "http://", "ftp://x", "x:80"])  # fmt: skip
def test_an_address_that_cannot_be_is_said_at_once(url: str) -> None:
    with pytest.raises(UsageError, match="no http or https address"):
        model_options({"model": "openai/x", "base_url": url})


def test_a_model_without_a_name_is_no_model() -> None:
    with pytest.raises(UsageError, match="empty"):
        model_options({"model": " "})


@pytest.mark.parametrize("url", ["http://a..b/v1", f"http://{'x' * 300}/v1"])
def test_a_host_that_cannot_be_is_not_tried_again_and_again(url: str) -> None:
    with pytest.raises(Unreachable):
        ask(ModelOptions("openai/x", url, wait=5.0))


def test_user_and_password_in_the_address_go_out_instead_of_a_key() -> None:
    with asking([FINE]) as (server, options):
        url = (options.base_url or "").replace("http://", "http://me:hunter22@")
        ask(replace(options, base_url=url))
    assert server.headers[0]["authorization"].startswith("Basic ")


@pytest.mark.parametrize("status", [400, 500])
def test_a_model_without_a_system_role_is_told_by_the_user(status: int) -> None:
    def answer(request: dict[str, Any], n: int) -> Say:
        if request["messages"][0]["role"] == "system":
            return Say(status=status, text="System role not supported")
        return FINE

    with asking(answer) as (server, options):
        assert ask(options).data == {"a": 1}
    assert server.requests[-1]["messages"] == [
        {"role": "user", "content": "Be brief.\n\nHow many?"}
    ]
    assert len(server.requests) == 2


def test_a_reasoning_model_that_takes_no_temperature_is_sent_none() -> None:
    def answer(request: dict[str, Any], n: int) -> Say:
        if "temperature" in request:
            return Say(status=400, text="Unsupported value: 'temperature' does not support 0.8")
        return FINE

    with asking(answer) as (server, options):
        assert ask(options, replace(REQUEST, temperature=0.8)).data == {"a": 1}
    assert len(server.requests) == 2


def test_a_temperature_that_is_only_too_high_is_not_taken_away() -> None:
    answer = Say(status=400, text="temperature must be at most 2")
    with asking([answer]) as (server, options), pytest.raises(CallFailed):
        ask(options, replace(REQUEST, schema=None, temperature=3.0))
    assert all(request["temperature"] == 3.0 for request in server.requests)


def fits(_: Any) -> str:
    """Nothing is wrong with any value."""
    return ""


@pytest.mark.parametrize("text", ['{"a":' * 3000 + "1" + "}" * 3000, "{'a':" * 900 + "1" + "}" * 900, "[" * 400 + "]" * 400])  # fmt: skip
def test_a_value_nested_too_deep_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        value(text, fits)


@pytest.mark.parametrize("text", ["use <think> here", "use <think>x</think> here", "x</think> here"])  # fmt: skip
def test_a_tag_inside_of_a_string_is_no_thought(text: str) -> None:
    assert value(json.dumps({"a": text}), fits) == {"a": text}


def test_a_model_that_begins_to_think_again_and_again_is_read_in_no_time() -> None:
    assert without_thoughts("<think>" * 100_000) == ""
    assert without_thoughts("<think>" * 50_000 + "</think>{}") == "{}"


def test_keys_deep_in_the_options_are_neither_kept_nor_shown() -> None:
    hidden = {
        "extra_body": {"api_token": "deep-secret-1", "seed": 1},
        "parts": [{"key": "deep-secret-2"}],
    }
    options = ModelOptions("openai/x", options=hidden)
    assert options.public() == {"extra_body": {"seed": 1}, "parts": [{}]}
    assert scrub("no deep-secret-1, no deep-secret-2", hidden) == "no [key], no [key]"


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A folder whose cache has its first pages and nothing sensible after them."""
    with LlmServer() as server:
        for number in range(40):
            request = Request(({"role": "user", "content": f"{number}" * 500},), REQUEST.schema)
            ask(ModelOptions("openai/x", server.base_url, cache=tmp_path), request)
    path = tmp_path / FILE
    raw = path.read_bytes()
    path.write_bytes(raw[:8192] + b"\xaa" * (len(raw) - 8192))
    return tmp_path


def test_a_damaged_cache_is_one_line_to_every_command(damaged: Path) -> None:
    for argv in (["ls"], ["stats"], ["export"], ["clear", "--all"]):
        done = run("cache", *argv, "--cache", str(damaged))
        assert done.status == 1, argv
        assert done.err.count("\n") == 1, done.err
        assert "damaged" in done.err


def test_a_damaged_cache_stops_no_asking(damaged: Path) -> None:
    with LlmServer() as server:
        assert ask(ModelOptions("openai/x", server.base_url, cache=damaged)).calls == 1
    store = Cache(damaged)
    assert store.mean_out("reply") is None
    store.close()


def test_a_cache_in_a_folder_that_cannot_be_written_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LlmServer() as server:
        options = ModelOptions("openai/x", server.base_url, cache=tmp_path)
        ask(options)
        before = {path: path.read_bytes() for path in tmp_path.iterdir()}
        monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
        assert ask(options).cached
        assert not ask(options, replace(REQUEST, sample=1)).cached
        store = Cache(tmp_path)
        with pytest.raises(DataError, match="cannot be changed"):
            store.remove(["sha256:0"])
        store.close()
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_log_on_a_full_disk_costs_no_answer() -> None:
    with asking([FINE]) as (_, options):
        assert ask(replace(options, log=Path("/dev/full"))).data == {"a": 1}


def test_offline_a_round_that_is_missing_is_named_although_the_others_do(tmp_path: Path) -> None:
    lines = run("scan", "examples/task_15").out
    with LlmServer(obliging) as server:
        asked = ["vote", "--model", "openai/x", "--base-url", server.base_url]
        asked += ["--cache", str(tmp_path / "cache")]
        assert run(*asked, stdin=lines).status == 0
    with sqlite3.connect(tmp_path / "cache" / FILE) as database:
        [gone] = database.execute("SELECT min(key) FROM replies").fetchone()
        database.execute("DELETE FROM replies WHERE key = ?", (gone,))
    database.close()
    done = run(*asked, "--offline", "--log", str(tmp_path / "log"), stdin=lines)
    assert done.status == 1
    assert f"no kept reply to request {gone}" in done.err
    assert done.tasks[0]["vote"]["n_rounds_ok"] == 4
    logged = map(json.loads, (tmp_path / "log").read_bytes().splitlines())
    assert {line["request"]: line["outcome"] for line in logged}[gone] == "missing"


def test_a_request_that_is_asked_again_in_vain_is_one_failure() -> None:
    async def again(options: ModelOptions) -> list[int]:
        client, seen = Client(options), []
        for sample in (1, 0, 0, 0):
            with suppress(CallFailed):
                await client.ask(replace(REQUEST, sample=sample))
            seen.append(client.usage.failed)
        await client.close()
        return seen

    refused = Say(status=401, text="no")
    with asking([FINE, refused, refused, FINE]) as (_, options):
        assert asyncio.run(again(options)) == [0, 1, 1, 0]
