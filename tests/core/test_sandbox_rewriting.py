"""What is done to a statement before it runs: repairs, other dialects, the clock, the order."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.core.dialects import WRITTEN_IN
from stages.core.errors import SqlError, SqlRefused, UsageError
from stages.core.sandbox.gate import gate, grammar, repair
from stages.core.sandbox.gate.order import with_order
from stages.core.sandbox.limits import Limits
from stages.core.sandbox.names import TableNames
from tests.helpers.sandbox_kit import DEPT, EMPLOYEES, column, database, table, write_root

NAMES = TableNames([EMPLOYEES, DEPT])

QUOTES = [
    ("SELECT `a b` FROM `t`", 'SELECT "a b" FROM "t"'),
    ("SELECT `a``b`", 'SELECT "a`b"'),
    ("SELECT '`x`', \"`y`\" -- `z`\n/* `w` */", None),
    ("SELECT $$`x`$$", None),
    ("SELECT [Emp Name] FROM employees", 'SELECT "Emp Name" FROM employees'),
    ("SELECT [name], [dept_id] FROM [dept]", 'SELECT "name", "dept_id" FROM "dept"'),
    (
        "SELECT d.[name] FROM dept d WHERE [dept_id] > 1",
        'SELECT d."name" FROM dept d WHERE "dept_id" > 1',
    ),
    ("SELECT name AS [Full Name] FROM dept", 'SELECT name AS "Full Name" FROM dept'),
    ("SELECT * FROM [Employee Attendance]", 'SELECT * FROM "Employee Attendance"'),
    ("SELECT [1, 2, 3], ['a'], [name] FROM dept", None),
    ("SELECT list(name)[1], x[dept_id], 'abc'[1], (a)[dept_id], b[1:2] FROM dept", None),
    ("SELECT list_contains([dept_id], 1) FROM dept", None),
    ("SELECT x[dept_id] FROM [dept]", 'SELECT x[dept_id] FROM "dept"'),
    ("SELECT '[Emp Name]' FROM dept -- [Emp Name]", None),
    ("SELECT [dept_id] FROM dept", 'SELECT "dept_id" FROM dept'),
    (
        "SELECT [dept_id], [name] FROM dept WHERE [dept_id] = 1 ORDER BY [name]",
        'SELECT "dept_id", "name" FROM dept WHERE "dept_id" = 1 ORDER BY "name"',
    ),
    ("SELECT [nothing] FROM dept", None),
    ("SELECT [dept_id], [1, 2] FROM dept", None),
    ("SELECT [] FROM [dept]", 'SELECT [] FROM "dept"'),
    ("SELECT 'open", None),
]


@pytest.mark.parametrize(("sql", "wanted"), QUOTES)
def test_quotes_are_mended_where_only_one_thing_can_be_meant(sql, wanted):
    text, notes = repair.quotes(sql, NAMES)
    assert text == (wanted or sql)
    assert bool(notes) == (wanted is not None)


@given(st.text(alphabet=st.characters(exclude_characters="`[", exclude_categories=("Cs",))))
def test_a_statement_without_backticks_and_brackets_is_left_alone(sql):
    assert repair.quotes(sql, NAMES) == (sql, [])


@given(st.text(alphabet="ab '\"`[]-\n$/*.,1", max_size=40))
def test_repairing_twice_is_repairing_once(sql):
    once, _ = repair.quotes(sql, NAMES)
    assert once.count("'") == sql.count("'")
    if "`" not in once:
        assert repair.quotes(once, NAMES)[0] == once


@given(st.text(alphabet="abcSELECT FROM dept()'\"`[];-,.*01$?:{}", max_size=60))
def test_any_text_is_a_query_or_an_error_of_ours(sql):
    said = ""
    try:
        tree, notes = gate.read(sql, NAMES, Limits())
        gate.check(tree, NAMES, Limits(), notes)
    except SqlError as error:
        said = str(error)
    assert len(said) < 300


COLUMNS = [
    ('SELECT "EmpName" FROM employees', "Emp Name"),
    ('SELECT "emp  name" FROM employees', "Emp Name"),
    ('SELECT "emp_id" FROM employees', None),
    ('SELECT "Emp Name" FROM employees', None),
    ("SELECT EmpName FROM employees", None),
    ('SELECT "EmpName" FROM (SELECT 1 AS "EmpName") q, employees', None),
    ('SELECT "EmpName" FROM dept', None),
    ('WITH q("EmpName") AS (SELECT 1) SELECT "EmpName" FROM q, employees', None),
]


@pytest.mark.parametrize(("sql", "wanted"), COLUMNS)
def test_a_quoted_column_is_mended_by_white_space_alone(sql, wanted):
    tree, notes = gate.read(sql, NAMES, Limits())
    checked = gate.check(tree, NAMES, Limits(), notes)
    assert bool(checked.notes) == (wanted is not None)
    if wanted:
        assert f'"{wanted}"' in checked.tree.sql("duckdb")


def test_two_columns_that_fit_are_no_repair():
    names = TableNames([table("t", "t.csv", [column("a b"), column("a  b")])])
    tree, notes = gate.read('SELECT "ab" FROM t', names, Limits())
    assert gate.check(tree, names, Limits(), notes).notes == ()


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rewriting")
    with database(write_root(folder / "data"), folder / "cache", seconds=10) as made:
        yield made


CLOCK = ["now()", "current_timestamp", "get_current_timestamp()", "transaction_timestamp()", "current_date",
         "today()", "localtimestamp", "current_localtimestamp()", "current_time", "localtime",
         "age(DATE '2000-01-01')", "date_diff('day', DATE '2020-01-01', current_date)"]  # fmt: skip


@pytest.mark.parametrize("expression", CLOCK)
def test_the_clock_stands(db, expression):
    answer = db.query(f"SELECT {expression}")
    assert "the clock stands at 2026-01-01 00:00:00 UTC" in answer.repairs
    wanted = {"age(DATE '2000-01-01')": "26 years", CLOCK[-1]: "2192"}.get(expression)
    shown = str(answer.rows[0][0])
    assert shown == wanted if wanted else shown.startswith(("2026-01-01", "00:00:00"))


def test_ago_would_ask_the_clock(db):
    with pytest.raises(SqlRefused):
        db.query("SELECT ago(INTERVAL 1 DAY)")


ORDERS = [
    ("SELECT * FROM t", "SELECT * FROM t LIMIT 11"),
    ("SELECT a + 1 FROM t WHERE a > 1", "SELECT a + 1 FROM t WHERE a > 1 LIMIT 11"),
    ("SELECT * FROM t LIMIT 5", "SELECT * FROM t LIMIT 5"),
    ("SELECT * FROM t LIMIT 500", "SELECT * FROM t LIMIT 11"),
    ("SELECT * FROM t LIMIT 50 PERCENT", "SELECT * FROM t LIMIT 50 PERCENT"),
    (
        "SELECT a, count(*) FROM t GROUP BY a",
        "SELECT a, COUNT(*) FROM t GROUP BY a ORDER BY ALL LIMIT 11",
    ),
    ("SELECT DISTINCT a FROM t", "SELECT DISTINCT a FROM t ORDER BY ALL LIMIT 11"),
    ("SELECT * FROM t, u", "SELECT * FROM t, u ORDER BY ALL LIMIT 11"),
    (
        "SELECT a FROM t UNION SELECT b FROM u",
        "SELECT a FROM t UNION SELECT b FROM u ORDER BY ALL LIMIT 11",
    ),
    ("SELECT a FROM t ORDER BY b DESC LIMIT 3", "SELECT a FROM t ORDER BY b DESC, 1, 2 LIMIT 3"),
    ("SELECT a FROM t ORDER BY ALL", "SELECT a FROM t ORDER BY ALL LIMIT 11"),
    ("SELECT a FROM t ORDER BY ALL DESC", "SELECT a FROM t ORDER BY ALL DESC LIMIT 11"),
    (
        "SELECT * FROM (SELECT * FROM t) q",
        "SELECT * FROM (SELECT * FROM t) AS q ORDER BY ALL LIMIT 11",
    ),
    ("SELECT sum(a) OVER () FROM t", "SELECT SUM(a) OVER () FROM t ORDER BY ALL LIMIT 11"),
]


@pytest.mark.parametrize(("sql", "wanted"), ORDERS)
def test_rows_that_could_come_in_another_order_are_sorted(sql, wanted):
    assert with_order(grammar.parse(sql), 2, 11).sql("duckdb") == wanted


REPEATED = [
    "SELECT g, sum(x), avg(x), stddev(x), count(*) FROM big GROUP BY g",
    "SELECT sum(x), fsum(x), sum(x / 3), corr(x, id) FROM big",
    "SELECT g FROM big ORDER BY g LIMIT 7",
    "SELECT g, id FROM big ORDER BY g LIMIT 7",
    "SELECT g, any_value(id), first(id), string_agg(id, ',')[:20], list(id)[1:3], mode(id % 7) FROM big GROUP BY g",
    "SELECT DISTINCT g FROM big",
    "SELECT DISTINCT ON (g) g, id FROM big",
    "SELECT a.id, b.id FROM big a JOIN big b ON a.g = b.g AND a.id < 5 LIMIT 20",
    "SELECT id, row_number() OVER (ORDER BY g) FROM big LIMIT 20",
    "SELECT approx_quantile(x, 0.5), approx_count_distinct(id), approx_top_k(g, 2), histogram(g) FROM big",
    "SELECT arg_max(id, g), max_by(id, g, 3), min_by(id, g) FROM big",
    "SELECT * FROM big LIMIT 3",
    "SELECT g, sum(x) FROM big GROUP BY g ORDER BY 2 DESC LIMIT 3",
]


@pytest.fixture(scope="module")
def twice(tmp_path_factory):
    """The same data loaded twice, by a loader with several threads, and asked by two children."""
    folder = tmp_path_factory.mktemp("twice")
    (folder / "big.csv").write_text(
        "id,g,x\n"
        + "".join(f"{n},{n * 7919 % 13},{(n * 104729 % 1000003) / 7}\n" for n in range(200_000))
    )
    line = table("big", "big.csv", [column("id"), column("g"), column("x", "DOUBLE")])
    with (
        database(folder, folder / "one", [line]) as one,
        database(folder, folder / "two", [line]) as two,
    ):
        yield one, two


@pytest.mark.parametrize("sql", REPEATED)
def test_the_same_query_gives_the_same_rows_every_time(twice, sql):
    answers = {repr(database.query(sql).rows) for database in twice for _ in range(3)}
    assert len(answers) == 1


def test_the_first_rows_of_a_table_are_the_first_of_the_file(twice):
    assert [row[0] for row in twice[0].query("SELECT * FROM big LIMIT 3").rows] == [0, 1, 2]


SQLITE = [
    'SELECT dept_id, max(emp_id), "Emp Name" FROM employees GROUP BY dept_id ORDER BY dept_id',
    'SELECT "Emp Name", min(emp_id) FROM employees',
    "SELECT d.name, d.dept_id, count(*) FROM dept d JOIN employees e ON d.dept_id = e.dept_id GROUP BY d.dept_id ORDER BY d.name",
    "SELECT name FROM dept GROUP BY dept_id HAVING count(*) > 0 ORDER BY count(dept_id), name",
    "SELECT dept_id + 1 AS k, count(*) AS n FROM employees GROUP BY k ORDER BY n, k",
    "SELECT upper(name) AS u, count(*) FROM dept GROUP BY 1 ORDER BY 1",
    "SELECT dept_id, (SELECT name FROM dept d WHERE d.dept_id = e.dept_id) FROM employees e GROUP BY dept_id ORDER BY 1",
    "SELECT count(*) FROM (SELECT name FROM dept GROUP BY dept_id) q",
    'SELECT emp_id FROM employees WHERE "Emp Name" = "Ann" OR hired = "2021-02-03" ORDER BY emp_id',
    'SELECT "x" AS "y", q."z" FROM (SELECT name AS "z" FROM dept WHERE name = "IT") q',
    'WITH c("k") AS (SELECT name FROM dept) SELECT "k" FROM c WHERE "k" <> "Sales" ORDER BY "k"',
    "SELECT emp_id, salary FROM employees WHERE salary > 15 ORDER BY emp_id",
    "SELECT emp_id / 2, emp_id / 2.0, 7 / 2, emp_id % 2 FROM employees ORDER BY emp_id",
    "SELECT -7 / 2, 7 / -2, (emp_id - 4) / 2, emp_id / (emp_id - 1), salary / (emp_id - 1) FROM employees ORDER BY emp_id",
    "SELECT e.emp_id / e.dept_id FROM employees e ORDER BY e.emp_id",
    'SELECT "Emp Name" FROM employees WHERE "Emp Name" LIKE \'a%\'',
    "SELECT [Emp Name], `emp_id` FROM employees ORDER BY emp_id",
    "SELECT dept_id, count(*), sum(salary), sum(emp_id) / count(*) FROM employees GROUP BY dept_id ORDER BY dept_id",
    "SELECT group_concat(name, '|') FROM (SELECT name FROM dept ORDER BY name)",
    "SELECT ifnull(salary, 0), iif(emp_id > 2, 'a', 'b') FROM employees ORDER BY emp_id",
    "SELECT substr(name, 2, 3), length(name), upper(name), instr(name, 'a') FROM dept ORDER BY dept_id",
    "SELECT emp_id FROM employees ORDER BY salary, emp_id",
    "SELECT emp_id FROM employees ORDER BY salary DESC, emp_id",
    "SELECT strftime('%Y', hired), count(*) FROM employees WHERE hired IS NOT NULL GROUP BY 1 ORDER BY 1",
    "SELECT CAST(salary AS INTEGER), round(salary, 1), abs(-emp_id) FROM employees WHERE emp_id < 3 ORDER BY emp_id",
    "SELECT name || '-' || dept_id FROM dept ORDER BY dept_id LIMIT 2 OFFSET 1",
    "SELECT max(emp_id, dept_id), min(emp_id, 2) FROM employees ORDER BY emp_id",
    "SELECT count(*) FROM employees e LEFT JOIN dept d ON e.dept_id = d.dept_id WHERE d.name IS NULL",
]


@pytest.fixture(scope="module")
def lite():
    con = sqlite3.connect(":memory:")
    con.execute(
        'CREATE TABLE employees (emp_id INTEGER, "Emp Name" TEXT, salary REAL, dept_id INTEGER, hired TEXT)'
    )
    con.executemany(
        "INSERT INTO employees VALUES (?, ?, ?, ?, ?)",
        [
            (1, "Ann", 10.1, 1, "2020-01-02"),
            (2, "Bob", 20.2, 2, "2021-02-03"),
            (3, "Cy", 20.2, 1, "2022-03-04"),
            (4, None, None, 2, None),
        ],
    )
    con.execute("CREATE TABLE dept (dept_id INTEGER, name TEXT)")
    con.executemany("INSERT INTO dept VALUES (?, ?)", [(1, "Sales"), (2, "IT"), (3, "Legal")])
    return con


@pytest.mark.parametrize("sql", SQLITE)
def test_sqlite_statements_give_what_sqlite_gives(db, lite, sql):
    answer = db.query(sql, dialect="sqlite")
    assert [list(row) for row in answer.rows] == [list(row) for row in lite.execute(sql).fetchall()]
    assert "rewritten from sqlite" in answer.repairs


OTHER = [
    ("mysql", 'SELECT `name` FROM `dept` WHERE name = "Sales" LIMIT 0, 1', [("Sales",)]),
    ("mysql", "SELECT IFNULL(salary, 0) FROM employees WHERE emp_id = 4", [(0.0,)]),
    ("mysql", "SELECT DATE_FORMAT(hired, '%Y-%m') FROM employees WHERE emp_id = 1", [("2020-01",)]),
    ("mysql", "SELECT DATEDIFF(hired, '2020-01-01') FROM employees WHERE emp_id = 1", [(1,)]),
    ("mysql", "SELECT name FROM dept WHERE name LIKE 'sal%'", [("Sales",)]),
    (
        "mysql",
        "SELECT GROUP_CONCAT(name ORDER BY name SEPARATOR '|') FROM dept",
        [("IT|Legal|Sales",)],
    ),
    ("postgres", "SELECT name::text FROM dept WHERE name ILIKE 's%'", [("Sales",)]),
    ("postgres", "SELECT emp_id / 2 FROM employees WHERE emp_id = 3", [(1,)]),
    ("postgres", "SELECT to_char(hired, 'YYYY') FROM employees WHERE emp_id = 1", [("2020",)]),
    ("postgres", "SELECT string_agg(name, ',' ORDER BY name) FROM dept", [("IT,Legal,Sales",)]),
    (
        "bigquery",
        "SELECT `name` FROM `dept` WHERE SAFE_CAST(name AS INT64) IS NULL LIMIT 1",
        [("Sales",)],
    ),
    (
        "bigquery",
        "SELECT DATE_DIFF(hired, DATE '2020-01-01', DAY) FROM employees WHERE emp_id = 1",
        [(1,)],
    ),
    ("snowflake", "SELECT IFF(emp_id = 1, 'a', 'b') FROM HR.PUBLIC.EMP WHERE emp_id = 1", [("a",)]),
    (
        "snowflake",
        "SELECT DATEDIFF(day, '2020-01-01', hired) FROM employees WHERE emp_id = 1",
        [(1,)],
    ),
    (
        "snowflake",
        "SELECT ZEROIFNULL(salary) FROM employees QUALIFY ROW_NUMBER() OVER (ORDER BY emp_id DESC) = 1",
        [(0.0,)],
    ),
    ("duckdb", "SELECT 1", [(1,)]),
]


@pytest.mark.parametrize(("source", "sql", "wanted"), OTHER)
def test_other_dialects(db, source, sql, wanted):
    assert [tuple(row) for row in db.query(sql, dialect=source).rows] == wanted


@pytest.mark.parametrize("source", [name for name in WRITTEN_IN if name != "duckdb"])
def test_another_dialect_is_no_way_around_the_gate(db, source):
    for sql in ("DROP TABLE dept", "SELECT 1; SELECT 2", "SELECT * FROM dept FOR UPDATE", "SELECT read_text('x')",
                "SELECT LOAD_FILE('/etc/passwd')", "SELECT pg_read_file('x')", "SELECT * FROM other", ""):  # fmt: skip
        with pytest.raises(SqlRefused):
            db.query(sql, dialect=source)


def test_an_unknown_dialect_is_a_wrong_command_line():
    with pytest.raises(UsageError, match="no dialect cobol"):
        gate.read("SELECT 1", NAMES, Limits(), "cobol")
