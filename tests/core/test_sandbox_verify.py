"""The child's own check, on the engine's own tree of a statement."""

from __future__ import annotations

import json

import duckdb
import pytest

from stages.core.sandbox.engine import child
from stages.core.sandbox.gate import grammar
from tests.helpers.attacks import ATTACKS, IN_SCOPE
from tests.helpers.sandbox_kit import SAME_AS_THE_ENGINE

LISTS = grammar.functions()
ALLOWED = child.AllowList.of(["dept", "employees"], LISTS.scalar, LISTS.table)


@pytest.fixture(scope="module")
def con():
    return duckdb.connect()


def judged(con, sql):
    """What the check says: empty where it lets the statement pass."""
    serialized = con.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchone()[0]
    try:
        child.verify(serialized, ALLOWED)
    except child.Refusal as error:
        return str(error)
    return ""


PASSES = [
    "SELECT * FROM main.dept",
    "SELECT * FROM main.dept d, main.employees e WHERE d.dept_id = e.dept_id",
    "WITH x AS (SELECT * FROM main.dept), y AS (SELECT * FROM x) SELECT * FROM y, x",
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT * FROM r",
    "SELECT * FROM (WITH x AS (SELECT 1) SELECT * FROM x)",
    "SELECT count(*), sum(x) OVER (), [1], {'a': 1}, x::INT FROM (VALUES (1)) v(x)",
    "SELECT a FROM range(3) t(a) UNION ALL SELECT 1 ORDER BY ALL LIMIT 3",
    "SELECT CASE WHEN a BETWEEN 1 AND 2 THEN a COLLATE NOCASE ELSE 'x' END FROM (SELECT '1' AS a)",
    "SELECT age(a, b) FROM (SELECT DATE '2020-01-01' AS a, DATE '2021-01-01' AS b)",
]


@pytest.mark.parametrize("sql", PASSES)
def test_it_lets_queries_pass(con, sql):
    assert judged(con, sql) == ""


STOPS = [
    ("SELECT * FROM dept", "table dept"),
    ("SELECT * FROM f0.main.data", "table data"),
    ("SELECT * FROM main.other", "table other"),
    ("SELECT * FROM memory.main.dept", "table dept"),
    ("SELECT * FROM information_schema.tables", "table tables"),
    ("WITH x AS (SELECT * FROM y), y AS (SELECT 1) SELECT * FROM x", "table y"),
    ("WITH x AS (SELECT * FROM x) SELECT * FROM x", "table x"),
    ("SELECT * FROM (WITH x AS (SELECT 1) SELECT * FROM x) q, x", "table x"),
    ("WITH x AS (COPY (SELECT 1) TO 'f') SELECT * FROM x", "copy query"),
    ("WITH x AS (DELETE FROM main.dept RETURNING *) SELECT * FROM x", "delete query"),
    ("DESCRIBE main.dept", "show ref"),
    ("SHOW TABLES", "show ref"),
    ("SUMMARIZE main.dept", "show ref"),
    ("SELECT * FROM read_csv('x')", "function read_csv"),
    ("SELECT * FROM main.dept, LATERAL (SELECT * FROM read_csv('x'))", "function read_csv"),
    ("SELECT (SELECT content FROM read_text('x'))", "function read_text"),
    ("SELECT random()", "function random"),
    ("SELECT now()", "function now"),
    ("SELECT age(DATE '2020-01-01')", "function age"),
    ("SELECT * FROM main.dept USING SAMPLE 3", "sample"),
    ("SELECT * FROM main.dept AT (VERSION => 1)", "version"),
    ("SELECT $1", "parameter"),
    ("SELECT 1; SELECT 2", "2 statements"),
    ("DROP VIEW dept", "not a query"),
    ("SELECT (", "syntax error"),
    ("SELECT * FROM query('SELECT 1')", "function query"),
    ("SELECT * FROM abs(1)", "function abs"),
    ("SELECT sum(random()) OVER (ORDER BY uuid())", "function"),
    ("SELECT list_transform([1], lambda x: getvariable('y'))", "function getvariable"),
    ("SELECT 1 ORDER BY random()", "function random"),
    ("SELECT 1 LIMIT (SELECT random())", "function random"),
    ("SELECT count(*) FILTER (random() > 0.5)", "function random"),
    ("SELECT * FROM (VALUES (random()))", "function random"),
    ("SELECT * FROM range(random()::INT)", "function random"),
    ("SELECT * REPLACE (random() AS a) FROM (SELECT 1 AS a)", "function random"),
    ("SELECT 1 GROUP BY random() HAVING random() > 1 QUALIFY random() > 1", "function random"),
    ("SELECT * FROM main.dept JOIN main.employees ON random() > 0.5", "function random"),
    ("SELECT * FROM main.dept PIVOT (sum(random()) FOR name IN ('x'))", "function random"),
]


@pytest.mark.parametrize(("sql", "words"), STOPS)
def test_it_says_what_it_stops(con, sql, words):
    assert words in judged(con, sql)


def test_it_stops_every_attack_by_itself(con):
    passed = [attack for attack in ATTACKS if not judged(con, attack)]
    assert passed == [IN_SCOPE], "but for the one whose path is a name of WITH in scope"


def test_it_stops_no_query_for_its_functions(con):
    stopped = {sql: judged(con, sql) for sql in SAME_AS_THE_ENGINE}
    assert not {sql: said for sql, said in stopped.items() if said and "table" not in said}


def test_an_unknown_kind_of_node_is_stopped(con):
    tree = json.loads(con.execute("SELECT json_serialize_sql('SELECT 1')").fetchone()[0])
    for path, value in ((["type"], "NEW_NODE"), (["from_table", "type"], "NEW_REF")):
        changed = json.loads(json.dumps(tree))
        inner = changed["statements"][0]["node"]
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        with pytest.raises(child.Refusal):
            child.verify(json.dumps(changed), ALLOWED)
    tree["statements"][0]["node"]["select_list"][0]["class"] = "NEW"
    with pytest.raises(child.Refusal):
        child.verify(json.dumps(tree), ALLOWED)
