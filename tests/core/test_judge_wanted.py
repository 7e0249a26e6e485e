"""Kinds of column that a question wants: names of persons, names, dates."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stages.core.judge import judge, pipeline
from stages.core.judge.index.semantic_types import DATE, NAME, PERSON, terms_of
from stages.core.judge.question import entities
from stages.core.judge.question.question import MOST_UNITS, read
from stages.core.records import Column
from tests.helpers.judge_tables import HOSTILE, ask, both_ways, leads, order, table


def kinds_of(question: str, hint: str = "") -> dict[str, str]:
    """Texts of a question and the one kind that each wants."""
    return {text: terms[0][0] for text, terms in entities.units(question, hint)}


def column(name: str, type_: str = "VARCHAR", *examples: str) -> Column:
    """A column with these values."""
    return {"name": name, "type": type_, "examples": list(examples)}


@pytest.mark.parametrize("name", ["Nick Wahlberg", "Nick", "Zebulon Quigley"])
def test_a_name_seen_in_no_sample_finds_the_table_of_persons(name: str) -> None:
    """A given name says so, and so do two capitals that nothing else explains."""
    persons, others = ("surname", "roof"), ("floors", "roof")
    assert leads(both_ways(f"What about {name}?", persons, others))


def test_a_name_column_of_persons_is_one_of_persons_names() -> None:
    """Only the table's name tells the two apart, and only by what kind of thing it holds."""
    tables = [table("bridge", "name", "roof"), table("zz_player", "name", "roof")]
    assert order(judge(ask("What about Nick Wahlberg?"), tables))[0] == "zz_player"


def test_a_time_finds_a_column_of_years() -> None:
    """With the form switched off the two tables cannot be told apart."""
    years = {"stage": ["1901", "2011"]}
    has, lacks = ("stage", "roof"), ("floors", "roof")
    assert leads(both_ways("What about 1997?", has, lacks, examples=years))
    one, other = both_ways("What about 1997?", has, lacks, ["form"], examples=years)
    assert one == pytest.approx(other, abs=1e-6)


def test_a_quoted_title_lifts_a_column_of_titles() -> None:
    """Titles lead by more than they do with the form switched off."""
    question, has, lacks = "Where is the 'Blue Moon'?", ("title", "roof"), ("floors", "roof")
    on, off = (both_ways(question, has, lacks, without)[0] for without in ((), ("form",)))
    assert leads(both_ways(question, has, lacks))
    assert on["ga"] / on["gb"] > off["ga"] / off["gb"]


def test_without_form_nothing_is_wanted() -> None:
    question = ask("Who was Nick Wahlberg in 1997, and when did 'Blue Moon' open?")
    tables = [table("player", "name", "born_date"), table("bridge", "roof")]
    wanted_of = {unit.text for unit in read(question).units if unit.origin == "form"}
    assert wanted_of >= {"Nick Wahlberg", "Blue Moon", "1997"}
    assert not [u for u in read(question, frozenset(["form"])).units if u.origin == "form"]
    assert pipeline.matched(question, tables).table["kind"].any()
    assert not pipeline.matched(question, tables, frozenset(["form"])).table["kind"].any()
    for ranked in judge(question, tables, without=["form"]).tables:
        assert "form" not in {item.type for item in ranked.evidence}


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("What about Nick Wahlberg?", {"Nick Wahlberg": PERSON}),
        ("What about nick wahlberg?", {}),
        ("Who is it?", {"Who": PERSON}),
        ("When was it?", {"When": DATE}),
        ("What was sold on 2018-05-03?", {"2018": DATE}),
        ("Is there a 'Blue Moon'?", {"Blue Moon": NAME}),
        ("What about Tajikistan?", {"Tajikistan": NAME}),
        ("How many are there?", {}),
        ("", {}),
    ],
)
def test_what_questions_want(question: str, kinds: dict[str, str]) -> None:
    found = {text: kind for text, kind in kinds_of(question).items() if "'" not in text}
    assert found == kinds


def test_a_person_that_is_named_is_not_asked_for_again() -> None:
    """``who`` adds nothing where a name already says that persons are wanted."""
    assert kinds_of("Who is Nick Wahlberg?") == {"Nick Wahlberg": PERSON}


def test_a_hint_names_persons_too() -> None:
    assert kinds_of("How old is he?", "he refers to Nick Wahlberg") == {"Nick Wahlberg": PERSON}


@pytest.mark.parametrize(
    ("text", "persons"),
    [
        ("about Jordan", []),
        ("about Jordan Smith", ["Jordan Smith"]),
        ("about Ivory Coast", []),
        ("about Los Angeles", []),
        ("about 'Blue Moon'", []),
        ("about Nick", ["Nick"]),
        ("about nick", []),
        ("about Zebulon", []),
    ],
)
def test_places_and_titles_are_no_persons(text: str, persons: list[str]) -> None:
    assert list(entities.people(text)) == persons


def test_a_given_name_says_more_than_capitals() -> None:
    found = entities.people("Was Nick Wahlberg or Zebulon Quigley there?")
    assert found["Nick Wahlberg"] > found["Zebulon Quigley"]


@given(HOSTILE, HOSTILE)
@example("Nick Wahlberg " * 1000, "")
@example("'Aa Bb' Cc " * 1000, "1997 who when")
@example("who when " + " and ".join(f"'title {n}'" for n in range(50)), "")
@settings(deadline=None)
def test_few_kinds_are_wanted_of_any_question(question: str, hint: str) -> None:
    """At most six runs, one ``who`` and one ``time``; likenesses are shares."""
    found = entities.units(question, hint)
    assert len(found) <= 6 + 2
    for text, terms in found:
        assert text
        assert [term in {PERSON, NAME, DATE} and 0 < likeness <= 1 for term, likeness in terms] == [
            True
        ]


def test_kinds_keep_their_place_in_a_long_question() -> None:
    """What is wanted is not pushed out by words."""
    long = " ".join(f"q{chr(97 + i % 26)}{chr(97 + i // 26)}x" for i in range(500))
    units = read(ask(f"{long} about Nick Wahlberg in 1997")).units
    assert len(units) == MOST_UNITS
    assert [unit.text for unit in units if unit.origin == "form"] == ["Nick Wahlberg", "1997"]


@pytest.mark.parametrize(
    ("name", "held", "terms"),
    [
        ("any", column("first_name"), {PERSON, NAME}),
        ("any", column("surname"), {PERSON}),
        ("player", column("name"), {PERSON, NAME}),
        ("Players", column("full_title"), {PERSON, NAME}),
        ("bridge", column("name"), {NAME}),
        ("bridge", column("姓名"), {PERSON, NAME}),
        ("bridge", column("opened", "DATE"), {DATE}),
        ("bridge", column("opened", "TIMESTAMP WITH TIME ZONE"), {DATE}),
        ("bridge", column("birth_date"), {DATE}),
        ("bridge", column("opened", "INTEGER", "1901", "2011"), {DATE}),
        ("bridge", column("opened", "INTEGER", "1901", "9999"), set()),
        ("bridge", column("opened", "INTEGER", "19", "2011"), set()),
        ("bridge", column("opened", "INTEGER"), set()),
        ("player", column("points", "INTEGER"), set()),
        ("", column(""), set()),
    ],
)
def test_columns_stand_under_their_kinds(name: str, held: Column, terms: set[str]) -> None:
    assert set(terms_of(name, held)) == terms


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=12), st.lists(st.text()))
@settings(deadline=None)
def test_any_column_has_known_kinds(name: str, of: str, type_: str, seen: list[str]) -> None:
    found = terms_of(of, column(name, type_, *seen))
    assert len(found) == len(set(found))
    assert set(found) <= {PERSON, NAME, DATE}


def test_no_word_of_a_question_or_catalog_is_a_kind() -> None:
    """Kinds are told from words by their brackets, which no word has."""
    units = read(ask("<person> <name> <date>")).units
    assert not {PERSON, NAME, DATE} & {
        term for u in units if u.origin == "question" for term, _ in u.terms
    }


@pytest.mark.parametrize(
    "question", ["It was about Nick Wahlberg.", "What is Nick Wahlberg's salary?"]
)
def test_a_person_counts_once(question: str) -> None:
    assert list(entities.people(question)) == ["Nick Wahlberg"]


def test_a_quoted_title_counts_once() -> None:
    assert kinds_of("Is there a 'Blue Moon'?") == {"Blue Moon": NAME}


def test_without_form_persons_are_not_told_apart() -> None:
    off = both_ways("What about Nick Wahlberg?", ("surname", "roof"), ("floors", "roof"), ["form"])
    assert off[0] == pytest.approx(off[1], abs=1e-6)
