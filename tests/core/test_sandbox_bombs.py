"""Statements that would take everything: they end in time, within memory, and do no lasting harm.

The time limit is lowered to `SECONDS`; what is measured is the time until the answer and the
memory of the whole process tree, parent included, while waiting for it.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from stages.core.errors import SqlError, SqlLimit
from tests.helpers.sandbox_kit import database, write_root

SECONDS = 0.5
SLACK = 2.0
TREE_MB = 1024
OWN_MB = 150
"""Resident memory of a command that has the sandbox loaded."""

BOMBS = {
    "cross join": "SELECT count(*) FROM range(1000000) a, range(1000000) b, range(1000000) c",
    "cross join with rows": "SELECT * FROM range(1000000) a, range(1000000) b ORDER BY a.range + b.range",
    "range of 1e12": "SELECT sum(range) FROM range(1000000000000)",
    "list of 1e12": "SELECT range(1000000000000)",
    "list of 1e9": "SELECT len(range(1000000000))",
    "unnested list": "SELECT unnest(range(100000000000))",
    "recursion without end": "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r",
    "recursion that doubles": "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n FROM r, range(2)) SELECT count(*) FROM r",
    "string_agg of 1e9": "SELECT length(string_agg(range::VARCHAR, ',')) FROM range(1000000000)",
    "list of all rows": "SELECT list(range) FROM range(1000000000)",
    "histogram": "SELECT histogram(range) FROM range(1000000000)",
    "repeat 4e9": "SELECT repeat('x', 4000000000)",
    "length of repeat 4e9": "SELECT length(repeat('x', 4000000000))",
    "repeat of repeat": "SELECT repeat(repeat('x', 100000), 100000)",
    "many long strings": "SELECT repeat('x', 10000000) || range FROM range(1000)",
    "lpad": "SELECT lpad('x', 2000000000, 'y')",
    "replace that grows": "SELECT replace(repeat('x', 100000), 'x', repeat('y', 100000))",
    "format that pads": "SELECT format('{:>2000000000}', 1)",
    "regex": "SELECT regexp_replace(repeat('a', 30000000), '(a*)*b', 'c', 'g')",
    "sort": "SELECT * FROM range(1000000000) ORDER BY hash(range) LIMIT 100000000",
    "distinct": "SELECT count(DISTINCT range) FROM range(10000000000)",
    "group": "SELECT range, count(*) FROM range(10000000000) GROUP BY range",
    "window": "SELECT sum(range) OVER (ORDER BY hash(range)) FROM range(10000000000)",
    "levenshtein": "SELECT levenshtein(repeat('a', 200000), repeat('b', 200000))",
    "list comprehension": "SELECT [x * y FOR x IN range(100000) FOR y IN range(100000)]".replace(
        " FOR y IN range(100000)", ""
    ).replace("x * y", "list_sum(range(x * 1000))"),
    "nested structs": "SELECT list_transform(range(100000), lambda x: range(x))",
    "factorial": "SELECT factorial((range % 30)::INTEGER) FROM range(10000000000) ORDER BY 1 DESC",
    "300-way join": "SELECT count(*) FROM "
    + " JOIN ".join(f"dept d{n} USING (dept_id)" if n else "dept d0" for n in range(300)),
    "300 commas": "SELECT count(*) FROM " + ", ".join(f"dept d{n}" for n in range(300)),
    "60-way cross join": "SELECT count(*) FROM "
    + ", ".join(f"range(1000) d{n}" for n in range(60)),
    "deep parentheses": "SELECT " + "(" * 9000 + "1" + ")" * 9000,
    "deep subqueries": "SELECT * FROM " + "(SELECT * FROM " * 1000 + "dept" + ")" * 1000,
    "deep functions": "SELECT " + "abs(" * 3000 + "1" + ")" * 3000,
    "deep brackets": "SELECT " + "[" * 5000 + "]" * 5000,
    "long sum": "SELECT " + "+".join("1" for _ in range(9000)),
    "long OR": "SELECT * FROM dept WHERE " + " OR ".join(f"dept_id={n}" for n in range(1000)),
    "long IN": f"SELECT * FROM dept WHERE dept_id IN ({','.join(map(str, range(3500)))})",
    "long CASE": "SELECT CASE "
    + " ".join(f"WHEN dept_id={n} THEN 1" for n in range(600))
    + " END FROM dept",
    "many CTEs": "WITH c0 AS (SELECT * FROM dept)"
    + "".join(f", c{n} AS (SELECT a.* FROM c{n - 1} a, c{n - 1} b)" for n in range(1, 25))
    + " SELECT count(*) FROM c24",
    "too long": "SELECT '" + "x" * 30_000 + "'",
    "wide answer": "SELECT "
    + ", ".join(f"repeat('x', 100000) AS c{n}" for n in range(400))
    + " FROM range(100000)",
}


REFERENCE = {
    "cross join",
    "range of 1e12",
    "recursion without end",
    "string_agg of 1e9",
    "repeat 4e9",
    "list of 1e9",
    "300-way join",
    "60-way cross join",
    "sort",
    "distinct",
    "deep parentheses",
    "wide answer",
    "regex",
}
"""Those that are always run: the reference's own, and one of each way to die."""


class Watch:
    """The greatest resident memory of a process that does this and of its children.

    A test's process has grown by what ran before; it counts as `OWN_MB` and what it grows by.
    """

    def __enter__(self):
        self.most, self._done = 0, threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._done.set()
        self._thread.join()

    def _look(self):
        before = self._resident("self")
        while not self._done.wait(0.01):
            children = Path("/proc/self/task").glob("*/children")
            pids = {pid for path in children for pid in path.read_text().split()}
            own = OWN_MB + max(0, self._resident("self") - before)
            self.most = max(self.most, own + sum(map(self._resident, pids)))

    @staticmethod
    def _resident(pid):
        try:
            return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 // 1024**2
        except (OSError, ValueError, IndexError):
            return 0


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bombs")
    with database(write_root(folder / "data"), folder / "cache", seconds=SECONDS) as made:
        made.query("SELECT * FROM dept")
        yield made


@pytest.mark.parametrize(
    "name",
    [name if name in REFERENCE else pytest.param(name, marks=pytest.mark.slow) for name in BOMBS],
)
def test_a_bomb_ends_in_time_and_memory_and_the_next_query_works(shared, name):
    for _ in range(4):  # a machine that is busy for a moment is no bomb
        start = time.monotonic()
        with Watch() as watch:
            try:
                answer = shared.query(BOMBS[name])
            except SqlError as error:
                answer = error
        took = time.monotonic() - start
        if took < SECONDS + SLACK:
            break
    assert "refused" not in str(answer), "a bomb is stopped by a limit, not by the lists"
    assert took < SECONDS + SLACK, answer
    assert watch.most < TREE_MB, answer
    assert len(str(answer)) < 100_000
    assert shared.query("SELECT count(*) FROM dept").rows == ((3,),)


def test_the_error_names_the_limit(shared):
    with pytest.raises(SqlLimit, match=r"0\.5 s, the time limit"):
        shared.query(BOMBS["cross join"])
    with pytest.raises(SqlLimit, match="512 MB, the memory limit"):
        shared.query(BOMBS["repeat 4e9"])
    with pytest.raises(SqlLimit, match="30009 characters, the limit is 20000"):
        shared.query(BOMBS["too long"])
    with pytest.raises(SqlLimit, match="300 table references, the limit is 64"):
        shared.query(BOMBS["300 commas"].replace("dept d", "dept d"))


def test_a_killed_child_is_replaced(shared):
    shared.query("SELECT 1")
    worker = shared._engine._worker
    worker._process.kill()
    worker._process.wait()
    assert shared.query("SELECT count(*) FROM dept").rows == ((3,),)
    assert shared._engine._worker.pid != worker.pid


def test_a_child_serves_several_statements_and_more_tables(shared):
    shared.query("SELECT * FROM dept")
    first = shared._engine._worker.pid
    shared.query("SELECT name FROM dept")
    assert shared._engine._worker.pid == first
    shared.query("SELECT * FROM dept JOIN employees USING (dept_id)")
    second = shared._engine._worker.pid
    assert second != first
    shared.query("SELECT * FROM dept")
    assert shared._engine._worker.pid == second
