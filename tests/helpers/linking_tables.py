"""Table lines for tests of linking: a table in a line, sessions by year, a hostile catalog."""

from __future__ import annotations

from typing import Any


def table(name: str, *columns: str, **more: Any) -> dict[str, Any]:
    """A table line; a column is ``name`` or ``name:TYPE``, a nested one ``name>field,field``."""
    return {
        "kind": "table", "catalog": "sha256:" + "0" * 64, "name": name, "describe_key": f"{name}.csv",
        "columns": [column(text) for text in columns], **more,
    }  # fmt: skip


def column(text: str) -> dict[str, Any]:
    """One column of `table`."""
    name, _, fields = text.partition(">")
    name, _, kind = name.partition(":")
    if not fields:
        return {"name": name, "type": kind or "VARCHAR"}
    made = [{"name": f"{name}.{field}", "type": "VARCHAR"} for field in fields.split(",")]
    return {"name": name, "type": "STRUCT", "fields": made}


def sessions() -> list[dict[str, Any]]:
    """The tables of seed 004, 3.2 and 3.3: three years of one shape, and one that is unrelated."""
    columns = (
        "date",
        "totals>totalTransactionRevenue,visits",
        "trafficSource>source,medium",
        "socialEngagementType",
    )
    years = [table(f"ga_sessions_{year}", *columns) for year in (2016, 2017, 2018)]
    return [*years, table("unrelated_table", "weight", "height")]


def keyed_table(name: str, *columns: str, to: dict[str, tuple[str, str]] | None = None) -> Any:
    """A table; ``to`` maps a column to the table and column that it refers to."""
    keys = [
        {"columns": [own], "ref_table": other, "ref_columns": [far]}
        for own, (other, far) in (to or {}).items()
    ]
    made = [{"name": column, "type": "BIGINT"} for column in columns]
    return {
        "kind": "table",
        "name": name,
        "describe_key": name,
        "columns": made,
        "foreign_keys": keys,
    }
