"""What the judge is asked and what it answers: plain immutable values, no numpy."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

EvidenceType: TypeAlias = str
"""The name of a channel of `channels.TABLE` that is told."""
How: TypeAlias = Literal["declared", "name", "value"]


@dataclass(frozen=True, slots=True)
class EvidencePiece:
    """One reason for a table or a column.

    Args:
        type: The channel it came through.
        words: Words of the question (or names of tables) that gave it, at most five.
        weight: How much of the question's weight it explains, 0 to 1 (2 digits).
        note: What it met: a column, a value, a description's word.
    """

    type: EvidenceType
    words: tuple[str, ...]
    weight: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class RankedTable:
    """A table with the calibrated probability that the answer needs it."""

    name: str
    score: float
    keep: bool
    evidence: tuple[EvidencePiece, ...] = ()


@dataclass(frozen=True, slots=True)
class RankedColumn:
    """A column with the calibrated probability that the answer needs it."""

    table: str
    name: str
    score: float
    keep: bool
    evidence: tuple[EvidencePiece, ...] = ()


@dataclass(frozen=True)
class Edge:
    """A relation between two tables, and how it was found."""

    left: str
    left_columns: tuple[str, ...]
    right: str
    right_columns: tuple[str, ...]
    how: How


@dataclass(frozen=True)
class Judgment:
    """The answer: every table in rank order; columns that are kept or have evidence;
    relations between kept tables."""

    tables: tuple[RankedTable, ...]
    columns: tuple[RankedColumn, ...]
    edges: tuple[Edge, ...]
    n_columns: int = 0
    notes: tuple[str, ...] = ()


class RuleEffect(Protocol):
    """What the user's rules say to one question: names of tables, or ``table.column``."""

    @property
    def add(self) -> tuple[str, ...]: ...
    @property
    def forbid(self) -> tuple[str, ...]: ...


class Rules(Protocol):
    """User rules (`core.judge.priors.rules`)."""

    def apply(self, question: str) -> RuleEffect: ...


ValueHits: TypeAlias = Mapping[str, Sequence[tuple[str, str]]]
"""By value, lower case, the tables and columns of the data that hold it."""


class ValueSearch(Protocol):
    """Looks up words in the data (`core.values`); ``error`` says what of
    the surroundings failed where values were asked for."""

    error: str

    def __call__(self, words: Collection[str]) -> ValueHits: ...

    def written(self, words: Collection[str]) -> Mapping[tuple[str, str], str]:
        """By table and column, the longest of the words that is a value there, as the data has
        it; empty where the data is not asked again."""


class History(Protocol):
    """Past SQL (`core.judge.priors.query_log`)."""

    def cooccurrence(self, table: str) -> Mapping[str, float]: ...
