"""Loading tables: when, how often, where to, within what; and what the child may see of them."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import CancelledError

import duckdb
import pytest

from stages.core.errors import SourceError, SqlLimit, SqlRefused, SqlUnavailable
from stages.core.sandbox.database import Database
from stages.core.sandbox.engine.store import Store
from stages.core.sandbox.limits import Limits
from stages.core.sandbox.names import TableNames, nearest
from tests.helpers.sandbox_kit import DEPT, EMPLOYEES, column, load, table, write_root


@pytest.fixture
def root(tmp_path):
    return write_root(tmp_path / "data")


class Counting:
    """The tests' loader, counting what it loads."""

    def __init__(self):
        self.loaded = []

    def __call__(self, con, root, line, target):
        self.loaded.append(line["name"])
        load(con, root, line, target)


def store(root, cache, loader=load, progress=None, **limits):
    return Store(root, Limits(**limits), cache, loader, progress)


def test_a_table_is_loaded_once_and_only_when_it_is_asked_for(root, tmp_path):
    loader = Counting()
    catalog = {"kind": "catalog", "v": 1, "id": "c", "name": "c", "root": str(root)}
    for _ in range(2):
        with Database(catalog, [EMPLOYEES, DEPT], cache=tmp_path / "cache", load=loader) as made:
            made.query("SELECT * FROM dept")
            made.query("SELECT * FROM dept d, dept e")
    assert loader.loaded == ["dept"]


@pytest.mark.parametrize("content", [b"", b"no database" * 2000, None])
def test_broken_files_are_made_anew_and_spoil_no_other_table(root, tmp_path, content):
    loader, cache = Counting(), tmp_path / "cache"
    catalog = {"kind": "catalog", "v": 1, "id": "c", "name": "c", "root": str(root)}

    def counts():
        with Database(catalog, [EMPLOYEES, DEPT], cache=cache, load=loader) as made:
            return [
                made.query(f"SELECT count(*) FROM {name}").rows for name in ("dept", "employees")
            ]

    before = counts()
    for file in cache.iterdir():
        file.write_bytes(file.read_bytes()[:6000] if content is None else content)
    assert counts() == before
    assert sorted(loader.loaded) == ["dept", "dept", "employees", "employees"]
    store(root, cache).file(EMPLOYEES).write_bytes(b"broken")
    with Database(catalog, [EMPLOYEES, DEPT], cache=cache, load=loader) as made:
        assert [made.query("SELECT count(*) FROM dept").rows] == before[:1]


def test_progress_is_told_before_a_table_is_loaded(root, tmp_path):
    told = []
    made = store(root, tmp_path / "cache", progress=told.append)
    made.file(DEPT)
    made.file(DEPT)
    assert told == ["dept"]


def change_text(path):
    path.write_text("dept_id,name\n9,New\n")


def change_time(path):
    os.utime(path, ns=(1, 1))


def change_inode(path):
    stat = path.stat()
    text = path.read_text()
    path.rename(path.with_suffix(".old"))
    path.write_text(text)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


@pytest.mark.parametrize("change", [change_text, change_time, change_inode])
def test_a_changed_source_is_loaded_again_and_the_old_file_goes(root, tmp_path, change):
    made = store(root, tmp_path / "cache")
    before = made.file(DEPT)
    change(root / "dept.csv")
    after = made.file(DEPT)
    assert after != before
    assert list((tmp_path / "cache").iterdir()) == [after]


def test_a_table_line_read_otherwise_is_another_file(root, tmp_path):
    made = store(root, tmp_path / "cache")
    other = {**DEPT, "columns": [column("dept_id", "VARCHAR"), column("name", "VARCHAR")]}
    described = {**DEPT, "description": "departments", "aliases": ["d"]}
    assert made.file(other) != made.file(DEPT)
    assert made.file(described) == made.file(DEPT)


def test_who_reads_a_table_otherwise_takes_no_file_away(root, tmp_path):
    made = store(root, tmp_path / "cache")
    other = {**DEPT, "columns": [column("dept_id", "VARCHAR"), column("name", "VARCHAR")]}
    first, second = made.file(DEPT), made.file(other)
    assert first.exists()
    assert second.exists()
    change_text(root / "dept.csv")
    made.file(DEPT)
    assert not first.exists()
    assert not second.exists()


def test_a_file_holds_its_table_and_nothing_else(root, tmp_path):
    with duckdb.connect(str(store(root, tmp_path / "cache").file(DEPT)), read_only=True) as con:
        assert con.execute("SELECT table_name FROM information_schema.tables").fetchall() == [
            ("data",)
        ]
        assert con.execute("SELECT count(*) FROM data").fetchall() == [(3,)]


def test_nothing_is_written_beside_the_data(root, tmp_path):
    before = sorted(path.name for path in root.iterdir())
    store(root, tmp_path / "cache").file(DEPT)
    assert sorted(path.name for path in root.iterdir()) == before
    assert (tmp_path / "cache").stat().st_mode & 0o077 == 0


def test_a_source_that_is_gone_or_too_large(root, tmp_path):
    with pytest.raises(SqlUnavailable, match="gone"):
        store(root, tmp_path).file(table("x", "no.csv", []))
    with pytest.raises(SqlRefused, match="--materialise"):
        store(root, tmp_path, materialise=10).file(DEPT)
    with pytest.raises(SqlRefused, match="no data"):
        store(None, tmp_path).file(DEPT)


def test_a_large_source_answers_with_its_sample_where_that_is_wanted(root, tmp_path):
    line = {**DEPT, "sample": [{"dept_id": "1", "name": "Sales"}, {"dept_id": "x", "name": None}]}
    catalog = {"kind": "catalog", "v": 1, "id": "c", "name": "c", "root": str(root)}
    limits = Limits(materialise=5)
    with Database(catalog, [line], cache=tmp_path, load=load, limits=limits, sample=True) as made:
        answer = made.query("SELECT * FROM dept")
    assert answer.rows == ((1, "Sales"), (None, None))
    assert answer.types == ("BIGINT", "VARCHAR")
    assert any("2 sample rows only" in note for note in answer.repairs)
    with Database(catalog, [line], cache=tmp_path, load=load) as made:
        assert len(made.query("SELECT * FROM dept").rows) == 3


def failing(kind):
    def loader(con, root, line, target):
        con.execute("CREATE TABLE half AS SELECT 1")
        raise kind

    return loader


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (SourceError("bad encoding", place="x"), "bad encoding"),
        (ValueError("no\nsuch thing"), "no"),
        (duckdb.IOException("IO Error: x"), "IO Error"),
    ],
)
def test_a_failed_load_leaves_nothing_and_says_why(root, tmp_path, error, words):
    with pytest.raises(SqlUnavailable, match=f"dept could not be loaded: {words}"):
        store(root, tmp_path / "cache", failing(error)).file(DEPT)
    assert list((tmp_path / "cache").iterdir()) == []


def slow(con, root, line, target):
    con.execute(
        "CREATE TABLE data AS SELECT sum(a.range * b.range) FROM range(10000000) a, range(1000000) b"
    )


def slow_in_steps(con, root, line, target):
    for _ in range(10_000):
        con.execute("SELECT sum(range) FROM range(1000000)").fetchall()


@pytest.mark.parametrize("loader", [slow, slow_in_steps])
def test_loading_has_a_time_limit_of_its_own(root, tmp_path, loader):
    start = time.monotonic()
    with pytest.raises(SqlLimit, match=r"loading dept was stopped after 0\.2 s"):
        store(root, tmp_path / "cache", loader, load_seconds=0.2).file(DEPT)
    assert time.monotonic() - start < 2
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_cache_folder_that_cannot_be_made(root, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SqlUnavailable, match="WINNOW_CACHE"):
        store(root, tmp_path / "file" / "cache").file(DEPT)


def test_two_at_once_make_one_file(root, tmp_path):
    made = store(root, tmp_path / "cache")
    found = []
    threads = [threading.Thread(target=lambda: found.append(made.file(DEPT))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert list((tmp_path / "cache").iterdir()) == found[:1]


def test_a_database_is_shared_between_threads(root, tmp_path):
    catalog = {"kind": "catalog", "v": 1, "id": "c", "name": "c", "root": str(root)}
    with Database(catalog, [EMPLOYEES, DEPT], cache=tmp_path / "cache", load=load) as made:
        found = []

        def ask(number):
            name = ("dept", "employees")[number % 2]
            found.append((name, made.query(f"SELECT count(*) FROM {name}").rows[0][0]))

        threads = [threading.Thread(target=ask, args=[n]) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(found) == [("dept", 3)] * 4 + [("employees", 4)] * 4


SLOW = "SELECT count(*) FROM range(1000000) a, range(1000000) b, dept"


def load_slowly(con, root, line, target):
    con.execute(f'CREATE TABLE "{target}" AS {SLOW.removesuffix(", dept")}')


@pytest.mark.parametrize("loader", [load, load_slowly])
def test_what_runs_is_stopped_from_another_thread(root, tmp_path, loader):
    catalog = {"kind": "catalog", "v": 1, "id": "c", "name": "c", "root": str(root)}
    made = Database(catalog, [DEPT], cache=tmp_path / "cache", load=loader)
    threading.Timer(0.7, made.stop).start()
    start = time.monotonic()
    with pytest.raises(CancelledError):
        made.query(SLOW)
    made.close()
    assert time.monotonic() - start < 10
    with pytest.raises(CancelledError):
        made.query("SELECT 1")
    assert loader is load or list((tmp_path / "cache").iterdir()) == []


def line(name, *aliases):
    return table(name, f"{name}.csv", [], aliases=list(aliases))


NAMES = TableNames(
    [
        line("employees", "Employee Attendance", "HR.PUBLIC.EMP"),
        line("hr__orders", "hr.Orders"),
        line("sales__orders", "sales.Orders"),
        line("公募基金经理_新", "公募基金经理(新)"),
        line("a", "b", "Shared"),
        line("b", "a", "shared"),
    ]
)


@pytest.mark.parametrize(("parts", "wanted"), [
    (["employees"], "employees"), (["EMPLOYEES"], "employees"), (["employee attendance"], "employees"),
    (["EmployeeAttendance"], "employees"), (["HR", "PUBLIC", "EMP"], "employees"), (["EMP"], "employees"),
    (["hr", "orders"], "hr__orders"), (["sales", "orders"], "sales__orders"), (["orders"], None),
    (["公募基金经理(新)"], "公募基金经理_新"), (["公募基金经理 (新)"], "公募基金经理_新"),
    (["x", "employees"], "employees"), (["a"], "a"), (["b"], "b"), (["shared"], None), (["nothing"], None),
])  # fmt: skip
def test_a_spelling_is_one_table_or_none(parts, wanted):
    found, _ = NAMES.find(parts)
    assert (found and found["name"]) == wanted


def test_the_nearest_names_are_as_near_as_is_asked_for():
    assert nearest("read_text", ["greatest", "read"], close=75) == ""
    assert nearest("read_text", ["greatest", "length"], close=50) == "greatest"


def test_the_nearest_names():
    assert nearest("employes", ["dept", "employees"]) == "employees"
    assert nearest("emp nam", ["Emp Name", "x"]) == '"Emp Name"'
    assert nearest("zzz", ["dept", "employees"]) == ""
