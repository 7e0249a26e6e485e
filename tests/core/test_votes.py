"""Cleaning, tally, reasons and the result of voting."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.core.lines import schema
from stages.core.linking.vote import (
    UNVOTED_TALLY,
    TableOutcome,
    Verdict,
    clean,
    decide,
    result,
    without_votes,
)
from stages.core.records import Table

NAMES = ["a", "b", "表"]


def table(name: str, key: str = "", **more: Any) -> Table:
    made: dict[str, Any] = {
        "kind": "table", "catalog": "sha256:0", "name": name, "describe_key": key or f"{name}.csv",
        "columns": [], **more,
    }  # fmt: skip
    return made  # type: ignore[return-value]


def reply(*verdicts: tuple[str, bool]) -> dict[str, Any]:
    return {
        "verdicts": [
            {"table_name": name, "reason": f"reason {n}", "relevant": relevant}
            for n, (name, relevant) in enumerate(verdicts)
        ]
    }


@pytest.mark.parametrize(
    ("verdicts", "kept"),
    [
        ([("a", True), ("b", False)], {"a": True, "b": False}),
        ([("a", True), ("zz", True)], {"a": True}),  # a name that is not in the list
        ([("A", True), (" b", True), ("b ", True), ("`b`", True)], {}),  # misspelt
        ([("a", True)], {"a": True}),  # b and 表 are left out
        ([("a", True), ("b", True), ("a", False)], {"a": False, "b": True}),  # the last counts
        ([], {}),
    ],
)
def test_cleaning_one_round(verdicts: list[tuple[str, bool]], kept: dict[str, bool]) -> None:
    cleaned = clean(reply(*verdicts), NAMES)
    assert {name: verdict.relevant for name, verdict in cleaned.items()} == kept


def test_a_reason_can_always_be_written() -> None:
    data = {"verdicts": [{"table_name": "a", "reason": " x\ud800 ", "relevant": True}]}
    assert clean(data, NAMES)["a"].reason == "x?"


@pytest.mark.parametrize(
    ("yes", "of", "relevant"),
    [(3, 5, True), (2, 5, False), (2, 4, True), (1, 2, True), (1, 1, True), (0, 1, False)],
)
def test_majority_as_the_seed_has_it(yes: int, of: int, relevant: bool) -> None:
    rounds = [{"a": Verdict(n < yes, "")} for n in range(of)]
    outcome = decide(rounds, "a", "zh")
    assert (outcome.relevant, outcome.tally) == (relevant, f"{yes}/{of}")


@pytest.mark.parametrize(
    ("rounds", "reason"),
    [
        ([(False, "no"), (True, ""), (True, "second")], "second"),  # first non-empty that agrees
        ([(True, "one"), (True, "two")], "one"),
        ([(False, "no"), (True, ""), (True, "")], "no"),  # none agrees: the first there is
        ([(True, ""), (False, "no")], "no"),
        ([(True, ""), (True, "")], ""),
    ],
)
def test_the_reason_that_is_chosen(rounds: list[tuple[bool, str]], reason: str) -> None:
    assert decide([{"a": Verdict(*verdict)} for verdict in rounds], "a", "zh").reason == reason


@pytest.mark.parametrize(
    ("lang", "tally", "reason"),
    [
        ("zh", "0/0(默认相关)", "所有轮均未判定, 按召回优先默认相关"),
        ("en", "0/0(kept by default)", "no round judged it; kept by default, recall first"),
    ],
)
def test_a_table_that_no_round_named(lang: Any, tally: str, reason: str) -> None:
    outcome = decide([{"b": Verdict(False, "x")}, {}], "a", lang)
    assert outcome == without_votes(lang) == TableOutcome(True, tally, reason)


def test_reply_fields_make_the_model_reason_first() -> None:
    item = schema.reply("vote")["properties"]["verdicts"]["items"]
    assert list(item["properties"]) == item["required"] == ["table_name", "reason", "relevant"]


def test_the_result_keeps_table_order_and_puts_always_keep_last() -> None:
    tables = [
        table("doc", always_keep=True),
        table("z"),
        table("hr", "db/hr.db::HR"),
        table("a"),
        table("doc2", always_keep=True),
    ]
    outcomes = {
        "a": TableOutcome(True, "5/5", "r"),
        "hr": TableOutcome(False, "0/5", ""),
        "z": TableOutcome(True, "3/5", ""),
    }
    made = result("t", tables, outcomes, rounds_ok=5)
    assert made["relevant_tables"] == ["z", "a", "doc", "doc2"]
    assert made["all_tables"] == ["z", "hr", "a"]
    assert made["skipped_tables"] == ["hr"]
    assert made["skipped_describe_keys"] == ["db/hr.db::HR"]
    assert made["always_keep"] == ["doc", "doc2"]


rounds_of_votes = st.lists(
    st.dictionaries(st.sampled_from(NAMES), st.builds(Verdict, st.booleans(), st.text())),
    max_size=6,
)


@given(rounds_of_votes)
def test_voting_never_loses_a_table_that_had_no_votes(rounds: list[dict[str, Verdict]]) -> None:
    outcomes = {name: decide(rounds, name, "zh") for name in NAMES}
    made = result("t", [table(name) for name in NAMES], outcomes, rounds_ok=len(rounds))
    for name in NAMES:
        if not any(name in votes for votes in rounds):
            assert name in made["relevant_tables"]
            assert made["vote_tally"][name] == UNVOTED_TALLY["zh"]
    assert sorted(made["relevant_tables"] + made["skipped_tables"]) == sorted(NAMES)


@given(rounds_of_votes, st.sampled_from(NAMES))
def test_one_more_yes_never_drops_a_table(rounds: list[dict[str, Verdict]], name: str) -> None:
    more = [*rounds, {name: Verdict(True, "")}]
    assert decide(more, name, "zh").relevant >= decide(rounds, name, "zh").relevant


@given(
    st.lists(st.tuples(st.text(), st.text(), st.booleans())),
)
def test_any_reply_leaves_only_candidates(verdicts: list[tuple[str, str, bool]]) -> None:
    data = {
        "verdicts": [{"table_name": n, "reason": r, "relevant": v} for n, r, v in verdicts],
    }
    cleaned = clean(data, NAMES)
    assert set(cleaned) <= set(NAMES)
    json.dumps([v.reason for v in cleaned.values()], ensure_ascii=False).encode()
