"""Copies of tables: which are found, which are none, and where they stand."""

from __future__ import annotations

import datetime
import itertools
import time
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.core.judge import judge, pipeline
from stages.core.judge.index.copies import copies_of
from stages.core.judge.rank import scores
from tests.helpers.judge_tables import ask, order, table

BASES = ("orders", "bills", "carts", "visits", "clerks")


def columns(key: str) -> list[str]:
    """Three columns that tables of one key share."""
    return [f"{key}_{n}" for n in range(3)]


def found(catalog: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Copies and their originals by name."""
    names = list(catalog)
    places = copies_of(names, list(catalog.values())).tolist()
    return {names[at]: names[of] for at, of in enumerate(places) if of >= 0}


def twins(*names: str) -> dict[str, list[str]]:
    """Tables that all have the same columns."""
    return dict.fromkeys(names, columns("same"))


DAYS = st.dates(datetime.date(1950, 1, 1), datetime.date(2049, 12, 31))
#: Three documents with a history each, under the letters of SAP Business One, and other tables.
CODES = {
    **{f"{letter}{code}": columns(code) for code in ("CRD", "CPR", "ITM") for letter in "AO"},
    **{name: columns(name) for name in ("OUSR", "OSLP", "OPRC", "OWHS")},
}


@pytest.mark.parametrize(
    ("catalog", "copies"),
    [
        (twins("orders", "orders_archive"), {"orders_archive": "orders"}),
        (twins("orders", "old_orders"), {"old_orders": "orders"}),
        (twins("Orders", "OrdersHistory"), {"OrdersHistory": "Orders"}),
        (twins("db.hr.staff", "db.bak.staff_bak"), {"db.bak.staff_bak": "db.hr.staff"}),
        (twins("orders", "bills_archive"), {}),
        (twins("orders", "orders_open"), {}),
        (twins("orders"), {}),
        ({"orders": ["a", "b"], "orders_archive": ["a", "b"]}, {}),
        ({"orders": ["a", "b", "c"], "orders_archive": ["a", "b", "d"]}, {}),
        ({"orders": ["A", "b", "c"], "orders_archive": ["c", "B", "a"]}, {"orders_archive": "orders"}),
        (CODES, {"ACRD": "OCRD", "ACPR": "OCPR", "AITM": "OITM"}),
        ({name: CODES[name] for name in ("ACRD", "OCRD", "OUSR", "OSLP")}, {}),
        ({}, {}),
    ],
)  # fmt: skip
def test_copies(catalog: dict[str, list[str]], copies: dict[str, str]) -> None:
    assert found(catalog) == copies


@given(
    st.sets(st.sampled_from(BASES)),
    st.sets(st.sampled_from(BASES)),
    st.sampled_from(["archive", "history", "backup", "old", "tmp"]),
    st.booleans(),
    st.randoms(use_true_random=False),
)
@settings(deadline=None)
def test_every_archive_of_a_table_is_its_copy(
    plain: set[str], kept: set[str], word: str, before: bool, random: object
) -> None:
    """Just those, whatever the order; never both of a pair."""
    assume_most_have_originals = len(plain & kept) >= 0.6 * len(kept)
    named = {base: f"{word}_{base}" if before else f"{base}_{word}" for base in BASES}
    catalog = {base: columns(base) for base in plain} | {
        named[base]: columns(base) for base in kept
    }
    names = sorted(catalog)
    random.shuffle(names)  # type: ignore[attr-defined]
    pairs = {named[base]: base for base in plain & kept}
    copies = found({name: catalog[name] for name in names})
    assert copies == (pairs if assume_most_have_originals else {})
    assert not set(copies) & set(copies.values())


@given(st.permutations(sorted(CODES)))
@settings(deadline=None)
def test_the_order_of_tables_changes_no_copy(names: list[str]) -> None:
    assert found({name: CODES[name] for name in names}) == found(CODES)


@given(
    st.lists(
        st.tuples(
            st.text(max_size=12) | st.sampled_from(["a_b", "b_old", "old", "", ".", "old_b", "_"]),
            st.lists(st.sampled_from("abcdABCD"), max_size=5),
        ),
        max_size=12,
    )
)
@settings(deadline=None)
def test_any_copy_has_the_columns_of_another_table(catalog: list[tuple[str, list[str]]]) -> None:
    """Hostile names, names that come twice, columns that come twice."""
    made = copies_of([name for name, _ in catalog], [held for _, held in catalog])
    assert made.dtype == np.int32
    assert made.shape == (len(catalog),)
    for at, of in enumerate(made.tolist()):
        assert -1 <= of < len(catalog)
        assert of != at
        if of >= 0:
            mine, other = ({c.lower() for c in catalog[place][1]} for place in (at, of))
            assert mine == other


@given(
    st.sampled_from(["events_{}", "{}_events", "log_{}", "old_{}", "archive{}", "E{}", "{}"]),
    st.sets(DAYS, min_size=2, max_size=8),
    st.sampled_from(["%Y%m%d", "%Y_%m_%d", "%Y", "%Y%m"]),
)
@settings(deadline=None)
def test_parts_by_date_are_no_copies(name: str, days: set[datetime.date], form: str) -> None:
    """``events_20210101`` holds one day as ``events_20210102`` holds another."""
    assert found(twins(*(name.format(f"{day:{form}}") for day in days))) == {}


@given(
    st.sets(st.sampled_from(BASES), min_size=1),
    st.sets(st.sampled_from(["west", "east", "north", "south"]), min_size=2),
    st.booleans(),
)
@settings(deadline=None)
def test_parts_by_place_are_no_copies(bases: set[str], sides: set[str], before: bool) -> None:
    """``west_orders`` and ``east_orders`` are equals, for one table or for many."""
    catalog = {
        f"{side}_{base}" if before else f"{base}_{side}": columns(base)
        for base, side in itertools.product(sorted(bases), sorted(sides))
    }
    assert found(catalog) == {}


def test_many_tables_of_the_same_columns_are_parts_of_one() -> None:
    """Seven and more twins are no pairs of original and copy."""
    assert found(twins("orders", *(f"orders_{x}" for x in "abcde"), "orders_archive")) == {}


def test_ten_thousand_tables_take_bounded_time() -> None:
    bases = ["".join(pair) for pair in itertools.product("abcdefghij", repeat=4)][:5_000]
    names = [name for base in bases for name in (base, f"old_{base}")]
    held = [columns(base) for base in bases for _ in range(2)]
    began = time.process_time()
    made = copies_of(names, held)
    assert time.process_time() - began < 10
    assert (made >= 0).sum() == 5_000


SHOP = [
    table("orders", "order_id", "day", "total"),
    table("orders_archive", "order_id", "day", "total"),
    table("bus_line", "stop", "departure"),
]


@pytest.mark.parametrize("original", ["orders", "orders_all", "orders_web"])
@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("What is the total on each day?", False),
        ("What is the total of orders on each day?", False),
        ("What is the total in the archive on each day?", True),
        ("What is the total of archived orders on each day?", True),
    ],
)
def test_a_copy_stands_behind_its_original_unless_asked_for(
    original: str, question: str, asked: bool
) -> None:
    """Also where no word of the question tells the two apart, whichever comes first by name."""
    columns = ("order_id", "day", "total")
    tables = [table(original, *columns), table("orders_archive", *columns), SHOP[2]]
    expected = ["orders_archive", original] if asked else [original, "orders_archive"]
    assert order(judge(ask(question), tables))[:2] == expected


def test_codes_stand_behind_their_originals() -> None:
    """Nothing but the pattern of the letters tells a table from its history."""
    tables = [
        table(name, *(f"{name[1:]}{n}" for n in range(3)), description=f"about {name[1:]} cards")
        for name in CODES
    ]
    ranked = order(judge(ask("What about CRD cards?"), tables))
    assert ranked[0] == "OCRD"
    assert ranked.index("OCRD") < ranked.index("ACRD")


@pytest.mark.parametrize(
    ("question", "taken"), [("all orders", scores.COPY), ("orders archive", 0)]
)
def test_only_a_copy_that_is_not_asked_for_is_lowered(question: str, taken: float) -> None:
    match = pipeline.matched(ask(question), SHOP)
    before = np.array([0.5, 0.25, -1.0], dtype=np.float32)
    after = scores.demote_copies(match, before)
    assert (before - after).tolist() == [0.0, taken, 0.0]
    assert before.tolist() == [0.5, 0.25, -1.0]


def test_what_copy_of_what_is_kept_with_the_index() -> None:
    match = pipeline.matched(ask("orders"), SHOP)
    assert match.index.copy_of.tolist() == [-1, 0, -1]


@pytest.mark.parametrize(
    "catalog",
    [
        twins("orders_archive", "orders_backup"),
        {f"{before}sales_{base}": columns(base) for base in BASES for before in ("", "archive_")},
    ],
    ids=["two words", "all of one word"],
)
def test_never_both_of_a_pair_are_copies(catalog: dict[str, list[str]]) -> None:
    copies = found(catalog)
    assert not set(copies) & set(copies.values())


def test_two_copies_have_one_original() -> None:
    """Whatever order the three come in."""
    for names in itertools.permutations(["orders", "orders_old", "orders_bak"]):
        assert found(twins(*names)) == {"orders_old": "orders", "orders_bak": "orders"}


def test_parts_by_place_of_which_one_side_has_more_are_no_copies() -> None:
    catalog = {f"west_{base}": columns(base) for base in BASES[:3]} | {
        f"east_{base}": columns(base) for base in BASES
    }
    assert found(catalog) == {}
