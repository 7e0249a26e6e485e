"""Gradient-boosted trees as plain arrays, as `stages/core/judge/trees.py` reads them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
#: Leaves of one tree at most: each is one bit of a mask.
MOST_LEAVES = 32


def arrays_of(
    trees: Sequence[Sequence[tuple[bool, int, float, int, int, float]]],
) -> dict[str, Array]:
    """Forks and leaves of all trees.

    Args:
        trees: Nodes of each, the root first: ``(is leaf, feature, threshold, left, right, value)``.
    """
    forks: list[tuple[int, float, int]] = []
    starts, values = [], np.zeros((len(trees), MOST_LEAVES), dtype=np.float32)
    for at, nodes in enumerate(trees):
        starts.append(len(forks))
        leaves: list[float] = []
        _walk(nodes, 0, leaves, forks)
        if len(forks) == starts[-1]:
            forks.append((0, 0.0, 0))
        assert len(leaves) <= MOST_LEAVES
        values[at, : len(leaves)] = leaves
    return {
        "starts": np.array(starts, dtype=np.uint16),
        "feature": np.array([fork[0] for fork in forks], dtype=np.uint8),
        "threshold": np.array([fork[1] for fork in forks], dtype=np.float32),
        "mask": np.array([fork[2] for fork in forks], dtype=np.uint32),
        "value": values[
            :, : max(1, int((values != 0).any(axis=0).nonzero()[0].max(initial=0)) + 1)
        ],
    }


def _walk(
    nodes: Sequence[tuple[bool, int, float, int, int, float]],
    at: int,
    leaves: list[float],
    forks: list[tuple[int, float, int]],
) -> None:
    """Leaves from left to right; a fork's mask has the leaves on its left."""
    is_leaf, feature, threshold, left, right, value = nodes[at]
    if is_leaf:
        leaves.append(value)
        return
    first = len(leaves)
    _walk(nodes, left, leaves, forks)
    forks.append((feature, threshold, (1 << len(leaves)) - (1 << first)))
    _walk(nodes, right, leaves, forks)


def write(
    path: Path,
    arrays: dict[str, Array],
    names: Sequence[str],
    numbers: Sequence[float],
    cuts: Array,
) -> None:
    """Write a model: ``numbers`` are what the sum starts from, slope and offset."""
    assert len(arrays["feature"]) < 2**16
    assert len(names) < 2**8
    part = path.with_name(f"{path.stem}.part.npz")
    held: dict[str, Any] = {"names": np.array(names), "cuts": cuts, "numbers": np.array(numbers)}
    np.savez_compressed(part, **(held | arrays))
    part.replace(path)
    print(f"{path.name}: {path.stat().st_size:,} bytes, {len(arrays['feature'])} forks")


def nodes_of(models: list[Any]) -> list[list[tuple[bool, int, float, int, int, float]]]:
    """Nodes of all trees, as `arrays_of` wants them; leaves give their part of the mean."""
    names = ("is_leaf", "feature_idx", "num_threshold", "left", "right", "value")
    return [
        [
            (bool(leaf), *node, value / len(models))
            for leaf, *node, value in zip(
                *(tree.nodes[name].tolist() for name in names), strict=True
            )
        ]
        for model in models
        for [tree] in model._predictors
    ]


def save_model(
    path: Path, models: list[Any], names: list[str], calibration: tuple[float, float], cuts: Array
) -> None:
    """Write a model as plain arrays."""
    base = float(np.mean([np.ravel(model._baseline_prediction)[0] for model in models]))
    arrays = arrays_of(nodes_of(models))
    write(path, arrays, names, (base, *calibration), cuts)
