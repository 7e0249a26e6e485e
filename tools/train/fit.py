"""Train the judge's models, and measure them on databases held out.

    python tools/train/fit.py [--data DIR] [--folds-only] [--small] [--judged N]

Writes stages/core/judge/data/{tables,columns}.npz: gradient-boosted trees (scikit-learn at
training time only), Platt's calibration and cuts from held-out folds. Prints the table of
tools/train/evaluate.py on the way. The weights by which tables are judged together go to
jointly.json. Trained on Spider, CSpider and BIRD (CC BY-SA 4.0), Spider-Syn (MIT), SNAILS
(Apache-2.0) and Spider 2.0 (MIT).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from stages.core.judge.rank import set_model
from stages.core.judge.rank.probability import sigmoid
from tools.bench.data import Data
from tools.train import described, export
from tools.train import set_model as joint
from tools.train.data import FOLDS, TRAIN_SETS, Rows, merged, single, union
from tools.train.evaluate import (
    link_measures,
    report,
    report_costs,
    report_cuts,
    report_links,
    worst,
)

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "stages" / "core" / "judge" / "data"
Array = np.ndarray[Any, Any]
#: A fold's models of tables and of columns.
Pair: TypeAlias = tuple[list[Any], list[Any] | None]
#: Trees, leaves, depth and step of both models.
DEPTH = 8
TABLES = {
    "max_iter": 140,
    "max_leaf_nodes": 24,
    "learning_rate": 0.08,
    "min_samples_leaf": 40,
    "max_depth": DEPTH,
}
COLUMNS = {
    "max_iter": 50,
    "max_leaf_nodes": 16,
    "learning_rate": 0.1,
    "min_samples_leaf": 60,
    "max_depth": DEPTH,
}
#: Models with other random features, whose mean is taken.
TIMES = 2
#: Targets of strict recall that cuts are measured for.
TARGETS = (0.5, 0.8, 0.9, 0.95, 0.97, 0.98, 0.985, 0.99, 0.995, 0.999)
#: Sets that a cut has to serve, each with the same weight.
SERVED = (
    "spider-dev",
    "cspider-dev",
    "bird-train",
    "snails-native",
    "spider2-lite",
    "merged",
    "described-en",
    "described-zh",
)
#: Sizes of catalog that cuts are measured for: what stands for it, from, to. Sets with fewer
#: questions of a size say nothing there.
SIZES, LEAST_ASKED = ((4, 1, 6), (9, 7, 12), (25, 13, 60), (300, 61, 10**6)), 80
#: How much the set that needs the lowest cut counts: 0 is the mean of logarithms, infinity the
#: lowest.
HARDEST = 0.5


def main(argv: Sequence[str] | None = None) -> None:
    """Featurise, cross-validate, fit on everything, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--folds-only", action="store_true", help="measure; write nothing")
    parser.add_argument("--worst", nargs=3, metavar=("SET", "K", "N"), help="list lost questions")
    parser.add_argument("--small", action="store_true", help="fewer questions, for a quick look")
    parser.add_argument("--judged", type=int, metavar="N", help="N questions a set through link")
    args = parser.parse_args(argv)
    data = Data(args.data)
    rows = gathered(data, args.small)
    columns_too = not args.folds_only or args.judged is not None
    tables, columns, models = held_out(rows, columns_too)
    slope, offset = platt(*flat(rows, tables, [row.gold for row in rows]))
    alone = [slope * score + offset + row.lowered for row, score in zip(rows, tables, strict=True)]
    print("tables alone")
    report(rows, alone)
    tables, weights = judged_together(rows, alone)
    print("tables together")
    report(rows, tables)
    chances = [sigmoid(score) for score in tables]
    cuts = table_cuts(rows, chances)
    report_cuts(rows, chances, cuts)
    report_costs(rows, chances, cuts)
    if args.worst:
        worst(rows, tables, args.worst[0], int(args.worst[1]), int(args.worst[2]))
    if not columns_too:
        return
    fitted = ((slope, offset), cuts, *column_calibration(rows, columns))
    if args.judged is not None:
        with tempfile.TemporaryDirectory() as folder:
            folders = [Path(folder) / str(fold) for fold in range(FOLDS)]
            for where, pair, own in zip(folders, models, weights, strict=True):
                write(where, rows, pair, own, fitted)
            report_links(link_measures(data, rows, folders, args.judged))
    if not args.folds_only:
        learned = [row for row in rows if row.learned]
        pair = (fit(*tables_matrix(learned), TABLES), fit(*columns_matrix(learned), COLUMNS))
        write(OUT, rows, pair, joint.fitted(rows, alone), fitted)


Fitted: TypeAlias = tuple[tuple[float, float], Array, tuple[float, float], Array]


def column_calibration(
    rows: Sequence[Rows], columns: list[Array]
) -> tuple[tuple[float, float], Array]:
    """Calibration and cuts of columns."""
    judged_at = [at for at, score in enumerate(columns) if len(score)]
    asked, scores = [rows[at] for at in judged_at], [columns[at] for at in judged_at]
    found = platt(*flat(asked, scores, [row.columns.gold for row in asked]))
    limits = column_cuts(asked, [sigmoid(found[0] * score + found[1]) for score in scores])
    print("column cuts", np.array2string(limits, precision=4, suppress_small=True))
    return found, limits


def write(folder: Path, rows: Sequence[Rows], models: Pair, weights: Array, fitted: Fitted) -> None:
    """Write all that the judge reads."""
    by_table, by_column, cuts, limits = fitted[0], fitted[2], fitted[1], fitted[3]
    folder.mkdir(parents=True, exist_ok=True)
    assert models[1] is not None, "columns were left out"
    names = next(row.columns.names for row in rows if row.columns.names)
    export.save_model(folder / "tables.npz", models[0], rows[0].names, by_table, cuts)
    export.save_model(folder / "columns.npz", models[1], names, by_column, limits)
    set_model.save(weights, folder / "jointly.json")


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
    rows += described.catalogs(data, 4 if small else 8)
    rows += union(data, 250 if small else None)
    print(f"{len(rows)} questions in {time.monotonic() - start:.0f} s", file=sys.stderr)
    return rows


def held_out(
    rows: Sequence[Rows], columns_too: bool
) -> tuple[list[Array], list[Array], list[Pair]]:
    """Raw sums for the tables and columns of every question by models that saw nothing of its fold,
    and these models by fold."""
    tables: list[Array] = [np.zeros(0)] * len(rows)
    columns: list[Array] = [np.zeros(0)] * len(rows)
    _asked[:] = rows
    with ProcessPoolExecutor(mp_context=get_context("fork")) as pool:
        models = list(pool.map(_fitted_without, range(FOLDS), [columns_too] * FOLDS))
    for at, row in enumerate(rows):
        by_table, by_column = models[row.fold]
        tables[at] = raw(by_table, row.x)
        if by_column is not None and len(row.columns.gold):
            columns[at] = raw(by_column, row.columns.x)
    return tables, columns, models


#: What processes learn from; they are forked, so that it is not sent to them.
_asked: list[Rows] = []


def _fitted_without(fold: int, columns_too: bool) -> Pair:
    """Models of tables and columns that saw nothing of a fold."""
    learned = [row for row in _asked if row.fold != fold and row.learned]
    by_table = fit(*tables_matrix(learned), TABLES)
    return by_table, fit(*columns_matrix(learned), COLUMNS) if columns_too else None


def judged_together(rows: Sequence[Rows], alone: list[Array]) -> tuple[list[Array], list[Array]]:
    """Log-odds with the likeliest tables judged together, by weights that saw nothing of the fold;
    and these weights by fold."""
    made, used = list(alone), []
    for fold in range(FOLDS):
        others = [at for at, row in enumerate(rows) if row.fold != fold]
        weights = joint.fitted([rows[at] for at in others], [alone[at] for at in others])
        used.append(weights)
        for at, row in enumerate(rows):
            if row.fold == fold:
                made[at] = joint.refined(row, alone[at], weights)
    return made, used


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


def fit(x: Array, y: Array, w: Array, how: dict[str, Any]) -> list[Any]:
    """Gradient-boosted trees, several times: their mean is steadier than one."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    fixed = {"l2_regularization": 5.0, "max_features": 0.4, "early_stopping": False}
    return [
        HistGradientBoostingClassifier(**how, **fixed, random_state=seed).fit(x, y, sample_weight=w)
        for seed in range(TIMES)
    ]


def raw(models: list[Any], x: Array) -> Array:
    """Mean sums of leaves."""
    if not len(x):
        return np.zeros(0)
    return np.mean([model.decision_function(x) for model in models], axis=0)  # type: ignore[no-any-return]


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
    """A mean over sets of the quantiles, as `trees.Trees.cuts` wants them."""
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
            wanted = np.log(np.array(parts) + 1e-6)
            made[at + 1, to + 1] = np.exp(-np.log(np.mean(np.exp(-HARDEST * wanted))) / HARDEST)
    return made


if __name__ == "__main__":
    main()
