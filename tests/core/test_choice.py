"""The model's choice: what it is shown, and a fusion that never removes anything."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from stages.core.judge.judgment import Edge, EvidencePiece, Judgment, RankedColumn, RankedTable
from stages.core.judge.priors.model_choice import apply_model_choice
from stages.core.linking.link import POOL, Choice, choice_batches, parse_choice
from stages.core.records import Table

NAMES = [f"t{n}" for n in range(6)]


def table(name: str, **more: Any) -> Table:
    made: dict[str, Any] = {
        "kind": "table", "catalog": "c", "name": name, "describe_key": name,
        "columns": [{"name": c, "type": "BIGINT"} for c in ("a", "b")], **more,
    }  # fmt: skip
    return made  # type: ignore[return-value]


def key(other: str) -> dict[str, Any]:
    return {"columns": ["b"], "ref_table": other, "ref_columns": ["a"]}


TABLES = [table(name, foreign_keys=[key("t0")]) for name in NAMES]

scores = st.floats(0, 1)
judgments = st.lists(st.tuples(scores, st.booleans()), min_size=6, max_size=6).flatmap(
    lambda found: st.lists(
        st.tuples(st.sampled_from(NAMES), st.sampled_from("ab"), scores, st.booleans()), max_size=8
    ).map(
        lambda columns: Judgment(
            tuple(RankedTable(n, s, k) for n, (s, k) in zip(NAMES, found, strict=True)),
            tuple({(t, c): RankedColumn(t, c, s, k) for t, c, s, k in columns}.values()),
            (),
        )
    )
)
choices = st.dictionaries(st.sampled_from(NAMES), st.frozensets(st.sampled_from("ab"))).flatmap(
    lambda chosen: st.frozensets(st.sampled_from(NAMES)).map(
        lambda seen: Choice(seen | frozenset(chosen), chosen, {})
    )
)


@given(judgments, st.lists(choices, max_size=3))
def test_nothing_that_was_kept_is_removed(before: Judgment, chosen: list[Choice]) -> None:
    after = apply_model_choice(before, chosen, TABLES)
    kept = {t.name for t in after.tables if t.keep}
    named = {name for choice in chosen for name in choice.chosen}
    assert kept == {t.name for t in before.tables if t.keep} | named
    columns = {(c.table, c.name) for c in after.columns if c.keep}
    assert columns >= {(c.table, c.name) for c in before.columns if c.keep}
    assert sorted(t.name for t in after.tables) == NAMES
    assert len({(c.table, c.name) for c in after.columns}) == len(after.columns)
    assert all(0 <= item.score <= 1 for item in (*after.tables, *after.columns))
    for old in before.tables:
        new = next(t for t in after.tables if t.name == old.name)
        assert new.score >= min(old.score, 1 - 1e-6) or old.name not in named


@given(judgments)
def test_no_choice_changes_no_score(before: Judgment) -> None:
    after = apply_model_choice(before, [], TABLES)
    assert {t.name: t for t in after.tables} == {t.name: t for t in before.tables}


def test_an_added_table_is_joined_to_the_kept_ones_by_its_declared_keys() -> None:
    before = Judgment((RankedTable("t0", 0.9, True), RankedTable("t1", 0.1, False)), (), ())
    after = apply_model_choice(
        before, [Choice(frozenset({"t1"}), {"t1": frozenset("a")}, {})], TABLES
    )
    assert after.edges == (Edge("t1", ("b",), "t0", ("a",), "declared"),)
    assert {c.name for c in after.columns if c.keep} == {"a", "b"}


def test_a_large_catalog_shows_what_is_kept_and_the_best_of_the_rest() -> None:
    many = [f"m{n}" for n in range(POOL * 2)]
    why = (EvidencePiece("name", ("x",), 0.1),)
    ranked = [
        RankedTable(n, 0.5, at % 5 == 0, why if at < POOL * 1.5 else ())
        for at, n in enumerate(many)
    ]
    task: Any = {"kind": "task", "task_id": "t", "question": "which x?"}
    found = choice_batches(
        task, [table(n) for n in many], Judgment(tuple(ranked), (), ()), "en", tokens=2000
    )
    shown = [name for batch in found for name in batch.tables]
    assert len(found) > 1
    assert len(shown) == POOL
    assert {t.name for t in ranked if t.keep} <= set(shown)
    assert shown == [n for n in many if n in set(shown)]  # in rank order


def test_a_reply_is_read_against_its_own_batch() -> None:
    task: Any = {"kind": "task", "task_id": "t", "question": "which x?"}
    ranked = tuple(RankedTable(n, 0.5, True) for n in NAMES[:2])
    batch = choice_batches(task, TABLES, Judgment(ranked, (), ()), "zh")[0]
    said = [
        {"reason": "r", "table_name": n, "columns": c}
        for n, c in (("T1", ["A", "a", "t1.b", "c"]), ("t5", []), ("t1", ["b"]))
    ]
    choice = parse_choice({"tables": said}, batch, TABLES)
    assert choice.chosen == {"t1": frozenset("ab")}
    assert choice.unknown == ("t1.c", "t5")
    assert choice.seen == {"t0", "t1"}
