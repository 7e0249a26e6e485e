"""`winnow scaffold`: a solver that runs as it is, and is not written over once it is edited."""

from __future__ import annotations

import subprocess
import sys

import duckdb
import pytest

from stages.core.sandbox import workbench
from stages.scaffold import is_unedited, solver_text
from tests.helpers.sandbox_kit import write_root
from tests.helpers.tools import winnow


@pytest.fixture
def task(tmp_path):
    write_root(tmp_path / "task" / "context")
    (tmp_path / "task" / "task.json").write_text('{"task_id": "task_1", "question": "How many?"}')
    (tmp_path / "s.jsonl").write_bytes(winnow(tmp_path, "scan", "task").stdout)
    return tmp_path


def solve(place, edit=None):
    """Run the solver, edited or not, from another folder and without the checkout on its path."""
    path = place / "task" / "workdir" / "solver.py"
    if edit:
        path.write_text(path.read_text().replace("result = None", f"result = {edit}"))
    return subprocess.run(
        [sys.executable, "-W", "error", str(path)],
        capture_output=True,
        cwd="/",
        check=False,
        env={"WINNOW_CACHE": str(place / "cache"), "PATH": ""},
        timeout=60,
    )


def test_unedited_it_runs_and_writes_nothing(task):
    done = winnow(task, "scaffold", "s.jsonl")
    assert (done.returncode, done.stdout) == (0, b"task/workdir/solver.py\n"), done.stderr
    before = sorted(path.name for path in (task / "task" / "workdir").iterdir())
    ran = solve(task)
    assert (ran.returncode, ran.stdout) == (0, b""), ran.stderr
    assert before == ["catalog.jsonl", "solver.py"]
    assert sorted(path.name for path in (task / "task" / "workdir").iterdir()) == before


@pytest.mark.parametrize(
    ("edit", "wanted"),
    [
        (
            'run_sql("SELECT dept_id, name FROM dept ORDER BY 1 LIMIT 2")',
            "dept_id,name\n1,Sales\n2,IT\n",
        ),
        ('run_sql("SELECT salary, hired FROM Employees WHERE emp_id = 4")', "salary,hired\n,\n"),
        ("[{'a': 1, 'b': None}, {'a': 2.5}]", "a,b\n1,\n2.5,\n"),
        ("(['名', 'b'], [('x,y', True)])", '名,b\n"x,y",true\n'),
    ],
)
def test_an_answer_is_saved_as_csv(task, edit, wanted):
    winnow(task, "scaffold", "s.jsonl")
    ran = solve(task, edit)
    assert ran.returncode == 0, ran.stderr
    assert (task / "task" / "workdir" / "prediction.csv").read_bytes() == wanted.encode()


ALIKE = [
    ('SELECT "EmpName" FROM employees ORDER BY 1 LIMIT 1', None),
    ("SELECT [emp_id], `Emp Name` FROM [employees] WHERE [emp_id] = 2", None),
    ("SELECT now() AS n, current_date AS d", None),
    ("SELECT count(*) AS n FROM employees WHERE hired < now()", None),
    (
        "SELECT strftime('%Y', hired) AS y, emp_id / 2 AS h FROM employees WHERE emp_id = 3",
        "sqlite",
    ),
]


@pytest.mark.parametrize(("sql", "dialect"), ALIKE)
def test_run_sql_answers_as_query_does(task, sql, dialect):
    winnow(task, "scaffold", "s.jsonl")
    chosen = ["--dialect", dialect] if dialect else []
    wanted = winnow(task, "query", "s.jsonl", sql, *chosen, "--format", "csv")
    assert wanted.returncode == 0, wanted.stderr
    ran = solve(task, f"run_sql({sql!r}, {dialect!r})")
    assert ran.returncode == 0, ran.stderr
    assert (task / "task" / "workdir" / "prediction.csv").read_bytes() == wanted.stdout


def test_run_sql_refuses_what_query_refuses(task):
    winnow(task, "scaffold", "s.jsonl")
    ran = solve(task, 'run_sql("SELECT random()")')
    assert ran.returncode == 1
    assert b"function random refused; it answers differently each time" in ran.stderr


def test_an_edited_solver_is_left_alone(task):
    winnow(task, "scaffold", "s.jsonl")
    path = task / "task" / "workdir" / "solver.py"
    assert winnow(task, "scaffold", "s.jsonl").returncode == 0
    path.write_text(path.read_text() + "# mine\n")
    done = winnow(task, "scaffold", "s.jsonl")
    assert (done.returncode, done.stdout) == (1, b"")
    assert "--force" in done.stderr.decode()
    assert path.read_text().endswith("# mine\n")
    assert winnow(task, "scaffold", "s.jsonl", "--force").returncode == 0
    assert is_unedited(path.read_bytes())


def test_elsewhere_and_from_a_folder(task):
    done = winnow(task, "scaffold", "task", "-o", "out")
    assert done.stdout == b"out/solver.py\n", done.stderr
    ran = subprocess.run(
        [sys.executable, str(task / "out" / "solver.py")],
        capture_output=True,
        check=False,
        env={"WINNOW_CACHE": str(task / "cache")},
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    assert b"could not" not in ran.stderr


def test_a_catalog_without_data_has_no_solver(task):
    line = b'{"kind":"catalog","v":1,"id":"sha256:' + b"0" * 64 + b'","name":"bare"}\n'
    done = winnow(task, "scaffold", "-", stdin=line)
    assert done.returncode == 1
    assert "the catalog has no data" in done.stderr.decode()


def test_a_table_that_cannot_be_read_does_not_stop_the_others(task):
    winnow(task, "scaffold", "s.jsonl")
    (task / "task" / "context" / "dept.csv").unlink()
    ran = solve(task, 'run_sql("SELECT count(*) AS n FROM employees")')
    assert ran.returncode == 0, ran.stderr
    assert b"dept" in ran.stderr
    assert (task / "task" / "workdir" / "prediction.csv").read_text() == "n\n4\n"


def test_a_title_cannot_end_the_docstring():
    text = solver_text('x"""\nimport os\n', "..").decode()
    compile(text, "solver.py", "exec")
    assert "\nimport os" not in text


def test_saving_keeps_the_old_answer_when_it_fails(tmp_path):
    path = tmp_path / "prediction.csv"
    path.write_text("old\n")
    with pytest.raises(TypeError):
        workbench.save(object(), path)
    with pytest.raises(duckdb.Error):
        workbench.save(duckdb.sql("SELECT CAST(x AS INTEGER) AS x FROM (VALUES ('a')) v(x)"), path)
    assert path.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [path]
