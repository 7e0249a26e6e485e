"""The key guard: declared keys, shared values, equal names; fewer than 20, else none."""

from __future__ import annotations

from typing import Any

import pytest

from stages.core.linking.join_graph import Relations
from stages.core.linking.refine.choice import ColumnChoice, Selection
from stages.core.linking.refine.joining import LIMIT, SAME_NAME, Guard
from tests.helpers.linking_tables import keyed_table as table


def guarded(
    tables: list[Any], chosen: list[tuple[str, str]], limit: int | None = LIMIT, kept: Any = None
) -> tuple[dict[tuple[str, str], ColumnChoice], list[str]]:
    """What the guard adds to a choice, and its notes."""
    candidates = kept or {t["name"]: [c["name"] for c in t["columns"]] for t in tables}
    picked = Selection()
    for owner, column in chosen:
        picked.add(owner, column, ColumnChoice("chosen"))
    added, notes = Guard(Relations(tables), candidates, limit, "en").add(picked)
    return {(owner, name): picked.columns(owner)[name] for owner, name in added}, notes


PLAIN = [
    table("sales", "amount", "region_id"),
    table("region_manager", "region_id", "employee_id"),
    table("employee", "employee_id", "full_name"),
]


def test_equal_names_are_added_with_the_words_of_the_seed() -> None:
    added, _ = guarded(
        PLAIN, [("sales", "amount"), ("sales", "region_id"), ("employee", "full_name")]
    )
    assert added == {("region_manager", "region_id"): SAME_NAME}
    assert SAME_NAME.reason == (
        "Auto-preserved: Shares name with a selected column (potential Foreign Key)."
    )
    assert SAME_NAME.observations == "Automatically added for graph connectivity."


@pytest.mark.parametrize(("n", "grows"), [(19, True), (20, False), (21, False)])
def test_fewer_than_twenty_or_none(n: int, grows: bool) -> None:
    tables = [
        table("a", "name", "only_a"),
        *(table(f"t{chr(97 + at)}", "name", f"c{at}") for at in range(n)),
    ]
    added, notes = guarded(tables, [("a", "name")])
    assert len(added) == (n if grows else 0)
    assert bool(notes) is not grows
    assert len(guarded(tables, [("a", "name")], limit=None)[0]) == n


def test_declared_keys_of_other_names_come_before_equal_names() -> None:
    tables = [
        table("scores", "cds", "name", to={"cds": ("schools", "CDSCode")}),
        table("schools", "CDSCode", "name"),
    ]
    added, _ = guarded(tables, [("scores", "cds"), ("scores", "name")])
    assert list(added) == [("schools", "CDSCode")]
    assert "declared key" in added["schools", "CDSCode"].reason
    assert SAME_NAME not in added.values()


def test_shared_values_come_before_equal_names() -> None:
    left, right = table("shops", "plaza", "note"), table("visits", "place", "note")
    for holder, column in ((left, "plaza"), (right, "place")):
        found = next(c for c in holder["columns"] if c["name"] == column)
        found["examples"] = ["Northgate", "Southgate", "Eastgate"]
    added, _ = guarded([left, right], [("shops", "plaza"), ("shops", "note")])
    assert list(added) == [("visits", "place")]
    assert "shared values" in added["visits", "place"].reason


def test_equal_names_count_whatever_else_the_tables_are_joined_to() -> None:
    tables = [
        table("sales", "amount", "region_id", "shop", to={"shop": ("shops", "shop_no")}),
        table("shops", "shop_no", "city"),
        table("audit", "region_id", "clerk", to={"clerk": ("clerks", "clerk_no")}),
        table("clerks", "clerk_no", "hired"),
    ]
    added, _ = guarded(tables, [("sales", "amount"), ("sales", "region_id")])
    assert added == {("audit", "region_id"): SAME_NAME}


def test_columns_of_equal_name_that_a_key_joins_count_among_the_twenty() -> None:
    joined = [table(f"t{chr(97 + at)}", "code", to={"code": ("a", "code")}) for at in range(15)]
    loose = [table(f"u{chr(97 + at)}", "code", f"c{at}") for at in range(5)]
    tables = [table("a", "code", "only_a"), *joined, *loose]
    added, notes = guarded(tables, [("a", "code")])
    assert {owner for owner, _ in added} == {t["name"] for t in joined}
    assert notes == ["20 columns join by equal names: too many to add unasked"]


def test_keys_between_chosen_tables_are_always_added() -> None:
    tables = [
        table("orders", "buyer", "total", to={"buyer": ("people", "pid")}),
        table("people", "pid", "label"),
    ]
    added, _ = guarded(tables, [("orders", "total"), ("people", "label")], limit=0)
    assert set(added) == {("orders", "buyer"), ("people", "pid")}


def test_parts_of_one_table_draw_in_nothing_from_each_other() -> None:
    tables = [table(f"logs_{year}", "day", "value") for year in (2016, 2017, 2018)]
    assert guarded(tables, [("logs_2017", "day"), ("logs_2017", "value")])[0] == {}


def test_only_candidates_are_added() -> None:
    kept = {"sales": ["amount", "region_id"], "region_manager": ["employee_id"]}
    assert guarded(PLAIN, [("sales", "region_id")], kept=kept)[0] == {}


def test_a_nested_column_chosen_whole_has_no_open_fields() -> None:
    nested: Any = {"name": "nested", "describe_key": "n", "columns": [
        {"name": "t", "type": "STRUCT", "fields": [{"name": "t.day", "type": "DATE"}]}]}  # fmt: skip
    other: Any = table("other", "t.day", "x")
    added, _ = guarded(
        [nested, other],
        [("other", "t.day"), ("nested", "t")],
        kept={"nested": ["t.day"], "other": ["t.day", "x"]},
    )
    assert added == {}
