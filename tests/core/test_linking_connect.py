"""Components and shortest join paths over the keys of a whole catalog."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.core.linking.join_graph import Relations, relations_of
from tests.helpers.linking_tables import keyed_table as table


def chain(*names: str) -> list[Any]:
    """Tables each of which refers to the next."""
    tables = [
        table(name, "k", f"to_{after}", to={f"to_{after}": (after, "k")})
        for name, after in itertools.pairwise(names)
    ]
    return [*tables, table(names[-1], "k", "label")]


SALES = [
    table("sales", "amount", "region_id", to={"region_id": ("region", "rid")}),
    table("region", "rid", "label"),
    table("manager", "region_ref", "employee_ref",
          to={"region_ref": ("region", "rid"), "employee_ref": ("employee", "eid")}),
    table("employee", "eid", "full_name"),
    table("island", "x", "y"),
]  # fmt: skip


def test_the_shortest_path_leads_through_the_whole_catalog() -> None:
    (path,) = Relations(SALES).paths(["sales", "employee"])
    assert path.tables == ("employee", "manager", "region", "sales")
    assert path.ends == ("employee", "sales")


@pytest.mark.parametrize(
    ("chosen", "parts"),
    [
        ([], []),
        (["sales"], [["sales"]]),
        (["sales", "region"], [["region", "sales"]]),
        (["sales", "employee"], [["employee"], ["sales"]]),
        (["sales", "region", "manager", "employee"], [["employee", "manager", "region", "sales"]]),
        (["island", "sales"], [["island"], ["sales"]]),
    ],
)
def test_components(chosen: list[str], parts: list[list[str]]) -> None:
    assert Relations(SALES).components(chosen) == parts


def test_no_path_where_all_is_connected_or_nothing_leads_on() -> None:
    relations = Relations(SALES)
    assert relations.paths(["sales", "region"]) == []
    assert relations.paths(["sales", "island"]) == []
    assert relations.paths(["sales"]) == []
    assert [p.tables for p in relations.paths(["sales", "island", "manager"])] == [
        ("manager", "region", "sales")
    ]


def test_of_two_paths_the_shorter_wins_and_of_equals_the_first_by_name() -> None:
    tables = [
        table("a", "k", "p", "q", to={"p": ("m2", "k"), "q": ("m1", "k")}),
        table("m1", "k", "to_z", to={"to_z": ("z", "k")}),
        table("m2", "k", "zz", to={"zz": ("z", "k")}),
        table("z", "k", "label"),
    ]
    assert [path.tables for path in Relations(tables).paths(["a", "z"])] == [("a", "m1", "z")]


def test_parts_of_one_table_are_connected_although_nothing_joins_them() -> None:
    parts = [table(f"logs_{year}", "day", "value") for year in (2016, 2017)]
    others = [table("city", "k", "label"), table("land", "k", "label")]
    relations = Relations([*parts, *others])
    assert relations.components(["logs_2016", "logs_2017"]) == [["logs_2016", "logs_2017"]]
    assert relations.components(["city", "land"]) == [["city"], ["land"]]


def test_three_parts_take_two_paths() -> None:
    tables = chain("a", "b", "c", "d", "e")
    paths = Relations(tables).paths(["a", "c", "e"])
    assert [path.tables for path in paths] == [("a", "b", "c"), ("c", "d", "e")]


def test_a_self_join_and_a_cycle_do_no_harm() -> None:
    tables = [
        table("a", "k", "boss", "b", to={"boss": ("a", "k"), "b": ("b", "k")}),
        table("b", "k", "a", to={"a": ("a", "k")}),
    ]
    assert Relations(tables).components(["a", "b"]) == [["a", "b"]]


def test_relations_are_found_once_for_a_catalog() -> None:
    assert relations_of(SALES) is relations_of(SALES)
    assert relations_of(SALES) is not relations_of(list(SALES))


@st.composite
def catalogs(draw: st.DrawFn) -> list[Any]:
    n = draw(st.integers(2, 9))
    tables = []
    for at in range(n):
        to = {
            f"r{other}": (f"t{other}", f"k{other}")
            for other in draw(st.sets(st.integers(0, n - 1), max_size=2))
        }
        tables.append(table(f"t{at}", f"k{at}", *to, to=to))
    return tables


@given(catalogs(), st.randoms(use_true_random=False))
def test_paths_connect_whatever_keys_allow_in_any_order_of_tables(
    tables: list[Any], luck: random.Random
) -> None:
    relations = Relations(tables)
    chosen = luck.sample([t["name"] for t in tables], luck.randint(1, len(tables)))
    paths = relations.paths(chosen)
    everything = {*chosen, *(name for path in paths for name in path.tables)}
    whole = relations.components([t["name"] for t in tables])
    reachable = [part for part in whole if everything & set(part)]
    assert len(relations.components(everything)) == len(reachable)
    shuffled = luck.sample(tables, len(tables))
    assert Relations(shuffled).paths(chosen) == paths


@given(catalogs(), st.randoms(use_true_random=False))
def test_every_path_holds_what_fewer_tables_need(tables: list[Any], luck: random.Random) -> None:
    relations = Relations(tables)
    more = luck.sample([t["name"] for t in tables], luck.randint(1, len(tables)))
    fewer = luck.sample(more, luck.randint(1, len(more)))
    needed = {*fewer, *(name for path in relations.paths(fewer) for name in path.tables)}
    got = {*more, *(name for path in relations.paths(more, every=True) for name in path.tables)}
    assert needed <= got
