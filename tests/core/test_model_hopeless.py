"""A model that never says anything of use costs at most twice what a dry run says."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from typing import Any

import pytest

from stages.core.errors import ModelError
from stages.core.model import Reply
from stages.core.model.capabilities import FEWEST_FORMS
from tests.helpers import linking_chain
from tests.helpers.llm_server import LlmServer, Say
from tests.helpers.model_asking import FINE, REQUEST, ask_all, asking
from tests.helpers.tools import pipe, run

HOPELESS: dict[str, Say] = {
    "nothing": Say(text=""),
    "prose": Say(text="I cannot help with that."),
    "another schema": Say(data={"something": ["else"]}),
    "half": Say(text='{"verdicts": ['),
    "cut": Say(text='{"verdicts": [', cut=True),
    "refused": Say(text="", extra={"refusal": "I cannot."}),
    "filtered": Say(raw=b'{"choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}]}'),
    "refused in every form": Say(status=400, text="no such parameter"),
    "no system, no temperature": Say(status=400, text="System role not supported, nor is temperature"),
}  # fmt: skip


def text_mode_only(request: dict[str, Any], n: int) -> Say:
    """A server that refuses every form but text, with a model that is of no use in it."""
    firm = "response_format" in request or "tools" in request
    return (
        Say(status=400, text="response_format and tools are not supported")
        if firm
        else Say(text="?")
    )


STAGES = ("plan", "link", "vote", "prune", "summarize", "explore", "refine")


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A task with every section that a stage needs."""
    root = linking_chain.write(tmp_path_factory.mktemp("task"))
    chain = [["plan"], ["prune"], ["summarize"], ["explore"]]
    return pipe(run("scan", str(root)).out, *chain).out


def requests(stage: str, lines: bytes, answer: Any, *options: str) -> tuple[int, int, bytes]:
    """Calls that a dry run says, calls that were made, and what came of it."""
    with LlmServer(answer if callable(answer) else lambda request, n: answer) as server:
        asked = [
            stage,
            "--model",
            "openai/x",
            "--base-url",
            server.base_url,
            "--no-cache",
            *options,
        ]
        said = re.search(rb"ask \S+ ([\d,]+) times?", run(*asked, "--dry-run", stdin=lines).out)
        assert said
        assert not server.requests
        done = run(*asked, "--option", "max_tokens=500", stdin=lines)
        return int(said[1]), len(server.requests), done.out


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("kind", [*HOPELESS, "text only"])
def test_a_model_without_hope_costs_at_most_twice_a_dry_run(
    stage: str, kind: str, lines: bytes
) -> None:
    answer: Any = HOPELESS.get(kind, text_mode_only)
    said, made, out = requests(stage, lines, answer)
    # However little is asked, every form that there is has to be tried.
    forms = FEWEST_FORMS if kind in ("text only", *list(HOPELESS)[-2:]) else 0
    assert made <= max(2 * said, said + forms)
    assert b'"error":' in out


def test_a_vote_of_one_round_costs_two_calls(lines: bytes) -> None:
    assert requests("vote", lines, HOPELESS["prose"], "--rounds", "1")[:2] == (1, 2)


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_vote_without_retries_still_has_its_seven_batches(status: int, lines: bytes) -> None:
    """Seed 000, 4.2."""
    said, made, _ = requests("vote", lines, Say(status=status, text="busy"), "--retries", "0")
    assert (said, made) == (5, 35)

    def late(request: dict[str, Any], n: int) -> Say:
        return Say(status=status, text="busy") if n < 30 else Say(data={"verdicts": []})

    said, made, out = requests("vote", lines, late, "--retries", "0")
    assert made == 35
    assert b'"n_rounds_ok":5' in out


@pytest.mark.parametrize("refused", [1, 2, 3])
def test_samples_that_go_out_together_find_the_form_together(refused: int) -> None:
    forms = ["json_schema", "tool", "json_object"][:refused]

    def answer(request: dict[str, Any], n: int) -> Say:
        form = request.get("response_format", {}).get("type") or (
            "tool" if request.get("tools") else ""
        )
        return Say(status=400, text=f"{form} is not supported") if form in forms else FINE

    with asking(answer) as (server, options):
        found = asyncio.run(ask_all(options, *(replace(REQUEST, sample=n) for n in range(8))))
    assert all(isinstance(reply, Reply) for reply in found)
    assert len(server.requests) == 8 + (refused - 1) + 8


def test_one_sample_of_use_lets_the_others_be_mended() -> None:
    def answer(request: dict[str, Any], n: int) -> Say:
        return FINE if n == 0 or len(request["messages"]) > 2 else Say(text="?")

    with asking(answer) as (server, options):
        found = asyncio.run(ask_all(options, *(replace(REQUEST, sample=n) for n in range(6))))
    assert all(isinstance(reply, Reply) for reply in found)
    assert len(server.requests) == 6 + 5


def test_what_is_rationed_is_said() -> None:
    with asking(text_mode_only) as (_, options):
        found = asyncio.run(ask_all(options, *(replace(REQUEST, sample=n) for n in range(5))))
    assert all(isinstance(error, ModelError) for error in found)
    assert all("no usable reply" in str(e) or "not supported" in str(e) for e in found)
