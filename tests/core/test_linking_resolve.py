"""Names in answers, found as the tables and columns that they mean."""

from __future__ import annotations

from typing import Any

import pytest

from stages.core.linking.resolve import ReplyNames
from stages.core.text import quoted, visible

LONG = "n" * 250


def table(name: str, *columns: str, **more: Any) -> Any:
    made = [{"name": column, "type": "VARCHAR"} for column in columns]
    return {"kind": "table", "catalog": "c", "name": name, "describe_key": f"{name}.csv",
            "columns": made, **more}  # fmt: skip


NESTED = table("ga_sessions_2017", "date", aliases=["GA360.GA_SESSIONS_2017"])
NESTED["columns"].append(
    {
        "name": "totals",
        "type": "STRUCT",
        "fields": [{"name": "totals.totalTransactionRevenue", "type": "BIGINT"}],
    }
)
TABLES = [
    NESTED,
    table("employee_attendance", "Employee ID", "day", aliases=["Employee Attendance"]),
    table("odd", 'size "x"', "a\nb"),
    table("a__orders", "id", source={"kind": "sqlite", "table": "orders"}),
    table("b__orders", "id", source={"kind": "sqlite", "table": "orders"}),
    table(LONG, LONG, "x"),
]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("ga_sessions_2017", "ga_sessions_2017"),
        ("GA_SESSIONS_2017", "ga_sessions_2017"),
        ("GA360.GA_SESSIONS_2017", "ga_sessions_2017"),
        ('"GA360"."GA_SESSIONS_2017"', "ga_sessions_2017"),
        ("`GA360`.`GA_SESSIONS_2017`", "ga_sessions_2017"),
        ("[dbo].[Employee Attendance]", "employee_attendance"),
        ("Employee Attendance", "employee_attendance"),
        ("a__orders", "a__orders"),
        ("orders", "b__orders"),
        (visible(LONG, 200), LONG),
        ("ga_sessions_2019", None),
        ("", None),
    ],
)
def test_tables(said: str, meant: str | None) -> None:
    assert ReplyNames(TABLES, {"ga_sessions_2017", "b__orders"}).table(said) == meant


def test_a_name_of_two_tables_means_neither_where_both_are_candidates() -> None:
    assert ReplyNames(TABLES, {"a__orders", "b__orders"}).table("orders") is None
    assert ReplyNames(TABLES).table("orders") is None


@pytest.mark.parametrize(
    ("owner", "said", "meant"),
    [
        ("ga_sessions_2017", "date", "date"),
        ("ga_sessions_2017", "DATE", "date"),
        ("ga_sessions_2017", "ga_sessions_2017.date", "date"),
        ("ga_sessions_2017", "totals.totaltransactionrevenue", "totals.totalTransactionRevenue"),
        ("ga_sessions_2017", "GA360.GA_SESSIONS_2017.totals.totalTransactionRevenue",
         "totals.totalTransactionRevenue"),
        ("ga_sessions_2017", "totals", "totals"),
        ("ga_sessions_2017", "totals.nothing", "totals"),
        ("ga_sessions_2017", "nothing", None),
        ("employee_attendance", '"Employee ID"', "Employee ID"),
        ("employee_attendance", "employee id", "Employee ID"),
        ("odd", quoted('size "x"'), 'size "x"'),
        ("odd", visible("a\nb"), "a\nb"),
        (LONG, visible(LONG, 200), LONG),
    ],
)  # fmt: skip
def test_columns(owner: str, said: str, meant: str | None) -> None:
    assert ReplyNames(TABLES).column(owner, said) == meant
