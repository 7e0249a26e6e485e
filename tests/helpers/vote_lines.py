"""Lines as `vote` writes them: one table, one task, and a command that reads them."""

from __future__ import annotations

import sys
from typing import Any

import orjson

ID = "sha256:" + "0" * 64
CATALOG = {"kind": "catalog", "v": 1, "id": ID, "name": "c"}
VOTE = {
    "task_id": "1", "per_table": {"a": False}, "relevant_tables": [], "skipped_tables": ["a"], "always_keep": [],
    "skipped_describe_keys": ["a.csv"], "reasons": {}, "all_tables": ["a"], "vote_tally": {"a": "0/1"},
    "n_rounds_ok": 1, "error": "",
}  # fmt: skip


def table(name="a"):
    column = {"name": "x", "type": "BIGINT"}
    return {
        "kind": "table",
        "catalog": ID,
        "name": name,
        "describe_key": f"{name}.csv",
        "columns": [column],
    }


def task(name="1", **more):
    return {"kind": "task", "catalog": ID, "task_id": name, "question": "how many?", **more}


def lines(*records):
    return b"".join(orjson.dumps(record) + b"\n" for record in records)


GOOD = lines(CATALOG, table(), task(vote=VOTE))
ARGV = [sys.executable, "-m", "stages", "collapse", "--quiet"]


def sampled_table(name: str) -> Any:
    """A table line of two columns."""
    return {
        "kind": "table", "catalog": "sha256:" + "0" * 64, "name": name, "aliases": [],
        "describe_key": f"{name}.csv", "source": {"kind": "csv", "path": f"{name}.csv", "bytes": 10},
        "rows": {"count": 1, "how": "exact"}, "checked": "sample", "foreign_keys": [],
        "columns": [{"name": "id", "type": "BIGINT", "nullable": False, "examples": ["1"]}],
        "sample": [{"id": "1"}], "always_keep": False, "warnings": [],
    }  # fmt: skip
