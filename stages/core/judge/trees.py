"""Gradient-boosted trees as plain arrays: read from a file, evaluated with numpy.

The file (`data/*.npz`, made by tools/train.py) holds no code: names of features, the nodes of all
trees one after another, and two numbers that calibrate their sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from stages.core.judge.postings import Floats, Ints

DATA = Path(__file__).parent / "data"
#: Rows evaluated at a time, to bound memory.
_CHUNK = 2000


@dataclass(frozen=True)
class Trees:
    """A model; N nodes in all.

    Args:
        names: Features, in the order of columns.
        roots: int32 [trees], the first node of each.
        feature: int32 [N]; ``threshold`` float32 [N]; ``left``, ``right`` int32 [N]: the next
            node where the feature is at most the threshold, else. A leaf leads to itself.
        value: float32 [N], what a leaf adds.
        base: What the sum starts from.
        slope, offset: Platt's calibration of the sum (fitted on held-out databases).
        depth: Steps from a root to the farthest leaf, at most.
        cuts: float32 [1 + sizes, 1 + C]: the first row targets of strict recall, the first column
            numbers of tables, the rest the probabilities to cut at.
    """

    names: tuple[str, ...]
    roots: Ints
    feature: Ints
    threshold: Floats
    left: Ints
    right: Ints
    value: Floats
    base: float
    slope: float
    offset: float
    cuts: Floats
    depth: int

    def probabilities(self, features: Mapping[str, Floats]) -> Floats:
        """Calibrated probabilities of K rows, float32 [K]."""
        rows = np.stack([features[name] for name in self.names], axis=1).astype(np.float32)
        parts = [self._sums(rows[at : at + _CHUNK]) for at in range(0, len(rows), _CHUNK)]
        total = self.slope * np.concatenate([*parts, np.zeros(0)]) + self.offset
        made: Floats = (1.0 / (1.0 + np.exp(-total))).astype(np.float32)
        return made

    def _sums(self, rows: Floats) -> Floats:
        """Sums of the leaves that rows fall into, float64 [rows]."""
        node = np.repeat(self.roots[None, :], len(rows), axis=0)
        row = (np.arange(len(rows)) * rows.shape[1])[:, None]
        flat = np.ascontiguousarray(rows).ravel()
        for _ in range(self.depth):
            low = flat[row + self.feature[node]] <= self.threshold[node]
            node = np.where(low, self.left[node], self.right[node])
        made: Floats = self.value[node].sum(axis=1, dtype=np.float64) + self.base
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
        numbers = held["numbers"]
        return Trees(
            tuple(str(part) for part in held["names"]),
            held["roots"].astype(np.int32),
            held["feature"].astype(np.int32),
            held["threshold"],
            held["left"].astype(np.int32),
            held["right"].astype(np.int32),
            held["value"].astype(np.float32),
            float(numbers[0]),
            float(numbers[1]),
            float(numbers[2]),
            held["cuts"],
            int(numbers[3]) if len(numbers) > 3 else 24,
        )
