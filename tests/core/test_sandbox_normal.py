"""What was in quotes stays in quotes: strings, names, aliases, types and units, in every pair of dialects."""

from __future__ import annotations

import re
import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from stages.core.dialects import WRITTEN_IN
from stages.core.errors import SqlError, SqlLimit, SqlRefused
from stages.core.sandbox.gate import gate, grammar, normal
from stages.core.sandbox.gate.grammar import Late, time_limit
from stages.core.sandbox.limits import Limits
from stages.core.sandbox.names import TableNames
from stages.core.sandbox.servers import gate as server_gate

MARK = "zqmark"
MARKERS = (
    MARK,
    f"{MARK}(1)",
    f"day from y)||{MARK}(1)||extract(day",
    f"DAY(1)||{MARK}(2)",
    f"224(1)||{MARK}(2)||x(3",
    f"x y {MARK}",
    f"varchar) || {MARK}(1) || cast(1 as varchar",
    f"%Y {MARK}(1) %d",
    f"1 day {MARK}",
    f"a.{MARK}",
    f"$.a.{MARK}(1)",
    f"x' || {MARK}(1) || 'y",
    f"x\\' || {MARK}(1) || \\'y",
    f'x" {MARK}(1) "y',
    f"x` {MARK}(1) `y",
    f"/* {MARK} */",
    f"/*! {MARK} */",
    f"-- {MARK}\n",
    f"$$ {MARK} $$",
)
TARGETS = ("duckdb", "postgres", "mysql")
COLUMNS = ("x", "y", "ts")
TABLE = {
    "kind": "table", "catalog": "c", "name": "data", "describe_key": "s.data",
    "source": {"kind": "x", "url": "u", "reader": {"schema": "s", "name": "data"}},
    "columns": [{"name": name, "type": "VARCHAR"} for name in COLUMNS],
}  # fmt: skip
NAMES = TableNames([TABLE])
FUNCTIONS = sorted(
    {name.lower() for kind in exp.ALL_FUNCTIONS for name in kind.sql_names()}
    | grammar.functions().scalar
    | grammar.functions().table
    | grammar.server_functions("postgres").scalar
    | grammar.server_functions("postgres").table
    | grammar.server_functions("mysql").scalar
)
FORMS = (
    "SELECT CAST(x AS {name}) FROM data",
    "SELECT x::{name} FROM data",
    "SELECT TRY_CAST(x AS {name}) FROM data",
    "SELECT CAST(x AS {name}(3)) FROM data",
    "SELECT CAST(x AS VARCHAR CHARACTER SET {name}) FROM data",
    "SELECT CONVERT(x USING {name}) FROM data",
    "SELECT CONVERT(x, {name}) FROM data",
    "SELECT TRY_CONVERT({name}, x) FROM data",
    "SELECT EXTRACT({name} FROM ts) FROM data",
    "SELECT INTERVAL {text} FROM data",
    "SELECT INTERVAL 1 {name} FROM data",
    "SELECT INTERVAL '1' {name} FROM data",
    "SELECT INTERVAL {text} DAY FROM data",
    "SELECT ts + INTERVAL {text} FROM data",
    "SELECT DATE_ADD(ts, INTERVAL {text} {name}) FROM data",
    "SELECT TIMESTAMPADD({name}, 1, ts) FROM data",
    "SELECT x COLLATE {name} FROM data",
    "SELECT x COLLATE {text} FROM data",
    "SELECT ts AT TIME ZONE {text} FROM data",
    "SELECT TRIM({text} FROM x) FROM data",
    "SELECT x AS {name} FROM data",
    "SELECT {name} FROM data",
    "SELECT d.{name} FROM data d",
    "SELECT (d).{name} FROM data d",
    "SELECT x.{name}.y FROM data",
    "SELECT {name}.x FROM data AS {name}",
    "SELECT * FROM (SELECT 1 AS {name}) AS t",
    "SELECT * FROM (VALUES (1)) AS t({name})",
    "WITH {name} AS (SELECT 1 AS a) SELECT a FROM {name}",
    "WITH {name}(a) AS (SELECT 1) SELECT a FROM {name}",
    "SELECT sum(x) OVER {name} FROM data WINDOW {name} AS (PARTITION BY y)",
    "SELECT {text}, x FROM data WHERE y LIKE {text} ESCAPE {text}",
    "SELECT x -> {text}, x ->> {text}, x[{text}], x #> {text} FROM data",
    "SELECT x:{name} FROM data",
    "SELECT {{'a': {text}}}, MAP {{{text}: 1}} FROM data",
    "SELECT {{{text}: 1}} FROM data",
    "SELECT STRUCT(1 AS {name}) FROM data",
    "SELECT STRUCT_PACK({name} := 1) FROM data",
    "SELECT CAST(x AS STRUCT({name} INT)) FROM data",
    "SELECT CAST(x AS STRUCT<{name} INT64>) FROM data",
    "SELECT CAST(x AS ENUM({text})) FROM data",
    "SELECT CAST(x AS DATE FORMAT {text}) FROM data",
    "SELECT GROUP_CONCAT(x ORDER BY y SEPARATOR {text}) FROM data",
    "SELECT JSON_OBJECT({text}: x) FROM data",
    "SELECT JSON_OBJECT({text} VALUE x RETURNING {name}) FROM data",
    "SELECT JSON_VALUE(x, {text} RETURNING {name}) FROM data",
    "SELECT MATCH(x) AGAINST({text}) FROM data",
    "SELECT * FROM JSON_TABLE(x, {text} COLUMNS ({name} INT PATH {text})) AS t",
    "SELECT * FROM XMLTABLE({text} PASSING x COLUMNS {name} INT PATH {text}) AS t",
    "SELECT * FROM unnest([1]) AS {name}",
    "SELECT * FROM data PIVOT (sum(x) FOR y IN ({text} AS {name}))",
    "SELECT x FROM data ORDER BY {name} NULLS FIRST LIMIT 1",
    "SELECT * EXCLUDE ({name}) FROM data",
    "SELECT * REPLACE (1 AS {name}) FROM data",
    "SELECT COLUMNS({text}) FROM data",
    "SELECT x IS JSON {name} FROM data",
    "SELECT DATE {text}, TIMESTAMP {text}, {name} {text} FROM data",
    "SELECT x FROM data AS t TABLESAMPLE {name} (1)",
    "SELECT _{name} {text} FROM data",
)
_QUOTED = {
    "mysql": r"'(?:[^'\\]|''|\\.)*'|\"(?:[^\"\\]|\"\"|\\.)*\"|`(?:[^`]|``)*`",
    "postgres": r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"",
    "duckdb": r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"",
}


def text(word, dialect):
    """The word as a string of a dialect."""
    if dialect in ("mysql", "bigquery", "snowflake"):
        word = word.replace("\\", "\\\\")
    return "'" + word.replace("'", "\\'" if dialect == "bigquery" else "''") + "'"


def name(word, dialect):
    """The word as a quoted name of a dialect."""
    mark = "`" if dialect in ("mysql", "bigquery") else '"'
    return mark + word.replace(mark, mark * 2) + mark


def sent(sql, source, target):
    """What an engine would be sent."""
    if target == "duckdb":
        tree, notes = gate.read(sql, NAMES, Limits(), source)
        checked = gate.check(tree, NAMES, Limits(), notes)
    else:
        tree, notes = server_gate.read(sql, NAMES, Limits(), target, source)
        checked = server_gate.check(tree, NAMES, Limits(), notes, target)
    return normal.write(checked.tree, target)


def comes_out(sql, source, target):
    """What of the marker comes out of its quotes; refused is nothing."""
    try:
        made = sent(sql, source, target)
    except SqlError:
        return ""
    bare = re.sub(_QUOTED[target], " ", made, flags=re.DOTALL).lower()
    return f"{source} to {target}: {sql} => {made}" if MARK in bare else ""


@st.composite
def calls(draw, source):
    """A call of a listed function, strings and names of the marker among its arguments."""
    word = draw(st.sampled_from(MARKERS))
    choices = ("x", "ts", "1", "224", "'day'", text(word, source), name(word, source))
    given_ = draw(st.lists(st.sampled_from(choices), min_size=1, max_size=5))
    place = draw(st.integers(0, len(given_) - 1))
    given_[place] = draw(st.sampled_from(choices[-2:]))
    call = f"{draw(st.sampled_from(FUNCTIONS))}({', '.join(given_)})"
    form = draw(
        st.sampled_from(
            ("SELECT {} FROM data", "SELECT * FROM {} AS t", "SELECT x FROM data WHERE {} > 1")
        )
    )
    return form.format(call)


@st.composite
def forms(draw, source):
    """Syntax with the marker as a string, a name, an alias, a type or a unit."""
    word = draw(st.sampled_from(MARKERS))
    return draw(st.sampled_from(FORMS)).format(text=text(word, source), name=name(word, source))


@settings(max_examples=250, deadline=None)
@given(st.data(), st.sampled_from(WRITTEN_IN), st.sampled_from(TARGETS))
def test_no_argument_comes_out_of_its_quotes(data, source, target):
    assert not comes_out(data.draw(calls(source)), source, target)


@settings(max_examples=200, deadline=None)
@given(st.data(), st.sampled_from(WRITTEN_IN), st.sampled_from(TARGETS))
def test_no_name_type_or_unit_comes_out_of_its_quotes(data, source, target):
    assert not comes_out(data.draw(forms(source)), source, target)


DEEP = (
    "SELECT " + "[" * 9_900 + "1" + "]" * 9_900,
    "SELECT " + "ARRAY[" * 30 + "1" + "]" * 30,
    "SELECT " + "date(" * 40 + "x" + ")" * 40 + " FROM data",
    "SELECT " + "char_length(" * 30 + "x" + ", x)" * 30 + " FROM data",
    "SELECT x" + "[1]" * 6_000 + " FROM data",
    "SELECT " + "+".join(["1"] * 9_900),
    "SELECT " + ",".join(["x"] * 9_900) + " FROM data",
    "SELECT 1 FROM (SELECT 1) AS t(" + ",".join(["a"] * 9_900) + ")",
    "SELECT " + ".".join(["x"] * 9_900) + " FROM data",
)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("sql", DEEP)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_statement_is_read_in_bounded_time(monkeypatch, sql, target):
    monkeypatch.setattr(grammar, "SECONDS", 0.3)
    start = time.monotonic()
    with suppress(SqlLimit, SqlRefused):
        sent(sql, target, target)
    assert time.monotonic() - start < 15


def test_an_alarm_rings_once_and_only_inside():
    def work():
        with time_limit(0.05):
            while True:
                pass

    with pytest.raises(Late):
        work()
    with time_limit(0.05):
        pass
    end = time.monotonic() + 0.2
    while time.monotonic() < end:
        pass


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT JSON_OBJECT(x) FROM data",
        "SELECT * FROM data, XMLTABLE(x) t",
        "SELECT x_m_l_table(x, 'a', 224, ts) FROM data",
        "SELECT j_s_o_n_object(x) FROM data",
        "SELECT match_against(x, 224, 'a') FROM data",
        "SELECT j_s_o_n_exists(x, 'day', x, x, x) FROM data",
    ],
)
def test_what_sqlglot_trips_over_is_one_line(sql, target):
    for source in WRITTEN_IN:
        with suppress(SqlError):
            sent(sql, source, target)
