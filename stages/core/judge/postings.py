"""Inverted lists as two flat arrays: for each term, the documents that hold it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: Arrays of whole numbers and of reals; int32 and float32 where they are kept.
Ints: TypeAlias = NDArray[np.integer[Any]]
Floats: TypeAlias = NDArray[np.floating[Any]]


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
