"""Work on two workers: in order, and done even where a worker dies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from stages.core.catalog.pool import WORTH_FORKING, in_order

CHECKOUT = Path(__file__).resolve().parents[2]
SCRIPT = """
import os, sys
from stages.core.catalog.pool import in_order
HERE = os.getpid()

def double(n):
    if {dies} and n == 50 and os.getpid() != HERE:
        os._exit(9)
    return n * 2, os.getpid() != HERE

found = list(in_order(double, range(100)))
assert [value for value, _ in found] == [n * 2 for n in range(100)], found
print(sum(forked for _, forked in found))
"""


@pytest.mark.parametrize("count", [0, 1, 2, WORTH_FORKING - 1, WORTH_FORKING, 100])
def test_results_come_in_order(count: int) -> None:
    assert list(in_order(str, range(count))) == [str(n) for n in range(count)]


@pytest.mark.skipif(sys.platform != "linux", reason="forks on Linux only")
@pytest.mark.parametrize(("dies", "all_forked"), [(False, True), (True, False)])
def test_processes(tmp_path: Path, dies: bool, all_forked: bool) -> None:
    script = tmp_path / "work.py"
    script.write_text(SCRIPT.format(dies=dies), "utf-8")
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(CHECKOUT)},
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert (int(done.stdout) == 100) is all_forked


def test_where_an_engine_is_loaded_there_is_no_forking() -> None:
    script = (
        "import os, duckdb\nfrom stages.core.catalog.pool import in_order\n"
        "assert set(in_order(lambda n: os.getpid(), range(100))) == {os.getpid()}"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=CHECKOUT, timeout=60
    )
    assert done.returncode == 0, done.stderr
