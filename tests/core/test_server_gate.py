"""The gate for servers, without a server: what is let through, and what is sent then."""

from __future__ import annotations

import pytest
from sqlglot import exp

from stages.core.errors import SqlError, SqlLimit, SqlRefused
from stages.core.sandbox.limits import Limits
from stages.core.sandbox.names import TableNames
from stages.core.sandbox.servers import gate, route, shape
from tests.helpers.server_attacks import MYSQL, POSTGRES


def table(name, schema, *columns, url="postgresql://u@h/d", **more):
    return {
        "kind": "table", "catalog": "c", "name": name, "describe_key": f"{schema}.{name}",
        "source": {"kind": "x", "url": url, "reader": {"schema": schema, "name": name.upper()}},
        "columns": [{"name": c, "type": "VARCHAR"} for c in columns], **more,
    }  # fmt: skip


NAMES = TableNames(
    [
        table("customers", "public", "id", "Full Name", "balance", primary_key=["id"]),
        table("orders", "public", "id", "total", rows={"count": 10_000_000, "how": "estimate"}),
    ]
)
HARMFUL = {
    "pg_read_file", "load_file", "sleep", "benchmark", "pg_sleep", "query_to_xml", "secret", "pg_authid",
    "lo_import", "outfile", "dumpfile", "set_config", "get_lock", "nextval", "ts_stat",
}  # fmt: skip


def sent(sql, dialect="postgres", source=None, names=NAMES):
    tree, notes = gate.read(sql, names, Limits(), dialect, source)
    checked = gate.check(tree, names, Limits(), notes, dialect)
    return checked.tree.sql(dialect=dialect, comments=False)


@pytest.mark.parametrize(
    ("dialect", "attack"),
    [("postgres", sql) for sql in POSTGRES] + [("mysql", sql) for sql in MYSQL],
)
def test_no_attack_is_sent(dialect, attack):
    try:
        text = sent(attack, dialect)
    except SqlError:
        return
    tree, _ = gate.read(text, NAMES, Limits(), dialect)
    words = {
        node.name.lower() for node in tree.walk() if isinstance(node, exp.Func | exp.Identifier)
    }
    assert isinstance(tree, exp.Query)
    assert not words & HARMFUL


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELECT id FROM customers", 'SELECT id FROM "public"."CUSTOMERS" AS "customers"'),
        ("SELECT c.id FROM public.customers c", 'SELECT c.id FROM "public"."CUSTOMERS" AS c'),
        ("SELECT 1 -- x\n", "SELECT 1"),
        ("SELECT /* x */ 1", "SELECT 1"),
        (
            "WITH customers AS (SELECT 1) SELECT * FROM customers",
            "WITH customers AS (SELECT 1) SELECT * FROM customers",
        ),
        (
            'SELECT "full name" FROM customers',
            'SELECT "Full Name" FROM "public"."CUSTOMERS" AS "customers"',
        ),
    ],
)
def test_what_is_sent(sql, text):
    assert sent(sql) == text


def test_hidden_columns_are_out_of_reach():
    hidden = table("customers", "public", "id", "mail")
    hidden["columns"][1]["hidden"] = True
    assert sent("SELECT * FROM customers c", names=TableNames([hidden])) == (
        'SELECT * FROM (SELECT "id" FROM "public"."CUSTOMERS") AS c'
    )


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT g.pg_read_file FROM unnest(ARRAY['x']) g",
        "SELECT (x).y FROM customers x",
        "SELECT 1 OPERATOR(pg_catalog.+) 1",
        "SELECT 'a'::pg_catalog.regclass",
        "SELECT E'a'",
        "SELECT unix_timestamp()",
        "SELECT age(now())",
    ],
)
def test_syntax_of_postgres_that_is_refused(sql):
    try:
        text = sent(sql)
    except SqlRefused:
        return
    assert "now" not in text.lower()


@pytest.mark.parametrize(
    "sql", ["SELECT g.g FROM generate_series(1, 2) g", "SELECT g.i FROM unnest(ARRAY[1]) g(i)"]
)
def test_columns_of_functions_are_let_through(sql):
    assert sent(sql)


def test_limits():
    with pytest.raises(SqlLimit):
        sent("SELECT " + "1, " * 10_000 + "1")
    with pytest.raises(SqlLimit):
        sent("SELECT 1 FROM " + ", ".join(f"customers c{at}" for at in range(65)))


def order_of(sql, positions=(1, 2)):
    tree, notes = gate.read(sql, NAMES, Limits(), "postgres")
    made = shape.shape_query(
        gate.check(tree, NAMES, Limits(), notes, "postgres"), positions, 51, "postgres"
    )
    return made.query.sql(dialect="postgres").partition(" ORDER BY ")[2], made.note


@pytest.mark.parametrize(
    ("sql", "order", "free"),
    [
        ("SELECT id, balance FROM customers", '"id" LIMIT 51', False),
        ("SELECT id, total FROM orders", "", True),
        ("SELECT id, count(*) FROM orders GROUP BY id", "1, 2 LIMIT 51", False),
        ("SELECT id, total FROM orders ORDER BY total LIMIT 5", "total, 1, 2 LIMIT 5", False),
        ("SELECT DISTINCT id, total FROM orders", "1, 2 LIMIT 51", False),
    ],
)
def test_rows_get_a_full_order_where_that_is_cheap(sql, order, free):
    text, note = order_of(sql)
    assert text == order
    assert bool(note) == free


@pytest.mark.parametrize(
    ("sql", "url"),
    [
        ("SELECT * FROM customers", "postgresql://u@h/d"),
        ("SELECT * FROM local", ""),
        ("SELECT 1", ""),
        ("SELECT `x` FROM `far`", "mysql://u@h/d"),
    ],
)
def test_a_statement_goes_where_its_tables_are(sql, url):
    local = {"kind": "table", "catalog": "c", "name": "local", "describe_key": "l.csv", "columns": [],
             "source": {"kind": "csv", "path": "l.csv"}}  # fmt: skip
    names = TableNames([*NAMES.tables, local, table("far", "s", "x", url="mysql://u@h/d")])
    assert route(sql, None, names) == url
    with pytest.raises(SqlRefused, match="different places"):
        route("SELECT * FROM local, customers", None, names)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 'now'::timestamp",
        "SELECT timestamp ' Today'",
        "SELECT CAST('yesterday' AS date)",
        "SELECT date_trunc('day', 'tomorrow')",
        "SELECT user",
        "SELECT current_role FROM customers",
        "SELECT customers.ctid FROM customers",
        "SELECT xmin FROM customers",
    ],
)
def test_words_that_tell_the_time_the_role_or_the_place_of_a_row(sql):
    with pytest.raises(SqlRefused):
        sent(sql)


def test_a_column_called_user_is_no_question_about_the_role():
    names = TableNames([table("log", "public", "user", "day")])
    assert sent("SELECT user FROM log", names=names).startswith('SELECT "user" FROM')
    assert sent("WITH x AS (SELECT 1 AS user) SELECT x.user FROM x").endswith('x."user" FROM x')


def test_a_text_that_says_today_stays_a_text():
    assert "'today'" in sent("SELECT id FROM customers WHERE id = 'today'")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT repeat('x', 1000000000)",
        "SELECT repeat(repeat('x', 100000), 100000)",
        "SELECT length(repeat('x', 1000 * 1000000))",
        "SELECT lpad('x', 1000000001)",
        "SELECT rpad(id, 2e9, 'y') FROM customers",
    ],
)
@pytest.mark.parametrize("dialect", ["postgres", "mysql"])
def test_figures_that_fill_a_server_are_refused(sql, dialect):
    with pytest.raises(SqlLimit, match="refused"):
        sent(sql, dialect)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT array_fill(1, ARRAY[1000000000])",
        "SELECT format('%1000000000s', 'x')",
        "SELECT format('%*s', 1000000000, 'x')",
        "SELECT * FROM generate_series(1, 1000000000)",
    ],
)
def test_figures_of_postgres_that_fill_a_server_are_refused(sql):
    with pytest.raises(SqlLimit, match="refused"):
        sent(sql)


@pytest.mark.parametrize(
    "sql", ["SELECT repeat('x', 100)", "SELECT lpad(id, 10, '0') FROM customers",
            "SELECT * FROM generate_series(2000, 2026)"]
)  # fmt: skip
def test_small_figures_are_sent(sql):
    assert sent(sql)


def test_no_row_and_no_batch_passes_the_memory_of_a_statement():
    limits = Limits(cell=1_000_000_000, memory=64)
    for columns in (1, 10, 1600):
        row = shape.room(limits, columns) * columns * 16
        assert row * shape.batch(limits, columns) <= 64 * 1024**2
    assert (shape.room(Limits(), 10), shape.batch(Limits(), 10)) == (200, shape.BATCH)
