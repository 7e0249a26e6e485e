"""Measure pruning without a model: what the superset keeps of Spider's real databases.

    python tools/bench_pruning.py --data ../shared/data [--set spider-dev] [--limit N] [--missed N]

Every database is scanned as `winnow scan` does; every question goes through `plan`, `prune`
and, where they are there, `summarize`, `explore` is left out, and `refine` works on what it
is given. Counted are strict recall (the share of questions all of whose gold tables, or
tables and columns, are kept) and how much goes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from stages.core.catalog import scan_files  # noqa: E402
from stages.core.linking.columns import every  # noqa: E402
from stages.plan import plan  # noqa: E402
from stages.prune import prune  # noqa: E402
from stages.summarize import summarize  # noqa: E402


@dataclass
class Score:
    """What one section keeps, over all questions."""

    n: int = 0
    tables_ok: int = 0
    columns_ok: int = 0
    kept_tables: int = 0
    kept_columns: int = 0
    all_tables: int = 0
    all_columns: int = 0
    missed: list[str] = field(default_factory=list)

    def add(
        self, row: Mapping[str, Any], kept: Mapping[str, Iterable[str]], tables: list[Any]
    ) -> None:
        """Count one question; names are compared without regard to case."""
        have = {(t.lower(), c.lower()) for t, columns in kept.items() for c in columns}
        gold_tables = {name.lower() for name in row["gold_tables"]}
        gold = {(t.lower(), c.lower()) for t, c in row["gold_columns"]}
        lost = sorted(gold_tables - {name.lower() for name in kept})
        lost_columns = sorted(f"{t}.{c}" for t, c in gold - have)
        self.n += 1
        self.tables_ok += not lost
        self.columns_ok += not lost and not lost_columns
        self.kept_tables += len(kept)
        self.kept_columns += len(have)
        self.all_tables += len(tables)
        self.all_columns += len(every(tables))
        if lost or lost_columns:
            self.missed.append(f"{row['id']}: {row['question']} -> {lost + lost_columns}")

    def line(self, name: str) -> str:
        """The row of the printed table."""
        return (
            f"| {name} | {self.n} | {100 * self.tables_ok / self.n:.1f} | "
            f"{100 * self.columns_ok / self.n:.1f} | "
            f"{100 - 100 * self.kept_columns / self.all_columns:.1f} | "
            f"{100 - 100 * self.kept_tables / self.all_tables:.1f} | "
            f"{self.kept_columns / self.n:.1f} of {self.all_columns / self.n:.1f} |"
        )


def questions(data: Path, name: str, limit: int) -> Iterator[dict[str, Any]]:
    """Questions whose database is there, evenly drawn where there is a limit."""
    path = data / "questions" / f"{name}.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows = [r for r in rows if r["gold_tables"] and database(data, r["db_id"]).is_file()]
    step = max(1, len(rows) // limit) if limit else 1
    yield from rows[::step]


def database(data: Path, db: str) -> Path:
    """The file of a Spider database."""
    return data / "databases" / "spider" / f"{db}.sqlite"


@cache
def scanned(path: Path) -> list[Any]:
    """The table lines of a database."""
    return list(scan_files([path]).tables)


def superset_of(row: Mapping[str, Any], tables: list[Any]) -> dict[str, Any]:
    """The task with the sections of the chain on it."""
    task: Any = {"kind": "task", "task_id": row["id"], "question": row["question"]}
    if row.get("evidence"):
        task["evidence"] = row["evidence"]
    for stage in (plan, prune, summarize):
        task[stage.__name__] = asyncio.run(stage(task, tables))
    return dict(task)


def refined_by() -> Any:
    """The pure function of `refine`; None where there is none yet."""
    try:
        from stages.refine import refine
    except ImportError:
        return None
    return refine


def main() -> int:
    """Print one row for each section; 1 where the superset misses its target."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of benchmark data")
    parser.add_argument("--set", default="spider-dev", help="a set asked of Spider's databases")
    parser.add_argument("--limit", type=int, default=0, help="questions, evenly drawn; 0 is all")
    parser.add_argument(
        "--missed", type=int, default=0, help="questions to print that lost something"
    )
    given = parser.parse_args()
    scores, started = {"superset": Score(), "refined": Score()}, time.perf_counter()
    refine, unconnected = refined_by(), 0
    for row in questions(given.data, given.set, given.limit):
        tables = scanned(database(given.data, row["db_id"]))
        task = superset_of(row, tables)
        scores["superset"].add(row, task["prune"]["kept"], tables)
        if refine is not None:
            made = asyncio.run(refine(task, tables))
            chosen = made["refined_schema"].items()
            kept = {t: [c["column_name"] for c in own["relevant_columns"]] for t, own in chosen}
            scores["refined"].add(row, kept, tables)
            unconnected += bool(made["unconnected"])
    print(
        "| section | questions | strict table recall | strict column recall | columns gone | tables gone | columns a question |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, score in scores.items():
        if score.n:
            print(score.line(name))
    print(
        f"\n{given.set}, percent; {time.perf_counter() - started:.0f} s; left unconnected: {unconnected}"
    )
    for name, score in scores.items():
        for missed in score.missed[: given.missed]:
            print(f"{name}: {missed}")
    superset = scores["superset"]
    good = superset.columns_ok >= 0.97 * superset.n
    return 0 if good and superset.kept_columns <= 0.7 * superset.all_columns else 1


if __name__ == "__main__":
    sys.exit(main())
