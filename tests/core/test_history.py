"""Past SQL: what is counted, what is left out, and under which names it is found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.core.errors import DataError
from stages.core.judge.priors.query_log import (
    BoundHistory,
    QueryLog,
    count_statements,
    read_history,
    statements,
)
from stages.core.names import Names
from stages.core.records import Table

PAST = """\
-- the sales report; every month
SELECT c.name, sum(o.amount) FROM orders AS o JOIN Customers c ON c.id = o.customer_id GROUP BY 1;
select amount from ORDERS where note = 'a; b';
SELECT TOP 3 [name] FROM [dbo].[Customers];
SELECT FROM WHERE ((;
WITH big AS (SELECT * FROM orders WHERE amount > 9) SELECT count(*) FROM big;
"""


def read(text: str) -> QueryLog:
    return count_statements(statements(text))


def test_tables_are_counted_alone_and_together() -> None:
    history = read(PAST)
    assert (history.statements, history.skipped) == (4, 1)
    assert history.tables["orders"] == 3
    assert history.tables["customers"] == 2
    assert "big" not in history.tables  # a name of the statement's own
    assert history.cooccurrence("orders") == {"customers": pytest.approx(1 / 5)}
    assert history.cooccurrence("customers") == {"orders": pytest.approx(1 / 4)}
    assert history.cooccurrence("nothing") == {}
    assert history.notes == ("history: 1 of 5 statements could not be read",)


def test_columns_belong_to_their_tables() -> None:
    history = read(PAST)
    assert set(history.column_use("orders")) == {"amount", "customer_id", "note"}
    assert set(history.column_use("customers")) == {"name", "id"}


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT x FROM a, b", {}),  # nobody knows whose it is
        ("SELECT a.x FROM a, b", {"a": {"x"}}),
        ("SELECT (SELECT max(b.y) FROM b WHERE b.z = a.k) FROM a", {"a": {"k"}, "b": {"y", "z"}}),
        ("SELECT t.x FROM (SELECT x FROM a) AS t", {"a": {"x"}}),
        ("DELETE FROM a WHERE a.x = 1", {}),
    ],
)
def test_whose_column_it_is(sql: str, columns: dict[str, set[str]]) -> None:
    history = read(sql)
    assert {name: set(found) for name, found in history.columns.items() if found} == columns


@pytest.mark.parametrize(
    "spelling", ["db.hr.Staff", "db_hr_staff", "staff", "STAFF", "other.staff"]
)
def test_a_dotted_table_is_found_whole_and_by_its_last_part(spelling: str) -> None:
    history = read("SELECT 1 FROM db.hr.Staff JOIN pay ON 1 = 1")
    assert history.cooccurrence(spelling) == {"pay": pytest.approx(1 / 3)}


def test_a_catalog_finds_its_tables_by_alias() -> None:
    tables: list[Table] = [
        {
            "kind": "table",
            "catalog": "c",
            "name": "hr__staff",
            "aliases": ["Staff"],
            "describe_key": "hr.db::Staff",
            "columns": [],
        },
        {"kind": "table", "catalog": "c", "name": "pay", "describe_key": "pay.csv", "columns": []},
    ]
    history = read("SELECT 1 FROM Staff JOIN pay ON 1 = 1 JOIN elsewhere ON 1 = 1")
    bound = BoundHistory(history, Names(tables))
    assert bound.cooccurrence("hr__staff") == {"pay": pytest.approx(1 / 3)}
    assert bound.cooccurrence("pay") == {"hr__staff": pytest.approx(1 / 3)}


def test_json_lines_and_their_broken_ones() -> None:
    lines = [
        json.dumps({"id": 1, "gold_sql": "SELECT 1 FROM a"}),
        json.dumps({"sql": "SELECT 1 FROM a"}),
        json.dumps({"other": 1}),
        "{not json",
        json.dumps({"sql": "SELECT FROM WHERE ((("}),
    ]
    history = read("\n".join(lines))
    assert history.tables == {"a": 2}
    assert history.skipped == 2


@pytest.mark.parametrize(
    "text",
    [
        '[{"sql": "SELECT 1 FROM a"}, {"query": "SELECT 1 FROM a JOIN b"}]',
        '[\n  "SELECT 1 FROM a",\n  "SELECT 1 FROM a JOIN b"\n]\n',
        '"SELECT 1 FROM a"\n"SELECT 1 FROM a JOIN b"\n',
        '{"sql": "SELECT 1 FROM a -- \u2028 x"}\r\n{"sql": "SELECT 1 FROM a JOIN b"}\r\n',
    ],
)
def test_statements_come_as_any_json(text: str) -> None:
    history = read(text)
    assert (history.tables, history.skipped) == ({"a": 2, "b": 1}, 0)


def test_quotes_that_do_not_come_in_pairs_spoil_one_statement_only() -> None:
    history = read("SELECT 1 FROM a;\nSELECT 'x FROM b;\nSELECT 1 FROM c;\n")
    assert set(history.tables) == {"a", "c"}
    assert history.skipped == 1


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "past.sql"
    path.write_text(PAST)
    assert read_history(path).tables["orders"] == 3
    assert str(read_history(path)).startswith("sha256:")
    path.write_text("")
    assert read_history(path).statements == 0
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="no statement"):
        read_history(path)
    with pytest.raises(DataError):
        read_history(tmp_path / "none.sql")


@given(st.text(max_size=60) | st.text("SELECT from;'\"`--/*()ab.,\n", max_size=60))
def test_any_text_is_counted_without_an_error(text: str) -> None:
    history = read(text)
    assert all(
        0 <= share < 1 for table in history.tables for share in history.cooccurrence(table).values()
    )
