"""Limits of the client: time, calls at once, the circuit, interruption."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stages.core.errors import (
    CallFailed,
    CallTimeout,
    Unreachable,
)
from stages.core.model import Client, ModelOptions, Reply
from tests.helpers.llm_server import Say
from tests.helpers.model_asking import FINE, REQUEST, ask, ask_all, asking


def test_the_time_limit_bounds_a_call_from_its_sending() -> None:
    with asking([Say(hang=True)]) as (_, options), pytest.raises(CallTimeout, match=r"0\.2 s"):
        ask(options, timeout=0.2)


def test_waiting_for_a_place_takes_nothing_from_the_time_limit() -> None:
    with asking([Say(data={"a": 1}, delay=0.15)]) as (server, options):
        options = replace(options, concurrency=1)
        requests = [replace(REQUEST, sample=n) for n in range(5)]
        found = asyncio.run(ask_all(options, *requests, timeout=0.4))
    assert all(isinstance(reply, Reply) for reply in found)
    assert server.peak == 1


def test_no_more_calls_at_once_than_the_limit() -> None:
    with asking([Say(data={"a": 1}, delay=0.05)]) as (server, options):
        requests = [replace(REQUEST, sample=n) for n in range(40)]
        found = asyncio.run(ask_all(replace(options, concurrency=7), *requests))
    assert len(found) == len(server.requests) == 40
    assert server.peak == 7


def test_nobody_there() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(Unreachable, match="--base-url"):
        ask(ModelOptions("openai/test", url, retries=1))


def test_the_circuit_stops_a_run_with_one_message() -> None:
    async def run(options: ModelOptions) -> tuple[list[Any], Client]:
        client = Client(options)
        said = [({"role": "user", "content": f"How many {n}?"},) for n in range(100)]
        requests = [replace(REQUEST, messages=messages) for messages in said]
        found = await asyncio.gather(*map(client.ask, requests), return_exceptions=True)
        await client.close()
        return found, client

    with asking([Say(status=401, text="no such key")]) as (server, options):
        found, client = asyncio.run(run(replace(options, circuit=5, concurrency=2)))
    assert all(isinstance(error, Unreachable) for error in found)
    assert len({str(error) for error in found[10:]}) == 1
    assert "stopped after 5 calls in a row failed" in str(found[-1])
    assert len(server.requests) <= 6
    assert client.unreached


def test_what_was_reached_once_is_not_unreachable() -> None:
    with asking([FINE, Say(status=401)]) as (_, options):
        options = replace(options, concurrency=1)
        found = asyncio.run(ask_all(options, REQUEST, replace(REQUEST, sample=1)))
    assert isinstance(found[1], CallFailed)


def test_cancelling_stops_what_is_in_flight_and_keeps_what_has_come(tmp_path: Path) -> None:
    def answer(request: dict[str, Any], n: int) -> Say:
        return FINE if n < 3 else Say(hang=True)

    async def run(options: ModelOptions) -> None:
        client = Client(options)
        tasks = [asyncio.create_task(client.ask(replace(REQUEST, sample=n))) for n in range(8)]
        await asyncio.wait(tasks, timeout=0.6)
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert sum(isinstance(reply, Reply) for reply in ended) == 3
        await client.close()

    with asking(answer) as (server, options):
        options = replace(options, cache=tmp_path, log=tmp_path / "log")
        asyncio.run(run(options))
        deadline = time.monotonic() + 5
        while server.given_up < 5 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert (server.given_up, server.active) == (5, 0)
    found = asyncio.run(
        ask_all(replace(options, offline=True), *(replace(REQUEST, sample=n) for n in range(8)))
    )
    assert sum(isinstance(reply, Reply) for reply in found) == 3
    outcomes = [json.loads(line)["outcome"] for line in options.log.read_text().splitlines()]  # type: ignore[union-attr]
    assert outcomes.count("cancelled") == 5


def test_no_more_calls_in_a_minute_than_the_rate() -> None:
    with asking([Say(data={"a": 1})]) as (server, options):
        options = replace(options, rate=600.0, concurrency=20)
        start = time.monotonic()
        found = asyncio.run(ask_all(options, *(replace(REQUEST, sample=n) for n in range(8))))
        assert time.monotonic() - start >= 0.7, "a tenth of a second lies between two calls"
    assert len(found) == len(server.requests) == 8
