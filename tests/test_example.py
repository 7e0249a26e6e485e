"""examples/task_15 is what tools/make/example.py makes."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tools.make.example import companies, financials, make

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "task_15"


def content(path: Path) -> object:
    """Text, or a database's statements; its bytes differ between versions of SQLite."""
    if path.suffix != ".db":
        return path.read_bytes()
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as con:
        return list(con.iterdump())


def tree(folder: Path) -> dict[str, object]:
    return {
        str(path.relative_to(folder)): content(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_example_is_what_the_tool_makes(tmp_path: Path) -> None:
    make(tmp_path / "again")
    assert tree(tmp_path / "again") == tree(EXAMPLE)


def test_the_question_has_an_answer_that_needs_both_tables() -> None:
    names = {row["company_id"]: row["company_name"] for row in companies()}
    earners = [row for row in financials() if row[1] > 1e6 and row[2:] == (2025, "active")]
    assert len(names) == len(set(names.values())) == 30
    assert 5 < len(earners) < 25
    assert {row[0] for row in earners} <= set(names)
