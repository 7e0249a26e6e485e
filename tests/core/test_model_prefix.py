"""What repeats comes first, so that providers' prompt caches hit."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from os.path import commonprefix
from typing import Any

import pytest

from stages.core.model import Reply, Request
from stages.core.model.dry_run import placeholder
from stages.core.model.structured import ALL, ask_again, form, messages
from stages.link import link
from stages.prune import prune
from stages.summarize import summarize
from stages.vote import vote
from tests.helpers.vote_lines import sampled_table as table

TABLES = [table(name) for name in ("orders", "people", "weather", "stock")]


class Recorder:
    """A model that keeps what it is asked, and answers with placeholders."""

    name = "recorder"

    def __init__(self) -> None:
        self.asked: list[Request] = []

    async def ask(self, request: Request, *, timeout: float | None = None) -> Reply:
        """The smallest reply that fits."""
        self.asked.append(request)
        assert request.schema is not None
        return Reply(placeholder(request.schema), "", 0, 0, None, cached=False, calls=1)


def asked(lang: str, **options: Any) -> list[Request]:
    """What a vote on one task asks."""
    task: Any = {
        "kind": "task", "task_id": "t", "question": "Who paid most?", "evidence": "most is the sum",
        "knowledge": "paid means settled\n" * 40, "video": "shows the list of payments\n" * 40,
    }  # fmt: skip
    model = Recorder()
    asyncio.run(vote(task, TABLES, model=model, lang=lang, **options))
    return model.asked


def said(request: Request, mode: Any = "schema") -> str:
    """All that is sent of a request, in its order: what a prompt cache compares."""
    return "".join(f"\x00{m['role']}\x00{m['content']}" for m in messages(request, mode))


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_rounds_of_a_task_are_the_same_to_the_last_character(lang: str, mode: Any) -> None:
    requests = asked(lang, rounds=3)
    assert [request.sample for request in requests] == [0, 1, 2]
    assert len({said(request, mode) for request in requests}) == 1
    assert len({str(form(request, mode)) for request in requests}) == 1


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_batches_of_a_task_differ_only_from_their_tables_on(lang: str, mode: Any) -> None:
    requests = asked(lang, rounds=1, max_tokens=650)
    assert len(requests) > 1, "the tables go out in batches"
    texts = [said(request, mode) for request in requests]
    shared = commonprefix(texts)  # noqa: RUF071 - characters are what is compared
    for part in ("Who paid most?", "most is the sum", "paid means settled", "list of payments"):
        assert part in shared, part
    rest = [text[len(shared) :] for text in texts]
    for text, own in zip(texts, rest, strict=True):
        tables = [text.index(table["name"]) for table in TABLES if f" {table['name']}\n" in own]
        assert min(tables) > len(shared)
        # Between the shared part and the first table stand a count and the boundary of the data.
        assert min(tables) - len(shared) < 80


def _wide(number: int) -> Any:
    columns = [
        {"name": f"col_{number}_{n}", "type": "BIGINT", "nullable": False, "examples": ["1"]}
        for n in range(12)
    ]
    return {**table(f"zz{number:02d}"), "columns": columns}


WIDE = [_wide(number) for number in range(40)]
LINKED: Any = {
    "kind": "task", "task_id": "t", "question": "Who paid most?", "evidence": "most is the sum",
    "knowledge": "paid means settled\n" * 40,
    "plan": {"logical_plan": "first find all payments", "drafts": [], "error": "", "meta": {}},
    "prune": {"kept": {t["name"]: [c["name"] for c in t["columns"]] for t in WIDE}},
}  # fmt: skip
BATCHED = [
    (prune, {"min_tokens": 1500, "max_tokens": 2500}, ("first find all payments",)),
    (link, {"max_tokens": 2500}, ("paid means settled",)),
    (summarize, {"max_tokens": 2500}, ("first find all payments",)),
]


@pytest.mark.parametrize("mode", ALL)
@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(("stage", "options", "parts"), BATCHED, ids=["prune", "link", "summarize"])
def test_batches_of_linking_differ_only_from_their_tables_on(
    stage: Callable[..., Any], options: Any, parts: tuple[str, ...], lang: str, mode: Any
) -> None:
    model = Recorder()
    asyncio.run(stage(LINKED, WIDE, model=model, lang=lang, **options))
    kinds = defaultdict(set)
    for request in model.asked:  # a call that merges what batches said has instructions of its own
        kinds[request.messages[0]["content"]].add(said(request, mode))
    batched = [texts for texts in kinds.values() if len(texts) > 1]
    assert batched, "the tables go out in batches"
    for texts in batched:
        shared = commonprefix(list(texts))  # noqa: RUF071 - characters are what is compared
        for part in ("Who paid most?", "most is the sum", *parts):
            assert part in shared, part
        # Between the shared part and the first table stand a count and the boundary of the data.
        assert all(text.index("zz") - len(shared) < 80 for text in texts)


@pytest.mark.parametrize("mode", ALL)
def test_both_sides_of_pruning_share_the_tables_too(mode: Any) -> None:
    model = Recorder()
    asyncio.run(prune(LINKED, WIDE[:10], model=model, lang="en"))
    assert {request.name for request in model.asked} == {"prune_negative", "prune_positive"}
    shared = commonprefix([said(request, mode) for request in model.asked])  # noqa: RUF071
    assert all(table["name"] in shared for table in WIDE[:10])


@pytest.mark.parametrize("mode", ALL)
def test_a_mended_reply_repeats_the_whole_of_what_was_asked(mode: Any) -> None:
    [request] = asked("en", rounds=1)
    before = messages(request, mode)
    after = ask_again(before, "nonsense", "no JSON", request)
    assert after[: len(before)] == before
