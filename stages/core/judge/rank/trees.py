"""Gradient-boosted trees as plain arrays: read from a file, evaluated with numpy.

The file (`data/*.npz`, made by tools/train/fit.py) holds no code: names of features, the forks
of all trees one after another, and two numbers that calibrate their sum. Every fork rules out
the leaves on its left or nothing, so that the leaf a row falls into is the first that none of
the tree's forks has ruled out (QuickScorer, Lucchese et al. 2015): no walk from node to node.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from stages.core.judge.index.postings import Floats, Ints
from stages.core.judge.rank.probability import sigmoid

DATA = Path(__file__).parent.parent / "data"
#: Rows evaluated at a time, to bound memory.
_CHUNK = 128
_NONE = np.uint32(0)


@dataclass(frozen=True)
class Trees:
    """A model of N forks in all.

    Args:
        names: Features, in the order of columns.
        starts: int64 [trees], the first fork of each; every tree has one at least.
        feature: int64 [N]; ``threshold`` float32 [N, 1]: a row goes left where the feature is at
            most the threshold, else right.
        mask: uint32 [N, 1], bits of the leaves that are ruled out for a row that goes right.
        value: float32 [trees, leaves], what each leaf adds.
        base: What the sum starts from.
        slope, offset: Platt's calibration of the sum (fitted on held-out databases).
        cuts: float32 [1 + sizes, 1 + C]: the first row targets of strict recall, the first column
            numbers of tables, the rest the probabilities to cut at.
    """

    names: tuple[str, ...]
    starts: Ints
    feature: Ints
    threshold: Floats
    mask: Ints
    value: Floats
    base: float
    slope: float
    offset: float
    cuts: Floats

    def probabilities(self, features: Mapping[str, Floats]) -> Floats:
        """Calibrated probabilities of K rows, float32 [K]."""
        made: Floats = sigmoid(self.log_odds(features)).astype(np.float32)
        return made

    def log_odds(self, features: Mapping[str, Floats]) -> Floats:
        """Calibrated log-odds of K rows, float64 [K]."""
        rows = np.stack([features[name] for name in self.names]).astype(np.float32)
        parts = [self._sums(rows[:, at : at + _CHUNK]) for at in range(0, rows.shape[1], _CHUNK)]
        made: Floats = self.slope * np.concatenate([*parts, np.zeros(0)]) + self.offset
        return made

    def _sums(self, rows: Floats) -> Floats:
        """Sums of the leaves that rows fall into; ``rows`` float32 [features, rows]."""
        right = ~(rows[self.feature] <= self.threshold)
        out = np.bitwise_or.reduceat(np.where(right, self.mask, _NONE), self.starts, axis=0)
        first = ~out & (out + np.uint32(1))  # the lowest bit that is not set
        leaf = np.frexp(first.astype(np.float64))[1] - 1
        added = self.value[np.arange(len(self.value))[:, None], leaf]
        made: Floats = added.T.copy().sum(axis=1, dtype=np.float64) + self.base
        return made

    def cut_at(self, recall: float, n_tables: int) -> float:
        """The probability below which to leave out, for a target of strict recall and a catalog
        of that many tables; between the measured sizes by the logarithm of the size."""
        targets, sizes = self.cuts[0, 1:], np.log(self.cuts[1:, 0])
        logs = [np.interp(recall, targets, np.log(row[1:])) for row in self.cuts[1:]]
        return float(np.exp(np.interp(np.log(max(n_tables, 1)), sizes, logs)))


@lru_cache(maxsize=4)
def model(name: str) -> Trees | None:
    """The shipped model of that name, ``tables`` or ``columns``; None before it was trained."""
    if not (DATA / f"{name}.npz").exists():
        return None
    with np.load(DATA / f"{name}.npz", allow_pickle=False) as held:
        base, slope, offset = held["numbers"].tolist()
        return Trees(
            tuple(held["names"].tolist()),
            held["starts"].astype(np.int64),
            held["feature"].astype(np.int64),
            held["threshold"][:, None],
            held["mask"][:, None],
            held["value"],
            base,
            slope,
            offset,
            held["cuts"],
        )
