"""Queries in place on MariaDB and PostgreSQL: answers, order, limits, and what they share with files."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import CancelledError
from contextlib import suppress
from decimal import Decimal

import pytest

from stages.core.catalog.servers import ServerOptions, scan_server
from stages.core.catalog.source_table import ScanOptions
from stages.core.errors import SqlError, SqlLimit, SqlRefused, SqlUnavailable
from stages.core.sandbox.database import Database
from stages.core.sandbox.limits import Limits
from tests.helpers.servers import PASSWORD

pytestmark = pytest.mark.server


@pytest.fixture
def open_database():
    """Databases over scans of a server, closed after the test."""
    opened = []

    def make(server, user="boss", options=None, **limits):
        result = scan_server(server.url(user), options, ServerOptions(sample=False))
        database = Database(result.catalog, result.tables, limits=Limits(privileged=True, **limits))
        opened.append(database)
        return database

    yield make
    for database in opened:
        database.close()


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT count(*) FROM customers", ((500,),)),
        ("SELECT sum(balance) FROM customers", ((Decimal("187875.00"),),)),
        ("SELECT id, email, score FROM customers WHERE id = 3", ((3, "e3@x", 0.75),)),
        ("SELECT email FROM big WHERE id = 7", (("e8@x",),)),
        (("SELECT c.email, count(*) n FROM customers c JOIN orders o ON o.customer_id = c.id"
         " GROUP BY c.email ORDER BY c.email LIMIT 2"), (("e100@x", 4), ("e101@x", 4))),
        (("WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3)"
         " SELECT * FROM n"), ((1,), (2,), (3,))),
        (("SELECT * FROM (SELECT id, row_number() OVER (ORDER BY id DESC) AS r FROM customers) q"
         " WHERE r <= 2"), ((499, 2), (500, 1))),
        ("(SELECT 2) UNION ALL (SELECT 1)", ((1,), (2,))),
        ("SELECT born FROM customers WHERE id = 1", (("2000-01-02",),)),
        ("SELECT raw FROM customers WHERE id = 1", (("a\\x00",),)),
        ("SELECT NULL, 'it''s', 1.5", ((None, "it's", Decimal("1.5")),)),
        ("SELECT 1", ((1,),)),
        ("VALUES (1), (2)", ((1,), (2,))),
    ],
)  # fmt: skip
def test_answers(shop_server, open_database, sql, rows):
    if shop_server.kind == "postgresql":
        sql = sql.replace(" FROM orders", " FROM public.orders").replace(
            "JOIN orders", "JOIN public.orders"
        )
        rows = tuple(tuple("a\\x00" if cell == "a\\x00" else cell for cell in row) for row in rows)
    elif sql.startswith("VALUES"):
        pytest.skip("MariaDB reads VALUES in another form")
    elif "raw" in sql:
        rows = (("a\x00",),)
    assert open_database(shop_server).query(sql).rows == rows


@pytest.mark.parametrize(
    ("sql", "dialect"),
    [
        ('SELECT "Full Name" FROM customers LIMIT 2', "duckdb"),
        ("SELECT `Full Name` FROM customers LIMIT 2", "mysql"),
        ("SELECT `Full Name` FROM customers LIMIT 2", "bigquery"),
        ('SELECT "Full Name" FROM customers LIMIT 2', "postgres"),
    ],
)
def test_other_dialects(shop_server, open_database, sql, dialect):
    assert open_database(shop_server).query(sql, dialect=dialect).rows == (("N 1",), ("N 2",))


def test_rows_come_in_a_full_order(shop_server, open_database):
    database = open_database(shop_server)
    for sql in (
        "SELECT * FROM customers",
        "SELECT id % 7 FROM customers",
        "SELECT DISTINCT ok FROM customers",
        "SELECT total FROM big ORDER BY email",
    ):
        assert len({database.query(sql, rows=100) for _ in range(3)}) == 1


def test_more_rows_than_asked_for_are_told(shop_server, open_database):
    answer = open_database(shop_server).query("SELECT id FROM customers", rows=3)
    assert answer.rows == ((1,), (2,), (3,))
    assert answer.truncated


def test_long_cells_are_cut_by_the_server(shop_server, open_database):
    database = open_database(shop_server, cell=10)
    name = "public.orders" if shop_server.kind == "postgresql" else "orders"
    assert database.query(f"SELECT note FROM {name} WHERE id = 1").rows == (("xxxxxxxxxx…(+290)",),)


def test_a_large_answer_is_cut(shop_server, open_database):
    answer = open_database(shop_server, answer=2000).query("SELECT * FROM big", rows=1000)
    assert answer.truncated
    assert any("size limit" in note for note in answer.repairs)


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT emial FROM customers", "did you mean email"),
        ("SELECT * FROM custmers", "did you mean customers"),
        ("SELECT * FROM secret_of_others", "no table"),
    ],
)
def test_errors_name_the_nearest(shop_server, open_database, sql, words):
    with pytest.raises(SqlError) as error:
        open_database(shop_server).query(sql)
    assert words in str(error.value)
    assert "SELECT" not in str(error.value)


def test_postgres_finds_a_column_whatever_its_case(pg_shop, open_database):
    answer = open_database(pg_shop).query('SELECT "full name" FROM customers LIMIT 1')
    assert answer.rows == (("N 1",),)
    assert answer.repairs == ('column "full name" read as "Full Name"',)


def test_schema_questions_are_answered_from_the_catalog(shop_server, open_database):
    database = open_database(shop_server)
    assert "customers" in [row[0] for row in database.query("SHOW TABLES").rows]
    assert database.query("DESCRIBE customers").rows[0][:2][0] == "id"
    columns, first = database.schema("customers")
    assert columns.rows[0][0] == "id"
    assert len(first.rows) == 5


def test_the_clock_stands(shop_server, open_database):
    answer = open_database(shop_server).query("SELECT current_date, now()")
    assert answer.rows[0][0] == "2026-01-01"
    assert answer.rows[0][1].startswith("2026-01-01 00:00:00")


def test_a_long_recursion_is_not_cut(shop_server, open_database):
    sql = (
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3000) "
        "SELECT count(*) FROM n"
    )
    assert open_database(shop_server).query(sql).rows == ((3000,),)


def test_a_running_statement_is_stopped_from_another_thread(shop_server, open_database):
    database = open_database(shop_server, seconds=30)
    database.query("SELECT 1")
    timer = threading.Timer(0.5, database.stop)
    timer.start()
    start = time.monotonic()
    with pytest.raises(CancelledError):
        database.query("SELECT count(*) FROM customers a, customers b, customers c, customers d")
    timer.join()
    database.close()
    assert time.monotonic() - start < 5
    with pytest.raises(CancelledError):
        database.query("SELECT 1")


BOMBS = {
    "postgresql": [
        "SELECT count(*) FROM generate_series(1, 100000000000)",
        "SELECT count(*) FROM customers a, customers b, customers c, customers d",
        "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
        "SELECT length(repeat('x', 1000000000)), repeat('y', 500000000)",
        "SELECT string_agg(repeat('x', 1000), '') FROM generate_series(1, 100000000)",
        "SELECT regexp_replace(repeat('a', 100000), '(a+)+$', 'b') FROM customers",
    ],
    "mysql": [
        "SELECT count(*) FROM customers a, customers b, customers c, customers d",
        (
            "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
            " JOIN customers a JOIN customers b JOIN customers c"
        ),
        "SELECT max(length(repeat(a.note, 10000))) FROM orders a, orders b, orders c",
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["postgresql", "mysql"])
def test_bombs_end_within_the_limit_and_two_seconds(request, open_database, kind):
    server = request.getfixturevalue("pg_shop" if kind == "postgresql" else "my_shop")
    database = open_database(server, seconds=1.0)
    for sql in BOMBS[kind]:
        start = time.monotonic()
        with suppress(SqlError):
            database.query(sql)
        assert time.monotonic() - start < 3.0, sql
        assert database.query("SELECT count(*) FROM customers").rows == ((500,),)


def test_what_the_server_does_not_stop_the_client_does(shop_server, open_database):
    """The server's own time limit is taken away behind winnow's back."""
    database = open_database(shop_server, seconds=0.5)
    database.query("SELECT 1")
    session = next(iter(database._servers.values()))._session
    off = {"postgresql": "SET statement_timeout = 0", "mysql": "SET SESSION max_statement_time = 0"}
    with session.connection().cursor() as cursor:
        cursor.execute(off[shop_server.kind])
    session.connection().rollback()
    start = time.monotonic()
    with pytest.raises(SqlLimit):
        database.query("SELECT count(*) FROM customers a, customers b, customers c, customers d")
    assert time.monotonic() - start < 2.5
    assert database.query("SELECT 1").rows == ((1,),)


def test_hidden_columns_cannot_be_read(shop_server, open_database):
    database = open_database(shop_server, options=ScanOptions(hide=("email",)))
    row = database.query("SELECT * FROM customers LIMIT 1")
    assert "email" not in row.columns
    for sql in (
        "SELECT email FROM customers",
        "SELECT c.email FROM customers c",
        "SELECT count(*) FROM customers WHERE email LIKE 'e1%'",
        "SELECT id FROM customers ORDER BY email",
        "SELECT (SELECT email) FROM customers",
        "SELECT o.id FROM big o WHERE o.email = 'e1@x'",
    ):
        with pytest.raises(SqlError):
            database.query(sql)
    whole = "SELECT customers FROM customers" if shop_server.kind == "postgresql" else "SELECT 1"
    assert "@x" not in json.dumps(database.query(whole).rows, default=str)


def test_a_query_that_mixes_a_server_with_files_is_refused(shop_server, tmp_path):
    from stages.core.catalog import scan_root

    (tmp_path / "local.csv").write_text("id,name\n1,a\n", encoding="utf-8")
    files, there = scan_root(tmp_path), scan_server(shop_server.url())
    catalog = {**files.catalog}
    limits = Limits(privileged=True)
    with Database(
        catalog, [*files.tables, *there.tables], cache=tmp_path / "cache", limits=limits
    ) as database:
        assert database.query("SELECT * FROM local").rows == ((1, "a"),)
        assert database.query("SELECT count(*) FROM customers").rows == ((500,),)
        with pytest.raises(SqlRefused, match="different places"):
            database.query("SELECT * FROM local JOIN customers USING (id)")
        with pytest.raises(SqlRefused, match="different places"):
            database.query("SELECT (SELECT max(id) FROM customers) FROM local")


def test_a_wrong_password_is_a_short_error(shop_server, monkeypatch):
    from stages.core.catalog.servers import address

    result = scan_server(shop_server.url())
    monkeypatch.setenv("WINNOW_DB_PASSWORD", "wrong-s3cret")
    monkeypatch.setattr(address, "_GIVEN", {})
    with (
        Database(result.catalog, result.tables, limits=Limits(privileged=True)) as database,
        pytest.raises(SqlUnavailable) as error,
    ):
        database.query("SELECT count(*) FROM customers")
    assert "wrong-s3cret" not in str(error.value)
    assert PASSWORD not in str(error.value)


def test_a_connection_that_broke_is_made_again(shop_server, open_database):
    database = open_database(shop_server)
    database.query("SELECT 1")
    if shop_server.kind == "postgresql":
        shop_server.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        )
    else:
        for row in shop_server.run("SHOW PROCESSLIST"):
            if row[1] == "boss" and row[4] == "Sleep":
                shop_server.run(f"KILL {row[0]}")
    with pytest.raises(SqlUnavailable):
        database.query("SELECT 1")
    assert database.query("SELECT 1").rows == ((1,),)


def test_a_session_is_cut_down_at_its_start(shop_server, open_database):
    database = open_database(shop_server, memory=128)
    database.query("SELECT 1")
    (engine,) = database._servers.values()
    con = engine._session.connection()
    with con.cursor() as cursor:
        if shop_server.kind == "postgresql":
            names = (
                "lock_timeout",
                "idle_in_transaction_session_timeout",
                "search_path",
                "temp_file_limit",
            )
            found = [cursor.execute(f"SHOW {name}").fetchone()[0] for name in names]
            assert found == ["5s", "10min", "pg_catalog", "1GB"]
        else:
            cursor.execute("SELECT @@max_session_mem_used, @@lock_wait_timeout, @@tx_read_only")
            assert [int(value) for value in cursor.fetchone()] == [128 * 1024**2, 5, 1]


def test_a_huge_cell_is_cut_before_it_is_read(shop_server, open_database):
    database = open_database(shop_server, cell=1_000_000_000, memory=64)
    (row,) = database.query("SELECT repeat('x', 900000) AS a, repeat('y', 10) AS b").rows
    assert row[1] == "y" * 10
    assert len(row[0]) <= 900_000
