"""Attacks, judged by what they do and not by what is said about them.

Each one runs three times: through the whole sandbox, straight in the child without the gate,
and straight on the engine as the child locks it, without gate, without the child's own check
and without its limits on the process. After each: no file has changed or appeared, the marker
that lies in files and in the environment is not in the answer, and the tables still answer as
before (the engine alone gets a fresh connection each time: its views could be replaced, which
is what the child's own check is for).
"""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path

import duckdb
import pytest

from stages.core.errors import SqlError
from stages.core.sandbox.engine import child
from stages.core.sandbox.engine.worker import Worker
from stages.core.sandbox.gate import grammar
from stages.core.sandbox.limits import Limits
from tests.helpers.attacks import ATTACKS, MARKER
from tests.helpers.sandbox_kit import database, write_root


class Field:
    """A folder with things that must not be read or changed, and a cache of loaded tables."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "data"
        write_root(self.folder)
        self.cache = folder / "cache"
        self.paths = {
            "secret": self.folder / "secret.txt",
            "json": self.folder / "secret.json",
            "parquet": self.folder / "secret.parquet",
            "sqlite": self.folder / "secret.db",
            "victim": self.folder / "dept.csv",
            "new": self.folder / "new.csv",
        }
        self.paths["secret"].write_text(MARKER)
        self.paths["json"].write_text(f'{{"a": "{MARKER}"}}\n')
        duckdb.execute(f"COPY (SELECT '{MARKER}' AS a) TO '{self.paths['parquet']}'")
        with sqlite3.connect(self.paths["sqlite"]) as con:
            con.execute("CREATE TABLE t (a)")
            con.execute("INSERT INTO t VALUES (?)", [MARKER])
        self.database = database(self.folder, self.cache, seconds=3)
        self.baseline = self.database.query("SELECT * FROM dept").rows
        self.database.query("SELECT * FROM employees")
        self.own = sorted(self.cache.glob("*.duckdb"))
        self.files = self._files()
        self.whole = folder
        self.before = self.state(folder)

    def state(self, folder: Path) -> dict[str, bytes | str]:
        return {str(p): p.read_bytes() if p.is_file() else "dir" for p in folder.rglob("*")}

    def sql(self, attack: str) -> str:
        words = {name: str(path) for name, path in self.paths.items()}
        words |= {"folder": str(self.folder), "own": str(self.own[0]), "marker": MARKER}
        for name, value in words.items():
            attack = attack.replace("{" + name + "}", value)
        return attack

    def _files(self) -> list[tuple[Path, str, list[str]]]:
        tables = {
            self.database.query(f"SELECT count(*) FROM {n}").rows: n for n in ("dept", "employees")
        }
        found = []
        for path in self.own:
            with duckdb.connect(str(path), read_only=True) as con:
                count = con.execute("SELECT count(*) FROM data").fetchall()
                found.append((path, tables[tuple(count)], []))
        return found

    def judge(self, answer: object, again: object) -> None:
        """The verdict: the effects."""
        assert MARKER not in str(answer), "the marker leaked"
        assert self.state(self.whole) == self.before, "a file changed"
        assert again == self.baseline, "a later answer was poisoned"


@pytest.fixture(scope="module")
def field(tmp_path_factory, module_environment):
    made = Field(tmp_path_factory.mktemp("attack"))
    yield made
    made.database.close()


@pytest.fixture(scope="module")
def module_environment():
    os.environ["WINNOW_TEST_SECRET"] = MARKER
    yield
    del os.environ["WINNOW_TEST_SECRET"]


@pytest.fixture(scope="module")
def child_only(field):
    """A child that gets statements without the gate; replaced when an attack ends it."""
    allowed = grammar.functions()
    holder = []

    def ask(sql):
        if not holder or not holder[0].alive:
            holder[:] = [
                Worker(field.files, Limits(seconds=3), (list(allowed.scalar), list(allowed.table)))
            ]
        names, types = holder[0].describe(sql)
        return names, holder[0].run(sql, types, 50, 3)[0]

    yield ask
    holder[0].close()


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_happens_through_the_sandbox(field, attack):
    secret_frame = [MARKER]  # noqa: F841 - found by name where the engine looks at Python's frames
    try:
        answer = field.database.query(field.sql(attack))
    except SqlError as error:
        answer = error
    field.judge(answer, field.database.query("SELECT * FROM dept").rows)


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_happens_in_the_child_without_the_gate(field, child_only, attack):
    try:
        answer = child_only(field.sql(attack))
    except SqlError as error:
        answer = _without_echo(str(error))
    _, rows = child_only("SELECT * FROM main.dept")
    field.judge(answer, tuple(map(tuple, rows)))


@pytest.mark.slow
@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_happens_on_the_locked_engine_alone(field, attack):
    con = child.connect([(str(path), name, hidden) for path, name, hidden in field.files], 256)
    with con:
        timer = threading.Timer(3, con.interrupt)
        timer.start()
        try:
            answer = con.execute(field.sql(attack)).fetchmany(50)
        except (duckdb.Error, ValueError, RuntimeError) as error:
            answer = _without_echo(str(error))
        finally:
            timer.cancel()
    field.judge(answer, field.database.query("SELECT * FROM dept").rows)


def _without_echo(message):
    """The engine repeats statements in its messages; what was put in is no leak."""
    return message.replace(f"/{MARKER}", "").replace(f"'{MARKER}'", "")


@pytest.mark.parametrize(
    "attack",
    [
        "SELECT * FROM read_text('{secret}')",
        "SELECT * FROM '{parquet}'",
        "WITH x AS (COPY (SELECT 1) TO '{victim}' (FORMAT csv, USE_TMP_FILE false)) SELECT * FROM x",
        "COPY (SELECT 1) TO '{new}' (FORMAT csv)",
        "CREATE OR REPLACE TEMP VIEW dept AS SELECT 99 AS dept_id, 'poison' AS name",
        "SELECT * FROM query('SELECT * FROM read_text(''{secret}'')')",
    ],
)
def test_the_judge_sees_the_same_attacks_succeed_on_an_open_engine(tmp_path, attack):
    field = Field(tmp_path)
    field.database.close()
    with duckdb.connect() as con:
        con.execute(f"CREATE VIEW dept AS SELECT * FROM read_csv('{field.paths['victim']}')")
        answer = con.execute(field.sql(attack)).fetchall()
        again = con.execute("SELECT * FROM dept").fetchall()
    with pytest.raises(AssertionError):
        field.judge(answer, tuple(again))


def test_there_are_more_than_a_hundred_attacks():
    assert len(set(ATTACKS)) == len(ATTACKS) > 100
