"""From names and sentences to terms: the smallest units that are matched.

A name is split at camel humps, underscores, digits and scripts; a part without separators
(``LISTEDSECURITY``) by a unigram model (`segment`); Chinese by dictionary (`chinese`).
Terms are lower-case Snowball stems; Chinese terms stand as they are.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from stages.core.judge import chinese, segment
from stages.core.text import composed

_PARTS = re.compile(
    r"[\u3400-\u9fff\uf900-\ufaff]+"  # Han
    r"|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]"  # humps
    r"|\d+"
    r"|[^\W\d_A-Za-z\u3400-\u9fff\uf900-\ufaff]+"  # letters of other scripts
)
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?|\d+(?:[.,]\d+)*|[^\W\d_A-Za-z]+")

_DATA = Path(__file__).parent / "data"
#: Words that say nothing about which table is meant: function words and the verbs of asking.
STOP = frozenset((_DATA / "stop_en.txt").read_text(encoding="utf-8").split())
STOP_ZH = frozenset((_DATA / "stop_zh.txt").read_text(encoding="utf-8").split())


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("english")


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
    if len(low) >= segment.SHORTEST and low.isascii() and low.isalpha():
        return segment.cut(low)
    return (low,)


@lru_cache(maxsize=200_000)
def terms(name: str) -> tuple[str, ...]:
    """The terms of a name, in order.

    >>> terms("Ship_Addresses")
    ('ship', 'address')
    """
    return tuple(stem(word) for word in split(name))


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
