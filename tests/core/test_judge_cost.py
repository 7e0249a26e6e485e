"""What a loss costs, what the question spells, and texts as a whole."""

from __future__ import annotations

import numpy as np
import pytest

from stages.core.judge import judge
from stages.core.judge.index.index import build
from stages.core.judge.index.keys import by_name
from stages.core.judge.index.texts import texts_of, words
from stages.core.judge.question.patterns import is_spelled
from stages.core.judge.rank.select import SMALL, by_cost
from stages.core.records import Table
from tests.helpers.judge_tables import ask, table


def told(n: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """That a word speaks for each of n tables."""
    return np.ones(n, dtype=bool)


def kept(question: str, tables: list[Table], **how: float) -> set[str]:
    """Names of the kept tables."""
    return {one.name for one in judge(ask(question), tables, **how).tables if one.keep}  # type: ignore[arg-type]


def test_a_table_is_folded_where_it_saves_more_than_its_loss_costs() -> None:
    scores = np.array([0.9, 0.1, 0.1, 0.001])
    tokens = np.array([500.0, 100.0, 900.0, 300.0])
    made = by_cost(scores, 2000.0, tokens, np.ones(4), told(4))
    assert made.tolist() == [True, True, False, False]


def test_a_higher_price_folds_nothing_more() -> None:
    rng = np.random.default_rng(1)
    scores, tokens = rng.random(200), rng.random(200) * 1000
    before = np.zeros(200, dtype=bool)
    for price in (0.0, 10.0, 1e3, 1e4, np.inf):
        made = by_cost(scores, price, tokens, np.ones(200), told(200))
        assert (made | ~before).all()
        before = made
    assert before.all()


def test_a_catalog_of_few_tokens_is_never_folded() -> None:
    n = 5
    scores = np.array([0.99, 0.0, 0.0, 0.0, 0.0])
    small = np.full(n, SMALL / n)
    assert by_cost(scores, 0.0, small, np.ones(n), told(n)).all()
    assert by_cost(scores, 0.0, small * 2, np.ones(n), told(n)).sum() == 1


def test_parts_of_one_thing_are_paid_for_once() -> None:
    scores, tokens = np.full(36, 0.02), np.full(36, 400.0)
    scores[0] = 0.9
    alone = by_cost(scores, 1000.0, tokens, np.ones(36), told(36))
    as_one = by_cost(scores, 1000.0, tokens, np.full(36, 1 / 36), told(36))
    assert alone.sum() == 1
    assert as_one.all()


def test_what_costs_little_is_kept_by_price_and_not_by_recall() -> None:
    tables = [table(f"t{at}", "alpha", "beta") for at in range(8)] + [table("singer", "name")]
    assert kept("How many singers?", tables, loss_tokens=1e6) == {t["name"] for t in tables}
    assert len(kept("How many singers?", tables, recall=0.5)) < len(tables)


@pytest.mark.parametrize(
    ("name", "text", "whole"),
    [
        ("t_user", "查询t_user的人数", True),
        ("USER2", "rows of user2?", True),
        ("表", "表里有多少行", True),
        ("🍎", "how many 🍎 are there", True),
        ("age", "by page", False),
        ("in", "born in May", False),
        ("a", "a table", False),
        ("order_items", "all of order_items_old", False),
    ],
)
def test_a_name_is_spelled_where_it_stands_by_itself(name: str, text: str, whole: bool) -> None:
    assert is_spelled(name, text) is whole


def test_a_spelled_table_is_kept_whatever_its_score() -> None:
    tables = [table(f"part_{at}", "customer", "order", "total") for at in range(30)]
    tables += [table("zq_x9", "alpha", "beta")]
    question = "按zq_x9看, total order of each customer"
    assert "zq_x9" in kept(question, tables, recall=0.5)
    assert "zq_x9" not in kept("total order of each customer", tables, recall=0.5)


def test_a_rare_word_of_a_description_outweighs_housekeeping() -> None:
    tables = [
        {**table(f"T{at:03}", "F1"), "description": f"公司代码 信息发布日期 {topic}"}
        for at, topic in enumerate(["诉讼仲裁", "分红送转", "重大合同", "股东名单"])
    ]
    scores = texts_of(tables)["all"].scores(words("公司的重大合同"))  # type: ignore[arg-type]
    assert int(scores.argmax()) == 2
    assert kept("公司的重大合同有哪些", tables, recall=0.0) == {"T002"}  # type: ignore[arg-type]


def test_texts_of_nothing_score_nothing() -> None:
    assert build([table("t")]).texts["column"].scores(["x"]).tolist() == []
    assert build([table("t", "a")]).texts["all"].scores([]).tolist() == [0.0]


def test_a_column_called_as_a_table_points_to_it() -> None:
    country = {**table("country", "id", "title"), "primary_key": ["id"]}
    match = table("game", "Country", "score")
    edges = list(by_name([country, match]))  # type: ignore[list-item]
    assert [(e.left, e.left_columns, e.right, e.right_columns) for e in edges] == [
        ("game", ("Country",), "country", ("id",))
    ]
