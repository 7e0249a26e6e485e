"""Probabilities and their log-odds."""

from __future__ import annotations

import numpy as np

from stages.core.judge.index.postings import Floats


def logit(chances: Floats, least: float = 1e-6) -> Floats:
    """The log-odds of probabilities, which are first brought inside ``least`` to 1 - ``least``.

    >>> logit(np.array([0.5, 0.0]), 0.1).round(3).tolist()
    [0.0, -2.197]
    """
    inside = np.clip(chances, least, 1 - least)
    made: Floats = np.log(inside / (1 - inside))
    return made


def sigmoid(log_odds: Floats) -> Floats:
    """The probabilities of log-odds.

    >>> sigmoid(np.array([0.0, 2.0])).round(3).tolist()
    [0.5, 0.881]
    """
    made: Floats = 1.0 / (1.0 + np.exp(-log_odds))
    return made
