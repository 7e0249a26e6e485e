"""Every linking stage shows its model the knowledge and the video, and counts them (seed 004, 1)."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from tests.helpers import linking_chain as chain
from tests.helpers.llm_server import LlmServer
from tests.helpers.tools import pipe, run

KNOWLEDGE = "A region's manager is whoever signed last.\n" + ("filler " * 2_000).strip()
VIDEO = "The speaker points at the table sales.\n" + ("words " * 2_000).strip()
STAGES = ("prune", "summarize", "explore", "refine")


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A task with knowledge and video, and the sections that the stages need."""
    done = run("scan", str(chain.write(tmp_path_factory.mktemp("task"))))
    *catalog, task = done.lines
    task |= {"knowledge": KNOWLEDGE, "video": VIDEO}
    raw = b"".join(orjson.dumps(line) + b"\n" for line in [*catalog, task])
    return pipe(raw, ["plan"], ["prune"], ["summarize"], ["explore"]).out


def asked(stage: str, lines: bytes, *options: str) -> tuple[list[str], dict, bytes]:
    """The openings of all conversations, the section's meta, and the line."""
    with LlmServer(
        chain.Script(first={"sales": ["amount"]}, relevant={"sales": ["amount"]})
    ) as server:
        argv = [stage, "--model", "openai/x", "--base-url", server.base_url, "--no-cache", *options]
        done = run(*argv, stdin=lines)
    assert done.status == 0, done.err
    said = [request["messages"][1]["content"] for request in server.requests]
    return said, done.tasks[0][stage]["meta"], done.out


@pytest.mark.parametrize("stage", STAGES)
def test_knowledge_and_video_stand_in_every_prompt(stage: str, lines: bytes) -> None:
    said, meta, _ = asked(stage, lines)
    assert said
    for text in said:
        assert "whoever signed last" in text
        assert "points at the table sales" in text
        assert text.index("signed last") < text.index("points at") < text.index("### ")
    assert {"knowledge", "video"} <= set(meta["from"])
    assert "options" not in meta


@pytest.mark.parametrize("stage", STAGES)
def test_they_are_cut_by_options_as_those_of_vote(stage: str, lines: bytes) -> None:
    options = ["--knowledge-chars", "10", "--video-chars", "11"]
    said, meta, _ = asked(stage, lines, *options)
    for text in said:
        assert f"A region's…(+{len(KNOWLEDGE) - 10})" in text
        assert f"The speaker…(+{len(VIDEO) - 11})" in text
    assert meta["options"] == {"knowledge_chars": 10, "video_chars": 11}
    if stage in ("summarize", "explore", "refine"):  # whose prompts have the room
        said, meta, _ = asked(stage, lines, "--knowledge-chars", "0", "--video-chars", "0")
        assert all(text.count("filler") == 2_000 for text in said)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("name", ["knowledge", "video"])
def test_a_section_is_stale_once_they_change(stage: str, name: str, lines: bytes) -> None:
    _, _, out = asked(stage, lines)
    *catalog, line = out.splitlines()
    task = orjson.loads(line) | {name: "another text"}
    changed = b"\n".join([*catalog, orjson.dumps(task)]) + b"\n"
    follow = {
        "prune": "summarize",
        "summarize": "explore",
        "explore": "refine",
        "refine": "collapse",
    }
    done = run(follow[stage], stdin=changed)
    assert done.status == 1
    assert "was made from other" in done.err


def test_a_brief_over_its_tokens_is_cut_evenly_and_said() -> None:
    from stages.core.linking.brief import write_brief
    from stages.core.tokens import total

    task = {"task_id": "1", "question": "How many?", "knowledge": KNOWLEDGE, "video": "short"}
    brief = write_brief(task, "en", tokens=500)
    assert total(brief.blocks.values()) <= 500
    assert brief.cut == ("knowledge",)
    assert "short" in brief.video
    assert write_brief(task, "en", tokens=9_000).cut == ()


def test_a_long_brief_does_not_make_a_batch_of_every_table(tmp_path: Path) -> None:
    from tests.helpers.linking_tables import table

    tables = [table(f"t_{n}", *(f"column_{n}_{i}" for i in range(12))) for n in range(60)]
    catalog = {"kind": "catalog", "v": 1, "id": tables[0]["catalog"], "name": "c"}
    task = {"kind": "task", "catalog": catalog["id"], "task_id": "1", "question": "How many?"}

    def batches(**more: str) -> int:
        raw = b"".join(orjson.dumps(line) + b"\n" for line in (catalog, *tables, task | more))
        return len(asked("prune", run("plan", stdin=raw).out)[0]) // 4

    assert batches(knowledge=KNOWLEDGE * 2, video=VIDEO * 2) <= 2 * batches() + 1
