"""Joins between tables, counted once for each table that is asked about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from stages.core.judge.postings import Floats, Ints

#: Joins on a path at most; farther is `FAR`.
MOST_JOINS, FAR = 4, 9.0


@dataclass
class Distances:
    """Numbers of joins from a table to all others, remembered.

    Args:
        near: Numbers of the neighbours of each table.
    """

    near: Sequence[Ints]
    memory: dict[int, Floats] = field(default_factory=dict)

    def between(self, start: int, others: Ints) -> Floats:
        """Joins from one table to each of the others, `FAR` where there is no way."""
        if start not in self.memory:
            self.memory[start] = self._walk(start)
        return self.memory[start][others]

    def _walk(self, start: int) -> Floats:
        """Breadth first, at most `MOST_JOINS` deep."""
        away = np.full(len(self.near), FAR, dtype=np.float32)
        away[start] = 0.0
        edge = [start]
        for joins in range(1, MOST_JOINS + 1):
            reached = {int(o) for at in edge for o in self.near[at] if away[o] == FAR}
            if not reached:
                break
            edge = sorted(reached)
            away[edge] = joins
        return away
