"""A hard day: nearly a third of all calls fail in every way there is, and processes are killed."""

from __future__ import annotations

import asyncio
import hashlib
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from stages.core.model import Client, ModelOptions
from stages.core.model.cache import Cache
from stages.vote import vote
from tests.helpers.llm_server import FAULTS, LlmServer, Say, faulty
from tests.helpers.tools import ROOT, environment, run
from tests.helpers.vote_lines import sampled_table as table

NAMES = ("orders", "people", "weather", "stock")
ROUNDS = 5


TABLES = [table(name) for name in NAMES]


def opinion(request: dict[str, Any], n: int) -> Say:
    """Verdicts on all tables that depend on the question alone, and on no order of arrival."""
    text = request["messages"][1]["content"]
    [question] = set(re.findall(r"question number \d+", text))
    verdicts = [
        {
            "table_name": name,
            "reason": f"for {question}",
            "relevant": hashlib.sha256(f"{question}{name}".encode()).digest()[0] % 2 == 0,
        }
        for name in re.findall(r"^### \S+ (\S+)$", text, re.M)
    ]
    return Say(data={"verdicts": verdicts})


async def judged(
    options: ModelOptions, tasks: int, seconds: float
) -> tuple[list[dict[str, Any]], Client]:
    """The vote of every task, all asked at once."""
    client = Client(options)

    async def one(number: int) -> dict[str, Any]:
        task: Any = {
            "kind": "task",
            "task_id": f"t{number}",
            "question": f"Is this question number {number}?",
        }
        model = client.for_task(task["task_id"], "vote")
        return dict(await vote(task, TABLES, model=model, rounds=ROUNDS, timeout=seconds))

    found = await asyncio.gather(*(one(number) for number in range(tasks)))
    await client.close()
    return found, client


def verdicts(sections: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The sections without what they cost."""
    return [{key: value for key, value in section.items() if key != "meta"} for section in sections]


def _hard_day(model: str, tasks: int, folder: Path, seconds: float) -> Counter[str]:
    with LlmServer(opinion) as server:
        clean, _ = asyncio.run(
            judged(ModelOptions(model, server.base_url, concurrency=64), tasks, seconds=60.0)
        )
        assert len(server.requests) == tasks * ROUNDS
    with LlmServer(faulty(opinion, 0.3, seed=11)) as server:
        options = ModelOptions(
            model, server.base_url, concurrency=64, wait=0.02, cache=folder, log=folder / "log"
        )
        sections, client = asyncio.run(judged(options, tasks, seconds))
    assert verdicts(sections) == verdicts(clean)
    assert [section["n_rounds_ok"] for section in sections] == [ROUNDS] * tasks
    tallies = {tally for section in sections for tally in section["vote_tally"].values()}
    assert tallies == {f"{ROUNDS}/{ROUNDS}", f"0/{ROUNDS}"}
    assert client.usage.reached == tasks * ROUNDS
    again, replay = asyncio.run(judged(replace(options, offline=True, log=None), tasks, seconds))
    assert again == sections  # and what it cost, too
    assert replay.usage.sent == 0
    lines = map(orjson.loads, (folder / "log").read_bytes().splitlines())
    return Counter(line["outcome"] for line in lines)


def test_with_a_third_of_calls_failing_every_task_is_judged_as_if_none_did(tmp_path: Path) -> None:
    outcomes = _hard_day("openai/test", 200, tmp_path, seconds=3.0)
    wanted = {"ok", "invalid", "cut", "timeout", "dropped"}
    wanted |= {f"http {fault}" for fault in FAULTS if fault.isdigit()}
    assert set(outcomes) == wanted


@pytest.mark.slow
def test_the_same_through_litellm(tmp_path: Path) -> None:
    # The first call through litellm loads what it needs, and takes its time.
    outcomes = _hard_day("hosted_vllm/test", 20, tmp_path, seconds=5.0)
    assert {"ok", "invalid", "dropped"} <= set(outcomes)


KILLS, CONCURRENCY, TASKS = 10, 8, 30


def _lines() -> bytes:
    """A catalog and many tasks, from the example."""
    *catalog, last = run("scan", "examples/task_15").out.splitlines()
    task = orjson.loads(last)
    tasks = [
        {**task, "task_id": f"t{n}", "question": f"Is this question number {n}?"}
        for n in range(TASKS)
    ]
    return b"".join(line + b"\n" for line in [*catalog, *map(orjson.dumps, tasks)])


def _vote(folder: Path, url: str, lines: Path, out: Path) -> list[str]:
    return [
        sys.executable, "-m", "stages", "vote", str(lines), "-o", str(out), "--model", "openai/test",
        "--base-url", url, "--cache", str(folder), "--concurrency", str(CONCURRENCY),
    ]  # fmt: skip


def _kept(folder: Path) -> int:
    """How many replies stand in the cache."""
    store = Cache(folder)
    try:
        return sum(1 for _ in store.entries())
    finally:
        store.close()


@pytest.mark.slow
def test_killed_ten_times_a_run_ends_with_the_same_bytes_and_asks_little_again(
    tmp_path: Path,
) -> None:
    (tmp_path / "lines.jsonl").write_bytes(_lines())
    moments = random.Random(3)

    def slow(request: dict[str, Any], n: int) -> Say:
        return replace(opinion(request, n), delay=0.1)

    def start(folder: str, url: str) -> subprocess.Popen[bytes]:
        argv = _vote(tmp_path / folder, url, tmp_path / "lines.jsonl", tmp_path / f"{folder}.jsonl")
        return subprocess.Popen(argv, cwd=ROOT, env=environment(), stderr=subprocess.DEVNULL)

    with LlmServer(slow) as server:
        assert start("whole", server.base_url).wait(60) == 0
        assert len(server.requests) == TASKS * ROUNDS
        server.requests.clear()
        lost = []
        for _ in range(KILLS):
            before, kept_before = len(server.requests), _kept(tmp_path / "killed")
            process = start("killed", server.base_url)
            deadline = time.monotonic() + 20
            while len(server.requests) == before and time.monotonic() < deadline:
                time.sleep(0.005)
            time.sleep(moments.uniform(0, 0.25))
            process.send_signal(signal.SIGKILL)
            process.wait()
            time.sleep(0.2)  # until the server has read what was on its way
            kept = _kept(tmp_path / "killed") - kept_before
            lost.append(len(server.requests) - before - kept)
        assert max(lost) <= CONCURRENCY, lost  # for each kill, and not only in all
        assert not (tmp_path / "killed.jsonl").exists()
        assert start("killed", server.base_url).wait(60) == 0
    assert (tmp_path / "killed.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    again = len(server.requests) - TASKS * ROUNDS
    assert 0 < again == sum(lost)
