"""The block of one table that a model sees before it votes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.core.linking.render import preview, previews
from stages.core.records import Table

SEED = """\
### 表: company_financials
  columns (4): company_id:VARCHAR, revenue:DOUBLE, year:BIGINT, status:VARCHAR
  sample1: {'company_id': 'C001', 'revenue': '1200000.0', 'year': '2025', 'status': 'active'}
  sample2: {'company_id': 'C002', 'revenue': '980000.0', 'year': '2025', 'status': 'inactive'}"""


def table(name: str = "t", **more: Any) -> Table:
    made: dict[str, Any] = {
        "kind": "table", "catalog": "sha256:0", "name": name, "describe_key": f"context/{name}.csv",
        "columns": [{"name": "a", "type": "VARCHAR"}], **more,
    }  # fmt: skip
    return made  # type: ignore[return-value]


def cells(value: str | None) -> str:
    """The line of a sample row that holds one cell."""
    return preview(table(sample=[{"a": value}])).splitlines()[2]


def test_the_block_of_the_seed() -> None:
    columns = [("company_id", "VARCHAR"), ("revenue", "DOUBLE"), ("year", "BIGINT"),
               ("status", "VARCHAR")]  # fmt: skip
    rows = [("C001", "1200000.0", "2025", "active"), ("C002", "980000.0", "2025", "inactive")]
    line = table(
        "company_financials",
        columns=[{"name": name, "type": kind} for name, kind in columns],
        sample=[dict(zip([c[0] for c in columns], row, strict=True)) for row in rows],
    )
    assert preview(line) == SEED
    assert preview(line, "en") == SEED.replace("表", "Table")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "None"),
        ("", "''"),
        ("None", "'None'"),
        ("it's", '"it\'s"'),
        ('say "it\'s"', "'say \"it\\'s\"'"),
        ("x" * 80, f"'{'x' * 80}'"),
        ("x" * 81, f"'{'x' * 80}…(+1)'"),
        ("x" * 80 + "…(+500)", f"'{'x' * 80}…(+500)'"),
        ("a\n### 表: b", "'a\\u{a}### 表: b'"),
        ("\u202egnp", "'\\u{202e}gnp'"),
    ],
)
def test_cells(value: str | None, shown: str) -> None:
    assert cells(value) == "  sample1: {'a': " + shown + "}"


def test_only_two_rows_and_every_column() -> None:
    wide = [{"name": f"c{n}", "type": "BIGINT"} for n in range(500)]
    text = preview(table(columns=wide, sample=[{"c0": str(n)} for n in range(9)]))
    assert text.count("sample") == 2
    assert "columns (500): c0:BIGINT" in text
    assert "c499:BIGINT" in text


def test_an_unreadable_schema_shows_why() -> None:
    text = preview(table(columns=[], error="file is not a\ndatabase"))
    assert text == "### 表: t\n  columns: (读取表结构失败: file is not a\\u{a}database)"


def test_an_unreadable_sample_leaves_the_schema() -> None:
    assert preview(table(error="no rows", sample=[])) == "### 表: t\n  columns (1): a:VARCHAR"


def test_descriptions_stand_on_lines_of_their_own() -> None:
    column = {"name": "a", "type": "VARCHAR", "description": "state of the firm"}
    text = preview(table(columns=[column], description="firms\nby year"), "en")
    assert text.splitlines() == [
        "### Table: t",
        "  about: firms\\u{a}by year",
        "  columns (1): a:VARCHAR",
        "  about columns: a = state of the firm",
    ]


@given(st.text(), st.text(), st.text())
def test_no_value_makes_a_line(name: str, column: str, value: str) -> None:
    line = table(name, columns=[{"name": column, "type": "VARCHAR"}], sample=[{column: value}])
    assert len(previews([line])[0].split("\n")) == 3
