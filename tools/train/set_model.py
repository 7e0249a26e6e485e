"""Fit the weights by which tables are judged together (`stages.core.judge.rank.set_model`).

A log-linear model over all sets of the likeliest tables: the weights make the sets that were needed
the likeliest (maximum likelihood, a small penalty on their squares).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from stages.core.judge.rank import set_model
from tools.train.data import Rows

Array = np.ndarray[Any, Any]
#: Questions of one set that are enough for two dozen weights; penalty; steps at most.
ENOUGH, PENALTY, STEPS = 500, 1e-4, 80
#: Features that hardly vary are not scaled up beyond this.
LEAST_SPREAD = 0.05


def near_of(row: Rows, log_odds: Array) -> tuple[Array, set_model.SetContext]:
    """The likeliest tables by place, and what they say together."""
    places = set_model.top_with_ties(log_odds)
    return places, row.around.only(places)


def needed_set(row: Rows, places: Array) -> int | None:
    """Which set was needed; None where these tables do not hold it or it is too large."""
    gold = row.gold[places]
    if row.lost or gold.sum() != row.gold.sum() or not gold.any():
        return None
    same = (set_model.members(len(places)) == gold).all(axis=1)
    return int(same.argmax()) if same.any() else None


def examples(rows: Sequence[Rows], log_odds: Sequence[Array]) -> Iterator[tuple[Array, int]]:
    """Features of all sets of a question, and which one was needed."""
    taken: dict[str, int] = {}
    for row, own in zip(rows, log_odds, strict=True):
        if row.learned and len(own) > 1 and taken.get(row.kind, 0) < ENOUGH:
            places, near = near_of(row, own)
            if len(places) < 2:
                continue
            needed = needed_set(row, places)
            if needed is not None:
                taken[row.kind] = taken.get(row.kind, 0) + 1
                yield set_model.features(own[places].astype(np.float32), near), needed


def fitted(rows: Sequence[Rows], log_odds: Sequence[Array]) -> Array:
    """Weights of the features, from questions and the log-odds of their tables alone."""
    from scipy.optimize import minimize

    order = np.random.default_rng(0).permutation(len(rows))
    found = list(examples([rows[at] for at in order], [log_odds[at] for at in order]))
    spread = np.concatenate([x for x, _ in found[::5]]).std(axis=0).clip(min=LEAST_SPREAD)
    scaled = [(x / spread, needed) for x, needed in found]

    def loss(weights: Array) -> tuple[float, Array]:
        """Mean negative logarithm of the needed sets' chances, and its slope."""
        total, slope = 0.0, np.zeros_like(weights)
        for x, needed in scaled:
            score = x @ weights
            share = np.exp(score - score.max())
            share /= share.sum()
            total -= float(np.log(share[needed] + 1e-30))
            slope += share @ x - x[needed]
        n = len(scaled)
        return total / n + PENALTY * float(weights @ weights), slope / n + 2 * PENALTY * weights

    start = np.zeros(len(spread))
    best = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    print(f"judged together: {len(found)} questions, mean loss {best.fun:.3f}")
    weights: Array = best.x / spread
    return weights


def refined(row: Rows, log_odds: Array, weights: Array) -> Array:
    """Log-odds of all candidates, those of the likeliest judged together."""
    made = np.array(log_odds, dtype=np.float64)
    if len(made) > 1:
        places, near = near_of(row, log_odds)
        if len(places) > 1:
            made[places] = set_model.blended_log_odds(made[places], near, weights)
    return made
