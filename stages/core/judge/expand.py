"""From a unit to the catalog's terms: its stem, spelling variants, abbreviations, synonyms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from stages.core.judge import chinese, segment, synonyms, words
from stages.core.judge.question import Unit

#: Likeness of the ways a term can stand for a word; the fused model weighs their sums.
ABBREVIATION, PREFIX, PART = 0.7, 0.55, 0.6
_LONGEST_SHORT = 6


@dataclass
class Vocabulary:
    """A catalog's terms, with the lists that approximate matching looks through.

    Args:
        number: Term to its number.
        short: First letter → terms that may be abbreviations: short and no common word.
        long: First four letters → terms of five letters and more.
        han: Chinese character → terms of two and more characters that hold it.
        english: English stem → Chinese terms that it translates, with a likeness.
        memory: Unit terms already expanded.
    """

    number: Mapping[str, int]
    short: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    long: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    han: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    english: dict[str, list[tuple[str, float]]] = field(default_factory=lambda: defaultdict(list))
    memory: dict[tuple[str, bool], tuple[tuple[int, float], ...]] = field(default_factory=dict)


def vocabulary(number: Mapping[str, int]) -> Vocabulary:
    """Sort a catalog's terms for approximate matching."""
    made = Vocabulary(number)
    common = segment.costs()
    for term in number:
        if chinese.is_han(term):
            if len(term) > 1:
                for character in set(term):
                    made.han[character].append(term)
            for rank, word in enumerate(chinese.translations(term)[:4]):
                made.english[words.stem(word)].append((term, 0.9 - 0.1 * rank))
        elif term.isalpha():
            if 2 <= len(term) <= _LONGEST_SHORT and common.get(term, 99.0) > 9.0:
                made.short[term[0]].append(term)
            if len(term) >= 5:
                made.long[term[:4]].append(term)
    return made


def expand(unit: Unit, known: Vocabulary, soft: bool = True) -> dict[int, float]:
    """Numbers of the catalog's terms that a unit may stand for, each with a likeness 0 to 1.

    ``soft`` lets synonyms in. The result for a term is remembered with the catalog.
    """
    found: dict[int, float] = {}
    for term, likeness in unit.terms:
        for number, likeness2 in _of_term(term, unit.text, known, soft):
            found[number] = max(found.get(number, 0.0), likeness * likeness2)
    return found


def _of_term(term: str, text: str, known: Vocabulary, soft: bool) -> tuple[tuple[int, float], ...]:
    """Terms of the catalog like one term of a unit."""
    key = (term, soft)
    if key not in known.memory:
        found: dict[int, float] = {}
        for other, likeness in _variants(term, text, known, soft):
            number = known.number.get(other)
            if number is not None:
                found[number] = max(found.get(number, 0.0), likeness)
        known.memory[key] = tuple(found.items())
    return known.memory[key]


def _variants(term: str, text: str, known: Vocabulary, soft: bool) -> Iterable[tuple[str, float]]:
    """Spellings a term may have in the catalog."""
    yield term, 1.0
    if chinese.is_han(term):
        yield from _han(term, known)
        return
    if not term.isalpha():
        return
    yield from known.english.get(term, ())
    word = text.lower() if text.isascii() else term
    if len(term) >= 4:
        yield from ((s, ABBREVIATION) for s in known.short[term[0]] if abbreviates(s, word))
    if len(term) >= 5:
        yield from (
            (s, PREFIX) for s in known.long[term[:4]] if s.startswith(term) or term.startswith(s)
        )
    if soft:
        yield from synonyms.of(term)


def _han(term: str, known: Vocabulary) -> Iterable[tuple[str, float]]:
    """Chinese terms that hold this one or are held by it, by the share of characters."""
    for other in {other for character in term for other in known.han[character]}:
        if other != term and (other in term or term in other):
            yield other, PART + 0.3 * min(len(term), len(other)) / max(len(term), len(other))


def abbreviates(short: str, word: str) -> bool:
    """Whether ``short`` is a usual shortening of ``word``: its start, or its first letter and
    consonants in order with the last or second consonant among them.

    >>> [abbreviates(s, w) for s, w in [("qty", "quantity"), ("addr", "address"), ("cat", "contact")]]
    [True, True, False]
    """
    if len(short) < 2 or len(short) >= len(word) - 1 or short[0] != word[0]:
        return False
    if word.startswith(short):
        return len(short) >= 3
    at = 0
    for letter in short:
        at = word.find(letter, at) + 1
        if at == 0:
            return False
    if any(letter in "aeiou" for letter in short[1:]):
        return False
    rest = [letter for letter in word[1:] if letter not in "aeiou"]
    return len(short) >= 2 and short[1] == rest[0] if len(short) == 2 else _dense(short, rest)


def _dense(short: str, consonants: list[str]) -> bool:
    """Whether the shortening takes at least half of the word's later consonants."""
    return 2 * (len(short) - 1) >= len(set(consonants)) - 1
