"""The way through litellm: the same manners as the direct one, and a quiet stdout."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stages.core.errors import CallFailed, CallTimeout, ModelError, ReplyCut, Unreachable
from stages.core.model import Client, ModelOptions, Reply, Request
from stages.core.model.transport.litellm import Litellm
from stages.core.model.transport.openai import Direct, serves
from tests.helpers.llm_server import LlmServer, Say
from tests.helpers.model_asking import FINE, REQUEST, SCHEMA, ask, ask_all, asking

MODEL = "hosted_vllm/test"


def through(options: ModelOptions) -> ModelOptions:
    """The same server, by a model id that goes through litellm."""
    return replace(options, model=MODEL)


@pytest.mark.parametrize(
    ("model", "base_url", "options", "direct"),
    [
        ("openai/x", "http://127.0.0.1:1/v1", {}, True),
        ("openai/x", "http://127.0.0.1:1/v1", {"top_p": 0.5, "seed": 1}, True),
        ("openai/x", "http://127.0.0.1:1/v1", {"supports_system_message": False}, False),
        ("openai/x", None, {}, False),
        ("ollama/x", "http://127.0.0.1:1", {}, False),
    ],
)
def test_only_the_plain_protocol_to_an_own_server_goes_past_litellm(
    model: str, base_url: str | None, options: dict[str, Any], direct: bool
) -> None:
    assert serves(ModelOptions(model, base_url, options=options)) is direct


def test_a_reply_comes_checked_and_stdout_stays_clean(capfd: pytest.CaptureFixture[str]) -> None:
    with asking([Say(status=500), Say(drop=True), "no", FINE]) as (server, options):
        reply = ask(through(options))
    assert (reply.data, reply.calls, len(server.requests)) == ({"a": 1}, 2, 4)
    assert server.requests[0]["response_format"]["json_schema"]["schema"] == SCHEMA
    assert server.requests[0]["model"] == "test"
    assert capfd.readouterr().out == ""


FAULTS: dict[str, tuple[Say, type[ModelError], int]] = {
    "400": (Say(status=400), CallFailed, 4),
    "401": (Say(status=401), Unreachable, 1),
    "404": (Say(status=404), Unreachable, 1),
    "429": (Say(status=429), Unreachable, 3),
    "503": (Say(status=503), Unreachable, 3),
    "dropped": (Say(drop=True), Unreachable, 3),
    "hang": (Say(hang=True), CallTimeout, 1),
    "cut": (Say(text='{"a"', cut=True), ReplyCut, 1),
}


@pytest.mark.parametrize(("fault", "error", "sent"), FAULTS.values(), ids=FAULTS.keys())
def test_failures_are_told_apart(
    fault: Say, error: type[ModelError], sent: int, capfd: pytest.CaptureFixture[str]
) -> None:
    with asking([fault]) as (server, options):
        [found] = asyncio.run(ask_all(replace(through(options), retries=2), REQUEST, timeout=1.0))
    assert type(found) is error
    assert len(server.requests) == sent
    assert capfd.readouterr().out == ""


def test_nobody_there_is_said_plainly_and_soon() -> None:
    options = ModelOptions(MODEL, "http://127.0.0.1:9/v1", wait=0.01)
    [error] = asyncio.run(ask_all(options, REQUEST))
    assert isinstance(error, Unreachable)
    assert "cannot connect to http://127.0.0.1:9/v1; is the server at --base-url running?" in str(
        error
    )


def test_retry_after_is_read_through_litellm() -> None:
    async def wait() -> float | None:
        from stages.core.model.request import Failure

        wire = Litellm(ModelOptions(MODEL, server.base_url))
        with pytest.raises(Failure) as caught:
            await wire.send([{"role": "user", "content": "hi"}], {}, {}, 5.0)
        await wire.close()
        return caught.value.wait

    with LlmServer(lambda request, n: Say(status=429, headers={"Retry-After": "7"})) as server:
        assert asyncio.run(wait()) == 7.0


def test_options_that_litellm_knows_shape_the_call() -> None:
    with asking([FINE]) as (server, options):
        ask(replace(options, options={"supports_system_message": False}))
    [sent] = server.requests
    assert [message["role"] for message in sent["messages"]] == ["user"]
    assert "Be brief." in sent["messages"][0]["content"]
    assert "supports_system_message" not in sent


def test_both_ways_say_the_same_to_a_server() -> None:
    bodies = []
    for change in (lambda o: o, through):
        with asking([FINE]) as (server, options):
            ask(change(replace(options, temperature=0.3)), replace(REQUEST, max_tokens=50))
        bodies.append(server.requests[0])
    assert bodies[0] == bodies[1]


def test_many_at_once_through_litellm() -> None:
    with asking([Say(data={"a": 1}, delay=0.05)]) as (server, options):
        requests = [replace(REQUEST, sample=n) for n in range(30)]
        found = asyncio.run(ask_all(replace(through(options), concurrency=10), *requests))
    assert all(isinstance(reply, Reply) for reply in found)
    assert server.peak == 10


PROBE = """
import asyncio, sys
from pathlib import Path
from stages.core.model import Client, ModelOptions, Request
asked = Request(({"role": "user", "content": "hi"},))
async def run(url, folder):
    client = Client(ModelOptions("hosted_vllm/test", url, cache=Path(folder)))
    await client.ask(asked)
    await client.close()
    print("litellm" in sys.modules)
asyncio.run(run(*sys.argv[1:]))
"""


def test_litellm_is_imported_on_the_first_miss_and_not_before(tmp_path: Path) -> None:
    with LlmServer(lambda request, n: "hello") as server:
        said = []
        for _ in range(2):
            command = [sys.executable, "-c", PROBE, server.base_url, str(tmp_path)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            assert done.stderr == ""
            said.append(done.stdout)
    assert said == ["True\n", "False\n"]
    assert len(server.requests) == 1


def test_the_wire_is_chosen_by_the_settings() -> None:
    async def kinds() -> list[type]:
        own = ModelOptions("openai/x", "http://127.0.0.1:1/v1")
        clients = [Client(own), Client(replace(own, base_url=None))]
        return [type(client._sender.wire) for client in clients]

    assert asyncio.run(kinds()) == [Direct, Litellm]


def test_a_request_without_a_schema_asks_for_no_form() -> None:
    with asking(["hello"]) as (server, options):
        reply = ask(through(options), Request(({"role": "user", "content": "hi"},)))
    assert reply.data == "hello"
    assert "response_format" not in server.requests[0]
