"""Measure the judge through its front door, with models that saw nothing of the databases asked.

Where `train.report_cuts` counts tables whole, this counts what `link` keeps: tables and columns.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from benchmarks import Case, Data
from sets import Rows

from stages.core.evaluate.gold import Gold
from stages.core.evaluate.metrics import CatalogFacts, Measure, measure
from stages.core.evaluate.sections import kept
from stages.core.judge import judge
from stages.core.judge.rank import set_model, trees
from stages.core.judge.section import to_section

#: Sets that are measured, and targets of recall.
SETS = ("spider-dev", "cspider-dev", "bird-train", "snails-native", "spider2-lite", "spider-union")
TARGETS = (0.97, 0.99)


def use(folder: Path) -> None:
    """Let the judge read its models from a folder."""
    trees.DATA = folder
    trees.model.cache_clear()
    set_model.FILE = folder / "jointly.json"
    set_model.weights.cache_clear()


def measured(
    data: Data, rows: Sequence[Rows], folders: Sequence[Path], n: int
) -> dict[tuple[str, float], list[Measure]]:
    """Measures by set and target, of at most ``n`` questions a set; ``folders`` by fold."""
    chosen: list[Rows] = []
    for kind in SETS:
        found = [row for row in rows if row.kind == kind]
        chosen += random.Random(4).sample(found, min(n, len(found)))
    made: dict[tuple[str, float], list[Measure]] = {}
    facts: dict[tuple[str, str], CatalogFacts] = {}
    for row in sorted(chosen, key=lambda row: (row.fold, row.kind, row.case.db)):
        if folders[row.fold] != trees.DATA:
            use(folders[row.fold])
        key = (row.kind, row.case.db)
        if key not in facts:
            facts[key] = CatalogFacts(data.tables_of(row.case), row.case.db)
        for target in TARGETS:
            found_one = one(data, row.case, facts[key], target)
            if found_one is not None:
                made.setdefault((row.kind, target), []).append(found_one)
    return made


def one(data: Data, case: Case, facts: CatalogFacts, target: float) -> Measure | None:
    """What is kept for one question."""
    tables = data.tables_of(case)
    section = to_section(judge(case.task, tables, recall=target), tables)
    columns = tuple(sorted(case.gold_columns)) or None
    gold = Gold(case.id, case.set, case.db, tuple(sorted(case.gold)), columns)
    return measure(kept("link", section), gold, facts)


def report(found: dict[tuple[str, float], list[Measure]]) -> None:
    """One line a set and target; means over questions."""
    for (kind, target), measures in sorted(found.items()):
        n = len(measures)
        columns = [m.column_strict for m in measures if m.column_strict is not None]
        print(
            f"  {kind:16s}{target:5.2f}{n:6d} asked"
            f"  strict tables {100 * sum(m.table_strict for m in measures) / n:5.1f}"
            f"  strict columns {100 * sum(columns) / max(len(columns), 1):5.1f}"
            f"  tokens gone {100 * (1 - sum(m.tokens_share for m in measures) / n):5.1f} %,"
            f" with columns {100 * (1 - sum(m.tokens_narrow_share for m in measures) / n):5.1f} %"
        )
