"""The scan command, run as a user runs it, on small folders of our own."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stages.core.lines import schema
from tests.helpers.tools import environment, run

CHECKOUT = Path(__file__).resolve().parents[2]
HEAVY = (
    "duckdb",
    "litellm",
    "sqlglot",
    "numpy",
    "rich",
    "jinja2",
    "tiktoken",
    "sqlalchemy",
    "jsonschema",
    "networkx",
)


@dataclass(frozen=True)
class Ran:
    """What one run left."""

    status: int
    raw: bytes
    errors: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.raw.splitlines()]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line.get("kind") == kind]

    @property
    def kinds(self) -> str:
        """The lines in order: c, t and q for catalog, table and task."""
        return "".join(
            {"catalog": "c", "table": "t", "task": "q"}.get(line.get("kind"), "?")
            for line in self.lines
        )


def scan(*args: object, stdin: bytes | None = None, cwd: Path | None = None) -> Ran:
    """Run ``winnow scan`` in a process of its own; every line it writes fits its schema."""
    done = subprocess.run(
        [sys.executable, "-m", "stages", "scan", *map(str, args)],
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        timeout=60,
    )
    ran = Ran(done.returncode, done.stdout, done.stderr.decode())
    assert "Traceback" not in ran.errors, ran.errors
    if stdin is None:
        for line in ran.lines if done.stdout.startswith(b'{"kind"') else ():
            schema.check(line, line["kind"])
    return ran


@pytest.fixture
def task(tmp_path: Path) -> Path:
    """A task folder with a CSV, a JSON, a database, documents and a video."""
    root = tmp_path / "task_15"
    context = root / "context"
    for folder in ("csv", "json", "db", "doc"):
        (context / folder).mkdir(parents=True)
    (root / "task.json").write_text(
        '{"task_id": "task_15", "difficulty": "easy", "question": "Which companies?"}', "utf-8"
    )
    (context / "knowledge.md").write_text("# Units\nrevenue is in 万元\n", "utf-8")
    (context / "csv" / "financials.csv").write_text(
        "company_id,revenue,year\r\nC001,1200000.5,2025\r\nC002,980000.0,2025\r\n",
        "utf-8",
        newline="",
    )
    (context / "json" / "profile.json").write_text(
        json.dumps({"table": "profile", "records": [{"company_id": "C001", "name": "Acme"}]}),
        "utf-8",
    )
    with sqlite3.connect(context / "db" / "hr.db") as con:
        con.execute(
            'CREATE TABLE "Employee Attendance" (employee_id INTEGER PRIMARY KEY, day DATE)'
        )
        con.execute("INSERT INTO \"Employee Attendance\" VALUES (1, '2025-01-02')")
    con.close()
    (context / "db" / "empty.db").touch()
    (context / "doc" / "rules.md").write_text("# Rules\nNo. 1\n", "utf-8")
    frames = root / "workdir" / "_video_frames"
    frames.mkdir(parents=True)
    (frames / "video_input.json").write_text(
        json.dumps({"transcript": {"segments": [{"start": 0, "end": 2, "text": "Use revenue."}]}}),
        "utf-8",
    )
    return root


def test_a_task_folder(task: Path) -> None:
    ran = scan(task)
    assert ran.status == 0
    assert ran.kinds == "ctttq"
    (catalog,) = ran.of("catalog")
    assert list(catalog)[:6] == ["kind", "v", "id", "name", "root", "dialect"]
    assert [document["path"] for document in catalog["documents"]] == [
        "context/doc/rules.md",
        "context/knowledge.md",
    ]
    assert catalog["skipped"] == [{"path": "context/db/empty.db", "reason": "0 bytes"}]
    assert "context/db/empty.db: skipped: 0 bytes" in ran.errors
    tables = {table["name"]: table for table in ran.of("table")}
    assert set(tables) == {"financials", "employee_attendance", "profile"}
    assert tables["employee_attendance"]["describe_key"] == "context/db/hr.db::Employee Attendance"
    assert tables["financials"]["describe_key"] == "context/csv/financials.csv"
    assert tables["financials"]["sample"][0]["company_id"] == "C001"
    (asked,) = ran.of("task")
    assert list(asked) == [
        "kind",
        "catalog",
        "task_id",
        "question",
        "difficulty",
        "knowledge",
        "video",
    ]
    assert {line["catalog"] for line in ran.lines[1:]} == {catalog["id"]}
    assert asked["video"] == "[00:00-00:02] speech: Use revenue."


def test_the_same_input_gives_the_same_bytes(task: Path) -> None:
    assert scan(task).raw == scan(task).raw


def test_the_root_is_recorded_as_given(task: Path) -> None:
    assert scan("task_15", cwd=task.parent).of("catalog")[0]["root"] == "task_15"
    assert scan(".", cwd=task).of("catalog")[0]["root"] == "."
    assert scan(task).of("catalog")[0]["root"] == str(task)


def test_the_id_does_not_depend_on_where_the_folder_lies(task: Path) -> None:
    assert (
        scan("task_15", cwd=task.parent).of("catalog")[0]["id"]
        == scan(".", cwd=task).of("catalog")[0]["id"]
    )


@pytest.mark.parametrize(
    ("options", "fields"),
    [
        (["--question", "Why?"], {"task_id": "task_15", "question": "Why?"}),
        (["--question", "Why?", "--task-id", "x"], {"task_id": "x", "question": "Why?"}),
        (["--evidence", "hint"], {"question": "Which companies?", "evidence": "hint"}),
        (["--task-id", "x"], {"task_id": "x", "question": "Which companies?"}),
    ],
)
def test_what_the_call_says_outranks_the_folder(
    task: Path, options: list[str], fields: dict[str, str]
) -> None:
    (asked,) = scan(task, *options).of("task")
    assert {key: asked[key] for key in fields} == fields
    assert "knowledge" in asked


def test_a_folder_without_a_question(task: Path) -> None:
    (task / "task.json").unlink()
    ran = scan(task)
    assert (ran.status, ran.kinds) == (0, "cttt")
    assert "task_15: no question" in ran.errors
    assert "no question" not in scan(task, "--quiet").errors


def test_a_task_json_without_a_question_is_a_task_with_an_error(task: Path) -> None:
    (task / "task.json").write_text('{"task_id": "t"}', "utf-8")
    ran = scan(task)
    assert (ran.status, ran.kinds) == (1, "ctttq")
    assert ran.of("task")[0]["error"]["stage"] == "scan"
    assert scan(task, "--question", "Q").status == 0


def test_a_task_without_a_table_is_a_task_with_an_error(tmp_path: Path) -> None:
    (tmp_path / "task.json").write_text('{"question": "Q"}', "utf-8")
    (tmp_path / "a.md").write_text("text", "utf-8")
    ran = scan(tmp_path)
    assert (ran.status, ran.kinds) == (1, "cq")
    assert ran.of("task")[0]["error"]["message"] == "no table could be read in its root"


def test_one_bad_folder_does_not_stop_the_rest(task: Path) -> None:
    ran = scan("/no/such/folder", task, task / "task.jsn")
    assert (ran.status, ran.kinds) == (1, "ctttq")
    assert "/no/such/folder: no such folder" in ran.errors
    assert "task.jsn: no such" in ran.errors


def test_data_files_are_one_catalog(task: Path) -> None:
    csv, db = task / "context/csv/financials.csv", task / "context/db/hr.db"
    ran = scan(csv, db, "--question", "Q")
    assert ran.kinds == "cttq"
    assert [table["describe_key"] for table in ran.of("table")] == [
        "csv/financials.csv",
        "db/hr.db::Employee Attendance",
    ]
    assert scan(csv, "--question", "Q").of("task")[0]["task_id"] == "financials"


QUESTIONS = b"""{"id": 1, "question": "A?", "db_id": "task_15"}
{"id": "2", "question": "B?", "evidence": "b"}
broken
{"id": 3, "question": "C?", "db_id": "other"}
"""


def test_questions_of_a_folder(task: Path, tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_bytes(QUESTIONS)
    ran = scan(task, "--questions", tmp_path / "q.jsonl")
    assert (ran.status, ran.kinds) == (1, "ctttqqq")
    assert [t["task_id"] for t in ran.of("task")] == ["1", "2", "3"]
    assert all(t["knowledge"] for t in ran.of("task")[:2])
    assert ran.of("task")[1]["evidence"] == "b"
    assert ran.of("task")[2]["error"]["message"] == "no catalog is called other"
    assert "q.jsonl:3: not JSON" in ran.errors
    assert "question 3: no catalog is called other" in ran.errors
    assert scan(task, "--questions", "-", stdin=QUESTIONS).raw == ran.raw


def test_questions_without_db_id_need_a_single_catalog(task: Path, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x.csv").write_text("a\n1\n", "utf-8")
    (tmp_path / "q.jsonl").write_text(
        '{"id": 1, "question": "A?"}\n{"id": 2, "question": "B?", "db_id": "b"}', "utf-8"
    )
    ran = scan(task, tmp_path / "b", "--questions", tmp_path / "q.jsonl")
    assert ran.status == 1
    assert "question 1: the question names no db_id" in ran.errors
    assert ran.of("task")[1]["catalog"] == ran.of("catalog")[1]["id"]


@pytest.fixture
def schemas(tmp_path: Path) -> Path:
    folder = tmp_path / "schemas"
    folder.mkdir()
    for name in ("a", "b", "c"):
        record = {
            "db_id": name,
            "dialect": "tsql",
            "tables": [
                {"name": f"T {name}", "columns": [{"name": "x", "type": "int", "samples": [1]}]}
            ],
        }
        (folder / f"{name}.json").write_text(json.dumps(record), "utf-8")
    return folder


def test_schemas_stand_once_before_their_first_question(schemas: Path, tmp_path: Path) -> None:
    lines = [{"id": i, "question": "Q?", "db_id": db} for i, db in enumerate("baabx")]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    ran = scan("--catalog", schemas, "--questions", tmp_path / "q.jsonl")
    assert (ran.status, ran.kinds) == (1, "ctqctqqqq")
    assert [c["name"] for c in ran.of("catalog")] == ["b", "a"]
    assert "root" not in ran.of("catalog")[0]
    assert ran.of("catalog")[0]["dialect"] == "tsql"
    names = {c["id"]: c["name"] for c in ran.of("catalog")}
    assert [names.get(t.get("catalog")) for t in ran.of("task")] == ["b", "a", "a", "b", None]
    assert "1 schema files that no question is asked of are left out" in ran.errors


def test_schemas_alone(schemas: Path) -> None:
    assert scan("--catalog", schemas).kinds == "ctctct"
    assert scan("--catalog", schemas / "a.json", "--question", "Q?").kinds == "ctq"


def test_one_bad_schema_does_not_stop_the_rest(schemas: Path, tmp_path: Path) -> None:
    (schemas / "b.json").write_text("{", "utf-8")
    ran = scan("--catalog", schemas)
    assert (ran.status, ran.kinds) == (1, "ctct")
    (tmp_path / "q.jsonl").write_text(
        "\n".join(json.dumps({"id": i, "question": "Q", "db_id": "b"}) for i in range(9)), "utf-8"
    )
    ran = scan("--catalog", schemas, "--questions", tmp_path / "q.jsonl")
    assert (ran.status, ran.kinds) == (1, "q" * 9)
    assert ran.errors.count("not JSON") < 9


def test_ddl_is_a_catalog_without_data(task: Path, tmp_path: Path) -> None:
    (tmp_path / "shop.sql").write_text(
        "CREATE TABLE Orders (id INT PRIMARY KEY, who TEXT);", "utf-8"
    )
    for args in ([tmp_path / "shop.sql"], ["--catalog", tmp_path / "shop.sql"]):
        ran = scan(*args, "--question", "Q?")
        assert (ran.status, ran.kinds) == (0, "ctq")
        assert ran.of("catalog")[0]["name"] == "shop"
        assert ran.of("table")[0]["name"] == "orders"
    (tmp_path / "shop.sql").write_text("nothing", "utf-8")
    ran = scan(tmp_path / "shop.sql", task)
    assert (ran.status, ran.kinds) == (1, "ctttq")


def test_task_lines_on_stdin(task: Path) -> None:
    lines = [
        b'{"kind":"task","task_id":"one","question":"Q1?","root":"%s","vote":{"x":1},"own":2}'
        % str(task).encode(),
        b'{"kind":"task", "task_id":"untouched","question":"Q2?"}',
        b"",
        b'{"kind":"task","task_id":"two","root":"%s","error":{"stage":"scan","message":"old"}}'
        % str(task).encode(),
        b'{"kind":"task","task_id":"bad","question":"Q","root":"/no/such"}',
        b'{"kind":"task"',
        b'{"kind":"stranger"}',
    ]
    ran = scan(stdin=b"\n".join(lines))
    assert ran.status == 1
    assert ran.kinds == "ctttqqqq"
    one, other, two, bad = ran.of("task")
    assert (one["question"], one["vote"], one["own"]) == ("Q1?", {"x": 1}, 2)
    assert one["catalog"] == ran.of("catalog")[0]["id"]
    assert one["knowledge"].startswith("# Units")
    assert other == {"kind": "task", "task_id": "untouched", "question": "Q2?"}
    assert lines[1] in ran.raw
    assert two["question"] == "Which companies?"
    assert "error" not in two
    assert bad["error"]["stage"] == "scan"
    assert "stdin:6" in ran.errors
    assert "stdin:7" in ran.errors
    assert scan("-", stdin=lines[0]).kinds == "ctttq"


def test_a_server_that_is_not_there_is_told_without_its_password(task: Path) -> None:
    url = "postgresql://me:s3cret@127.0.0.1:1/shop"
    ran = scan(url, task)
    assert (ran.status, ran.kinds) == (1, "ctttq")
    assert "127.0.0.1" in ran.errors
    assert "s3cret" not in ran.errors
    line = json.dumps({"kind": "task", "task_id": "t", "question": "Q", "root": url}).encode()
    piped = scan(stdin=line)
    assert (piped.status, piped.kinds) == (1, "q")
    assert "s3cret" not in piped.errors + piped.raw.decode()


def test_nothing_on_stdin() -> None:
    assert scan(stdin=b"") == Ran(0, b"", "winnow scan: 0 catalogs, 0 tables, 0 tasks\n")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--question", "Q"], "needs a PATH"),
        (["x", "--question", " "], "--question is empty"),
        (["x", "--questions", "f", "--question", "Q"], "goes without"),
        (["a", "b", "--task-id", "t"], "--task-id names one task"),
        (["x", "--encoding", "klingon"], "no encoding is called klingon"),
        (["x", "--sample-rows", "-1"], "--sample-rows"),
        (["x", "--cell", "0"], "--cell"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_wrong_calls(args: list[str], words: str) -> None:
    ran = scan(*args)
    assert ran.status == 2
    assert words in ran.errors
    assert ran.raw == b""


def test_no_such_question_file_or_schema_folder(task: Path) -> None:
    for args in (["--questions", "/no/q"], ["--catalog", "/no/schemas"]):
        ran = scan(task, *args)
        assert ran.status == 1
        assert "/no/" in ran.errors


def test_output_goes_to_a_file(task: Path, tmp_path: Path) -> None:
    ran = scan(task, "-o", tmp_path / "out.jsonl")
    assert ran.raw == b""
    assert (tmp_path / "out.jsonl").read_bytes() == scan(task).raw


def test_values_are_shown_as_much_as_asked_for(task: Path) -> None:
    def table(*options: str) -> dict[str, Any]:
        return next(t for t in scan(task, *options).of("table") if t["name"] == "financials")

    assert len(table("--sample-rows", "1")["sample"]) == 1
    assert table("--examples", "1")["columns"][0]["examples"] == ["C001"]
    assert table("--cell", "3")["sample"][0]["company_id"] == "C00…(+1)"
    bare = table("--no-values")
    assert "C001" not in json.dumps(bare)
    assert "1200000" not in json.dumps(bare)
    hidden = table("--hide-values", "REV*", "--hide-values", "financials.year")
    assert list(hidden["sample"][0]) == ["company_id"]
    assert [bool(column.get("examples")) for column in hidden["columns"]] == [True, False, False]


def test_include_and_exclude(task: Path) -> None:
    assert [t["name"] for t in scan(task, "--include", "*.csv").of("table")] == ["financials"]
    assert "profile" not in {
        t["name"] for t in scan(task, "--exclude", "context/json/*").of("table")
    }


def test_the_same_table_in_two_sources(task: Path) -> None:
    (task / "context" / "csv" / "profile.csv").write_text("a\n1\n", "utf-8")
    tables = {t["name"]: t for t in scan(task).of("table")}
    assert {"csv__profile", "json__profile"} < set(tables)
    assert "aliases" not in tables["csv__profile"]


def test_schema_is_one_that_its_lines_fit(task: Path) -> None:
    from jsonschema import Draft202012Validator

    ran = scan("--schema")
    validator = Draft202012Validator(json.loads(ran.raw))
    for line in scan(task).lines:
        validator.validate(line)
    assert not validator.is_valid({"kind": "stranger"})


@pytest.mark.parametrize("what", ["help", "schemas", "sqlite"])
def test_nothing_heavy_is_imported(what: str, task: Path, schemas: Path) -> None:
    args = {
        "help": ["--help"],
        "schemas": ["--catalog", str(schemas)],
        "sqlite": [str(task / "context/db/hr.db")],
    }[what]
    code = (
        "import sys\nfrom stages.cli import status\n"
        f"status(['scan', *{args!r}])\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=CHECKOUT, timeout=60
    )
    assert done.stderr.splitlines()[-1] == "[]"


def test_a_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    for i in range(300):
        (tmp_path / f"t{i}.csv").write_text("a,b\n" + "1,2\n" * 20, "utf-8")
    command = f'"{sys.executable}" -m stages scan "{tmp_path}" | head -n 1 >/dev/null; echo ${{PIPESTATUS[0]}}'
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, cwd=CHECKOUT, timeout=60
    )
    assert done.stdout.strip() in ("0", "141")
    assert "Traceback" not in done.stderr


def test_a_cut_cell_says_how_much_is_left_out_in_every_kind_of_file(tmp_path: Path) -> None:

    import duckdb

    long = "é" * 5_000
    (tmp_path / "a.csv").write_text(f"id,s\n1,{long}\n", "utf-8")
    (tmp_path / "b.json").write_text(json.dumps([{"id": 1, "s": long}]), "utf-8")
    with sqlite3.connect(tmp_path / "c.sqlite") as con:
        con.execute("CREATE TABLE c (id INTEGER, s TEXT)")
        con.execute("INSERT INTO c VALUES (1, ?)", [long])
    with duckdb.connect(str(tmp_path / "d.duckdb")) as duck:
        duck.execute("CREATE TABLE d AS SELECT 1 AS id, ? AS s", [long])
        duck.execute(f"COPY d TO '{tmp_path}/e.parquet'")
    tables = scan(tmp_path).of("table")
    assert len(tables) == 5
    for table in tables:
        assert table["sample"][0]["s"] == "é" * 80 + "…(+4920)"
        assert table["columns"][1]["examples"] == ["é" * 80 + "…(+4920)"]


def test_what_winnow_writes_is_no_data(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,b\n1,2\n")
    (tmp_path / ".scan.jsonl.123.part").write_bytes(b"{}\n")
    first = run("scan", ".", "--question", "sum of a", "-o", "scan.jsonl", cwd=tmp_path)
    lines = (tmp_path / "scan.jsonl").read_bytes()
    voted = run("vote", "scan.jsonl", "-o", "vote.jsonl", cwd=tmp_path)
    run("link", "scan.jsonl", "-o", "link.json", cwd=tmp_path)
    (tmp_path / "shell.jsonl").write_bytes(lines.decode().encode("utf-16"))
    again = run("scan", ".", "--question", "sum of a", "-o", "scan.jsonl", cwd=tmp_path)
    assert (first.status, voted.status, again.status) == (0, 0, 0)
    assert (tmp_path / "scan.jsonl").read_bytes() == lines
    assert b'"skipped":[]' in lines
    assert run("query", ".", "SELECT * FROM t", "-o", "rows.csv", cwd=tmp_path).status == 0
    told = run("query", ".", "SELECT * FROM rows", "-o", "rows.csv", cwd=tmp_path)
    assert "no table rows" in told.err
    with open(tmp_path / "out.json", "wb") as out:
        out.write(b" " * 9)
        done = subprocess.run(
            [sys.executable, "-m", "stages", "scan", "."],
            stdout=out,
            stderr=subprocess.DEVNULL,
            cwd=tmp_path,
            env=environment(),
            check=False,
        )
    assert done.returncode == 0
    assert b"out" not in (tmp_path / "out.json").read_bytes()


def test_data_that_looks_a_little_like_lines_is_data(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(
        b'{"kind":"task","owner":"Ann"}\n{"kind":"bug","owner":"Li"}\n'
    )
    (tmp_path / "b.json").write_bytes(b'{"kind":"table","catalog":7,"x":1}')
    assert [table["name"] for table in scan(tmp_path).of("table")] == ["a", "b"]


def test_a_source_that_gives_nothing_is_an_error(tmp_path: Path) -> None:
    good, bad, empty = tmp_path / "a.csv", tmp_path / "b.db", tmp_path / "c.csv"
    good.write_bytes(b"a,b\n1,2\n")
    bad.write_bytes(b"SQLite format 3\x00 and nothing else")
    empty.write_bytes(b"")
    ran = scan(good, bad, empty)
    assert (ran.status, ran.kinds) == (1, "ct")
    assert ran.errors.count("b.db: ") == 1
    assert "c.csv: 0 bytes; mend it, or leave it out of the command" in ran.errors
    assert scan(good).status == 0
    assert scan(tmp_path).status == 0, "what lies in a folder was not named"
    lines = tmp_path / "scan.jsonl"
    lines.write_bytes(scan(good).raw)
    assert scan(good, lines).status == 1
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    ran = scan(nothing)
    assert ran.status == 1
    assert "no table and no document in it" in ran.errors
