"""Names and sentences to terms: splitting, segmentation, Chinese, abbreviations, dates, form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.core.judge.index import keys
from stages.core.judge.language import chinese, dates, tokenize
from stages.core.judge.match import expand
from stages.core.judge.question import patterns
from stages.core.judge.question import question as question_question
from stages.core.judge.question.question import QueryTerm, read


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("cust_addr", ("cust", "addr")),
        ("shipToAddress2", ("ship", "to", "address", "2")),
        ("LISTEDSECURITY", ("listed", "security")),
        ("SSMA_TimeStamp", ("ssma", "time", "stamp")),
        ("orderlines", ("order", "lines")),
        ("OVPM", ("ovpm",)),
        ("HTTPServer", ("http", "server")),
        ("", ()),
        ("___", ()),
        ("证券代码", ("证券代码",)),
        ("naïve_café", ("na", "ï", "ve", "caf", "é")),
    ],
)
def test_names_are_split(name: str, parts: tuple[str, ...]) -> None:
    assert tokenize.split(name) == parts


@given(st.text(max_size=40))
def test_splitting_any_text_keeps_its_letters(name: str) -> None:
    assert "".join(tokenize.split(name)).lower() == "".join(part for part in tokenize.split(name))
    assert all(part and part == part.lower() for part in tokenize.split(name) if part.isascii())


@pytest.mark.parametrize(
    ("one", "other"), [("countries", "country"), ("employees", "employee"), ("prices", "price")]
)
def test_stems_meet(one: str, other: str) -> None:
    assert tokenize.stem(one) == tokenize.stem(other)


@pytest.mark.parametrize("part", ["zzqxk", "xqzvbnmk", "employee"])
def test_what_is_no_run_of_words_stays_whole(part: str) -> None:
    assert tokenize.cut(part) == (part,)


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=6, max_size=24))
def test_segmentation_loses_no_letter(part: str) -> None:
    assert "".join(tokenize.cut(part)) == part


@pytest.mark.parametrize(
    ("run", "pieces"),
    [
        ("火车站的名称", ["火车站", "的", "名称"]),
        ("上市公司", ["上市公司"]),
        ("股票代码", ["股票代码"]),
    ],
)
def test_chinese_is_cut(run: str, pieces: list[str]) -> None:
    assert list(chinese.cut(run)) == pieces


@given(st.text(alphabet=st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), max_size=20))
def test_cutting_chinese_loses_no_character(run: str) -> None:
    assert "".join(chinese.cut(run)) == run


@pytest.mark.parametrize(
    ("word", "english"), [("歌手", "singer"), ("航班", "flight"), ("营业收入", "revenue")]
)
def test_chinese_is_translated(word: str, english: str) -> None:
    assert english in chinese.translations(word)


@pytest.mark.parametrize(
    ("short", "word", "is_one"),
    [
        ("qty", "quantity", True),
        ("addr", "address", True),
        ("cust", "customer", True),
        ("dept", "department", True),
        ("cat", "contact", False),
        ("name", "number", False),
        ("ab", "abc", False),
    ],
)
def test_abbreviations(short: str, word: str, is_one: bool) -> None:
    assert expand.abbreviates(short, word) is is_one


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("November 1–30, 2020", ((20201101, 20201130),)),
        ("between August 1, 2016, and April 30, 2017", ((20160801, 20170430),)),
        ("in 2018", ((20180101, 20181231),)),
        ("2018年3月5日", ((20180305, 20180305),)),
        ("13/45/2018 and room 2018a", ((20180101, 20181231),)),
        ("no date at all, 12 apples", ()),
    ],
)
def test_dates_are_read(text: str, spans: tuple[dates.Span, ...]) -> None:
    assert dates.spans(text) == spans


@given(st.text(max_size=80))
def test_dates_in_any_text_are_in_order(text: str) -> None:
    assert all(start <= end for start, end in dates.spans(text))


def test_quoted_strings_of_both_languages() -> None:
    assert set(patterns.quoted("有多少“女”性住在 'New York' 或《红楼梦》？")) == {
        "女",
        "new york",
        "红楼梦",
    }


def test_a_definition_counts_only_for_a_word_of_the_question() -> None:
    known = "- GMV refers to the sum of paid orders.\n- churn refers to lost users."
    assert question_question.about("What was the GMV?", known) == "GMV the sum of paid orders."
    assert question_question.about("How many shops?", known) == ""


def test_identifiers_are_read_as_the_schema_spells_them() -> None:
    question = read(
        {
            "kind": "task",
            "task_id": "1",
            "question": "x",
            "evidence": "papers refers to Paper.Id, num_sales",
        }
    )
    assert {"num_sales", "Paper.Id"} <= set(question.identifiers.values())


@pytest.mark.parametrize(
    "task", [{}, {"question": ""}, {"question": "?!"}, {"question": "\x00\ud800"}]
)
def test_questions_without_words_have_no_units(task: dict[str, str]) -> None:
    assert read({"kind": "task", "task_id": "1", **task}).units == ()  # type: ignore[typeddict-item]


def test_last_name() -> None:
    assert keys.last_name("db.public.users") == "users"


@pytest.mark.parametrize(
    ("column", "word"), [("qty", "quantity"), ("cty_nm", "county"), ("ctry", "country")]
)
def test_shortenings_that_end_in_y_are_met_as_stems(column: str, word: str) -> None:
    terms = tokenize.terms(column)
    known = expand.vocabulary({term: at for at, term in enumerate(terms)}, range(len(terms)))
    unit = QueryTerm(word, ((tokenize.stem(word), 1.0),), 0, "question")
    assert expand.expand(unit, known).get(0, 0.0) >= expand.ABBREVIATION
