"""Train the judge's models, and measure them on databases held out.

    python tools/train.py [--data DIR] [--folds-only] [--small]

Writes stages/core/judge/data/{tables,columns}.npz: gradient-boosted trees (scikit-learn at
training time only), Platt's calibration and cuts from held-out folds. Prints the table of
`crossval` on the way. The weights by which tables are judged together go to jointly.json. Trained on Spider, CSpider and BIRD (CC BY-SA 4.0), Spider-Syn (MIT), SNAILS
(Apache-2.0) and Spider 2.0 (MIT).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import joint
import numpy as np
import plain_trees
from benchmarks import Data
from sets import FOLDS, TRAIN_SETS, Rows, last_place, merged, recall_at, single, union

from stages.core.judge import jointly

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "stages" / "core" / "judge" / "data"
Array = np.ndarray[Any, Any]
#: Trees, leaves, depth and step of both models.
DEPTH = 8
TABLES = {
    "max_iter": 200,
    "max_leaf_nodes": 24,
    "learning_rate": 0.07,
    "min_samples_leaf": 40,
    "max_depth": DEPTH,
}
COLUMNS = {
    "max_iter": 60,
    "max_leaf_nodes": 16,
    "learning_rate": 0.1,
    "min_samples_leaf": 60,
    "max_depth": DEPTH,
}
#: Targets of strict recall that cuts are measured for.
TARGETS = (0.5, 0.8, 0.9, 0.95, 0.97, 0.98, 0.985, 0.99, 0.995, 0.999)
#: Sets that a cut has to serve, each with the same weight.
SERVED = ("spider-dev", "cspider-dev", "bird-train", "snails-native", "spider2-lite", "merged")
#: Sizes of catalog that cuts are measured for: what stands for it, from, to. Sets with fewer
#: questions of a size say nothing there.
SIZES, LEAST_ASKED = ((5, 1, 9), (25, 10, 60), (300, 61, 10**6)), 80
#: Folds on which columns are calibrated.
COLUMN_FOLDS = 3
KS = (1, 3, 5, 10, 20)


def main() -> None:
    """Featurise, cross-validate, fit on everything, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--folds-only", action="store_true", help="measure; write nothing")
    parser.add_argument("--worst", nargs=3, metavar=("SET", "K", "N"), help="list lost questions")
    parser.add_argument("--small", action="store_true", help="fewer questions, for a quick look")
    args = parser.parse_args()
    rows = gathered(Data(args.data), args.small)
    tables, columns = held_out(rows, columns_too=not args.folds_only)
    slope, offset = platt(*flat(rows, tables, [row.gold for row in rows]))
    alone = [slope * score + offset + row.lowered for row, score in zip(rows, tables, strict=True)]
    print("tables alone")
    report(rows, alone)
    tables = judged_together(rows, alone)
    print("tables together")
    report(rows, tables)
    chances = [logistic(score) for score in tables]
    cuts = table_cuts(rows, chances)
    report_cuts(rows, chances, cuts)
    if args.worst:
        worst(rows, tables, args.worst[0], int(args.worst[1]), int(args.worst[2]))
    if args.folds_only:
        return
    judged = [at for at, score in enumerate(columns) if len(score)]
    asked, scores = [rows[at] for at in judged], [columns[at] for at in judged]
    column_fit = platt(*flat(asked, scores, [row.columns.gold for row in asked]))
    column_chances = [logistic(column_fit[0] * score + column_fit[1]) for score in scores]
    limits = column_cuts(asked, column_chances)
    print("column cuts", np.array2string(limits, precision=4, suppress_small=True))
    jointly.save(joint.fitted(rows, alone))
    learned = [row for row in rows if row.learned]
    x, y, w = tables_matrix(learned)
    save("tables", fit(x, y, w, TABLES), rows[0].names, (slope, offset), cuts)
    x, y, w = columns_matrix(learned)
    save("columns", fit(x, y, w, COLUMNS), asked[0].columns.names, column_fit, limits)


def gathered(data: Data, small: bool) -> list[Rows]:
    """All questions as matrices."""
    start = time.monotonic()
    limits: dict[str, int | None] = dict(TRAIN_SETS)
    if small:
        limits |= {
            "bird-train": 1200,
            "spider-train": 400,
            "spider-syn-dev": 200,
            "spider-dev": 500,
            "cspider-dev": 500,
            "snails-regular": 100,
        }
    rows = list(single(data, limits))
    rows += merged(data, 10 if small else 12, 40)
    rows += union(data, 250)
    print(f"{len(rows)} questions in {time.monotonic() - start:.0f} s", file=sys.stderr)
    return rows


def held_out(rows: Sequence[Rows], columns_too: bool) -> tuple[list[Array], list[Array]]:
    """Raw sums for the tables and columns of every question by models that saw nothing of its fold."""
    tables: list[Array] = [np.zeros(0)] * len(rows)
    columns: list[Array] = [np.zeros(0)] * len(rows)
    for fold in range(FOLDS):
        learned = [row for row in rows if row.fold != fold and row.learned]
        by_table = fit(*tables_matrix(learned), TABLES)
        by_column = (
            fit(*columns_matrix(learned), COLUMNS) if columns_too and fold < COLUMN_FOLDS else None
        )
        for at, row in enumerate(rows):
            if row.fold == fold:
                tables[at] = raw(by_table, row.x)
                if by_column is not None and len(row.columns.gold):
                    columns[at] = raw(by_column, row.columns.x)
    return tables, columns


def judged_together(rows: Sequence[Rows], alone: list[Array]) -> list[Array]:
    """Log-odds with the likeliest tables judged together, by weights that saw nothing of the fold."""
    made = list(alone)
    for fold in range(FOLDS):
        others = [at for at, row in enumerate(rows) if row.fold != fold]
        weights = joint.fitted([rows[at] for at in others], [alone[at] for at in others])
        for at, row in enumerate(rows):
            if row.fold == fold:
                made[at] = joint.refined(row, alone[at], weights)
    return made


def weight_of(rows: Sequence[Rows]) -> dict[str, float]:
    """Sets weigh by the square root of their number of questions."""
    counts = Counter(row.kind for row in rows)
    return {kind: (1000 / count) ** 0.5 for kind, count in counts.items()}


def tables_matrix(rows: Sequence[Rows]) -> tuple[Array, Array, Array]:
    """Rows to learn tables from; of large catalogs the likeliest 40 and a few others."""
    rng = np.random.default_rng(0)
    weights = weight_of(rows)
    chosen = [kept_places(row, rng) for row in rows]
    x = np.concatenate([row.x[at] for row, at in zip(rows, chosen, strict=True)])
    y = np.concatenate([row.gold[at] for row, at in zip(rows, chosen, strict=True)])
    w = np.concatenate(
        [np.full(len(at), weights[row.kind]) for row, at in zip(rows, chosen, strict=True)]
    )
    return x, y, w


def kept_places(row: Rows, rng: np.random.Generator) -> Array:
    """Candidates to learn from."""
    if len(row.gold) <= 50:
        return np.arange(len(row.gold))
    likely = np.argsort(-row.x[:, row.names.index("p")])[:40]
    others = rng.choice(len(row.gold), 15, replace=False)
    return np.unique(np.concatenate([likely, others, np.flatnonzero(row.gold)]))


def columns_matrix(rows: Sequence[Rows]) -> tuple[Array, Array, Array]:
    """Rows to learn columns from."""
    weights = weight_of(rows)
    asked = [row for row in rows if row.columns.gold.any()]
    x = np.concatenate([row.columns.x for row in asked])
    y = np.concatenate([row.columns.gold for row in asked])
    w = np.concatenate([np.full(len(row.columns.gold), weights[row.kind]) for row in asked])
    return x, y, w


def fit(x: Array, y: Array, w: Array, how: dict[str, Any]) -> Any:
    """Gradient-boosted trees."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        **how, l2_regularization=5.0, max_features=0.4, early_stopping=False, random_state=0
    )
    return model.fit(x, y, sample_weight=w)


def raw(model: Any, x: Array) -> Array:
    """Sums of leaves."""
    return model.decision_function(x) if len(x) else np.zeros(0)  # type: ignore[no-any-return]


def logistic(values: Array) -> Array:
    """1 / (1 + e^-x)."""
    return 1.0 / (1.0 + np.exp(-values))  # type: ignore[no-any-return]


def flat(
    rows: Sequence[Rows], scores: list[Array], gold: list[Array]
) -> tuple[Array, Array, Array]:
    """Scores, answers and weights of all rows end to end."""
    weights = weight_of(rows)
    w = [np.full(len(score), weights[row.kind]) for row, score in zip(rows, scores, strict=True)]
    return np.concatenate(scores), np.concatenate(gold), np.concatenate(w)


def platt(score: Array, gold: Array, weight: Array) -> tuple[float, float]:
    """Slope and offset that calibrate sums."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1e6).fit(score[:, None], gold, sample_weight=weight)
    return float(model.coef_[0, 0]), float(model.intercept_[0])


def table_cuts(rows: Sequence[Rows], chances: list[Array]) -> Array:
    """For each target and size of catalog, the probability of the lowest needed table in that
    share of questions."""
    lowest = [
        (row.kind, row.n_tables, float(chance[row.gold].min()))
        for row, chance in zip(rows, chances, strict=True)
        if row.kind in SERVED and not row.lost and row.gold.any()
    ]
    return cuts_of(lowest)


def column_cuts(rows: Sequence[Rows], chances: list[Array]) -> Array:
    """The same for needed columns that are no keys (keys of kept tables are kept anyway)."""
    lowest = []
    key = rows[0].columns.names.index("key")
    for row, chance in zip(rows, chances, strict=True):
        plain = row.columns.gold & (row.columns.x[:, key] == 0)
        if row.kind in SERVED and plain.any():
            lowest.append((row.kind, row.n_tables, float(chance[plain].min())))
    return cuts_of(lowest)


def cuts_of(lowest: list[tuple[str, int, float]]) -> Array:
    """The geometric mean over sets of the quantiles, as `trees.Trees.cuts` wants them."""
    made = np.zeros((1 + len(SIZES), 1 + len(TARGETS)), dtype=np.float32)
    made[0, 1:] = TARGETS
    for at, (size, least, most) in enumerate(SIZES):
        inside = [(kind, chance) for kind, n, chance in lowest if least <= n <= most]
        by_set = [np.array([c for k, c in inside if k == kind]) for kind in SERVED]
        made[at + 1, 0] = size
        for to, target in enumerate(TARGETS):
            parts = [
                np.quantile(found, 1.0 - target) for found in by_set if len(found) >= LEAST_ASKED
            ]
            made[at + 1, to + 1] = np.exp(np.mean(np.log(np.array(parts) + 1e-6)))
    return made


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


def nodes_of(model: Any) -> list[list[tuple[bool, int, float, int, int, float]]]:
    """Nodes of all trees, as `plain_trees.arrays_of` wants them."""
    names = ("is_leaf", "feature_idx", "num_threshold", "left", "right", "value")
    return [
        [
            (bool(node[0]), *node[1:])
            for node in zip(*(tree.nodes[name].tolist() for name in names), strict=True)
        ]
        for [tree] in model._predictors
    ]


def save(
    name: str, model: Any, names: list[str], calibration: tuple[float, float], cuts: Array
) -> None:
    """Write a model as plain arrays."""
    base = float(np.ravel(model._baseline_prediction)[0])
    arrays = plain_trees.arrays_of(nodes_of(model))
    plain_trees.save(OUT / f"{name}.npz", arrays, names, (base, *calibration), cuts)


if __name__ == "__main__":
    main()
