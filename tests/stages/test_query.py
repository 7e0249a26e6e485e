"""`winnow query` from the outside: where the statement comes from, what comes out, what is said."""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import orjson
import pytest

from stages.core.sandbox import formats
from stages.core.sandbox.limits import Answer
from tests.helpers.sandbox_kit import write_root
from tests.helpers.tools import environment, on_terminal, run, winnow


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with data, a file of lines made from it, and a cache of its own."""
    folder = tmp_path_factory.mktemp("query")
    write_root(folder / "data")
    lines = winnow(folder, "scan", "data").stdout
    (folder / "s.jsonl").write_bytes(lines)
    return folder


COUNT = "SELECT count(*) AS n FROM dept"


@pytest.mark.parametrize(
    ("args", "stdin"),
    [
        (["s.jsonl", "--sql", COUNT], b""),
        (["--sql", COUNT, "s.jsonl"], b""),
        (["s.jsonl", COUNT], b""),
        (["s.jsonl", "-"], COUNT.encode()),
        (["s.jsonl"], COUNT.encode()),
        (["data", COUNT], b""),
        (["data/dept.csv", COUNT], b""),
        (["s.jsonl", COUNT, "--root", "data"], b""),
        (["s.jsonl", COUNT, "--catalog", "data"], b""),
        (["s.jsonl", "--dialect", "mysql", "--sql", "SELECT COUNT(*) AS `n` FROM `dept`"], b""),
    ],
)
def test_statement_and_source_come_from_where_they_come(place, args, stdin):
    done = winnow(place, "query", *args, stdin=stdin)
    assert (done.returncode, done.stdout) == (0, b"n\n3\n"), done.stderr


def test_lines_on_stdin(place):
    lines = (place / "s.jsonl").read_bytes()
    for args in (["--sql", COUNT], ["-", "--sql", COUNT], ["-", COUNT]):
        assert winnow(place, "query", *args, stdin=lines).stdout == b"n\n3\n"


def test_tables_and_schema(place):
    done = winnow(place, "query", "s.jsonl", "\\tables")
    assert done.stdout.decode().splitlines()[0] == "table,rows,columns,source,aliases,column_names"
    done = winnow(place, "query", "s.jsonl", "\\schema Dept", "--format", "json")
    columns, rows = json.loads(done.stdout)
    assert [column["column"] for column in columns] == ["dept_id", "name"]
    assert rows == [
        {"dept_id": 1, "name": "Sales"},
        {"dept_id": 2, "name": "IT"},
        {"dept_id": 3, "name": "Legal"},
    ]


ANSWERED = "SELECT 1 AS a, 2.50::DECIMAL(4,2) AS b, NULL AS c, 'x|y' AS d, true AS e, DATE '2020-01-02' AS f"


@pytest.mark.parametrize(
    ("form", "wanted"),
    [
        ("csv", "a,b,c,d,e,f\n1,2.50,,x|y,true,2020-01-02\n"),
        ("jsonl", '{"a":1,"b":2.50,"c":null,"d":"x|y","e":true,"f":"2020-01-02"}\n'),
        (
            "markdown",
            "| a | b | c | d | e | f |\n| --- | --- | --- | --- | --- | --- |\n| 1 | 2.50 |  | x\\|y | true | 2020-01-02 |\n",
        ),
    ],
)
def test_formats(place, form, wanted):
    assert winnow(place, "query", "s.jsonl", ANSWERED, "--format", form).stdout.decode() == wanted


def test_a_table_for_people(place):
    out = winnow(place, "query", "s.jsonl", ANSWERED, "--format", "table").stdout.decode()
    assert "NULL" in out
    assert "\x1b" not in out
    assert len(out.splitlines()) == 3


def test_output_goes_to_a_file(place):
    done = winnow(place, "query", "s.jsonl", COUNT, "-o", "out.csv")
    assert (done.returncode, done.stdout) == (0, b"")
    assert (place / "out.csv").read_bytes() == b"n\n3\n"


def test_what_is_left_out_and_mended_is_told(place):
    done = winnow(
        place, "query", "s.jsonl", "SELECT `name`, current_date AS d FROM dept", "--rows", "2"
    )
    said = done.stderr.decode()
    assert len(done.stdout.splitlines()) == 3
    assert "the first 2 rows; --rows shows more" in said
    assert "backticks" in said
    assert "the clock stands at" in said
    assert (
        winnow(place, "query", "-q", "s.jsonl", "SELECT `name` FROM dept", "--rows", "2").stderr
        == b""
    )


MANY = "SELECT range AS n, repeat('x', 300) AS long FROM range(3000)"


@pytest.mark.parametrize("form", ["csv", "json", "jsonl", "table", "markdown"])
def test_a_file_or_a_pipe_gets_every_row_whole(place, form):
    done = winnow(place, "query", "-q", "s.jsonl", MANY, "--format", form)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b"x" * 300) == 3000
    assert winnow(place, "query", "s.jsonl", MANY, "-o", "many.csv").stderr == b""
    assert len((place / "many.csv").read_bytes().splitlines()) == 3001


@pytest.mark.parametrize(
    ("args", "rows", "longest"),
    [((), 50, 200), (("--rows", "0"), 3000, 200), (("--rows", "7", "--cell", "0"), 7, 300)],
)
def test_a_terminal_is_shown_the_first_rows_and_short_cells(place, args, rows, longest):
    command = [sys.executable, "-m", "stages", "query", "s.jsonl", MANY, "--format", "jsonl", *args]
    env = environment({"WINNOW_CACHE": str(place / "cache")})
    text, said = on_terminal(command, place, env)
    shown = [json.loads(line) for line in text.splitlines()]
    assert len(shown) == rows
    assert {len(row["long"].partition("…")[0]) for row in shown} == {longest}
    assert ("--rows shows more" in said) == (rows < 3000)


def wide(count):
    return "SELECT " + ", ".join(
        f"'some words of {n} for a cell' AS column_{n:02}" for n in range(count)
    )


@pytest.mark.parametrize(
    ("columns", "width", "whole"), [(3, 80, True), (40, 80, False), (40, 900, True)]
)
def test_a_terminal_elides_columns_rather_than_words(place, columns, width, whole):
    command = [sys.executable, "-m", "stages", "query", "s.jsonl", wide(columns)]
    env = environment({"WINNOW_CACHE": str(place / "cache"), "COLUMNS": str(width)})
    text, said = on_terminal(command, place, env)
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert max(map(len, text.splitlines())) <= width
    heading = text.splitlines()[0].split()
    names = [name for name in heading if name != "…"]
    assert names == [f"column_{n:02}" for n in range(len(names))]
    assert (len(names) == columns, "…" in heading) == (whole, not whole)
    assert (f"the first {len(names)} of 40 columns" in said) == (not whole)
    assert {"words", "cell"} <= set(text.split())


def test_vertical_shows_every_cell_of_a_row(place):
    done = winnow(place, "query", "s.jsonl", ANSWERED, "--format", "vertical")
    assert done.stdout.decode().splitlines() == [
        "-[ row 1 ]-",
        "a: 1",
        "b: 2.50",
        "c: NULL",
        "d: x|y",
        "e: true",
        "f: 2020-01-02",
    ]
    named = winnow(place, "query", "s.jsonl", "SELECT 1 AS 部门, 2 AS b", "--format", "vertical")
    assert named.stdout.decode() == "-[ row 1 ]-\n部门: 1\n   b: 2\n"


def test_the_clock_may_be_now(place):
    asked = ("query", "-q", "s.jsonl", "SELECT current_date AS d", "--clock")
    today = datetime.now(UTC).date()
    said = winnow(place, *asked, "now").stdout.decode().split()[1]
    assert date.fromisoformat(said) - today in (timedelta(0), timedelta(1))
    wrong = winnow(place, *asked, "soon")
    assert wrong.returncode == 2
    assert b"neither now nor a time like" in wrong.stderr


def test_an_answer_that_is_too_large_is_no_shorter_answer(place):
    large = "SELECT repeat('x', 20000) || range AS long FROM range(3000)"
    done = winnow(place, "query", "s.jsonl", large, "--memory", "128", "-o", "large.csv")
    assert done.returncode == 1
    assert b"larger than 32 MB; raise --memory" in done.stderr
    assert not (place / "large.csv").exists()


def test_limits_are_options(place):
    def says(*args):
        done = winnow(place, "query", "s.jsonl", *args)
        assert done.returncode == 1
        return done.stderr.decode()

    assert "0.3 s, the time limit" in says(
        "SELECT sum(range) FROM range(1000000000000)", "--timeout", "0.3"
    )
    assert "the limit is 10" in says(COUNT, "--max-sql", "10")
    assert "the limit is 1" in says("FROM dept a, dept b", "--max-tables", "1")
    assert "64 MB, the memory limit" in says(
        "SELECT length(repeat('x', 1000000000))", "--memory", "64"
    )
    assert (
        "nor a time like"
        in winnow(place, "query", "s.jsonl", COUNT, "--clock", "x").stderr.decode()
    )
    assert "--materialise" in says("SELECT * FROM employees", "--materialise", "5")
    done = winnow(
        place,
        "query",
        "s.jsonl",
        "SELECT current_date AS d, 'abcdef' AS x",
        "--clock",
        "2020-02-03 04:05:06",
        "--cell",
        "3",
    )
    assert done.stdout == "d,x\n202…(+7),abc…(+3)\n".encode()


@pytest.mark.parametrize(
    ("args", "status", "words"),
    [
        (["s.jsonl", "DROP TABLE dept"], 1, "DROP refused"),
        (["s.jsonl", "SELECT * FROM deptt"], 1, "did you mean dept?"),
        (["s.jsonl", "\\nothing"], 2, "\\tables"),
        (["s.jsonl", "\\schema"], 2, "needs the name"),
        (["s.jsonl", "\\schema deptt"], 1, "did you mean dept?"),
        (["s.jsonl", "\\schema\tdeptt"], 1, "did you mean dept?"),
        (["nowhere.jsonl", COUNT], 1, "no such file"),
        (["ftp://user@host/db", COUNT], 2, "ftp"),
        (["s.jsonl", COUNT, "more"], 2, "one source and one statement"),
        (["-", "-"], 2, "both"),
        ([], 2, "no statement"),
        (["s.jsonl", COUNT, "--catalog", "other"], 2, "no catalog named other"),
        (["s.jsonl", COUNT, "--format", "xml"], 2, "--format"),
        (["s.jsonl", COUNT, "--rows", "-1"], 2, "--rows"),
        (["s.jsonl", COUNT, "--root", "nowhere"], 1, "is gone: no nowhere/"),
        (["s.jsonl", ""], 1, "no statement"),
    ],
)
def test_what_is_wrong_is_one_line(place, args, status, words):
    done = winnow(place, "query", *args)
    said = done.stderr.decode()
    assert (done.returncode, done.stdout) == (status, b""), said
    assert words in said
    assert said.count("\n") == 1
    assert "Traceback" not in said


def test_several_catalogs_are_told_apart(place, tmp_path):
    line = (
        orjson.dumps({"kind": "catalog", "v": 1, "id": "sha256:" + "0" * 64, "name": "other"})
        + b"\n"
    )
    lines = (place / "s.jsonl").read_bytes() + line
    done = winnow(place, "query", "--sql", COUNT, stdin=lines)
    assert done.returncode == 2
    assert "data, other" in done.stderr.decode()
    assert (
        winnow(place, "query", "--sql", COUNT, "--catalog", "data", stdin=lines).stdout == b"n\n3\n"
    )


def test_a_broken_line_is_no_smaller_catalog(place):
    lines = (place / "s.jsonl").read_bytes().splitlines()
    done = winnow(
        place,
        "query",
        "--sql",
        COUNT,
        stdin=lines[0] + b"\n" + lines[1][:-5] + b"\n" + lines[2] + b"\n",
    )
    assert done.returncode == 1
    assert b"not JSON" in done.stderr


def test_hidden_columns_of_a_folder(place):
    done = winnow(place, "query", "data", "SELECT * FROM employees", "--hide-values", "salary")
    assert done.stdout.decode().splitlines()[0] == "emp_id,Emp Name,dept_id,hired"


HOSTILE = Answer(
    ("a\n## x", "b", "b"),
    ("VARCHAR",) * 3,
    (("\x1b[31mred\u202e", "|", None), (float("nan"), 2**70, "\ud800")),
)


@pytest.mark.parametrize("form", ["table", "markdown"])
def test_hostile_values_stay_on_their_line(form):
    out = formats.render([HOSTILE], form).decode()
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert not any(line.startswith("##") for line in out.splitlines())


def test_json_of_odd_values():
    (first, second) = json.loads(formats.render([HOSTILE], "json"))
    assert list(first) == ["a\n## x", "b", "b_2"]
    assert first["a\n## x"] == "\x1b[31mred\u202e"
    assert list(second.values()) == ["nan", 2**70, "?"]


def test_all_names_of_a_table_answer(tmp_path: Path) -> None:
    (tmp_path / "staff.json").write_text(
        '{"table": "People Of 2024", "records": [{"id": 1}, {"id": 2}]}'
    )
    (tmp_path / "df_x.csv").write_text("a,b\n1,2\n")
    (tmp_path / "x.csv").write_text("c\n3\n")
    for name in (
        "people_of_2024",
        '"People Of 2024"',
        "staff",
        "df_people_of_2024",
        "df_staff",
        "DF_Staff",
    ):
        ran = run("query", str(tmp_path), f"SELECT count(*) AS n FROM {name}")
        assert ran.out == b"n\n2\n", (name, ran.err)
    assert run("query", str(tmp_path), "SELECT * FROM df_x").out == b"a,b\n1,2\n"
    assert run("query", str(tmp_path), "SELECT * FROM df_df_x").out == b"a,b\n1,2\n"
    ran = run("query", str(tmp_path), "\\tables")
    assert ran.out.decode().splitlines() == [
        "table,rows,columns,source,aliases,column_names",
        'df_x,1,2,df_x.csv,,"a, b"',
        'people_of_2024,2,1,staff.json,"People Of 2024, staff",id',
        "x,1,1,x.csv,,c",
    ]
    assert "3 tables, 4 columns, 4 rows" in ran.err


@pytest.mark.parametrize(
    "name", ["shop.orders", '"shop"."orders"', "main.orders", "[orders]", "SHOP . Orders"]
)
def test_schema_finds_what_a_statement_finds(tmp_path: Path, name: str) -> None:
    (tmp_path / "orders.csv").write_text("id\n1\n")
    ran = run("query", str(tmp_path), f"\\schema {name}")
    assert ran.status == 0, ran.err
    assert ran.out.startswith(b"column,type")


def test_paths_are_looked_for_beside_the_lines_and_then_here(tmp_path: Path) -> None:
    data, out, moved = tmp_path / "data", tmp_path / "out", tmp_path / "moved"
    for folder in (data, out, moved):
        folder.mkdir()
    (data / "t.csv").write_text("a\n1\n")
    assert run("scan", "data", "-o", "out/s.jsonl", cwd=tmp_path).status == 0
    assert run("scan", ".", "-o", "s.jsonl", cwd=data).status == 0
    sql = "SELECT a FROM t"
    assert run("query", "out/s.jsonl", sql, cwd=tmp_path).out == b"a\n1\n"
    assert run("query", "data/s.jsonl", sql, cwd=tmp_path).out == b"a\n1\n"
    assert run("query", "../out/s.jsonl", sql, cwd=data).status == 1, "neither beside nor here"
    (out / "s.jsonl").rename(tmp_path / "s.jsonl")
    assert run("query", "../s.jsonl", sql, cwd=moved).out == b"a\n1\n"
    (moved / "t.csv").write_text("a\n2\n")
    assert run("query", "../data/s.jsonl", sql, cwd=moved).out == b"a\n1\n", "beside comes first"
