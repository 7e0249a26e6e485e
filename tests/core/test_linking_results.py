"""Results as models and logs see them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.core.sandbox.limits import Answer
from stages.core.sandbox.result_cache import (
    FIRST,
    LONGEST,
    WHOLE,
    QueryOutcome,
    Result,
    packed,
    reduced,
    shown,
    unpacked,
)


def answer(rows, columns=("a", "b"), truncated=False):
    return Answer(columns, ("VARCHAR", "BIGINT"), tuple(rows), truncated)


def numbered(count):
    return [(f"v{n % 7}", None if n % 4 == 0 else n) for n in range(count)]


@pytest.mark.parametrize("count", [0, 1, WHOLE])
def test_a_short_result_stands_whole(count):
    result = reduced(answer(numbered(count)))
    assert len(result.rows) == count == result.count
    assert not result.profiles
    text = shown(result).splitlines()
    assert len(text) == 1 + max(count, 1)
    assert text[0] == "a | b"


def test_no_rows_are_told():
    assert shown(reduced(answer([]))) == "a | b\n(no rows)"


def test_a_long_result_shows_ten_rows_and_what_it_holds_in_all():
    text = shown(reduced(answer(numbered(100)))).splitlines()
    assert text[0] == "a | b"
    assert len(text) == 1 + FIRST + 1 + 2
    assert text[FIRST + 1] == "(10 of 100 rows)"
    assert text[-2:] == ["a: VARCHAR, 7 distinct, 0.0% null", "b: BIGINT, 75 distinct, 25.0% null"]


def test_a_result_that_goes_on_says_at_least():
    assert "(10 of at least 40 rows)" in shown(reduced(answer(numbered(40), truncated=True)))


def test_one_row_more_than_whole_is_long():
    assert len(reduced(answer(numbered(WHOLE + 1))).rows) == FIRST


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, "NULL"),
        (True, "true"),
        (1.5, "1.5"),
        ("x|y", "x\\|y"),
        ("one\ntwo", "one\\u{a}two"),
        ("\u202egnp", "\\u{202e}gnp"),
        ("z" * 100, "z" * 80 + "…(+20)"),
    ],
)
def test_cells_are_neutralised_and_cut(value, told):
    assert shown(reduced(answer([(value, 1)]))).splitlines()[1] == f"{told} | 1"


def test_a_wide_result_shows_some_columns():
    columns = tuple(f"c{n}" for n in range(200))
    wide = Answer(columns, ("BIGINT",) * 200, (tuple(range(200)),))
    assert "(+140 columns)" in shown(reduced(wide))


def test_rows_that_do_not_fit_are_counted():
    text = shown(reduced(answer([("w" * 80, n) for n in range(30)])), 1000)
    assert len(text) <= 1000
    assert "more rows do not fit here)" in text


cells = st.one_of(st.none(), st.text(max_size=300), st.integers(), st.booleans())


@given(st.lists(st.tuples(cells, cells), max_size=60))
def test_whatever_is_shown_is_bounded_and_printable(rows):
    text = shown(reduced(answer(rows)))
    assert len(text) <= LONGEST + 12
    assert all(line.isprintable() or not line.isascii() for line in text.split("\n"))


@given(st.lists(st.tuples(cells, cells), max_size=60), st.booleans())
def test_packing_and_unpacking_are_inverse(rows, truncated):
    tried = QueryOutcome("SELECT 1", reduced(answer(rows, truncated=truncated)))
    text = json.dumps(packed(tried)).encode("utf-8", "surrogatepass")
    assert unpacked(json.loads(text.decode("utf-8", "surrogatepass"))) == tried


def test_an_error_is_a_log_entry_too():
    tried = QueryOutcome("SELECT\n nope", None, "no column nope", "SqlFailed")
    assert tried.log == {"sql": "SELECT\\u{a} nope", "res": "error: no column nope"}
    assert unpacked(packed(tried)) == tried


def test_an_entry_of_another_version_is_refused():
    with pytest.raises((KeyError, TypeError)):
        unpacked({"sql": "x", "result": {"rows": []}, "error": "", "kind": ""})


def test_result_without_columns():
    assert shown(Result((), (), (), 0)).endswith("(no rows)")
