"""Confidence intervals for a mean over questions that come in clusters, one a database.

Questions on one database succeed and fail together, so databases are drawn, not
questions: the cluster bootstrap (Davison and Hinkley, Bootstrap Methods and their
Application, 1997, section 3.8), percentile interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

ROUNDS = 2000
SEED = 20260816


def interval(
    values: Mapping[str, Sequence[float]], *, level: float = 0.95, rounds: int = ROUNDS
) -> tuple[float, float] | None:
    """The interval for the mean of all values when whole clusters are drawn anew.

    Args:
        values: By cluster, the value of each of its questions.
        level: Share of drawn means inside the interval.
        rounds: Number of draws; the seed is fixed, so equal input gives equal output.

    Returns:
        Lower and upper end; None with fewer than two clusters, where databases tell
        nothing about each other.

    Example:
        >>> interval({"a": [1.0, 1.0], "b": [1.0]})
        (1.0, 1.0)
    """
    clusters = [values[name] for name in sorted(values) if values[name]]
    if len(clusters) < 2:
        return None
    import numpy as np

    sums = np.array([sum(cluster) for cluster in clusters], dtype=float)
    sizes = np.array([len(cluster) for cluster in clusters], dtype=float)
    draws = np.random.default_rng(SEED).multinomial(
        len(clusters), np.full(len(clusters), 1 / len(clusters)), size=rounds
    )
    means = (draws @ sums) / (draws @ sizes)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
