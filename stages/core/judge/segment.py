"""Splitting names without separators (``LISTEDSECURITY``) by a unigram model of words.

The vocabulary is `data/words.txt.gz`: one word a line, most frequent first; the cost of a word
is the logarithm of its rank (Zipf's law). Words of one and two letters come from a short
list: left to their ranks they would win every split.
"""

from __future__ import annotations

import gzip
from functools import lru_cache
from math import log
from pathlib import Path

#: Parts shorter than this are never split.
SHORTEST = 6
_LONGEST = 22
_FILE = Path(__file__).parent / "data" / "words.txt.gz"
_SMALL = frozenset(
    [
        "id",
        "no",
        "of",
        "to",
        "in",
        "by",
        "on",
        "at",
        "is",
        "us",
        "uk",
        "eu",
        "tv",
        "cd",
        "ip",
        "qty",
        "num",
        "cnt",
        "amt",
    ]
)
#: Cost of a letter that no word covers, in units of log rank.
_UNKNOWN = 16.0


@lru_cache(maxsize=1)
def costs() -> dict[str, float]:
    """Cost of every known word: log(rank + 1) plus a constant for each cut."""
    if not _FILE.exists():
        return {}
    with gzip.open(_FILE, "rt", encoding="ascii") as lines:
        words = lines.read().split()
    scale = log(len(words) + 1)
    return dict(
        zip(words, map(log, (rank * scale for rank in range(1, len(words) + 1))), strict=True)
    )


@lru_cache(maxsize=50_000)
def cut(part: str) -> tuple[str, ...]:
    """The likeliest words of a lower-case part; the part itself where it is a word
    or where the words found do not cover it.

    >>> cut("listedsecurity")
    ('listed', 'security')
    """
    table = costs()
    if part in table or not table:
        return (part,)
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, len(part) + 1):
        best.append(min(_steps(part, end, best, table)))
    return _words(part, best, table)


def _steps(
    part: str, end: int, best: list[tuple[float, int]], table: dict[str, float]
) -> list[tuple[float, int]]:
    """Costs of all ways to end a word at ``end``: ``(cost, start)``."""
    ways = [(best[end - 1][0] + _UNKNOWN, end - 1)]
    for start in range(max(0, end - _LONGEST), end):
        word = part[start:end]
        if word in table and (len(word) > 2 or word in _SMALL):
            ways.append((best[start][0] + table[word] + 1.0, start))
    return ways


def _words(part: str, best: list[tuple[float, int]], table: dict[str, float]) -> tuple[str, ...]:
    """Walk back through the best starts; give up when too much is not covered."""
    words: list[str] = []
    end = len(part)
    while end:
        start = best[end][1]
        words.append(part[start:end])
        end = start
    loose = sum(len(word) for word in words if word not in table)
    return (part,) if loose > 1 or len(words) > 5 else tuple(reversed(words))
