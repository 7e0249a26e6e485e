"""What the client keeps: replies, a log, and never a key."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stages.core.errors import (
    CallFailed,
    ModelError,
    NotCached,
    ReplyCut,
    ReplyInvalid,
)
from stages.core.model import Client, ModelOptions
from tests.helpers.llm_server import Say
from tests.helpers.model_asking import FINE, REQUEST, ask, ask_all, asking


def test_a_rerun_is_answered_from_the_cache_and_counts_the_same(tmp_path: Path) -> None:
    async def run(options: ModelOptions) -> tuple[dict[str, Any], str]:
        client = Client(options)
        model = client.for_task("t1", "vote")
        for sample in range(3):
            await model.ask(replace(REQUEST, sample=sample))
        await client.close()
        return model.meta(), client.report()

    with asking([Say(text="no", tokens=(5, 1)), FINE]) as (server, options):
        options = replace(options, cache=tmp_path)
        first, said = asyncio.run(run(options))
        again, said_again = asyncio.run(run(replace(options, offline=True)))
    assert (
        first
        == again
        == {"model": "openai/test", "calls": 4, "tokens_in": 35, "tokens_out": 10, "usd": None}
    )
    assert len(server.requests) == 4
    assert said.startswith("3 replies, 0 cached, 4 calls, 0 retries, 35 tokens in, 10 out")
    assert said_again.startswith("3 replies, 3 cached, 0 calls")


def test_offline_names_the_request_that_is_missing(tmp_path: Path) -> None:
    options = ModelOptions("openai/test", "http://127.0.0.1:1/v1", cache=tmp_path, offline=True)
    with pytest.raises(NotCached, match=r"sha256:[0-9a-f]{64}"):
        ask(options)


def test_the_same_request_is_asked_once_however_many_want_it(tmp_path: Path) -> None:
    with asking(lambda request, n: Say(data={"a": n}, delay=0.1)) as (server, options):
        found = asyncio.run(ask_all(replace(options, cache=tmp_path), *[REQUEST] * 10))
    assert len(server.requests) == 1
    assert {reply.data["a"] for reply in found} == {0}


def test_what_fails_is_not_kept(tmp_path: Path) -> None:
    with asking(['{"b": 1}', '{"b": 1}', Say(text='{"a"', cut=True), FINE]) as (_, options):
        options = replace(options, cache=tmp_path)
        for error in (ReplyInvalid, ReplyCut):
            with pytest.raises(error):
                ask(options)
        assert not ask(options).cached
        assert ask(options).cached


def test_every_call_stands_in_the_log(tmp_path: Path) -> None:
    async def run(options: ModelOptions) -> None:
        client = Client(options)
        model = client.for_task("t1", "vote")
        await model.ask(REQUEST)
        await model.ask(REQUEST)
        with pytest.raises(ModelError):
            await model.ask(replace(REQUEST, sample=1), timeout=0.2)
        await client.close()

    answers = [Say(status=500), Say(drop=True), "no", FINE, Say(hang=True)]
    with asking(answers) as (_, options):
        log = tmp_path / "calls.jsonl"
        asyncio.run(run(replace(options, cache=tmp_path / "cache", log=log)))
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["attempt"], line["outcome"]) for line in lines] == [
        (1, "http 500"),
        (2, "dropped"),
        (3, "invalid"),
        (1, "ok"),
        (0, "cached"),
        (1, "timeout"),
    ]
    assert {(line["task"], line["stage"]) for line in lines} == {("t1", "vote")}
    assert [line["sample"] for line in lines] == [0] * 5 + [1]
    assert all(line["request"].startswith("sha256:") and line["seconds"] >= 0 for line in lines)
    assert lines[3]["tokens_in"] == 10


KEY = "sk-very-secret-0123456789"


def test_a_key_stands_nowhere_but_in_the_header(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with asking([FINE, Say(status=401, text=f"Incorrect API key provided: {KEY}")]) as (
        server,
        options,
    ):
        url = options.base_url or ""
        options = replace(
            options,
            base_url=url.replace("http://", "http://me:hunter22@"),
            cache=tmp_path / "cache",
            log=tmp_path / "log",
            concurrency=1,
        )
        found = asyncio.run(
            ask_all(replace(options, base_url=url), REQUEST, replace(REQUEST, sample=1))
        )
        ask(replace(options, base_url=url, options={"api_key": KEY}))
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert isinstance(found[1], CallFailed)
    assert "Incorrect API key" in str(found[1])
    assert KEY not in str(found[1])
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path


def test_a_server_on_loopback_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with asking([FINE]) as (server, options):
        ask(options)
    assert server.headers[0]["authorization"] == "Bearer none"
