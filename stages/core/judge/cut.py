"""Where the ranking is cut: never at a fixed k, always at a risk.

The scores are probabilities; the expected number of needed tables below the cut is their sum.
A table is kept until what is left below adds up to less than the risk that ``recall`` leaves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stages.core.judge.postings import Floats


def keep(scores: Floats, recall: float) -> NDArray[np.bool_]:
    """Which tables to keep so that the chance to lose a needed one stays below ``1 - recall``.

    Args:
        scores: Probabilities, float32 [T].
        recall: 0…1; at 1 everything is kept, at 0 the best table.

    Returns:
        bool [T]; ties with the last kept table are kept; at least one table is.
    """
    if not len(scores):
        return np.zeros(0, dtype=bool)
    order = np.argsort(-scores, kind="stable")
    left = np.append(np.cumsum(scores[order][::-1].astype(np.float64))[::-1], 0.0)
    n_kept = max(1, int(np.argmax(left <= (1.0 - recall) * risk_scale(len(scores)))))
    if recall >= 1.0:
        n_kept = len(scores)
    kept: NDArray[np.bool_] = scores >= scores[order[n_kept - 1]]
    return kept


def risk_scale(n_tables: int) -> float:
    """How far the summed probabilities overstate the chance to lose a question.

    Needed tables are lost together, so the sum counts one lost question more than once.
    """
    return 1.5 if n_tables else 1.0
