"""For which tables a word of the question speaks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stages.core.judge.match.match import Match

#: Likeness from which a word says anything about a table.
SPEAKS = 0.3


def told(match: Match) -> NDArray[np.bool_]:
    """Whether a word of the question speaks for each table, be it by a name, a description, a
    value or the time it holds; the kind of column that a question asks for is no word. bool [T]."""
    rows = [at for at, unit in enumerate(match.question.units) if unit.origin != "form"]
    made: NDArray[np.bool_] = match.when > 0
    for field, matrix in match.table.items():
        if field not in {"kind", "dname"}:
            made |= (matrix[rows] > SPEAKS).any(axis=0)
    owners = np.searchsorted(match.starts, [*match.exact, *match.spelled], side="right") - 1
    made[match.candidates[owners]] = True
    return made
