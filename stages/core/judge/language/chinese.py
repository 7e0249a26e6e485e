"""Chinese: cutting runs of Han into words, and what the words are in English.

The lexicon `data/zh.tsv.gz` is made by tools/make/lexicon.py from CC-CEDICT (CC BY-SA 4.0)
and a list of our own for words of finance and databases: ``word<TAB>english,english…``, the
likelier translation first. Words are cut by longest match from both ends; the cut with fewer
pieces wins.
"""

from __future__ import annotations

import gzip
import re
from functools import lru_cache
from pathlib import Path

_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]+")
_FILE = Path(__file__).parent.parent / "data" / "zh.tsv.gz"
_LONGEST = 6


def is_han(text: str) -> bool:
    """Whether the text is a run of Han characters."""
    return _HAN.fullmatch(text) is not None


def has_han(text: str) -> bool:
    """Whether the text holds any Han character."""
    return _HAN.search(text) is not None


@lru_cache(maxsize=1)
def lexicon() -> dict[str, str]:
    """Chinese word to English words, the likeliest first, with commas between them."""
    if not _FILE.exists():
        return {}
    with gzip.open(_FILE, "rt", encoding="utf-8") as lines:
        parts = lines.read().rstrip("\n").replace("\n", "\t").split("\t")
    return dict(zip(parts[::2], parts[1::2], strict=True))


@lru_cache(maxsize=50_000)
def cut(run: str) -> tuple[str, ...]:
    """The words of a run of Han."""
    known = lexicon()
    ahead, back = _ahead(run, known), _back(run, known)
    return min((back, ahead), key=lambda words: (len(words), sum(len(w) == 1 for w in words)))


def _ahead(run: str, known: dict[str, str]) -> tuple[str, ...]:
    """Longest match from the left."""
    words: list[str] = []
    at = 0
    while at < len(run):
        size = next(
            (n for n in range(min(_LONGEST, len(run) - at), 1, -1) if run[at : at + n] in known), 1
        )
        words.append(run[at : at + size])
        at += size
    return tuple(words)


def _back(run: str, known: dict[str, str]) -> tuple[str, ...]:
    """Longest match from the right."""
    words: list[str] = []
    at = len(run)
    while at > 0:
        size = next((n for n in range(min(_LONGEST, at), 1, -1) if run[at - n : at] in known), 1)
        words.append(run[at - size : at])
        at -= size
    return tuple(reversed(words))


def translations(word: str) -> tuple[str, ...]:
    """English words for a Chinese word, the likeliest first; empty where unknown."""
    found = lexicon().get(word)
    return tuple(found.split(",")) if found else ()
