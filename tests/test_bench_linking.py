"""The floor that linking is measured against: plain BM25, as tools/bench/linking.py runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.tools import ROOT
from tools.bench import bm25


def table(name: str, *columns: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "columns": [{"name": c, "type": "INT"} for c in columns], **more}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("StuID", ["stu", "id"]),
        ("XMLFile2020", ["xml", "file", "2020"]),
        ("order_line items", ["order", "line", "items"]),
        ("净利润 q1", ["净利", "利润", "q", "1"]),
        ("人", ["人"]),
        ("!?", []),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert bm25.words(text) == words


def test_rare_words_and_short_tables_win_and_ties_keep_their_order() -> None:
    index = bm25.Bm25(
        [
            table("log", "x", "name", "y", "z"),
            table("singer", "name"),
            table("concert", "name", "singer_id"),
            table("none", "q"),
        ]
    )
    assert index.rank("name of the singer") == ["singer", "concert", "log", "none"]
    assert index.rank("unheard of") == ["log", "singer", "concert", "none"]


def test_the_score_is_the_formula() -> None:
    """Worked by hand: 2 tables of 1 and 3 words, mean 2; the word stands once in the first."""
    index = bm25.Bm25([table("a"), table("b", "c", "d")])
    ((at, score),) = index.postings["a"]
    assert at == 0
    assert score == pytest.approx(0.6931 * 2.2 / (1 + 1.2 * (0.25 + 0.75 / 2)), rel=1e-3)


def test_strict_needs_every_gold_table() -> None:
    ranked = ["a", "b", "c"]
    assert bm25.strict(ranked, ["B", "a"], 2)
    assert not bm25.strict(ranked, ["a", "c"], 2)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--sets", "nope"], "--sets: no nope; there are mine"),
        (["--sets", "mine", "--limit", "-1"], "--limit"),
        (["--data", "nowhere"], "--data"),
    ],
)
def test_a_wrong_command_line_is_said(tmp_path: Path, argv: list[str], said: str) -> None:
    (tmp_path / "INDEX.json").write_text('{"mine": {}}')
    tool = str(ROOT / "tools" / "bench" / "linking.py")
    done = subprocess.run(
        [sys.executable, tool, "--without-schemagate", "--data", str(tmp_path), *argv],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]
