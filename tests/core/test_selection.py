"""What the sections say about tables: one reader for each, whatever is missing in them."""

from __future__ import annotations

import pkgutil
from typing import Any

import pytest

from stages.cli import REGISTRY
from stages.core import readers
from stages.core.readers import PLAIN, named, reader_of, relevance
from stages.core.readers.link import linked_tables
from stages.core.readers.prune import superset
from stages.core.readers.refine import refined_columns
from stages.core.readers.vote import voted_tables
from stages.core.text import listed

PLACES = readers.__path__
TABLE: Any = {"name": "a", "describe_key": "a.csv", "columns": []}
LINK: dict[str, Any] = {
    "tables": [
        {"name": "a", "score": 0.2, "keep": False},
        {"name": "b", "score": 0.7, "keep": True},
    ]
}


@pytest.mark.parametrize(
    ("vote", "link", "order"),
    [
        (None, None, {"a": 1.0, "b": 1.0, "c": 1.0}),
        (None, LINK, {"a": 0.2, "b": 0.7, "c": 0.0}),
        ({"vote_tally": {"a": "5/5", "b": "1/5"}}, None, {"a": 0.9, "b": 0.18, "c": 0.9}),
        (
            {"vote_tally": {"a": "0/1", "b": "0/1", "c": "1/1"}},
            LINK,
            {"a": 0.02, "b": 0.07, "c": 0.9},
        ),
        ({"vote_tally": {"a": "0/0(默认相关)", "b": "9/5"}}, None, {"a": 0.9, "b": 0.9, "c": 0.9}),
    ],
)
def test_relevance(vote: Any, link: Any, order: dict[str, float]) -> None:
    assert relevance("abc", vote, link) == pytest.approx(order)


@pytest.mark.parametrize("read", [voted_tables, superset, refined_columns, linked_tables])
def test_an_empty_section_is_read(read: Any) -> None:
    found = read({}, "ab") if read is voted_tables else read({})
    assert set(found) == ({"a", "b"} if read is voted_tables else set())


def test_every_table_that_a_section_names_is_named_once() -> None:
    assert named("vote", {"all_tables": ["a"], "per_table": {"b": True, "a": False}}) == ["a", "b"]
    assert named("link", LINK) == ["a", "b"]
    assert named("prune", {"kept": {"x": ["c"]}, "deleted": {"tables": ["y"]}}) == ["x"]
    assert named("refine", {"refined_schema": {"y": {}}}) == ["y"]


def test_a_list_of_names_is_capped_and_harmless() -> None:
    assert listed(["a\n", "b"]) == r"a\u{a}, b"
    assert listed("abcdefg", " +{n}") == "a, b, c, d, e +2"


def test_the_superset_is_what_prune_kept_fields_by_their_paths() -> None:
    section = {
        "kept": {"x": ["c", "d.e"], "bare": []},
        "deleted": {"tables": [], "columns": {"x": ["d.f"]}},
    }
    assert superset(section) == {"x": frozenset({"c", "d.e"}), "bare": frozenset()}


@pytest.mark.parametrize("name", sorted(module.name for module in pkgutil.iter_modules(PLACES)))
def test_every_reader_reads_a_section_of_which_nothing_stands(name: str) -> None:
    """Commands that only look at sections meet those written by hand, with half of the keys."""
    reader = reader_of(name)
    assert name in REGISTRY
    assert reader is not PLAIN
    assert isinstance(reader.summary({}), str)
    assert "error" not in "".join(reader.diff({}, {}))
    assert list(reader.names({})) == []
    assert all(isinstance(line, str) for line in reader.why({}, TABLE))


@pytest.mark.parametrize("name", ["__init__", "../link", "os", "summarize", "no such"])
def test_a_section_without_a_module_has_the_plain_reader(name: str) -> None:
    assert reader_of(name) is PLAIN
