"""Times that a question asks for, in both languages, and the parts of tables that hold them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.core.judge import judge
from stages.core.judge.index.parts import family, parts_of, shard
from stages.core.judge.language import dates
from stages.core.judge.rank.select import by_time, select

YEARS = [f"sales_{year}" for year in range(2015, 2025)]
NOISE = ["weather", "parking", "holiday", "printer", "vendor", "badge", "lamp", "desk"]


def table(name: str, *columns: str) -> Any:
    return {
        "kind": "table", "catalog": "c", "name": name, "describe_key": name,
        "columns": [{"name": column, "type": "TEXT"} for column in columns],
    }  # fmt: skip


def kept(question: str, tables: list[Any], recall: float = 0.97) -> list[str]:
    task: Any = {"kind": "task", "task_id": "t", "question": question}
    return sorted(t.name for t in judge(task, tables, recall=recall).tables if t.keep)


def years(first: int, last: int) -> list[str]:
    return [f"sales_{year}" for year in range(first, last + 1)]


@pytest.mark.parametrize("recall", [0.97, 0.99])
@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Sales after 2020", years(2021, 2024)),
        ("How did sales change since 2020?", years(2020, 2024)),
        ("Sales from 2020 onwards", years(2020, 2024)),
        ("Sales in 2020 and later", years(2020, 2024)),
        ("Sales before 2018", years(2015, 2017)),
        ("Sales up to 2018", years(2015, 2018)),
        ("Sales up to and including 2018", years(2015, 2018)),
        ("Sales until, and including, 2018", years(2015, 2018)),
        ("What were total sales from 2019 to 2021?", years(2019, 2021)),
        ("sales between the third quarter of 2018 and Q2 2020", years(2018, 2020)),
        ("year over year growth of sales in 2020", years(2019, 2020)),
        ("sales in 2020 compared with the previous year", years(2019, 2020)),
        ("sales in 2020 and the following year", years(2020, 2021)),
        ("sales of the last 3 years up to the end of 2020", years(2015, 2020)),
        ("sales in the 2010s", years(2015, 2019)),
        ("自2020年以来的销售额变化", years(2020, 2024)),
        ("2018年以前的销售额", years(2015, 2017)),
        ("截至2018年的销售额", years(2015, 2018)),
        ("2019年到2021年的总销售额是多少", years(2019, 2021)),
        ("2019年第三季度至2020年第二季度的销售额", years(2019, 2020)),
        ("2020年销售额同比增长多少", years(2019, 2020)),
    ],
)
def test_every_part_of_the_time_asked_for_is_kept_and_no_other(
    question: str, expected: list[str], recall: float
) -> None:
    tables = [table(name, "id", "amount", "region") for name in YEARS]
    tables += [table(f"noise_{name}", "id", f"{name}_code", "label") for name in NOISE]
    found = [name for name in kept(question, tables, recall) if name in YEARS]
    assert found == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("average cpu on 5 March 2024", ["metrics_20240305"]),
        ("average cpu from March 5 to March 7, 2024", [f"metrics_2024030{d}" for d in "567"]),
        ("How many customers churned?", ["customer_churn"]),
    ],
)
def test_daily_tables_fold_but_for_the_days_asked_for(question: str, expected: list[str]) -> None:
    days = [f"metrics_2024{month:02d}{day:02d}" for month in (2, 3, 4) for day in range(1, 29)]
    tables = [table(name, "host", "cpu", "mem") for name in days]
    tables += [table("customer_churn", "cust_id", "churned"), table("invoice", "invoice_id", "due")]
    assert kept(question, tables) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("visits from January to March", ["visits_feb", "visits_jan", "visits_mar"]),
        ("visits in April 2023", ["visits_apr"]),
        ("二月的visits", ["visits_feb"]),
    ],
)
def test_months_without_a_year(question: str, expected: list[str]) -> None:
    months = ("jan", "feb", "mar", "apr", "may", "jun")
    tables = [table(f"visits_{month}", "page", "hits") for month in months]
    assert kept(question, [*tables, table("staff", "staff_id", "hired")]) == expected


@pytest.mark.parametrize(
    ("name", "span"),
    [
        ("visits_2020q3", (20200701, 20200931)),
        ("Q1_2020_sales", (20200101, 20200331)),
        ("sales_2023_jan", (20230101, 20230131)),
        ("sales_2023-02", (20230201, 20230231)),
        ("2023年第一季度", (20230101, 20230331)),
        ("h2_2020", (20200701, 20201231)),
        ("sales_2015_2019", (20150101, 20191231)),
        ("market_2020x", (20200101, 20201231)),
        ("market", None),
    ],
)
def test_times_in_names(name: str, span: dates.Span | None) -> None:
    assert shard(name) == span


def test_months_count_only_where_a_family_has_several() -> None:
    names = ["pay_jan", "pay_feb", "march_games", "indiv_16", "indiv_20"]
    numbers: dict[str, int] = {}
    families = np.array([numbers.setdefault(family(name), len(numbers)) for name in names])
    parts = parts_of(names, families)
    assert parts.when([(20200101, 20200131)]).tolist() == [1, -1, 0, 0, 1]
    assert parts.when([(201, 231)]).tolist() == [-1, 1, 0, 1, 1]


@given(st.text(max_size=80))
def test_times_in_any_text_are_in_order(text: str) -> None:
    assert all(start <= end for start, end in dates.target_spans(text))
    shard(text)


def test_a_word_that_is_a_columns_name_letter_for_letter() -> None:
    noise = [table(f"noise_{name}", "id", f"{name}_code", "label") for name in NOISE]
    for column, word in (("headcount", "headcount"), ("head_count", "Headcounts"), ("taxrate", "taxrate"),
                         ("pageViews", "pageviews"), ("umsatzsteuer", "Umsatzsteuer")):  # fmt: skip
        tables = [*noise, table("zz", "office", column)]
        assert "zz" in kept(f"total {word} in Paris", tables), column


def test_where_no_word_speaks_for_the_best_table_all_are_kept() -> None:
    noise = [table(f"noise_{name}", "id", f"{name}_code", "label") for name in NOISE]
    tables = [*noise, table("zz", "office", "n", "k")]
    assert kept("How large is Paris?", tables) == sorted(t["name"] for t in tables)
    scores = np.array([0.6, 0.6, 0.001], dtype=np.float32)
    assert select(scores, 0.97, told=np.array([False, False, False])).all()
    assert not select(scores, 0.97, told=np.array([True, False, False])).all()


def test_parts_outside_the_time_are_left_only_beside_one_inside() -> None:
    on = np.array([True, False, True, True])
    when, families = np.array([1, 1, -1, -1]), np.array([0, 0, 0, 1])
    assert by_time(on, when, families).tolist() == [True, True, False, True]
