"""What words mean beside themselves: near ones, what they ask for, what they are names of.

Words near in meaning, as a compact table.

`data/synonyms.txt.gz` is made by tools/make/synonyms.py from WordNet 3.0 (Princeton licence) and
from distances of word vectors: ``term<TAB>other:likeness other:likeness``; terms are stems.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from stages.core.judge.language import tokenize

_FILE = Path(__file__).parent.parent / "data" / "synonyms.txt.gz"


@lru_cache(maxsize=1)
def _lines() -> dict[str, str]:
    """Term to the rest of its line; parsed only when the term is asked for."""
    if not _FILE.exists():
        return {}
    with gzip.open(_FILE, "rt", encoding="ascii") as lines:
        parts = lines.read().rstrip("\n").replace("\n", "\t").split("\t")
    return dict(zip(parts[::2], parts[1::2], strict=True))


def known(term: str) -> bool:
    """Whether any terms near in meaning to a term are known."""
    return term in _lines()


@lru_cache(maxsize=20_000)
def of(term: str) -> tuple[tuple[str, float], ...]:
    """Terms near in meaning to a term, each with a likeness from 0 to 1."""
    line = _lines().get(term, "")
    pairs = (pair.rsplit(":", 1) for pair in line.split())
    return tuple((other, int(likeness) / 100) for other, likeness in pairs)


# What a word asks for that no column spells: measures, acts, and names of known things.

_DATA = Path(__file__).parent.parent / "data"
#: Words of columns, as written, each with a likeness from 0 to 1.
Terms: TypeAlias = tuple[tuple[str, float], ...]
#: Likeness of what a word asks for, the likeliest first, and of what a name is a name of.
ASKED, NAMED = (0.6, 0.5, 0.45, 0.4, 0.35), (0.7, 0.55, 0.45)
#: Kind of name → words of the columns that hold it.
COLUMNS = {
    "country": "country nation nationality",
    "people": "nationality country citizenship",
    "state": "state province region",
    "continent": "continent region",
    "language": "language",
    "city": "city town location",
    "river": "river",
    "lake": "lake",
    "sea": "sea",
    "island": "island",
    "mountain": "mountain",
    "desert": "desert",
    "currency": "currency",
    "religion": "religion",
    "sport": "sport",
    "color": "color colour",
    "month": "month date",
    "weekday": "day date",
}
#: Kinds whose names are also written small.
SMALL = frozenset(["color", "country"])
#: Names that are everyday words when written small.
EVERYDAY = frozenset(["turkey", "china", "chad", "jordan", "guinea"])
LONGEST = 3


@lru_cache(maxsize=1)
def attribute_triggers() -> dict[str, Terms]:
    """Stem (or Chinese word) → words of what it asks for."""
    made: dict[str, Terms] = {}
    for line in (_DATA / "asks.txt").read_text(encoding="utf-8").splitlines():
        heads, _, asked = line.partition(":")
        terms = tuple(zip(asked.split(), ASKED, strict=False))
        for head in heads.split():
            own = tokenize.stem(head)
            made.setdefault(own, tuple(pair for pair in terms if tokenize.stem(pair[0]) != own))
    return made


@lru_cache(maxsize=1)
def gazetteer() -> dict[str, tuple[str, ...]]:
    """Name in lower case → kinds of thing it is a name of (``given`` for given names)."""
    made: dict[str, list[str]] = {}
    with gzip.open(_DATA / "instances.txt.gz", "rt", encoding="ascii") as lines:
        for line in lines:
            kind, _, names = line.rstrip("\n").partition("\t")
            for name in names.split("|"):
                made.setdefault(name, []).append(kind)
    return {name: tuple(kinds) for name, kinds in made.items()}


def asked_by(word: str) -> Terms:
    """Words of the columns that a lower-case word asks for."""
    return attribute_triggers().get(tokenize.stem(word), ())


@lru_cache(maxsize=64)
def known_names(
    found: tuple[tuple[str, int, int], ...],
) -> tuple[tuple[int, int, tuple[str, ...]], ...]:
    """Names of known things among words (`words.sentence`): ``(first word, number, kinds)``.

    The longest name at a place counts; a name begins with a capital unless its kind is written
    small too.
    """
    low = [spelling.lower() for spelling, _, _ in found]
    known = gazetteer()
    made: list[tuple[int, int, tuple[str, ...]]] = []
    at = 0
    while at < len(found):
        size = 1
        for longest in range(min(LONGEST, len(found) - at), 0, -1):
            named = known.get(" ".join(low[at : at + longest]))
            kinds = (
                _written(named, [word for word, _, _ in found[at : at + longest]]) if named else ()
            )
            if kinds:
                made.append((at, longest, kinds))
                size = longest
                break
        at += size
    return tuple(made)


def _written(kinds: tuple[str, ...], run: Sequence[str]) -> tuple[str, ...]:
    """Those of the kinds that a run of words names as it is written."""
    if run[0][0].isupper():
        return kinds
    if " ".join(run) in EVERYDAY:
        return ()
    return tuple(kind for kind in kinds if kind in SMALL)


def columns_of(kinds: Sequence[str]) -> Terms:
    """Words of the columns that hold names of these kinds."""
    return tuple(
        (word, likeness)
        for kind in kinds
        if kind in COLUMNS
        for word, likeness in zip(COLUMNS[kind].split(), NAMED, strict=False)
    )


def persons(found: Sequence[tuple[str, int, int]]) -> Iterator[tuple[int, int]]:
    """Runs of capitalised words that begin with a given name: ``(first word, number)``."""
    at = 0
    while at < len(found):
        size = 0
        if found[at][0][0].isupper() and "given" in gazetteer().get(found[at][0].lower(), ()):
            size = 1
            while size < LONGEST and at + size < len(found) and found[at + size][0][0].isupper():
                size += 1
            yield at, size
        at += max(size, 1)
