"""Cases are folders: tests/cases/STAGE/CASE with ``cmd``, inputs, and what has to come out.

``cmd`` holds the arguments of ``winnow``; it runs in the case's folder. ``stdin.jsonl`` is
fed in where it stands; ``expected.*`` and ``status`` are compared. To rewrite what is
expected and read it in the diff:

    REWRITE=1 python -m pytest tests/test_cases.py
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from tests.helpers.tools import run

CASES = Path(__file__).parent / "cases"
FOUND = sorted(path.parent for path in CASES.glob("*/*/cmd"))


@pytest.mark.parametrize("case", FOUND, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_case(case: Path, tmp_path: Path) -> None:
    stdin = case / "stdin.jsonl"
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    done = run(
        *shlex.split((case / "cmd").read_text()),
        stdin=stdin.read_bytes() if stdin.exists() else b"",
        cwd=case,
        env=env,
    )
    out_name = next(
        (p.name for p in case.glob("expected.*") if p.suffix != ".stderr"), "expected.jsonl"
    )
    got = {
        out_name: done.out,
        "expected.stderr": done.err.encode(),
        "status": f"{done.status}\n".encode(),
    }
    if os.environ.get("REWRITE"):
        for name, data in got.items():
            (case / name).write_bytes(data)
        return
    for name, data in got.items():
        assert data.decode() == (case / name).read_text("utf-8"), name
