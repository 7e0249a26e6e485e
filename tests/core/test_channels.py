"""The one table of evidence channels, and what is derived from it."""

from __future__ import annotations

import pytest

from stages.core.judge.channels import BY_FIELD, TABLE
from stages.core.judge.index.index import FIELDS
from stages.core.judge.judgment import EvidencePiece, RankedTable
from stages.core.judge.wording import reason
from stages.core.lines import schema

EVIDENCE = [channel.name for channel in TABLE if channel.told]


def enums(node: object) -> list[list[str]]:
    if isinstance(node, list):
        return [found for item in node for found in enums(item)]
    if not isinstance(node, dict):
        return []
    own = [node["enum"]] if "neighbour" in node.get("enum", ()) else []
    return own + [found for item in node.values() for found in enums(item)]


def test_the_schema_lists_the_channels_of_the_table() -> None:
    listed = enums(schema.load("link"))
    assert listed
    assert all(set(one) == set(EVIDENCE) and len(one) == len(EVIDENCE) for one in listed)


def test_every_field_of_the_index_belongs_to_one_channel() -> None:
    assert set(BY_FIELD) == set(FIELDS)
    assert sum(len(channel.fields) for channel in TABLE) == len(FIELDS)


@pytest.mark.parametrize("name", EVIDENCE)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_type_of_evidence_has_its_words(name: str, lang: str) -> None:
    table = RankedTable("t", 0.9, True, (EvidencePiece(name, ("staff",), 0.5),))
    assert len(reason(table, lang)) > len(" (0.90)")
