"""Values of the question that stand whole in the data that was seen.

Exact without regard to case; numbers of five digits and more without separators; single days in
ISO form; quoted strings and names also when a letter or two differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stages.core.judge.index.postings import Ints
from stages.core.judge.judgment import ValueHits
from stages.core.judge.question.question import ParsedQuestion

if TYPE_CHECKING:
    from stages.core.judge.index.index import Index

#: A value in more columns than this says nothing about which is meant.
MOST_HOLDERS = 40
#: Values looked through for near spellings, letters of a string that may be misspelled, and
#: the least share of letters in common (percent, rapidfuzz ratio).
MOST_FUZZY, LEAST_LETTERS, LEAST_ALIKE = 100_000, 5, 88.0
NO_HITS: Mapping[str, tuple[int, ...]] = {}
#: Digits from which a bare number is a value and no count.
LEAST_DIGITS = 5


def whole_values(
    question: ParsedQuestion,
    values: Mapping[str, tuple[int, ...]],
    spellings: tuple[Sequence[str], Sequence[int] | Ints] | None = None,
    hits: Mapping[str, tuple[int, ...]] = NO_HITS,
) -> dict[int, str]:
    """Columns in which a value of the question was seen: column → as the question writes it.

    Args:
        values: Whole value, lower case → columns (`index.Index.values`).
        spellings: The values in order, and how many letters each has; found out where None.
        hits: The same of values found in the data (`hit_columns`), which go before.
    """
    found: dict[int, str] = {}
    for low, written in _exact(question):
        holders = hits.get(low) or values.get(low, ())
        if len(holders) <= MOST_HOLDERS:
            for column in holders:
                found.setdefault(column, written)
    for low, written in _near(question, values, spellings, hits):
        for column in values[low]:
            found.setdefault(column, written)
    return found


def as_indexed(question: ParsedQuestion) -> list[str]:
    """The spellings of a question under which an index has whole values."""
    return list(dict.fromkeys(low for low, _ in _exact(question)))


def is_plain_number(value: str) -> bool:
    """Whether a seen value is a number too small to mean anything by itself."""
    digits = value.replace(".", "").replace("-", "").replace(",", "")
    return digits.isdigit() and len(digits) < LEAST_DIGITS


def _exact(question: ParsedQuestion) -> Iterator[tuple[str, str]]:
    """Spellings to look up: ``(as the index has it, as written)``."""
    yield from question.quoted.items()
    yield from question.spans.items()
    for number in question.numbers:
        if len(number) >= LEAST_DIGITS:
            yield number, number
    for start, end in question.times:
        if start == end:
            day = f"{start // 10000:04d}-{start // 100 % 100:02d}-{start % 100:02d}"
            yield day, day


def _near(
    question: ParsedQuestion,
    values: Mapping[str, tuple[int, ...]],
    spellings: tuple[Sequence[str], Sequence[int] | Ints] | None,
    hits: Mapping[str, tuple[int, ...]],
) -> Iterator[tuple[str, str]]:
    """Seen values that are nearly a quoted string or a name which was not seen itself."""
    wanted = {**question.quoted, **{run.lower(): run for run in question.runs}}
    missed = {
        low: run
        for low, run in wanted.items()
        if len(low) >= LEAST_LETTERS and low not in values and low not in hits
    }
    if not missed or not values or len(values) > MOST_FUZZY:
        return
    from rapidfuzz import fuzz, process

    known, sizes = spellings or (list(values), [len(value) for value in values])
    for low, written in missed.items():
        likely = [
            known[at] for at in np.flatnonzero(_may_be_alike(len(low), np.asarray(sizes))).tolist()
        ]
        best = process.extractOne(low, likely, scorer=fuzz.ratio, score_cutoff=LEAST_ALIKE)
        if best is not None and len(values[best[0]]) <= MOST_HOLDERS:
            yield best[0], written


def _may_be_alike(size: int, sizes: Ints) -> NDArray[np.bool_]:
    """Whether strings of these lengths can reach `LEAST_ALIKE` (twice the shorter over both)."""
    made: NDArray[np.bool_] = 200.0 * np.minimum(size, sizes) >= LEAST_ALIKE * (size + sizes)
    return made


def hit_columns(index: Index, found: ValueHits) -> dict[str, tuple[int, ...]]:
    """By value that was found in the data, all columns that hold it, those of the index too."""
    number = {name: at for at, name in enumerate(index.canonical)} if found else {}
    more: dict[str, tuple[int, ...]] = {}
    for value, places in found.items():
        own = list(index.values.get(value, ()))
        for table, column in places:
            start, end = index.column_start[number[table]], index.column_start[number[table] + 1]
            own.append(int(start) + index.columns[start:end].index(column))
        more[value] = tuple(dict.fromkeys(own))
    return more
