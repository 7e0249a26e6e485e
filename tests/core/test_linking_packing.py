"""Batches: the greedy order, groups kept together, what is split, and the limit that holds."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.core.linking.batches import packed
from stages.core.linking.column_refs import group_tables
from stages.core.linking.render import sheet
from stages.core.tokens import count
from tests.helpers.linking_tables import table

HEAD = "question " * 100


def size(batch) -> int:
    return count(f"{HEAD}\n{batch.body}\nwhat is irrelevant?")


def pack(tables, least, most, measure=size):
    return packed(
        [sheet(group, "en") for group in group_tables(tables)], measure, least=least, most=most
    )


def covered(batches):
    return sorted(
        (name, column)
        for batch in batches
        for name, columns in batch.columns.items()
        for column in columns
    )


def wide(name, n, **more):
    return table(name, *(f"{name}_column_number_{i}" for i in range(n)), **more)


def test_batches_are_closed_between_least_and_most():
    batches, notes = pack([wide(f"table{n:03}", 12) for n in range(60)], 800, 1200)
    sizes = [size(batch) for batch in batches]
    assert notes == []
    assert all(800 <= found <= 1200 for found in sizes[:-1])
    assert sizes[-1] <= 1200
    names = [name for batch in batches for name in batch.ids]
    assert names == sorted(names)


def test_a_group_that_does_not_fit_any_more_opens_the_next_batch():
    group = [table(f"g{n}", *(f"shared_column_{i}" for i in range(60))) for n in range(3)]
    batches, notes = pack([wide("a", 30), *group, wide("z", 3)], 500, 900)
    assert notes == []
    holding = [batch for batch in batches if "g0" in batch.ids]
    assert len(holding) == 1
    assert {"g0", "g1", "g2"} <= set(holding[0].ids)


def test_a_group_over_the_limit_is_split_by_tables_with_a_note():
    group = [table(f"very_long_name_of_a_table_by_day_{n:04}", "a", "b") for n in range(300)]
    batches, notes = pack(group, 800, 1200)
    assert all(size(batch) <= 1200 for batch in batches)
    assert len(batches) > 3
    assert len(notes) == 1
    assert "group of 300 tables" in notes[0]
    assert len(covered(batches)) == 600


def test_a_table_over_the_limit_is_split_by_columns_with_a_note():
    batches, notes = pack([wide("a", 3), wide("monster", 500), wide("z", 3)], 800, 1200)
    assert all(size(batch) <= 1200 for batch in batches)
    assert len([batch for batch in batches if "monster" in batch.ids]) > 3
    assert len(notes) == 1
    assert "table monster" in notes[0]
    assert len(covered(batches)) == 506


def test_a_wide_group_is_split_both_ways():
    columns = [f"shared_column_number_{i}" for i in range(300)]
    group = [table(f"long_name_of_a_table_{n:03}", *columns) for n in range(60)]
    batches, _ = pack(group, 800, 1200)
    assert all(size(batch) <= 1200 for batch in batches)
    assert len(covered(batches)) == len(set(covered(batches))) == 300 * 60


def test_what_cannot_be_shown_at_all_is_left_out_with_a_note():
    batches, notes = pack([table("a", "x", description="d" * 300)], 10, 150)
    assert batches == []
    assert any("not asked about" in note for note in notes)


def test_a_measure_that_says_more_than_the_parts_is_believed():
    batches, _ = pack(
        [wide(f"t{n:02}", 9) for n in range(40)], 800, 1200, lambda b: 2 * size(b) - 200
    )
    assert all(2 * size(batch) - 200 <= 1200 for batch in batches)
    assert len(covered(batches)) == 360


def test_the_order_of_tables_changes_nothing():
    tables = [wide(f"table{n:03}", n % 7 + 1) for n in range(50)]
    first = [batch.body for batch in pack(tables, 800, 1200)[0]]
    random.Random(2).shuffle(tables)
    assert [batch.body for batch in pack(tables, 800, 1200)[0]] == first


@pytest.mark.parametrize("name", ["\U0001f600" * 300, "\u202e" * 300, "名" * 300, "\x00"])
def test_tokens_of_odd_names_are_within_the_limit_too(name):
    tables = [table(f"{name}{n}", name, "a", f"b{n}", description=name) for n in range(40)]
    batches, _ = pack(tables, 1500, 2000)
    assert all(size(batch) <= 2000 for batch in batches)
    assert len(covered(batches)) == 120


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 6)), max_size=12), st.integers(600, 2000)
)
def test_every_column_is_shown_once_and_no_prompt_is_over(shapes, most):
    tables = [
        table(f"t{at}_{n}", *(f"column{at}_{i}" for i in range(width)))
        for at, (width, several) in enumerate(shapes)
        for n in range(several)
    ]
    batches, _ = pack(tables, most // 2, most)
    assert all(size(batch) <= most for batch in batches)
    wanted = sorted((t["name"], c["name"]) for t in tables for c in t["columns"])
    assert covered(batches) == wanted
