"""Schemas: every one is valid, the messages name path and rule, types follow them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from stages.core.errors import LineError
from stages.core.lines import schema

ROOT = Path(__file__).resolve().parents[2]
NAMES = sorted(
    p.name.removesuffix(".schema.json") for p in (ROOT / "schemas").glob("*.schema.json")
)


@pytest.mark.parametrize("name", NAMES)
def test_schema_is_valid_and_stands_alone_when_bundled(name):
    document = schema.load(name)
    assert document["$id"] == f"winnow:{name}"
    jsonschema.Draft202012Validator.check_schema(document)
    assert "winnow:meta" not in str(schema.bundle(name).get("properties", {}).get("meta", ""))


def test_records_are_made_from_the_schemas():
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools/make/records.py"), "--check"], check=False
    )
    assert done.returncode == 0, "run `make generated`"


def test_evidence_weighs_one_at_most() -> None:
    piece = {"type": "name", "words": ["a"], "weight": -1}
    table = {"name": "t", "score": 0.5, "keep": True, "evidence": [piece]}
    meta = {"of": "sha256:" + "0" * 64}
    section = {"tables": [table], "columns": [], "edges": [], "n_tables": 1, "meta": meta}
    schema.check(section, "link")
    piece["weight"] = 1.5
    with pytest.raises(LineError, match="weight"):
        schema.check(section, "link")


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"keys": []}, "shown"),
        ({"keys": [1], "shown": {"full": [], "names": [], "line": []}, "by": []}, "keys[0]"),
        ({"keys": [], "shown": {"full": [], "names": [], "line": [], "x": 1}, "by": []}, "shown"),
    ],
)
def test_message_names_the_path(record, words):
    with pytest.raises(LineError) as caught:
        schema.check(record, "collapse", place="in:1", strict=False)
    assert words in str(caught.value)
    assert "in:1" in str(caught.value)


def test_message_does_not_repeat_a_huge_value():
    with pytest.raises(LineError) as caught:
        schema.check({"kind": "task", "task_id": ["x" * 100_000]}, "task")
    assert len(str(caught.value)) < 500


def test_lenient_reading_wants_no_meta_and_lets_unknown_keys_pass():
    found = {"keys": [], "shown": {"full": [], "names": [], "line": []}, "by": [], "later": True}
    schema.check(found, "collapse", strict=False)
    with pytest.raises(LineError):
        schema.check(found, "collapse")


REPLIES = sorted(path.stem for path in (ROOT / "schemas" / "replies").glob("*.json"))


@pytest.mark.parametrize("name", REPLIES)
def test_a_reply_has_a_schema_that_strict_providers_take(name: str) -> None:
    """Closed, with every key required: else a provider fits the reply to another schema."""
    from stages.core.model.structured import strict

    found = schema.reply(name)
    jsonschema.Draft202012Validator.check_schema(found)
    assert strict(found)


def test_code_reads_the_words_that_schemas_of_replies_offer() -> None:
    from stages.core.linking.prune.replies import IRRELEVANT, RELEVANT
    from stages.core.linking.summarize import ROLES

    entry = schema.reply("summarize")["properties"]["table_functions"]["items"]["properties"]
    assert tuple(entry["roles"]["items"]["enum"]) == ROLES
    assert tuple(schema.reply("prune.negative")["required"]) == IRRELEVANT
    assert tuple(schema.reply("prune.positive")["required"]) == RELEVANT


def test_every_schema_of_a_reply_is_asked_for() -> None:
    code = "".join(path.read_text("utf-8") for path in (ROOT / "stages").rglob("*.py"))
    stems = {name.partition(".")[0] for name in REPLIES}
    assert all(
        f'schema.reply("{stem}' in code or f'reply(f"{stem}' in code for stem in stems - {"explore"}
    )
    assert "schema.reply(shape)" in code
