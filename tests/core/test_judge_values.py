"""Values of the question found whole in the data."""

from __future__ import annotations

import pytest

from stages.core.judge.index.index import build
from stages.core.judge.match.values import is_plain_number, whole_values
from stages.core.judge.question.question import read
from tests.helpers.judge_tables import table

TABLES = [
    table(
        "shops",
        "name",
        "town",
        "since",
        "licence",
        examples={
            "name": ["Corner Bakery"],
            "town": ["LONDON", "Stratford-upon-Avon"],
            "since": ["2012-08-23"],
            "licence": ["1204518"],
        },
    ),
    table("flags", "set", examples={"set": ["7", "yes"]}),
]


@pytest.mark.parametrize(
    ("question", "column"),
    [
        ("Who owns the corner bakery?", "name"),
        ("Shops in London", "town"),
        ("Which shop was opened on August 23, 2012?", "since"),
        ("Which shop holds licence 1204518?", "licence"),
        ("What about 'Corner Bakkery'?", "name"),
    ],
)
def test_a_value_is_found_in_any_spelling(question: str, column: str) -> None:
    index = build(TABLES)
    found = whole_values(read({"kind": "task", "task_id": "1", "question": question}), index.values)
    assert column in {index.columns[at] for at in found}


@pytest.mark.parametrize("question", ["", "7 things", "'qqqqqq zzzzz'", "How many are there?"])
def test_what_is_not_there_is_not_found(question: str) -> None:
    found = whole_values(
        read({"kind": "task", "task_id": "1", "question": question}), build(TABLES).values
    )
    assert found == {}


@pytest.mark.parametrize(
    ("value", "plain"), [("7", True), ("-3.25", True), ("12045", False), ("a7", False)]
)
def test_plain_numbers(value: str, plain: bool) -> None:
    assert is_plain_number(value) is plain
