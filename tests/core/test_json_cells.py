"""One cell of twenty megabytes in a JSON file: what it takes to scan and to load it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.core.catalog.sources.json.stream import _LOOSE
from tests.helpers.tools import ROOT, environment

SIZE = 20_000_000
TEXTS = {"plain": "abcdefg hij ", "escapes": 'a"b\\c\n', "rows": '{"a": 1}, '}
MOST_MB = 400


def peak(argv: list[str], folder: Path) -> int:
    """The most memory in megabytes that a command, or a process that it started, took."""
    measure = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)\n"
        "sys.exit(done.returncode)"
    )
    done = subprocess.run(
        [sys.executable, "-c", measure, sys.executable, "-m", "stages", *argv],
        capture_output=True,
        cwd=ROOT,
        check=False,
        timeout=60,
        env=environment({"WINNOW_CACHE": str(folder / "cache")}),
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.skipif(not os.path.exists("/proc"), reason="megabytes are measured as Linux does")
@pytest.mark.parametrize("at", [0, 50])
@pytest.mark.parametrize("text", TEXTS)
def test_scan_and_load_of_a_huge_cell_take_a_bounded_memory(tmp_path, text, at):
    cell = TEXTS[text] * (SIZE // len(json.dumps(TEXTS[text])) + 1)
    rows = [{"id": row, "note": cell if row == at else "s"} for row in range(100)]
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "t.json").write_text(json.dumps(rows))
    lines = tmp_path / "lines.jsonl"
    assert peak(["scan", str(folder), "-q", "-o", str(lines)], tmp_path) < MOST_MB
    assert peak(["query", str(lines), "SELECT max(length(note)) FROM t"], tmp_path) < MOST_MB


def tidied(text: str) -> str:
    """What taking out commas before closing brackets means, character by character."""
    made, at = [], 0
    while at < len(text):
        end = at + 1
        if text[at] == '"':
            while end < len(text) and text[end] != '"':
                end += 2 if text[end] == "\\" else 1
            end += 1
        elif text[at] == "," and re.match(r"\s*[}\]]", text[at + 1 :]):
            at = end
            continue
        made.append(text[at:end])
        at = end
    return "".join(made)


@given(st.text('",]}\\ a\n', max_size=30))
def test_commas_are_taken_out_beside_texts_and_never_within(text: str) -> None:
    assert _LOOSE.sub(lambda found: found[1] or "", text) == tidied(text)


def test_a_text_that_ends_in_its_escape_is_gone_through_once() -> None:
    cut = '"' + 'a\\"' * 30_000 + "\\"
    before = time.process_time()
    assert _LOOSE.sub(lambda found: found[1] or "", cut) == cut
    assert time.process_time() - before < 2
