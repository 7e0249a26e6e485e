"""Measure linking down to columns without a model, on Spider's real databases.

    python tools/bench/pruning.py --data ../shared/data [--set spider-dev] [--limit N] [--missed N]

Every database is scanned as `winnow scan` does; every question goes through `plan`, `prune`,
`summarize`, `explore` and `refine` with builtin, on the real data. Counted are strict recall
(the share of questions all of whose gold tables, or tables and columns, are kept; names are
compared without regard to case) and how much goes: ``superset`` is what `prune` keeps,
``refined`` what `refine` chooses. The status is 1 where a target is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stages.core.catalog import scan_files
from stages.core.linking.column_refs import every
from stages.core.linking.join_graph import relations_of
from stages.core.sandbox.result_cache import ResultCache
from stages.core.sandbox.session import Data, SessionOptions
from stages.explore import explore
from stages.plan import plan
from stages.prune import prune
from stages.refine import refine
from stages.summarize import summarize

ROOT = Path(__file__).resolve().parents[2]


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


class Databases:
    """Databases opened one after the other; what their statements gave is kept.

    Args:
        folder: For loaded tables and results.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept = ResultCache(folder / "results")
        self._open: dict[Path, tuple[list[Any], Data]] = {}

    def of(self, path: Path) -> tuple[list[Any], Data]:
        """The table lines and the data of a database; those before it are put to rest."""
        if path not in self._open:
            for _, earlier in self._open.values():
                earlier.rest()
            found = scan_files([path])
            tables = list(found.tables)
            ways = SessionOptions(kept=self._kept, tables=self._folder / "tables")
            self._open[path] = tables, Data(found.catalog, tables, ways)
        return self._open[path]

    def close(self) -> None:
        """End what is running."""
        for _, data in self._open.values():
            data.close()
        self._kept.close()


def linked(row: Mapping[str, Any], tables: list[Any], data: Data) -> dict[str, Any]:
    """The task with the sections of the chain on it."""
    task: Any = {"kind": "task", "task_id": row["id"], "question": row["question"]}
    if row.get("evidence"):
        task["evidence"] = row["evidence"]
    for stage in (plan, prune, summarize):
        task[stage.__name__] = asyncio.run(stage(task, tables))
    task["explore"] = asyncio.run(explore(task, tables, database=data))
    task["refine"] = asyncio.run(refine(task, tables))
    return dict(task)


def connectable(section: Mapping[str, Any], tables: list[Any]) -> bool:
    """Whether a refined schema is left unconnected although keys of the catalog connect it."""
    return bool(relations_of(tables).paths(list(section["refined_schema"])))


def main() -> int:
    """Print one row for each section; 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of benchmark data")
    parser.add_argument("--set", default="spider-dev", help="a set asked of Spider's databases")
    parser.add_argument("--limit", type=int, default=0, help="questions, evenly drawn; 0 is all")
    parser.add_argument(
        "--missed", type=int, default=0, help="questions to print that lost something"
    )
    given = parser.parse_args()
    scores, started = {"superset": Score(), "refined": Score()}, time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        parts, lost = measured(given, scores, Path(folder))
    print(
        "| section | questions | strict table recall | strict column recall | columns gone | "
        "tables gone | columns a question |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, score in scores.items():
        if score.n:
            print(score.line(name))
    print(f"\n{given.set}, percent; {time.perf_counter() - started:.0f} s")
    print(f"refined schemas in several parts: {parts}; though keys would join them: {lost}")
    for name, score in scores.items():
        for missed in score.missed[: given.missed]:
            print(f"{name}: {missed}")
    superset, refined = scores["superset"], scores["refined"]
    good = superset.columns_ok >= 0.97 * superset.n and refined.tables_ok >= 0.95 * refined.n
    return 0 if good and not lost and superset.kept_columns <= 0.7 * superset.all_columns else 1


def measured(
    given: argparse.Namespace, scores: Mapping[str, Score], folder: Path
) -> tuple[int, int]:
    """Fill the scores; refined schemas in several parts, and those that keys would join."""
    databases, parts, lost = Databases(folder), 0, 0
    for row in questions(given.data, given.set, given.limit):
        tables, data = databases.of(database(given.data, row["db_id"]))
        task = linked(row, tables, data)
        scores["superset"].add(row, task["prune"]["kept"], tables)
        chosen = task["refine"]["refined_schema"].items()
        kept = {t: [c["column_name"] for c in own["relevant_columns"]] for t, own in chosen}
        scores["refined"].add(row, kept, tables)
        parts += bool(task["refine"]["unconnected"])
        lost += connectable(task["refine"], tables)
    databases.close()
    return parts, lost


if __name__ == "__main__":
    sys.exit(main())
