"""tools/bench/pruning.py counts what it says, on a small set of our own."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from tests.helpers.tools import ROOT, environment


def test_it_prints_strict_recall_and_the_share_that_goes(tmp_path: Path) -> None:
    folder = tmp_path / "databases" / "spider"
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "shop.sqlite")) as con:
        con.execute("CREATE TABLE orders (order_id INTEGER PRIMARY KEY, amount REAL, city TEXT)")
        con.execute("INSERT INTO orders VALUES (1, 2.5, 'Rome')")
        con.commit()
    gold = {"id": "q1", "db_id": "shop", "question": "What is the amount of all orders in Rome?",
            "gold_tables": ["ORDERS"], "gold_columns": [["orders", "Amount"]]}  # fmt: skip
    lost = {**gold, "id": "q2", "gold_columns": [["orders", "no_such_column"]]}
    absent = {**gold, "id": "q3", "db_id": "absent"}
    (tmp_path / "questions").mkdir()
    rows = "".join(json.dumps(row) + "\n" for row in (gold, lost, absent))
    (tmp_path / "questions" / "mine.jsonl").write_text(rows, "utf-8")
    command = [
        sys.executable,
        "tools/bench/pruning.py",
        "--data",
        str(tmp_path),
        "--set",
        "mine",
        "--missed",
        "3",
    ]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert re.search(
        r"\| superset \| 2 \| 100\.0 \| 50\.0 \| 0\.0 \| 0\.0 \| 3\.0 of 3\.0 \|", done.stdout
    )
    assert "superset: q2" in done.stdout
