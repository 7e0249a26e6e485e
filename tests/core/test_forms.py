"""Functions of other dialects: as the engine answers, or refused by name."""

from __future__ import annotations

import re
import sqlite3

import pytest

from stages.core.dialects import WRITTEN_IN
from stages.core.errors import SqlError, SqlRefused
from stages.core.sandbox.forms.table import forms
from stages.core.sandbox.gate import grammar
from tests.helpers.forms import ROWS, opened, same, statements, whole

SOURCES = [name for name in WRITTEN_IN if name != "duckdb"]


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("forms")) as made:
        yield made


@pytest.fixture(scope="module")
def lite():
    con = sqlite3.connect(":memory:")
    con.execute(
        "create table v (id integer primary key, name text, note text, day text, ts text, n integer, x real, t text)"
    )
    con.executemany("insert into v values (?, ?, ?, ?, ?, ?, ?, ?)", ROWS)
    return con


@pytest.mark.parametrize("line", statements("sqlite.sql"))
def test_sqlite(db, lite, line):
    sql = whole(line)
    try:
        theirs = lite.execute(sql).fetchall()
    except sqlite3.OperationalError as error:
        pytest.skip(f"this SQLite has not all of it: {error}")
    ours, wanted = same(db.query(sql, dialect="sqlite").rows, theirs)
    assert ours == wanted


@pytest.mark.parametrize("source", ["sqlite", "mysql", "postgres"])
def test_what_has_no_form_is_refused(db, source):
    for line in statements(f"{source}.refused.sql"):
        with pytest.raises(SqlRefused, match="refused"):
            db.query(whole(line), dialect=source)


@pytest.mark.parametrize("source", SOURCES)
def test_a_function_that_no_list_has_is_refused_by_its_own_name(db, source):
    with pytest.raises(SqlRefused, match=f"function frobnicate of {source} refused"):
        db.query("SELECT frobnicate(n) FROM v", dialect=source)


@pytest.mark.parametrize("source", SOURCES)
def test_a_random_number_is_refused_by_the_name_that_was_written(db, source):
    name = {"mysql": "rand", "bigquery": "rand"}.get(source, "random")
    with pytest.raises(SqlRefused, match=f"function {name} of {source} refused; it answers"):
        db.query(f"SELECT {name}() FROM v", dialect=source)


@pytest.mark.parametrize("source", SOURCES)
def test_every_form_is_duckdb_that_can_be_read(source):
    from stages.core.sandbox.forms import numbers, sqlite_times, texts, times, units

    handlers = (numbers, texts, times, sqlite_times, units)
    for name, text in (*forms(source).form.items(), *forms(source).units.items()):
        if text.startswith("@"):
            assert any(hasattr(module, text[1:]) for module in handlers), (name, text)
        else:
            assert grammar.parse(f"SELECT {text}"), name


# BigQuery and Snowflake as their documentation says, example by example where it has one.
DOCUMENTED = [
    ("bigquery", "SELECT EXTRACT(DAYOFWEEK FROM DATE '2020-03-01'), EXTRACT(WEEK FROM DATE '2017-11-05'), EXTRACT(ISOWEEK FROM DATE '2017-11-05')", (1, 45, 44)),
    ("bigquery", "SELECT DATE_DIFF(DATE '2017-10-15', DATE '2017-10-14', WEEK), DATE_DIFF(DATE '2017-10-15', DATE '2017-10-14', DAY)", (1, 1)),
    ("bigquery", "SELECT DATE_DIFF('2017-12-18', '2017-12-17', WEEK), DATE_DIFF('2017-12-18', '2017-12-17', ISOWEEK), DATE_DIFF('2017-12-30', '2014-12-30', YEAR)", (0, 1, 3)),
    ("bigquery", "SELECT FORMAT_DATE('%b %d, %Y', DATE '2008-12-25'), PARSE_DATE('%Y%m%d', '20081225')", ("Dec 25, 2008", "2008-12-25")),
    ("bigquery", "SELECT DATE_TRUNC(DATE '2008-12-25', MONTH), DATE_ADD(DATE '2008-12-25', INTERVAL 5 DAY), DATE_TRUNC(DATE '2020-03-04', WEEK)", ("2008-12-01", "2008-12-30", "2020-03-01")),
    ("bigquery", "SELECT SAFE_DIVIDE(1, 0), LOG(8, 2), DIV(20, 4), MOD(25, 12), CONCAT('a', NULL), GREATEST(1, NULL)", (None, 3.0, 5, 1, None, None)),
    ("bigquery", "SELECT CAST(2.5 AS INT64), CAST(1.5 AS INT64), SUBSTR('apple', 0, 2), SUBSTR('apple', -9, 2)", (3, 2, "ap", "ap")),
    ("bigquery", "SELECT TIMESTAMP_DIFF(TIMESTAMP '2020-03-01 12:00:00', TIMESTAMP '2020-03-01 10:20:30', HOUR), REGEXP_EXTRACT('ab12', '[0-9]+'), STRPOS('foo@x', '@')", (1, "12", 4)),
    ("snowflake", "SELECT TO_CHAR(DATE '2013-04-05', 'mon dd, yyyy'), TO_CHAR(DATE '2020-03-01', 'YYYY-MM'), TO_CHAR('2020-03-01'::timestamp, 'HH24:MI')", ("Apr 05, 2013", "2020-03", "00:00")),
    ("snowflake", "SELECT DATEDIFF(week, '2020-01-05'::date, '2020-01-06'::date), DATEDIFF('month', '2020-01-31'::date, '2020-02-01'::date), DATEDIFF(hour, '2013-05-08T23:39:20'::timestamp, '2013-05-09T00:10:00'::timestamp)", (1, 1, 1)),
    ("snowflake", "SELECT DATEADD(month, 1, '2000-01-31'::date), DAYOFWEEK('2020-03-01'::date), DAYNAME('2020-03-01'::date), DECODE(NULL, NULL, 'none', 'x'), DIV0(1, 0)", ("2000-02-29", 0, "Sun", "none", 0)),
    ("snowflake", "SELECT CONCAT('a', NULL), GREATEST(1, NULL), LOG(2, 8), REGEXP_LIKE('abc', 'b'), CHARINDEX('b', 'abc'), SPLIT_PART('a.b', '.', 0)", (None, None, 3.0, False, 2, "a")),
    ("snowflake", "SELECT ADD_MONTHS('2020-02-29'::date, 1), LAST_DAY('2020-02-03'::date), 2.5::int, CONCAT_WS('-', 'a', NULL)", ("2020-03-31", "2020-02-29", 3, None)),
]  # fmt: skip


@pytest.mark.parametrize(("source", "sql", "wanted"), DOCUMENTED)
def test_as_documented(db, source, sql, wanted):
    ours, theirs = same(db.query(sql, dialect=source).rows, [wanted])
    assert ours == theirs


REFUSED = [
    ("snowflake", "SELECT TO_CHAR(DATE '2020-01-01', 'YYYY W')"),
    ("postgres", "SELECT to_char(day, 'J') FROM v"),
    ("postgres", "SELECT to_char(day, name) FROM v"),
    ("bigquery", "SELECT FORMAT_DATE('%E4S', day) FROM v"),
    ("bigquery", "SELECT day - DATE '2020-01-01' FROM v"),
    ("snowflake", "SELECT TO_CHAR(n, '999.9') FROM v"),
    ("mysql", "SELECT ts - day FROM v"),
    ("sqlite", "SELECT day - ts FROM v"),
]


@pytest.mark.parametrize(("source", "sql"), REFUSED)
def test_what_would_be_answered_otherwise_is_refused(db, source, sql):
    with pytest.raises(SqlRefused, match="refused"):
        db.query(sql, dialect=source)


def test_columns_keep_the_names_that_the_statement_gave(db):
    head = db.query("SELECT date(day, '+1 month'), n / 2, name FROM v", dialect="sqlite").columns
    assert [name.lower() for name in head] == ["date(day, '+1 month')", "n / 2", "name"]


def test_distinct_texts_of_mysql_are_told(db):
    assert any(
        "keep case" in note
        for note in db.query("SELECT DISTINCT name FROM v", dialect="mysql").repairs
    )
    assert db.query("SELECT id FROM v WHERE name = 'ANN'", dialect="mysql").rows == ((1,), (4,))


@pytest.mark.parametrize("sql", ["SELECT 1/0", "SELECT n % 0 FROM v", "SELECT 7 // 0 FROM v"])
def test_division_by_zero_fails_as_in_postgresql(db, sql):
    with pytest.raises(SqlError):
        db.query(sql, dialect="postgres")


def test_rowid_is_the_key_or_is_refused(db):
    assert db.query("SELECT rowid, id FROM v", dialect="sqlite").rows[0] == (1, 1)
    with pytest.raises(SqlRefused, match="rowid refused"):
        db.query("SELECT b.rowid FROM v a, (SELECT 1) b", dialect="sqlite")


def test_a_form_names_one_function() -> None:
    """Forms name functions by a word, which the modules are asked for in turn."""
    from pathlib import Path

    from stages.core.sandbox import forms
    from stages.core.sandbox.forms import numbers, sqlite_times, texts, times, units

    named = {
        form[1:]
        for path in Path(forms.__file__).parent.glob("*.toml")
        for form in re.findall(r'"(@\w+)"', path.read_text("utf-8"))
    }
    assert named
    for name in named:
        owners = [
            module
            for module in (numbers, texts, times, sqlite_times, units)
            if getattr(getattr(module, name, None), "__module__", "") == module.__name__
        ]
        assert len(owners) == 1, name
