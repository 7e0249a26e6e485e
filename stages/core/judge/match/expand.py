"""From a term of the question to the catalog's terms: variants, shortenings, synonyms.

Lists of terms that are looked through for spellings made of certain letters.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from stages.core.judge.language import chinese, lexicon, tokenize
from stages.core.judge.question.question import QueryTerm


@dataclass
class Bucket:
    """Terms without spaces, and the letters of each.

    Args:
        terms: In the order they came.
    """

    terms: list[str] = field(default_factory=list)
    _letters: list[frozenset[str]] = field(default_factory=list)

    def made_of(self, letters: str, inside: str = "") -> list[str]:
        """Terms that consist of these letters only, in order; those that have ``inside`` after
        their first letter where it is given.

        >>> Bucket(["qty", "vehno", "quota"]).made_of("quantity")
        ['qty']
        """
        self._letters += map(frozenset, self.terms[len(self._letters) :])
        covers = frozenset(letters).issuperset
        return [
            term
            for term, own in zip(self.terms, self._letters, strict=True)
            if covers(own) and term.find(inside, 1) > 0
        ]


# From a unit to the catalog's terms: its stem, spelling variants, abbreviations, synonyms.

#: What a synonym's likeness is worth; synonyms count only for words that no name holds.
SOFT = 0.8
#: Likeness of the ways a term can stand for a word; the fused model weighs their sums.
ABBREVIATION, PREFIX, PART, INITIALS, PAIR, JOINED = 0.7, 0.55, 0.6, 0.8, 0.6, 0.75
_LONGEST_SHORT = 6
#: Terms of questions whose expansion is remembered: numbers and names never end.
MOST_REMEMBERED = 20_000
#: Usual shortenings that no rule of letters gives, by stem.
_USUAL = {
    tokenize.stem(word): tuple(short.split())
    for word, short in {
        "number": "no num nbr nr nmbr",
        "identifier": "id",
        "identification": "id",
        "percentage": "pct perc",
        "percent": "pct perc",
        "transaction": "txn trx tran trans",
        "account": "acct acc",
        "longitude": "lon lng",
        "weight": "wt wgt",
        "height": "ht hgt",
        "date": "dt dte",
        "year": "yr",
        "quarter": "qtr",
        "maximum": "max",
        "minimum": "min",
        "average": "avg",
        "invoice": "inv",
        "telephone": "tel phone",
        "received": "rcvd rec",
        "temperature": "temp",
        "reference": "ref",
        "gender": "sex",
        "birthday": "dob",
        "package": "pkg",
        "product": "prod",
        "manager": "mgr",
        "country": "ctry cntry",
        "language": "lang",
        "species": "spp sp",
        "vehicle": "veh",
        "source": "src",
        "target": "tgt",
        "position": "pos",
        "sequence": "seq",
        "version": "ver",
        "document": "doc",
        "service": "svc srv",
        "message": "msg",
        "management": "mgmt",
    }.items()
}


@dataclass
class Vocabulary:
    """A catalog's terms, with the lists that approximate matching looks through.

    Args:
        number: Term to its number.
        named: Numbers of terms that stand in names of tables and columns.
        short: First letter → terms that may be abbreviations: short and no common word.
        odd: First letter → terms of three to nine letters that are no words.
        long: First four letters → terms of five letters and more.
        han: Chinese character → terms of two and more characters that hold it.
        english: English stem → Chinese terms that it translates, with a likeness.
        memory: Unit terms already expanded.
    """

    number: Mapping[str, int]
    named: frozenset[int] = frozenset()
    short: dict[str, Bucket] = field(default_factory=lambda: defaultdict(Bucket))
    odd: dict[str, Bucket] = field(default_factory=lambda: defaultdict(Bucket))
    long: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    han: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    english: dict[str, list[tuple[str, float]]] = field(default_factory=lambda: defaultdict(list))
    memory: dict[tuple[str, str, bool], tuple[tuple[int, float], ...]] = field(default_factory=dict)


def vocabulary(number: Mapping[str, int], named: Iterable[int] = ()) -> Vocabulary:
    """Sort a catalog's terms for approximate matching; ``named`` stand in names."""
    made = Vocabulary(number, frozenset(named))
    common = tokenize.costs()
    for term in number:
        if chinese.is_han(term):
            if len(term) > 1:
                for character in set(term):
                    made.han[character].append(term)
            for rank, word in enumerate(chinese.translations(term)[:4]):
                made.english[tokenize.stem(word)].append((term, 0.9 - 0.1 * rank))
        elif term.isalpha():
            if 2 <= len(term) <= _LONGEST_SHORT and common.get(term, 99.0) > 9.0:
                made.short[term[0]].terms.append(term)
            if 3 <= len(term) <= 9 and term not in common and not lexicon.known(term):
                made.odd[term[0]].terms.append(term)
            if len(term) >= 5:
                made.long[term[:4]].append(term)
    return made


def expand_all(
    units: Sequence[QueryTerm], known: Vocabulary, soft: bool = True
) -> list[dict[int, float]]:
    """What each unit may stand for, alone and as a part of an abbreviation of several words."""
    ways = [expand(unit, known, soft) for unit in units]
    spoken = [unit for unit in units if unit.origin != "form"]  # the others stand at the end
    for at, size, number, likeness in _initials(spoken, known):
        for way in ways[at : at + size]:
            way[number] = max(way.get(number, 0.0), likeness)
    for at, number in _pair_shortenings(spoken, known):
        for way in ways[at : at + 2]:
            way[number] = max(way.get(number, 0.0), JOINED)
    return ways


def _initials(
    units: Sequence[QueryTerm], known: Vocabulary
) -> Iterator[tuple[int, int, int, float]]:
    """Terms made of the first letters of neighbouring words: (place, words, term, likeness)."""
    letters = [unit.text[:1].lower() for unit in units]
    for size in (5, 4, 3):
        for at in range(len(units) - size + 1):
            short = "".join(letters[at : at + size])
            number = known.number.get(short, known.number.get(tokenize.stem(short)))
            if number is not None:
                yield at, size, number, INITIALS
    for at, pair in enumerate(itertools.pairwise(units)):
        if all(unit.text[:1].isupper() for unit in pair):
            number = known.number.get("".join(unit.text[0].lower() for unit in pair))
            if number is not None:
                yield at, 2, number, PAIR


def _pair_shortenings(units: Sequence[QueryTerm], known: Vocabulary) -> Iterator[tuple[int, int]]:
    """Terms that join shortenings of two neighbouring words (``jkwgt``: jackknife weight)."""
    for at, (left, right) in enumerate(itertools.pairwise(units)):
        first, second = left.text.lower(), right.text.lower()
        if first.isalpha() and second.isalpha() and first.isascii() and second.isascii():
            shorter = (_USUAL.get(tokenize.stem(word), ()) for word in (first, second))
            letters = "".join((first, second, *itertools.chain(*shorter)))
            for term in known.odd[first[0]].made_of(letters, second[0]):
                if joins(term, first, second):
                    yield at, known.number[term]


def joins(term: str, first: str, second: str) -> bool:
    """Whether a term is a shortening of one word and one of the next written together.

    >>> joins("jkwgt", "jackknife", "weight"), joins("vehno", "vehicle", "number")
    (True, True)
    >>> joins("slp", "sales", "person"), joins("crg", "card", "group"), joins("slp", "soft", "pen")
    (True, True, False)
    """
    if len(term) == 3:
        return _in_order(term[:2], first) and second[0] == term[2]
    for cut in range(1, len(term) - 1):
        if term[cut] == second[0] and _short(term[:cut], first) and _short(term[cut:], second):
            return True
    return False


def _in_order(letters: str, word: str) -> bool:
    """Whether a word begins with the first of two letters and holds the second after it."""
    return word[0] == letters[0] and letters[1] in word[1:]


def _short(part: str, word: str) -> bool:
    """Whether a part of a joined term stands for a word: whole, its start, or a shortening."""
    if (len(part) >= 2 and word.startswith(part)) or part in _USUAL.get(tokenize.stem(word), ()):
        return True
    return abbreviates(part, word) or (len(part) == 2 and _in_order(part, word))


def expand(unit: QueryTerm, known: Vocabulary, soft: bool = True) -> dict[int, float]:
    """Numbers of the catalog's terms that a unit may stand for, each with a likeness 0 to 1.

    ``soft`` lets synonyms in. The result for a term is remembered with the catalog.
    """
    found: dict[int, float] = {}
    for at, (term, likeness) in enumerate(unit.terms):
        own = at == 0
        stem, text = (term, unit.text) if own else (tokenize.stem(term), term)
        for number, likeness2 in _of_term(stem, text, known, soft and own):
            found[number] = max(found.get(number, 0.0), likeness * likeness2)
    return found


def _of_term(term: str, text: str, known: Vocabulary, soft: bool) -> tuple[tuple[int, float], ...]:
    """Terms of the catalog like one term of a unit."""
    key = (term, text, soft)
    if key not in known.memory:
        if len(known.memory) >= MOST_REMEMBERED:
            known.memory.clear()
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
    yield from ((tokenize.stem(short), ABBREVIATION) for short in _USUAL.get(term, ()))
    word = text.lower() if text.isascii() else term
    if len(term) >= 4:
        # Terms are stems, and that of ``qty`` ends in i.
        letters = f"{word}i" if word.endswith("y") else word
        yield from (
            (s, ABBREVIATION)
            for s in known.short[term[0]].made_of(letters)
            if abbreviates(s, word) or (s[-1] == "i" and abbreviates(f"{s[:-1]}y", word))
        )
    if len(term) >= 5:
        yield from (
            (s, PREFIX) for s in known.long[term[:4]] if s.startswith(term) or term.startswith(s)
        )
    if soft and known.number.get(term) not in known.named:
        yield from ((other, SOFT * likeness) for other, likeness in lexicon.of(term))


def _han(term: str, known: Vocabulary) -> Iterable[tuple[str, float]]:
    """Chinese terms that hold this one or are held by it, by the share of characters."""
    for other in {other for character in term for other in known.han[character]}:
        if other != term and (other in term or term in other):
            yield other, PART + 0.3 * min(len(term), len(other)) / max(len(term), len(other))


def _same_start(short: str, word: str) -> int:
    """Letters that both begin with."""
    return next(
        (at for at, (a, b) in enumerate(zip(short, word, strict=False)) if a != b), len(short)
    )


def abbreviates(short: str, word: str) -> bool:
    """Whether ``short`` is a usual shortening of ``word``: its start (three letters at least), or a
    part of its start and then at least half of its other consonants, in order; or all of them.

    >>> [abbreviates(s, w) for s, w in [("qty", "quantity"), ("itm", "item"), ("cat", "contact")]]
    [True, True, False]
    """
    if len(short) >= 3 and short == word[0] + "".join(c for c in word[1:] if c not in "aeiou"):
        return True
    if len(short) < 2 or len(short) >= len(word) - 1 or short[0] != word[0]:
        return False
    same = _same_start(short, word)
    if same == len(short):
        return same >= 3
    at = same
    for letter in short[same:]:
        at = word.find(letter, at) + 1
        if at == 0 or letter in "aeiou":
            return False
    rest = [letter for letter in word[same:] if letter not in "aeiou"]
    if len(short) == 2:
        return short[1] == rest[0]
    return 2 * (len(short) - same) + same >= len(set(rest))
