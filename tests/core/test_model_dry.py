"""``--dry-run`` and ``--dump-prompt``: everything asked, nothing sent."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from stages.core.errors import NotSent
from stages.core.model import ModelOptions, Reply, Request
from stages.core.model.dry_run import DryRun, DumpPrompt, placeholder, tokens_in
from stages.core.model.usage import Price, price
from stages.core.tokens import count
from tests.helpers.model_asking import FINE, REQUEST, SCHEMA, ask, asking

PRICED = ModelOptions("openai/gpt-4o-mini")


async def rounds(model: Any, number: int = 5) -> list[Reply]:
    """What a stage does: rounds side by side, and one call that needs what they said."""
    task = model.for_task("t1", "vote")
    found = await asyncio.gather(*(task.ask(replace(REQUEST, sample=n)) for n in range(number)))
    said = {"role": "user", "content": str([reply.data for reply in found])}
    return [*found, await task.ask(replace(REQUEST, messages=(*REQUEST.messages, said)))]


def test_a_dry_run_counts_every_call_of_a_stage_to_its_end() -> None:
    model = DryRun(PRICED)
    found = asyncio.run(rounds(model))
    tally = model.totals()
    assert (tally.calls, tally.cached, tally.tasks) == (6, 0, {"t1"})
    assert all(reply.data == {"a": 0} and not reply.cached for reply in found)
    alone = tokens_in(REQUEST)
    assert alone > count("Be brief.") + count("How many?")
    assert 6 * alone < tally.tokens_in < 7 * alone
    known = price("openai/gpt-4o-mini")
    assert known is not None
    cost = known.of(tally.tokens_in, tally.tokens_out)
    assert model.report().startswith(
        "1 task would ask openai/gpt-4o-mini 6 times (0 more are cached)"
    )
    assert model.report().endswith(f"about ${cost:,.4f}")


def test_what_is_cached_costs_nothing_and_tells_how_long_replies_are(tmp_path: Path) -> None:
    with asking([replace(FINE, tokens=(10, 700))]) as (server, options):
        options = replace(options, cache=tmp_path)
        ask(options)
    model = DryRun(options)
    found = asyncio.run(rounds(model))
    tally = model.totals()
    assert (tally.calls, tally.cached) == (5, 1)
    assert found[0].data == {"a": 1}
    assert tally.tokens_out == 5 * 700
    assert model.report().endswith("price unknown")
    assert len(server.requests) == 1


def test_a_dry_run_makes_no_folder(tmp_path: Path) -> None:
    asyncio.run(rounds(DryRun(replace(PRICED, cache=tmp_path / "cache"))))
    assert not (tmp_path / "cache").exists()


def test_a_dump_is_what_would_be_sent() -> None:
    said: list[str] = []
    model = DumpPrompt(
        replace(PRICED, temperature=0.5, options={"top_p": 0.1, "api_key": "sk-1"}), said.append
    )
    asyncio.run(rounds(model, number=2))
    text = "".join(said)
    assert text.startswith(
        "=== call 1: task t1, vote, sample 0\n--- system\nBe brief.\n--- user\nHow many?\n"
    )
    assert "model=openai/gpt-4o-mini temperature=0.5 top_p=0.1\n" in text
    assert "sk-1" not in text
    assert '"required":["a"]' in text
    assert "=== call 2: task t1, vote, sample 1: as call 1" in text
    assert text.count("How many?") == 2  # once for both rounds, once in the last call
    assert (
        model.report() == "3 calls shown, none sent; replies that later calls repeat are stand-ins"
    )


SCHEMAS: dict[str, Mapping[str, Any]] = {
    "ours": SCHEMA,
    "nested": {
        "type": "object",
        "required": ["verdicts", "why"],
        "properties": {
            "verdicts": {"type": "array", "minItems": 2, "items": {"$ref": "#/$defs/verdict"}},
            "why": {"type": ["string", "null"], "minLength": 3},
        },
        "$defs": {
            "verdict": {
                "type": "object",
                "required": ["table", "relevant", "how"],
                "properties": {
                    "table": {"enum": ["orders", "people"]},
                    "relevant": {"type": "boolean"},
                    "how": {"anyOf": [{"type": "number", "minimum": 2}, {"type": "null"}]},
                },
            }
        },
    },
    "by name": {"type": "object", "required": ["t1"], "additionalProperties": {"const": "keep"}},
    "pair": {
        "type": "array",
        "prefixItems": [{"type": "integer"}],
        "minItems": 2,
        "items": {"type": "string"},
    },
    "anything": {},
    "of itself": {"type": "object", "required": ["in"], "properties": {"in": {"$ref": "#"}}},
}


@pytest.mark.parametrize("name", [name for name in SCHEMAS if name != "of itself"])
def test_a_placeholder_fits_its_schema(name: str) -> None:
    jsonschema.validate(placeholder(SCHEMAS[name]), SCHEMAS[name])


@pytest.mark.parametrize(
    "schema", [SCHEMAS["of itself"], {"type": "string", "pattern": "^[0-9]{4}$"}]
)
def test_where_no_placeholder_fits_the_stage_is_told_to_stop(schema: Mapping[str, Any]) -> None:
    model = DryRun(PRICED)
    with pytest.raises(NotSent):
        asyncio.run(model.ask(Request(REQUEST.messages, schema, "odd")))
    assert model.totals().calls == 1


@pytest.mark.parametrize(
    ("model", "base_url", "known"),
    [
        ("openai/gpt-4o-mini", None, True),
        ("gpt-4o-mini", None, True),
        ("openai/gpt-4o-mini", "http://127.0.0.1:1/v1", False),
        ("openai/no-such-model", None, False),
        ("ollama/gpt-4o-mini", None, False),
    ],
)
def test_prices_are_those_of_the_list(model: str, base_url: str | None, known: bool) -> None:
    found = price(model, base_url)
    assert found == (Price(1.5e-07, 6e-07) if known else None)
