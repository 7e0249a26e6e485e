"""Relations between tables: declared, by name, by value; paths and bridges."""

from __future__ import annotations

import pytest

from stages.core.judge.index.keys import key_graph
from stages.core.records import Table
from tests.helpers.judge_tables import table


def test_a_declared_key_wins_over_names() -> None:
    found = key_graph(
        [
            table(
                "orders",
                "id",
                "customer_id",
                foreign_keys=[
                    {"columns": ["customer_id"], "ref_table": "PEOPLE", "ref_columns": ["id"]}
                ],
            ),
            table("people", "id", "customer_id"),
        ]
    )
    assert [(e.left, e.right, e.how) for e in found.edges] == [("orders", "people", "declared")]


@pytest.mark.parametrize("column", ["singer_id", "SingerID", "Singer_Code"])
def test_a_key_named_after_a_table_leads_to_it(column: str) -> None:
    found = key_graph([table("concert", "title", column), table("singers", "id", "name")])
    assert [(e.left, e.right, e.how) for e in found.edges] == [("concert", "singers", "name")]


def test_equal_plain_names_join_nothing() -> None:
    assert key_graph([table("a", "name", "year"), table("b", "name", "year")]).edges == ()


def test_shared_values_join_columns_of_other_names() -> None:
    codes = ["AAA", "BBB", "CCC", "DDD"]
    found = key_graph(
        [
            table("schools", "title", "CDSCode", examples={"CDSCode": codes}),
            table("scores", "cds", "points", examples={"cds": codes[:3]}),
        ]
    )
    assert [(e.left_columns, e.right_columns, e.how) for e in found.edges] == [
        (("CDSCode",), ("cds",), "value")
    ]


def test_a_key_to_a_table_that_is_not_there_is_left_out() -> None:
    lost = [{"columns": ["x"], "ref_table": "gone", "ref_columns": ["id"]}]
    assert key_graph([table("a", "x", foreign_keys=lost)]).edges == ()


def chain() -> list[Table]:
    """a - b - c, and d apart."""
    return [
        table("a", "a_key", "b_id"),
        table("b", "id", "c_id"),
        table("c", "id"),
        table("d", "colour"),
    ]


def test_bridges_and_what_lies_between() -> None:
    graph = key_graph(chain())
    assert graph.bridges(["a", "c"]) == {"b"}
    assert graph.bridges(["a"]) == frozenset()
    assert [(e.left, e.right) for e in graph.between(["a", "b"])] == [("a", "b")]


def test_a_column_that_half_the_catalog_shares_makes_no_clique() -> None:
    tables = [table(f"t{at}", f"own{at}", "tenant_id") for at in range(40)]
    assert key_graph(tables).edges == ()
    owner = table("tenants", "tenant_id", "name", primary_key=["tenant_id"])
    assert len(key_graph([*tables, owner]).edges) == 40


def test_the_whole_key_of_a_table_joins_where_it_stands_in_one_that_declares_no_key() -> None:
    tables = [
        table("students", "sid", "full_name", primary_key=["sid"]),
        table("courses", "cid", "title", primary_key=["cid"]),
        table("stu_crs_map", "sid", "cid", "term"),
        table("colours", "name", primary_key=["name"]),
        table("pets", "kind", "name"),
    ]
    pairs = {frozenset((e.left, e.right)) for e in key_graph(tables).edges}
    assert pairs == {
        frozenset(("students", "stu_crs_map")),
        frozenset(("courses", "stu_crs_map")),
    }
