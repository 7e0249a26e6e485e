"""Many questions of one catalog: nothing that grows with them, and nothing made for nothing."""

from __future__ import annotations

import gc
import tracemalloc

import pytest

from stages.core.judge import judge, store
from stages.core.judge.index import index
from stages.core.judge.match import expand
from stages.core.judge.question.question import read
from tests.helpers.judge_tables import SCHOOL, ask, table


def test_tables_alone_come_out_as_with_columns() -> None:
    for question in ("Which students take the Databases course?", "价格", ""):
        whole = judge(ask(question), SCHOOL)
        alone = judge(ask(question), SCHOOL, columns=False)
        assert alone.tables == whole.tables
        assert (alone.columns, alone.edges) == ((), ())
        assert alone.n_columns == whole.n_columns


def test_what_is_remembered_of_questions_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expand, "MOST_REMEMBERED", 30)
    monkeypatch.setattr(index, "MOST_REMEMBERED", 2)
    first = judge(ask("grade of number 0 in course Zork"), SCHOOL)
    catalog, known = store.open_index(sorted(SCHOOL, key=lambda table: table["name"]), None)
    for number in range(60):
        question = read(ask(f"stop {number} of line {number + 7919}"))
        expand.expand_all(question.units, known)
        catalog.remember(str(number), catalog.lengths, lambda: 1)
        assert len(known.memory) <= 30
        assert len(catalog.memory) <= 2
    assert judge(ask("grade of number 0 in course Zork"), SCHOOL) == first


@pytest.mark.slow
def test_memory_is_flat_over_many_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expand, "MOST_REMEMBERED", 30)

    def some(first: int, number: int) -> None:
        for at in range(first, first + number):
            judge(ask(f"grade of student {at} since lesson {at * 7919}"), SCHOOL, columns=False)
        gc.collect()

    some(0, 300)
    tracemalloc.start()
    try:
        some(300, 50)
        before = tracemalloc.get_traced_memory()[0]
        some(350, 300)
        grown = tracemalloc.get_traced_memory()[0] - before
        assert grown < 300 * 200
    finally:
        tracemalloc.stop()


def test_ten_thousand_tables_that_nothing_speaks_for_are_left() -> None:
    others = [table(f"tbl_{at}", f"col_{at}", f"val_{at % 31}") for at in range(10_000)]
    asked_of = [table("salaries", "emp_id", "salary", "region"), *others]
    found = judge(ask("What is the total salary per region?"), asked_of, columns=False)
    assert [ranked.name for ranked in found.tables if ranked.keep] == ["salaries"]


def test_where_nothing_speaks_for_any_of_many_all_are_kept() -> None:
    many = [table(f"tbl_{at}", f"col_{at}") for at in range(5_000)]
    assert all(ranked.keep for ranked in judge(ask("¿Qué hora es?"), many, columns=False).tables)
