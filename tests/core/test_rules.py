"""The user's rules: what they match, what they do, and where a wrong file is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.core.errors import DataError
from stages.core.judge.priors.rules import parse_rules, read_rules
from stages.core.names import Names
from stages.core.records import Table

GOOD = """\
- name: dividends
  when:
    words: [dividend, 分红, "ex date"]
    regex: "per (share|unit)"
  add:
    tables: [Dividend History]
    columns:
      prices: [close]
- when: {words: [draft]}
  forbid:
    tables: [dividend_draft, "Dividend History"]
    columns: {prices: [open]}
"""


def table(name: str, *columns: str, alias: str = "") -> Table:
    return {
        "kind": "table",
        "catalog": "c",
        "name": name,
        "describe_key": name,
        "aliases": [alias] if alias else [],
        "columns": [{"name": column, "type": "VARCHAR"} for column in columns],
    }


@pytest.mark.parametrize(
    ("question", "added"),
    [
        ("What was the DIVIDEND of 2020?", True),
        ("the  ex   date of it", True),
        ("去年的分红是多少", True),
        ("earnings Per Unit", True),
        ("what are dividends", False),  # whole words only
        ("subdividend", False),
        ("index date", False),
        ("", False),
    ],
)
def test_a_rule_matches_words_and_patterns(question: str, added: bool) -> None:
    applied = parse_rules(GOOD.encode(), "r.yaml").apply(question)
    assert applied.add_tables == (("Dividend History", "prices") if added else ())
    assert applied.add_columns == ((("prices", "close"),) if added else ())


def test_what_one_rule_adds_no_other_forbids() -> None:
    rules = parse_rules(GOOD.encode(), "r.yaml")
    both = rules.apply("draft of the dividend")
    assert both.forbid_tables == ("dividend_draft",)
    assert both.forbid_columns == (("prices", "open"),)
    alone = rules.apply("the draft")
    assert alone.forbid_tables == ("dividend_draft", "Dividend History")
    assert alone.forbid == ("dividend_draft", "Dividend History", "prices.open")


def test_the_words_that_matched_are_kept_for_the_evidence() -> None:
    applied = parse_rules(GOOD.encode(), "r.yaml").apply("Profit per share?")
    assert applied.notes["Dividend History"] == ("per share", "dividends")


def test_names_are_those_of_the_catalog_in_any_spelling() -> None:
    names = Names([table("dividend_history", alias="Dividend History"), table("prices", "Close")])
    applied = parse_rules(GOOD.encode(), "r.yaml").apply("draft dividend").within(names)
    assert applied.add == ("dividend_history", "prices", "prices.Close")
    assert applied.forbid == ()
    assert applied.unknown == ("rules: no table dividend_draft", "rules: no column prices.open")
    assert applied.notes["dividend_history"][0] == "dividend"


def test_what_is_added_by_one_spelling_is_not_forbidden_by_another() -> None:
    text = """\
- when: {words: [staff]}
  add: {tables: [employees], columns: {employees: [day]}}
- when: {words: [staff]}
  forbid: {tables: ["Employee List"], columns: {"Employee List": [Day, hours]}}
"""
    names = Names([table("employees", "Day", "hours", alias="Employee List")])
    applied = parse_rules(text.encode(), "r.yaml").apply("all staff").within(names)
    assert applied.add == ("employees", "employees.Day")
    assert applied.forbid == ("employees.hours",)


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        ("- when: {words: [a]}\n  ad: {tables: [t]}\n", "2:3", "unknown key 'ad'"),
        ("- when: {words: [a], wrods: [b]}\n  add: {tables: [t]}\n", "1:22", "unknown key"),
        ("- when: {words: [a]}\n", "1:3", "without 'add' and 'forbid'"),
        ("- add: {tables: [t]}\n", "1:3", "without 'when'"),
        ("- when: {}\n  add: {tables: [t]}\n", "1:9", "'when' says nothing"),
        ("- when: {words: []}\n  add: {tables: [t]}\n", "1:17", "an empty list"),
        ("- when: {words: word}\n  add: {tables: [t]}\n", "1:17", "no list"),
        ("- when: {words: [2020]}\n  add: {tables: [t]}\n", "1:18", "no text"),
        ("- when: {words: [yes]}\n  add: {tables: [t]}\n", "1:18", "no text"),
        ("- when: {words: ['']}\n  add: {tables: [t]}\n", "1:18", "empty text"),
        ("- when: {words: [a]}\n  add: {}\n", "2:8", "names no tables"),
        ("- when: {regex: '('}\n  add: {tables: [t]}\n", "1:17", "no regular expression"),
        (
            "- when: {words: [a]}\n  when: {words: [b]}\n  add: {tables: [t]}\n",
            "2:3",
            "stands twice",
        ),
        ("- when: {words: [a]}\n  add: {columns: [t.c]}\n", "2:18", "no keys"),
        ("- when: {words: [!!python/name:os.system a]}\n  add: {tables: [t]}\n", "1:18", "no text"),
        ("rules: []\n", "1:1", "no list"),
        ("just text\n", "1:1", "no list"),
        ("- [1, 2\n", "2:1", "not YAML"),
        ("- a: &x [*y]\n", "1:10", "not YAML"),
        ("- 1\n---\n- 2\n", "2:1", "not YAML"),
        ("- when: {words: [a]}\n  add: {columns: {'': [c]}}\n", "2:19", "empty text"),
        ("- when: {words: [a]}\n  add: {tables: [' ']}\n", "2:18", "empty text"),
        ("- '': a\n", "1:3", "empty text"),
        ("- 1\n- é\x07\n", "2:4", "not YAML"),
    ],
)
def test_a_wrong_file_is_an_error_with_line_and_column(text: str, place: str, what: str) -> None:
    with pytest.raises(DataError) as caught:
        parse_rules(text.encode(), "r.yaml")
    assert caught.value.place == f"r.yaml:{place}"
    assert what in caught.value.what


def _bomb() -> str:
    """Ten lists of ten aliases of the list before."""
    rows = [f"- &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)]
    return "- &a0 [x, x]\n" + "".join(rows)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("&a [*a]", "nested too deeply"),
        ("- &a {when: *a}", "nested too deeply"),
        ("[" * 5_000 + "]" * 5_000, "nested too deeply"),
        ("- when: " + "{when: " * 200 + "{}" + "}" * 200, "unknown key 'when'"),
        (_bomb(), "more than"),
    ],
)
def test_what_repeats_itself_is_an_error_and_ends(text: str, what: str) -> None:
    with pytest.raises(DataError) as caught:
        parse_rules(text.encode(), "r.yaml")
    assert what in caught.value.what
    assert caught.value.place.startswith("r.yaml")


def test_an_alias_stands_for_what_it_names() -> None:
    text = "- when: &w {words: [a]}\n  add: {tables: [t]}\n- when: *w\n  add: {tables: [u]}\n"
    assert parse_rules(text.encode(), "r.yaml").apply("a").add_tables == ("t", "u")


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "\ufeff[]\n"])
def test_an_empty_file_has_no_rules(text: str) -> None:
    assert parse_rules(text.encode(), "r.yaml").apply("anything").add == ()


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read_rules(tmp_path / "none.yaml")
    assert "none.yaml" in caught.value.place
    (tmp_path / "latin.yaml").write_bytes(b"- name: caf\xe9\n")
    with pytest.raises(DataError, match="not UTF-8") as caught:
        read_rules(tmp_path / "latin.yaml")
    assert caught.value.place.endswith("latin.yaml:1:12")


@given(st.binary(max_size=80) | st.text("-: []{}&*!?|>'\"\n abwhen", max_size=60).map(str.encode))
def test_any_bytes_are_rules_or_an_error_with_its_place(raw: bytes) -> None:
    places = ["r.yaml"]
    try:
        parse_rules(raw, "r.yaml")
    except DataError as error:
        places.append(error.place)
    assert all(place.startswith("r.yaml") for place in places)
