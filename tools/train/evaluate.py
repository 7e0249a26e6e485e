"""Measure the built-in judge by cross-validation over databases; write nothing.

    python tools/train/evaluate.py [--data DIR] [--small] [--judged N] [--worst SET K N]

Strict table recall at k (every needed table among the first k; table names without regard to
case), and what the adaptive cut keeps for a recall of 0.95 and 0.99, where tables count whole;
with --judged, what `link` keeps of N questions a set, tables and columns, by models that saw
nothing of the databases asked. A database that is measured was in no training set; those of
spider-dev, which spider-union joins, are in one fold.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stages.core.evaluate.gold import Gold
from stages.core.evaluate.metrics import CatalogFacts, Measure, measure
from stages.core.judge import judge
from stages.core.judge.rank import select, set_model, trees
from stages.core.judge.section import to_section
from stages.core.readers import kept
from tools.bench.data import Case, Data
from tools.train.data import Rows, last_place, recall_at

Array = np.ndarray[Any, Any]
KS = (1, 3, 5, 10, 20)


def report(rows: Sequence[Rows], tables: list[Array]) -> None:
    """Strict table recall at k by set."""
    print(f"{'set':16s}{'questions':>10s}  strict table recall @ {'/'.join(map(str, KS))}")
    for kind in sorted({row.kind for row in rows}):
        found = [(row, score) for row, score in zip(rows, tables, strict=True) if row.kind == kind]
        shares = recall_at(found, KS)
        print(
            f"{kind:16s}{len(found):10d}  "
            + " / ".join(f"{share:.1f}" for share in shares.values())
        )


def worst(rows: Sequence[Rows], tables: list[Array], kind: str, k: int, n: int) -> None:
    """Questions of a set that lost a needed table at ``k``, and what stood before it."""
    lost = [
        (row, score)
        for row, score in zip(rows, tables, strict=True)
        if row.kind == kind and last_place(row, score) >= k
    ]
    print(
        f"{len(lost)} lost at {k} in {kind}", Counter(row.case.db for row, _ in lost).most_common(9)
    )
    for row, score in lost[:: max(1, len(lost) // n)][:n]:
        order = np.argsort(-score, kind="stable")
        ranked = [
            (row.table_names[at], round(float(score[at]), 1), "*" if row.gold[at] else "")
            for at in order
        ]
        print("-", row.case.db, row.case.task["question"], "|", row.case.task.get("evidence", ""))
        print("   first:", ranked[:k])
        print(
            "   lost:",
            [(at, *item) for at, item in enumerate(ranked) if item[2] and at >= k],
            row.lost,
        )


def report_cuts(rows: Sequence[Rows], chances: list[Array], cuts: Array) -> None:
    """What the adaptive cut keeps: strict recall, tables and columns that go."""
    for target in (0.95, 0.99):
        limits = [float(np.interp(target, cuts[0, 1:], row[1:])) for row in cuts[1:]]
        print(f"--recall {target}: cut at {', '.join(f'{limit:.4f}' for limit in limits)}")
        for kind in sorted({row.kind for row in rows}):
            found = [(row, c) for row, c in zip(rows, chances, strict=True) if row.kind == kind]
            print(f"  {kind:16s}" + cut_line(found, target, cuts))


def limit_of(target: float, n_tables: int, cuts: Array) -> float:
    """As `trees.Trees.cut_at`."""
    logs = [np.interp(target, cuts[0, 1:], np.log(row[1:])) for row in cuts[1:]]
    return float(np.exp(np.interp(np.log(n_tables), np.log(cuts[1:, 0]), logs)))


def cut_line(found: list[tuple[Rows, Array]], target: float, cuts: Array) -> str:
    """One set under one cut: strict recall, tables gone in all, and tokens gone in all and as the
    mean over questions; kept tables count whole."""
    hit, tables, tokens, shares = 0, 0, 0.0, []
    for row, chance in found:
        kept = chance >= min(limit_of(target, row.n_tables, cuts), chance.max())
        hit += not row.lost and not (row.gold & ~kept).any()
        tables, tokens = tables + int(kept.sum()), tokens + float(row.tokens[kept].sum())
        shares.append(float(row.tokens[kept].sum()) / row.all_tokens)
    n = len(found)
    all_tables = sum(row.n_tables for row, _ in found)
    all_tokens = sum(row.all_tokens for row, _ in found)
    return (
        f"recall {100 * hit / n:5.1f}  tables gone {100 * (1 - tables / all_tables):5.1f} %"
        f"  tokens gone {100 * (1 - tokens / all_tokens):5.1f} %"
        f", mean of questions {100 * (1 - float(np.mean(shares))):5.1f} %"
    )


#: Prices of a loss, and targets of recall, that stand side by side.
PRICES = (500, 1000, 2000, 4000, 8000, 16000, 32000)
BESIDE = (0.8, 0.9, 0.95, 0.97, 0.98, 0.99)


def report_costs(rows: Sequence[Rows], chances: list[Array], cuts: Array) -> None:
    """Strict recall against tokens kept a question: by the cut, and by the price of a loss."""
    print("strict recall at mean tokens: the cut by --recall, then --loss-tokens")
    for kind in sorted({row.kind for row in rows}):
        found = [(row, c) for row, c in zip(rows, chances, strict=True) if row.kind == kind]
        kept = {
            f"recall {target}": [
                c >= min(limit_of(target, r.n_tables, cuts), c.max()) for r, c in found
            ]
            for target in BESIDE
        } | {f"price {price}": [by_price_of(r, c, price) for r, c in found] for price in PRICES}
        print(f"  {kind:16s}" + "  ".join(cost_point(name, found, kept[name]) for name in kept))


def by_price_of(row: Rows, chance: Array, price: float) -> Array:
    """As `select.by_cost`, with exact tokens."""
    if row.all_tokens <= select.SMALL:
        return np.ones(len(chance), dtype=bool)
    worth = np.maximum(row.tokens - select.LINE, 0.0)
    made: Array = (chance * price >= worth) | (chance == chance.max())
    return made


def cost_point(name: str, found: list[tuple[Rows, Array]], kept: list[Array]) -> str:
    """One point of the curve."""
    hits = sum(
        not row.lost and not (row.gold & ~keep).any()
        for (row, _), keep in zip(found, kept, strict=True)
    )
    tokens = sum(float(row.tokens[keep].sum()) for (row, _), keep in zip(found, kept, strict=True))
    return f"{name}: {100 * hits / len(found):.1f} at {tokens / len(found):.0f}"


#: Sets that are measured, and targets of recall.
SETS = ("spider-dev", "cspider-dev", "bird-train", "snails-native", "spider2-lite", "spider-union")
TARGETS = (0.97, 0.99)


def use_models(folder: Path) -> None:
    """Let the judge read its models from a folder."""
    trees.DATA = folder
    trees.model.cache_clear()
    set_model.FILE = folder / "jointly.json"
    set_model.weights.cache_clear()


def link_measures(
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
            use_models(folders[row.fold])
        key = (row.kind, row.case.db)
        if key not in facts:
            facts[key] = CatalogFacts(data.tables_of(row.case), row.case.db)
        for target in TARGETS:
            found_one = link_measure(data, row.case, facts[key], target)
            if found_one is not None:
                made.setdefault((row.kind, target), []).append(found_one)
    return made


def link_measure(data: Data, case: Case, facts: CatalogFacts, target: float) -> Measure | None:
    """What is kept for one question."""
    tables = data.tables_of(case)
    section = to_section(judge(case.task, tables, recall=target), tables)
    columns = tuple(sorted(case.gold_columns)) or None
    gold = Gold(case.id, case.set, case.db, tuple(sorted(case.gold)), columns)
    return measure(kept("link", section), gold, facts)


def report_links(found: dict[tuple[str, float], list[Measure]]) -> None:
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


if __name__ == "__main__":
    from tools.train.fit import main

    main([*sys.argv[1:], "--folds-only"])
