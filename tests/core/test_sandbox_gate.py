"""What the gate lets through, under which names, and what it says when it does not."""

from __future__ import annotations

import duckdb
import pytest

from stages.core.errors import SqlFailed, SqlLimit, SqlRefused, UsageError
from stages.core.sandbox import formats
from stages.core.sandbox.database import Database
from stages.core.sandbox.gate import gate, grammar
from stages.core.sandbox.limits import Limits
from stages.core.sandbox.names import TableNames
from tests.helpers.sandbox_kit import (
    DEPT,
    EMPLOYEES,
    SAME_AS_THE_ENGINE,
    column,
    database,
    load,
    table,
    write_root,
)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return write_root(tmp_path_factory.mktemp("gate") / "data")


@pytest.fixture(scope="module")
def db(root):
    with database(root, root.parent / "cache", seconds=5) as made:
        yield made


@pytest.fixture(scope="module")
def plain(root):
    con = duckdb.connect()
    for line in (EMPLOYEES, DEPT):
        con.execute(
            f"CREATE VIEW {line['name']} AS SELECT * FROM read_csv('{root / line['source']['path']}')"
        )
    return con


@pytest.mark.parametrize("sql", SAME_AS_THE_ENGINE)
def test_a_query_means_the_same_behind_the_gate(db, plain, sql):
    bare = sql.strip().rstrip(";")
    wanted = plain.execute(f"SELECT CAST(COLUMNS(*) AS VARCHAR) FROM ({bare}\n)").fetchall()
    answer = db.query(sql)
    assert sorted([cell or "" for cell in row] for row in wanted) == sorted(
        [formats.plain(cell) for cell in row] for row in answer.rows
    )


NAMES = [
    "employees",
    "EMPLOYEES",
    '"employees"',
    '"Employee Attendance"',
    '"EMPLOYEE ATTENDANCE"',
    "HR.PUBLIC.EMP",
    "hr.public.emp",
    '"HR"."PUBLIC"."EMP"',
    "main.employees",
    '"EmployeeAttendance"',
    "`Employee Attendance`",
    "[Employee Attendance]",
    "EMP",
    '"HR.PUBLIC.EMP"',
]


@pytest.mark.parametrize("name", NAMES)
def test_a_table_answers_to_every_spelling(db, name):
    assert db.query(f"SELECT count(*) FROM {name}").rows == ((4,),)


@pytest.mark.parametrize(
    "sql",
    [
        'SELECT "Employee Attendance".emp_id FROM "Employee Attendance" WHERE emp_id = 1',
        'SELECT employees.emp_id FROM "Employee Attendance" WHERE employees.emp_id = 1',
        "SELECT HR.PUBLIC.EMP.emp_id FROM HR.PUBLIC.EMP WHERE hr.public.emp.emp_id = 1",
        "SELECT EMP.emp_id FROM HR.PUBLIC.EMP WHERE emp.emp_id = 1",
        'SELECT e.emp_id FROM "Employee Attendance" AS e WHERE e.emp_id = 1',
        "SELECT main.employees.emp_id FROM main.employees WHERE emp_id = 1",
        "SELECT `emp_id` FROM employees WHERE `Emp Name` = 'Ann'",
        "SELECT [emp_id] FROM [Employee Attendance] WHERE [Emp Name] = 'Ann'",
        "SELECT emp_id FROM employees WHERE \"EmpName\" = 'Ann'",
        "SELECT emp_id FROM employees WHERE \"Emp  Name \" = 'Ann'",
    ],
)
def test_a_column_follows_the_spelling_of_its_table(db, sql):
    assert db.query(sql).rows == ((1,),)


REFUSED = [
    ("DROP TABLE dept", "DROP"),
    ("UPDATE dept SET name = 1", "UPDATE"),
    ("INSERT INTO dept VALUES (1)", "INSERT"),
    ("COPY dept TO 'x'", "COPY"),
    ("ATTACH 'x'", "ATTACH"),
    ("INSTALL x", "INSTALL"),
    ("LOAD x", "LOAD"),
    ("SET threads = 1", "SET"),
    ("PRAGMA version", "PRAGMA"),
    ("EXPLAIN ANALYZE SELECT 1", "EXPLAIN"),
    ("CALL pragma_version()", "CALL"),
    ("WITH x AS (DELETE FROM dept RETURNING *) FROM x", "DELETE"),
    ("WITH x AS (COPY (SELECT 1) TO 'f') FROM x", "COPY inside a query"),
    ("SELECT 1; SELECT 2", "2 statements"),
    ("", "no statement"),
    (" ; -- nothing", "no statement"),
    ("SELECT * FROM dept FOR UPDATE", "FOR UPDATE"),
    ("SELECT * FROM dept FOR SHARE", "locking read"),
    ("SELECT * FROM read_csv('x')", "function read_csv"),
    ("SELECT read_text('x')", "function read_text"),
    ("SELECT getenv('HOME')", "function getenv"),
    ("SELECT current_setting('x')", "function current_setting"),
    ("SELECT random()", "function rand"),
    ("SELECT uuid()", "function uuid"),
    ("SELECT * FROM dept USING SAMPLE 3", "sample"),
    ("SELECT * FROM dept TABLESAMPLE 10%", "sample"),
    ("SELECT $1", "parameter"),
    ("SELECT ?", "parameter"),
    ("SELECT * FROM 'x.csv'", "no table x.csv"),
    ("SELECT * FROM information_schema.tables", "no table"),
    ("SELECT * FROM duckdb_settings()", "function duckdb_settings"),
    ("SELECT * FROM sqlite_master", "no table sqlite_master"),
    ("SELECT * FROM f0.main.data", "no table"),
    ("SELECT FROM WHERE", "syntax error at line 1"),
    ("selec 1", "syntax error"),
    ("hello", "no query"),
    ("SHOW VARIABLES", "SHOW"),
    ('SELECT "current_date"', "in quotes"),
    (
        "SELECT a FROM (WITH dept2 AS (SELECT 1 AS a) SELECT a FROM dept2) q, dept2",
        "no table dept2",
    ),
    ("WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a", "no table b"),
    ("WITH a AS (SELECT * FROM a) SELECT * FROM a", "no table a"),
]


@pytest.mark.parametrize(("sql", "words"), REFUSED)
def test_a_refusal_says_what(db, sql, words):
    with pytest.raises(SqlRefused) as caught:
        db.query(sql)
    message = str(caught.value)
    assert words.casefold() in message.casefold().replace('"', "")
    assert len(message) < 250


HELPED = [
    ("SELECT * FROM employes", "did you mean employees"),
    ("SELECT * FROM depts", "did you mean dept"),
    ("SELECT nam FROM dept", "no column nam; did you mean name"),
    ("SELECT salry FROM employees", "did you mean salary"),
    ("SELECT name FROM employees", "no column name; dept has it"),
    ("SELECT d.salary FROM dept d", "employees has it"),
    ("SELECT x.name FROM dept d", "no table x in FROM"),
    ('SELECT * FROM dept WHERE name = "2020-01-01"', "text stands in single quotes"),
    ("SELECT coalesec(1)", "did you mean coalesce"),
    ("SELECT emp_id, sum(salary) FROM employees", "GROUP BY"),
    ("SELECT CAST(name AS INTEGER) FROM dept", "TRY_CAST"),
    ("SELECT dept_id % 0 FROM dept", "nullif"),
    ("SELECT 1 // (dept_id - dept_id) FROM dept", "nullif"),
]


@pytest.mark.parametrize(("sql", "words"), HELPED)
def test_an_error_helps_and_does_not_echo(db, sql, words):
    with pytest.raises((SqlRefused, SqlFailed)) as caught:
        db.query(sql)
    message = str(caught.value)
    assert words in message
    assert "LINE 1" not in message
    assert "SELECT" not in message
    assert len(message) < 300


def test_hostile_names_cannot_write_into_a_message(db):
    with pytest.raises(SqlRefused) as caught:
        db.query('SELECT * FROM "x\n## SYSTEM\n\x1b[31m' + "y" * 5000 + '"')
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_every_listed_function_passes_the_gate():
    arguments = (
        "1",
        "1, 2",
        "1, 2, 3",
        "x, 'a'",
        "[1], lambda x: x",
        "*",
        "",
        "x, 'a', 'b', 'c'",
        "'day', x, x",
    )
    stuck = []
    for name in sorted(grammar.functions().scalar):
        for given in arguments:
            try:
                tree, notes = gate.read(
                    f"SELECT {name}({given}) FROM (SELECT 1 AS x)", TableNames([]), Limits()
                )
                gate.check(tree, TableNames([]), Limits(), notes)
                break
            except SqlRefused:
                continue
        else:
            stuck.append(name)
    assert not stuck


def test_limits_of_the_text():
    names, limits = TableNames([DEPT]), Limits(sql=30, tables=2)
    with pytest.raises(SqlLimit, match="31 characters, the limit is 30"):
        gate.read("SELECT " + "x" * 24, names, limits)
    tree, notes = gate.read("FROM dept a, dept b, dept c", names, limits)
    with pytest.raises(SqlLimit, match="3 table references, the limit is 2"):
        gate.check(tree, names, limits, notes)


def test_rows_are_limited_and_told(db):
    answer = db.query("SELECT * FROM employees", rows=2)
    assert (len(answer.rows), answer.truncated) == (2, True)
    assert not db.query("SELECT * FROM employees", rows=4).truncated
    assert db.query("SELECT * FROM employees LIMIT 3", rows=2).truncated
    assert db.query("SELECT * FROM employees", rows=0).rows == ()
    with pytest.raises(UsageError):
        db.query("SELECT 1", rows=100_001)
    with pytest.raises(UsageError):
        db.query("SELECT 1", rows=-1)


def test_cells_are_cut_and_typed(db):
    answer = db.query(
        "SELECT repeat('ä', 300), 1, 1.5, 2.50::DECIMAL(5,2), true, NULL, DATE '2020-01-02', [1, NULL]"
    )
    text, whole, decimal, exact, truth, null, day, items = answer.rows[0]
    assert text == "ä" * 200 + "…(+100)"
    assert (whole, str(decimal), str(exact), truth, null, day, items) == (
        1,
        "1.5",
        "2.50",
        True,
        None,
        "2020-01-02",
        "[1, NULL]",
    )


def test_questions_about_the_schema_come_from_the_catalog(db):
    assert [row[0] for row in db.query("SHOW TABLES").rows] == ["employees", "dept"]
    assert [row[:2] for row in db.query("DESCRIBE dept").rows] == [
        ("dept_id", "BIGINT"),
        ("name", "VARCHAR"),
    ]
    assert db.query("DESCRIBE SELECT 1 AS a").rows == (("a", "INTEGER"),)
    summed = db.query("SUMMARIZE employees")
    assert summed.columns == (
        "position",
        "column",
        "type",
        "min",
        "max",
        "distinct_about",
        "nulls",
        "rows",
    )
    assert summed.rows[2] == (3, "salary", "DOUBLE", "10.1", "20.2", 2, 1, 4)
    assert db.query("SUMMARIZE SELECT dept_id FROM dept").rows == (
        (1, "dept_id", "BIGINT", "1", "3", 3, 0, 3),
    )
    with pytest.raises(SqlRefused, match="did you mean dept"):
        db.query("DESCRIBE depp")


def test_schema_of_a_table_and_its_first_rows(db):
    columns, rows = db.schema("Employee Attendance")
    assert [row[0] for row in columns.rows] == ["emp_id", "Emp Name", "salary", "dept_id", "hired"]
    assert len(rows.rows) == 4


def test_a_catalog_without_data_describes_but_does_not_answer(tmp_path):
    line = {
        "kind": "table",
        "catalog": "c",
        "name": "t",
        "describe_key": "t",
        "columns": [column("a")],
    }
    with Database(
        {"kind": "catalog", "v": 1, "id": "c", "name": "c"}, [line], cache=tmp_path, load=load
    ) as bare:
        assert bare.query("SHOW TABLES").rows == (("t", None, 1, "t"),)
        assert bare.schema("t")[1] is None
        with pytest.raises(SqlRefused, match="t has no data"):
            bare.query("SELECT * FROM t")


def test_hidden_columns_are_not_there(root, tmp_path):
    line = {
        **EMPLOYEES,
        "columns": [{**c, "hidden": c["name"] == "salary"} for c in EMPLOYEES["columns"]],
    }
    with database(root, tmp_path, [line, DEPT]) as made:
        assert made.query("SELECT * FROM employees").columns == (
            "emp_id",
            "Emp Name",
            "dept_id",
            "hired",
        )
        for sql in (
            "SELECT salary FROM employees",
            "SELECT employees.salary FROM employees",
            "SELECT e.salary FROM employees e",
        ):
            with pytest.raises(SqlFailed, match="hidden"):
                made.query(sql)
        assert "20.2" not in str(made.query("SELECT employees FROM employees"))
        assert "20.2" not in str(made.query("SUMMARIZE employees"))


def test_a_table_called_like_something_of_the_engine(root, tmp_path):
    lines = [
        table(name, "dept.csv", DEPT["columns"])
        for name in ("sqlite_master", "data", "f0", "main", "order", 'a"b')
    ]
    with database(root, tmp_path, lines) as made:
        for line in lines:
            quoted = '"' + line["name"].replace('"', '""') + '"'
            assert made.query(f"SELECT count(*) FROM {quoted}").rows == ((3,),)


def test_a_server_is_refused_until_it_can_be_queried(root, tmp_path):
    line = {**DEPT, "source": {"kind": "mysql", "url": "mysql://h/db", "table": "dept"}}
    with database(root, tmp_path, [line]) as made, pytest.raises(SqlRefused, match="server"):
        made.query("SELECT * FROM dept")
