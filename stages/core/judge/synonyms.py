"""Words near in meaning, as a compact table.

`data/synonyms.txt.gz` is made by tools/make_synonyms.py from WordNet 3.0 (Princeton licence) and
from distances of word vectors: ``term<TAB>other:likeness other:likeness``; terms are stems.
"""

from __future__ import annotations

import gzip
from functools import lru_cache
from pathlib import Path

_FILE = Path(__file__).parent / "data" / "synonyms.txt.gz"


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
