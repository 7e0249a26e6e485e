"""Inverted lists as two flat arrays, for each term the documents that hold it; and how many
joins lie between tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.integer[Any]]
"""Whole numbers; int32 where they are kept."""
Floats: TypeAlias = NDArray[np.floating[Any]]
"""Reals; float32 where they are kept."""


@dataclass(frozen=True)
class Postings:
    """Rows of documents, one row a term (or the reverse: rows of terms, one a document).

    Args:
        start: int32 [rows + 1]; row ``r`` is ``doc[start[r]:start[r + 1]]``.
        doc: int32; within a row in ascending order, each once.
    """

    start: Ints
    doc: Ints

    def row(self, at: int) -> Ints:
        """The documents of one row."""
        return self.doc[self.start[at] : self.start[at + 1]]

    def sizes(self) -> Ints:
        """Documents in each row."""
        return np.diff(self.start)


def postings(rows: Sequence[int] | Ints, docs: Sequence[int] | Ints, n_rows: int) -> Postings:
    """Group pairs of row and document by row; repeated pairs count once."""
    row = np.asarray(rows, dtype=np.int64)
    doc = np.asarray(docs, dtype=np.int64)
    width = int(doc.max()) + 1 if doc.size else 1
    pairs = np.sort(row * width + doc)
    if pairs.size:
        pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])]
    row, doc = pairs // width, pairs % width
    start = np.zeros(n_rows + 1, dtype=np.int32)
    np.cumsum(np.bincount(row, minlength=n_rows), out=start[1:])
    return Postings(start, doc.astype(np.int32))


def turned(lists: Postings, n_docs: int) -> Postings:
    """The same pairs grouped the other way round."""
    rows = np.repeat(np.arange(len(lists.start) - 1, dtype=np.int32), lists.sizes())
    return postings(lists.doc, rows, n_docs)


def counted(groups: Ints, n: int, weights: Floats | None = None) -> Floats:
    """How many (or how much) falls to each of ``n`` groups, as reals."""
    return np.bincount(groups, weights, minlength=n).astype(np.float32)


# Joins between tables, counted once for each table that is asked about.

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
