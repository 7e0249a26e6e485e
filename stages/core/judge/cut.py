"""Where the ranking is cut: never at a fixed k, always at a probability.

Which probability, for which target of strict recall, was measured on held-out databases and
stands with the model (tools/train.py). A threshold on calibrated probabilities left more out at
the same recall than cutting by the summed probability of what is left (bird-train at 99 %:
40 % against 24 % of columns).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stages.core.judge import trees
from stages.core.judge.postings import Floats

#: Limits where no model was trained: recall first.
_TABLES, _COLUMNS = 0.02, 0.0


def keep(scores: Floats, recall: float) -> NDArray[np.bool_]:
    """Which tables to keep so that a share ``recall`` of questions keeps all it needs.

    Args:
        scores: Probabilities, float32 [T].
        recall: 0…1; at 1 everything is kept, at 0 the best table and its ties.

    Returns:
        bool [T]; ties with the last kept table are kept; at least one table is.
    """
    if not len(scores):
        return np.zeros(0, dtype=bool)
    limit = 0.0 if recall >= 1.0 else min(table_limit(recall, len(scores)), float(scores.max()))
    kept: NDArray[np.bool_] = scores >= limit
    return kept


def table_limit(recall: float, n_tables: int) -> float:
    """The probability below which tables are left."""
    held = trees.model("tables")
    return held.cut_at(recall, n_tables) if held else _TABLES


def column_limit(recall: float, n_tables: int) -> float:
    """The probability below which columns of kept tables are left."""
    held = trees.model("columns")
    return (held.cut_at(recall, n_tables) if held else _COLUMNS) if recall < 1.0 else 0.0
