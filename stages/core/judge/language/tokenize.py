"""From names and sentences to terms: the smallest units that are matched.

Splitting names without separators (``LISTEDSECURITY``) by a unigram model of words.

The vocabulary is `data/words.txt.gz`: one word a line, most frequent first; the cost of a word
is the logarithm of its rank (Zipf's law). Words of one and two letters come from a short
list: left to their ranks they would win every split.
"""

from __future__ import annotations

import gzip
import re
from functools import lru_cache
from math import log
from pathlib import Path
from typing import Protocol

from stages.core.judge.language import chinese
from stages.core.text import composed

#: Parts shorter than this are never split.
SHORTEST = 6
_LONGEST = 22
_FILE = Path(__file__).parent.parent / "data" / "words.txt.gz"
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


# From names and sentences to terms: the smallest units that are matched.

_PARTS = re.compile(
    r"[\u3400-\u9fff\uf900-\ufaff]+"  # Han
    r"|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]"  # humps
    r"|\d+"
    r"|[^\W\d_A-Za-z\u3400-\u9fff\uf900-\ufaff]+"  # letters of other scripts
)
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?|\d+(?:[.,]\d+)*|[^\W\d_A-Za-z]+")

_DATA = Path(__file__).parent.parent / "data"
#: Words that say nothing about which table is meant: function words and the verbs of asking.
STOP = frozenset((_DATA / "stop_en.txt").read_text(encoding="utf-8").split())
STOP_ZH = frozenset((_DATA / "stop_zh.txt").read_text(encoding="utf-8").split())


class Stemmer(Protocol):
    """What is used of Snowball's stemmer, which comes without types."""

    def stemWord(self, word: str) -> str:
        """The stem."""
        ...


@lru_cache(maxsize=1)
def _stemmer() -> Stemmer:
    import snowballstemmer

    found: Stemmer = snowballstemmer.stemmer("english")
    return found


def stem(word: str) -> str:
    """The Snowball stem of a lower-case word; words with digits or other scripts stay.

    >>> stem("countries") == stem("country")
    True
    """
    return _stem(word) if len(word) > 2 and word.isascii() and word.isalpha() else word


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    """The stem of a word of letters."""
    return str(_stemmer().stemWord(word))


@lru_cache(maxsize=200_000)
def split(name: str) -> tuple[str, ...]:
    """The lower-case words of a name, in order.

    >>> split("cust_addr"), split("shipToAddress2")
    (('cust', 'addr'), ('ship', 'to', 'address', '2'))
    """
    words: list[str] = []
    for part in _PARTS.findall(_HUMP.sub(" ", composed(name))):
        words.extend(_pieces(part))
    return tuple(words)


def _pieces(part: str) -> tuple[str, ...]:
    """A part between separators as words."""
    if chinese.is_han(part):
        return chinese.cut(part)
    low = part.lower()
    if len(low) >= SHORTEST and low.isascii() and low.isalpha():
        return cut(low)
    return (low,)


@lru_cache(maxsize=200_000)
def terms(name: str) -> tuple[str, ...]:
    """The terms of a name, in order.

    >>> terms("Ship_Addresses")
    ('ship', 'address')
    """
    return tuple(stem(word) for word in split(name))


def plain_parts(text: str) -> list[str]:
    """The lower-case parts of a text or name between separators and humps, uncut; Chinese runs
    stay whole.

    >>> plain_parts("netProfit_2 of 净利润")
    ['net', 'profit', '2', 'of', '净利润']
    """
    return [part.lower() for part in _PARTS.findall(_HUMP.sub(" ", composed(text)))]


@lru_cache(maxsize=64)
def sentence(text: str, limit: int = 100_000) -> tuple[tuple[str, int, int], ...]:
    """The words of a text with their places: ``(spelling, start, end)``.

    Identifiers are split as names are; Chinese runs are cut by dictionary. Places are those
    of the composed text.
    """
    found: list[tuple[str, int, int]] = []
    for match in _WORD.finditer(composed(text[:limit])):
        spelling, start = match.group(), match.start()
        if chinese.is_han(spelling):
            for word in chinese.cut(spelling):
                found.append((word, start, start + len(word)))
                start += len(word)
        elif spelling[0].isdigit():
            found.append((spelling, start, match.end()))
        else:
            for hump in _HUMP.sub(" ", spelling.split("'")[0]).split():
                found.append((hump, start, start + len(hump)))
                start += len(hump)
    return tuple(found)


def compact(name: str) -> str:
    """A name without separators and case: what ``ship_to`` and ``ShipTo`` share.

    >>> compact("Ship_To"), compact("ship to")
    ('shipto', 'shipto')
    """
    return re.sub(r"[\W_]+", "", composed(name)).lower()
