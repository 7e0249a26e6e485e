"""Scanning MariaDB and PostgreSQL: what is listed, what it says, and what it costs."""

from __future__ import annotations

import json

import pytest

from stages.core.catalog.servers import ServerOptions, scan_server
from stages.core.catalog.servers import mysql as mysql_reader
from stages.core.catalog.servers import postgresql as postgres_reader
from stages.core.catalog.source_table import ScanOptions
from stages.core.errors import SourceError, UsageError
from stages.core.lines import schema
from tests.helpers.servers import PASSWORD

pytestmark = pytest.mark.server


def tables_of(result):
    return {table["name"]: table for table in result.tables}


def columns_of(table):
    return {column["name"]: column for column in table["columns"]}


def test_records_fit_their_schemas(shop_server):
    result = scan_server(shop_server.url())
    schema.check(result.catalog, "catalog", place="catalog")
    for table in result.tables:
        schema.check(table, "table", place=table["name"])
        assert table["catalog"] == result.catalog["id"]


def test_two_scans_give_the_same_records(shop_server):
    first, second = (scan_server(shop_server.url()) for _ in range(2))
    assert (first.catalog, first.tables) == (second.catalog, second.tables)


def test_postgres_tables(pg_shop):
    result = scan_server(pg_shop.url())
    assert result.catalog["name"] == "shop"
    assert result.catalog["dialect"] == "postgres"
    assert [table["describe_key"] for table in result.tables] == [
        "hr.lines",
        "hr.orders",
        "public.big",
        "public.customers",
        "public.empty_one",
        'public.odd "name;--',
        "public.orders",
        "public.part",
        "public.secret",
    ]
    tables = tables_of(result)
    assert {"lines", "hr__orders", "public__orders", "customers"} <= set(tables)
    assert {"path": "public.part1", "reason": "a partition of another table"} in result.catalog[
        "skipped"
    ]
    customers = tables["customers"]
    assert customers["comment"] == "People who buy"
    assert customers["rows"] == {"count": 500, "how": "estimate"}
    assert customers["source"] == {
        "kind": "postgresql",
        "url": pg_shop.url(),
        "table": "public.customers",
        "reader": {"schema": "public", "name": "customers"},
    }
    assert tables["big"]["source"]["view"] is True


@pytest.mark.parametrize(
    ("name", "type_", "declared", "example"),
    [
        ("id", "INTEGER", "integer", "1"),
        ("Full Name", "VARCHAR", "character varying(50)", "N 1"),
        ("born", "DATE", "date", "2000-01-02"),
        ("balance", "DECIMAL(10,2)", "numeric(10,2)", "1.50"),
        ("score", "DOUBLE", "double precision", "0.25"),
        ("ok", "BOOLEAN", "boolean", "false"),
        ("tags", "VARCHAR[]", "text[]", "{a,b}"),
        ("meta", "JSON", "jsonb", '{"k": 1}'),
        ("m", "VARCHAR", "public.mood", "ok"),
        ("raw", "BLOB", "bytea", "a\\x00"),
        ("at", "TIMESTAMP WITH TIME ZONE", "timestamp with time zone", "2024-01-02 03:04:05+00"),
    ],
)
def test_postgres_types(pg_shop, name, type_, declared, example):
    table = tables_of(scan_server(pg_shop.url()))["customers"]
    column = columns_of(table)[name]
    assert (column["type"], column["declared"]) == (type_, declared)
    assert column["examples"][0] == example
    assert table["sample"][0][name] == example


def test_postgres_keys_and_comments(pg_shop):
    tables = tables_of(scan_server(pg_shop.url()))
    customers = columns_of(tables["customers"])
    assert customers["id"]["key"] == "primary"
    assert customers["email"]["key"] == "unique"
    assert customers["email"]["comment"] == "their address"
    assert customers["twice"]["generated"] is True
    assert customers["Full Name"]["nullable"] is False
    assert tables["hr__orders"]["primary_key"] == ["a", "b"]
    assert tables["lines"]["foreign_keys"] == [
        {"columns": ["a", "b"], "ref_table": "hr__orders", "ref_columns": ["a", "b"]},
        {"columns": ["o"], "ref_table": "public__orders", "ref_columns": ["id"]},
    ]


def test_a_view_that_takes_too_long_is_listed_with_its_error(pg_shop):
    pg_shop.run("CREATE VIEW slow AS SELECT count(*) AS n FROM generate_series(1, 3000000000)")
    slow = tables_of(scan_server(pg_shop.url(), None, ServerOptions(include=("slow",))))["slow"]
    pg_shop.run("DROP VIEW slow")
    assert slow["error"] == "its rows take too long to compute"
    assert [column["name"] for column in slow["columns"]] == ["n"]


def test_mariadb_tables(my_shop):
    result = scan_server(my_shop.url())
    assert result.catalog["dialect"] == "mysql"
    tables = tables_of(result)
    assert set(tables) == {"big", "customers", "odd__name___", "orders", "secret"}
    assert tables["customers"]["describe_key"] == "shop.customers"
    assert tables["customers"]["comment"] == "People who buy"
    assert tables["customers"]["rows"]["how"] == "estimate"
    assert tables["orders"]["foreign_keys"] == [
        {"columns": ["customer_id"], "ref_table": "customers", "ref_columns": ["id"]}
    ]
    assert tables["big"]["source"]["view"] is True
    assert "rows" not in tables["big"]


@pytest.mark.parametrize(
    ("name", "type_", "declared", "example"),
    [
        ("id", "UINTEGER", "int(10) unsigned", "1"),
        ("Full Name", "VARCHAR", "varchar(50)", "N 1"),
        ("born", "DATE", "date", "2000-01-02"),
        ("balance", "DECIMAL(10,2)", "decimal(10,2)", "1.50"),
        ("score", "DOUBLE", "double", "0.25"),
        ("ok", "TINYINT", "tinyint(1)", "0"),
        ("m", "VARCHAR", "enum('sad','ok')", "ok"),
        ("raw", "BLOB", "varbinary(20)", "a\\x00"),
        ("at", "TIMESTAMP WITH TIME ZONE", "timestamp", "2024-01-02 03:04:05"),
        ("y", "INTEGER", "year(4)", "2024"),
        ("b", "VARCHAR", "bit(3)", "101"),
        ("t", "VARCHAR", "time", "10:11:12"),
    ],
)
def test_mariadb_types(my_shop, name, type_, declared, example):
    table = tables_of(scan_server(my_shop.url()))["customers"]
    column = columns_of(table)[name]
    assert (column["type"], column["declared"]) == (type_, declared)
    assert column["examples"][0] == example


def test_what_the_role_may_not_read_is_skipped(shop_server):
    result = scan_server(shop_server.url("reader"))
    keys = {table["describe_key"] for table in result.tables}
    schema_name = "public" if shop_server.kind == "postgresql" else "shop"
    assert {f"{schema_name}.{name}" for name in ("customers", "orders", "big")} <= keys
    skipped = {item["path"]: item["reason"] for item in result.catalog["skipped"]}
    assert skipped[f"{schema_name}.secret"] == "the role may not read it"
    assert "the-marker-in-secret" not in json.dumps([result.catalog, result.tables])


def test_columns_that_the_role_may_not_read_are_left_out(pg_shop):
    result = scan_server(pg_shop.url("reader"), None, ServerOptions(schemas=("hr",)))
    orders = tables_of(result)["orders"]
    assert [column["name"] for column in orders["columns"]] == ["a"]
    assert orders["warnings"] == ["the role may not read the columns id, b"]


@pytest.mark.parametrize(
    ("server", "user", "words"),
    [
        ("pg_shop", "boss", ["superuser"]),
        ("pg_shop", "writer", ["write: on public.orders"]),
        ("pg_shop", "reader", []),
        ("my_shop", "plain", []),
        ("my_shop", "boss", ["do anything", "FILE", "write: on *.*"]),
        ("my_shop", "reader", ["write: on shop.secret"]),
    ],
)
def test_a_role_that_may_do_more_than_read_is_warned_of(request, server, user, words):
    running = request.getfixturevalue(server)
    warnings = scan_server(running.url(user)).catalog.get("warnings", [])
    assert len(warnings) == len(words)
    for word, warning in zip(words, warnings, strict=True):
        assert word in warning


@pytest.mark.parametrize(
    ("which", "names"),
    [
        (ServerOptions(schemas=("hr",)), {"hr.lines", "hr.orders"}),
        (ServerOptions(include=("hr.*",)), {"hr.lines", "hr.orders"}),
        (ServerOptions(include=("ORD*",)), {"hr.orders", "public.orders"}),
        (ServerOptions(include=("*order*",), exclude=("public.*",)), {"hr.orders"}),
    ],
)
def test_patterns(pg_shop, which, names):
    result = scan_server(pg_shop.url(), None, which)
    assert {table["describe_key"] for table in result.tables} == names


def test_without_a_database_all_of_mysql_is_read(my_shop):
    result = scan_server(my_shop.url(database=""), None, ServerOptions(sample=False))
    read = {table["describe_key"].partition(".")[0] for table in result.tables}
    assert "shop" in read  # other tests leave databases of their own
    assert not read & {"mysql", "sys", "information_schema", "performance_schema"}


def test_no_sample_reads_no_row(shop_server):
    result = scan_server(shop_server.url(), None, ServerOptions(sample=False))
    for table in result.tables:
        assert not table.get("sample")
        assert all("examples" not in column for column in table["columns"])


@pytest.mark.parametrize(
    "options", [ScanOptions(values=False), ScanOptions(hide=("email", "customers.*"))]
)
def test_hidden_values_stand_nowhere(shop_server, options):
    result = scan_server(shop_server.url(), options)
    text = json.dumps([table for table in result.tables if table["name"] in ("customers", "big")])
    assert "@x" not in text
    assert "sad" not in text


def test_exact_counts(shop_server):
    result = scan_server(
        shop_server.url(), ScanOptions(exact=True), ServerOptions(include=("customers",))
    )
    assert result.tables[0]["rows"] == {"count": 500, "how": "exact"}


def test_the_password_stands_in_no_record(shop_server, monkeypatch):
    monkeypatch.delenv("WINNOW_DB_PASSWORD")
    result = scan_server(shop_server.url(password=True))
    text = json.dumps([result.catalog, result.tables], ensure_ascii=False)
    assert PASSWORD not in text
    assert "s3cret" not in text
    assert result.tables[0]["source"]["url"] == shop_server.url()


@pytest.mark.parametrize("wrong", ["wrong-s3cret", "päss wörd", "%2F%40"])
def test_the_password_stands_in_no_error(shop_server, monkeypatch, wrong):
    from urllib.parse import quote

    monkeypatch.delenv("WINNOW_DB_PASSWORD")
    url = shop_server.url().replace("boss@", f"boss:{quote(wrong, safe='')}@")
    with pytest.raises(SourceError) as error:
        scan_server(url)
    assert wrong not in str(error.value)
    assert quote(wrong) not in str(error.value)
    assert "WINNOW_DB_PASSWORD" in error.value.hint


@pytest.mark.parametrize(
    "place", ["postgresql://u:s3cret@127.0.0.1:1/x", "mysql://u:s3cret@127.0.0.1:1/x"]
)
def test_a_server_that_is_not_there(place):
    with pytest.raises(SourceError) as error:
        scan_server(place)
    assert "s3cret" not in str(error.value)


@pytest.mark.parametrize("place", ["oracle://u:s3cret@h/x", "postgresql://u:s3cret@h:port/x"])
def test_a_url_that_is_none(place):
    with pytest.raises(UsageError) as error:
        scan_server(place)
    assert "s3cret" not in str(error.value)


@pytest.fixture(scope="session")
def many(request):
    """A database of a thousand tables of 19 columns each, on either server."""

    def make(server):
        columns = ", ".join(f"c{at} int" for at in range(18))
        con = server.connect("postgres" if server.kind == "postgresql" else "shop")
        con.cursor().execute("CREATE DATABASE many")
        con.close()
        con = server.connect("many")
        memory = "" if server.kind == "postgresql" else "ENGINE = MEMORY"
        cursor = con.cursor()
        for at in range(1000):
            cursor.execute(f"CREATE TABLE table_{at} (id int PRIMARY KEY, {columns}) {memory}")
        con.close()

    return make


class Counting:
    """A connection that counts what is sent over it."""

    def __init__(self, con):
        self.con, self.sent = con, 0

    def __getattr__(self, name):
        return getattr(self.con, name)

    def execute(self, *words):
        self.sent += 1
        return self.con.execute(*words)

    def cursor(self, *words):
        self.sent += 1
        return self.con.cursor(*words)


@pytest.mark.slow
def test_a_thousand_tables(shop_server, many):
    """Under a second on loopback, in as many statements as a few tables take."""
    import time
    from contextlib import closing

    from stages.core.catalog.servers.address import address, connect

    many(shop_server)
    reader = postgres_reader if shop_server.kind == "postgresql" else mysql_reader
    sent, times = [], []
    for database in ("shop", "many", "many", "many"):
        start = time.perf_counter()
        with closing(connect(address(shop_server.url(database=database)))) as con:
            counting = Counting(con)
            found = reader.inventory(counting, ServerOptions(sample=False), ScanOptions())
        times.append(time.perf_counter() - start)
        sent.append(counting.sent)
    assert len(found.tables) == 1000
    assert sum(len(seen.raw.columns) for seen in found.tables) == 19_000
    assert len(set(sent)) == 1
    assert sent[0] <= 10
    print(f"{shop_server.kind}: 1,000 tables in {min(times[1:]):.2f} s")
    assert min(times[1:]) < 4, "1 s on an idle machine"
