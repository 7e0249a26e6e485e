"""What a task asks, as terms to match: words, values, identifiers, and the question's form.

Definitions in knowledge, video and hints that speak of the question's words.

A definition is a line or sentence that says what a term means (``X refers to Y``, ``X: Y``,
``X = Y``, ``X 是指 Y``, a table row); it counts when its term stands in the question.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from stages.core.judge.index import texts
from stages.core.judge.language import chinese, dates, lexicon, tokenize
from stages.core.judge.question import entities, patterns
from stages.core.text import composed

if TYPE_CHECKING:
    from stages.core.records import Task

_MEANS = re.compile(
    r"\s(?:refers? to|means?|is defined as|denotes|stands for|indicates|represents|is)\s"
    r"|：|:\s|\s=\s|是指|指的是|表示|定义为|即|\s[-–—]\s|\|"
)
_SENTENCE = re.compile(r"(?<=[.;!?。；！？])\s+|(?<=[。；！？])|\n+")
#: Letters of knowledge read, of a sentence, and of all definitions together.
MOST_READ, MOST_SENTENCE, MOST_KEPT = 200_000, 600, 2_000


@lru_cache(maxsize=16)
def definitions(text: str) -> tuple[tuple[str, str], ...]:
    """Pairs of term and meaning, in order.

    >>> definitions("- GMV refers to the sum of paid orders.")
    (('GMV', 'the sum of paid orders.'),)
    """
    found: list[tuple[str, str]] = []
    for sentence in _SENTENCE.split(text[:MOST_READ]):
        parts = _MEANS.split(sentence.strip(" \t|*-#>")[:MOST_SENTENCE], maxsplit=1)
        if len(parts) == 2 and parts[0].strip() and parts[1].strip() and len(parts[0]) <= 60:
            found.append((parts[0].strip(" *`\"'|"), parts[1].strip(" *|")))
    return tuple(found)


def about(question: str, knowledge: str) -> str:
    """The definitions whose term stands in the question, one a line, bounded in size."""
    if not knowledge.strip():
        return ""
    asked = {tokenize.stem(word.lower()) for word, _, _ in tokenize.sentence(question)}
    kept: list[str] = []
    for term, meaning in definitions(knowledge):
        if _stands(term, asked, question):
            kept.append(f"{term} {meaning}")
    return "\n".join(kept)[:MOST_KEPT]


def _stands(term: str, asked: set[str], question: str) -> bool:
    """Whether all content words of the term stand in the question."""
    if chinese.has_han(term):
        return len(term) > 1 and term in question
    found = [w.lower() for w, _, _ in tokenize.sentence(term)]
    content = [tokenize.stem(w) for w in found if w not in tokenize.STOP]
    return bool(content) and all(w in asked for w in content)


# What a task asks, as units to match: words, values, identifiers, and the question's form.

Origin: TypeAlias = Literal["question", "evidence", "glossary", "form"]
#: Units read at most: a question has about ten, a long hint about forty.
MOST_UNITS = 60
_IDENTIFIER = re.compile(r"`([^`]+)`|\b([A-Za-z]\w*(?:\.[A-Za-z]\w*)*)\b")


@dataclass(frozen=True)
class QueryTerm:
    """One content word of the question or its hints.

    Args:
        text: As written.
        terms: What it may stand as in the catalog, with a likeness from 0 to 1: first its stem,
            then its translations, and words of what it asks for (`lexicon.asked_by`) or is a
            name of (`lexicon.known_names`).
        place: Position among the words of its text, 0 the first.
        origin: Where it was read.
        dated: Whether it is a part of a date: a table meets it that holds that time.
    """

    text: str
    terms: tuple[tuple[str, float], ...]
    place: int
    origin: Origin
    dated: bool = False


@dataclass(frozen=True)
class ParsedQuestion:
    """One task, read once.

    Args:
        units: Content words, the question's first.
        spans: Runs of words that may be values, lower case → as written.
        quoted: Strings in quotation marks, lower case → as written.
        identifiers: Names spelled as in a schema (``num_sales``, ``Paper.Id``), without
            separators → as written.
        form: What the question's form asks for.
        times: Spans of time it speaks of; ``sought``: those whose data it needs, in any year where
            it says none (`dates.target_spans`).
        numbers: Whole numbers as written, without leading zeros.
        named: Runs of capitalised words inside sentences: people, places, titles; none where the
            form is not to count. ``runs``: the same in any case, as values to look up.
        text: The question and its hints, composed.
        words: Words of all that was read, as texts are scored by (`texts.words`), each once.
        hinted: Names of columns that the hint compares, computes with or refers to (``city = 'X'``,
            ``MAX(Score)``), each as the runs of words it may be, the longest first.
    """

    units: tuple[QueryTerm, ...]
    spans: Mapping[str, str]
    quoted: Mapping[str, str]
    identifiers: Mapping[str, str]
    form: frozenset[str]
    times: tuple[dates.Span, ...] = ()
    sought: tuple[dates.Span, ...] = ()
    numbers: frozenset[str] = frozenset()
    named: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    hinted: tuple[tuple[str, ...], ...] = ()
    words: tuple[str, ...] = ()
    text: str = ""


def read(task: Task, without: frozenset[str] = frozenset()) -> ParsedQuestion:
    """Read a task's question, evidence, and the part of its knowledge that defines its words."""
    question, hint = composed(task.get("question", "")), composed(task.get("evidence", ""))
    told: list[tuple[str, Origin]] = [(question, "question"), (hint, "evidence")]
    if "glossary" not in without:
        known = composed("\n".join((task.get("knowledge", ""), task.get("video", ""))))
        told.append((about(question, known), "glossary"))
    units: dict[str, QueryTerm] = {}
    for text, origin in told:
        for unit in _units(text, origin, without):
            units.setdefault(unit.terms[0][0], unit)
    kinds = entities.units(question, hint) if "form" not in without else []
    runs = patterns.named(question)
    whole = "\n".join(text for text, _ in told)
    return ParsedQuestion(
        units=(
            *itertools.islice(units.values(), MOST_UNITS - len(kinds)),
            *(QueryTerm(text, terms, 0, "form") for text, terms in kinds),
        ),
        spans=_spans(f"{question}\n{hint}"),
        quoted=patterns.quoted(f"{question}\n{hint}"),
        identifiers=_identifiers(whole),
        form=patterns.kinds(question) if "form" not in without else frozenset(),
        times=dates.spans(f"{question}\n{hint}"),
        sought=dates.target_spans(f"{question}\n{hint}"),
        numbers=frozenset(n.lstrip("0") for n in re.findall(r"\d+", question)),
        named=runs if "form" not in without else (),
        runs=runs,
        hinted=patterns.hinted(hint),
        words=tuple(dict.fromkeys(texts.words(whole))),
        text=f"{question}\n{hint}",
    )


def _units(text: str, origin: Origin, without: frozenset[str]) -> Iterator[QueryTerm]:
    """Content words of one text, and common words that ask for something (``where``)."""
    found = tokenize.sentence(text)
    loose = _loose(found)
    meant = _meant(found, "translation" not in without) if "synonym" not in without else {}
    times = dates.places(text)
    for place, (spelling, start, end) in enumerate(found):
        low = spelling.lower()
        common = low in tokenize.STOP or low in tokenize.STOP_ZH
        if place in loose:
            continue
        if (common and place not in meant) or (len(low) == 1 and not chinese.is_han(low)):
            continue
        terms = [(tokenize.stem(low), 1.0)]
        if chinese.is_han(low) and "translation" not in without:
            terms += translated(low)
        terms += meant.get(place, ())
        dated = any(first <= start and end <= last for first, last, _ in times)
        yield QueryTerm(spelling, tuple(terms), place, origin, dated)


def _loose(found: tuple[tuple[str, int, int], ...]) -> frozenset[int]:
    """Places of single Han that stand in a row: pieces of a name that the lexicon does not know,
    each of which would be a rare word by itself (``普洛药业``)."""
    alone = [
        len(word) == 1 and chinese.is_han(word) and word not in tokenize.STOP_ZH
        for word, _, _ in found
    ]
    beside = [
        at
        for at in range(len(found) - 1)
        if alone[at] and alone[at + 1] and found[at][2] == found[at + 1][1]
    ]
    return frozenset({*beside, *(at + 1 for at in beside)})


def _meant(found: tuple[tuple[str, int, int], ...], translate: bool) -> dict[int, lexicon.Terms]:
    """Place → words of what the word there asks for, or is a name of."""
    meant = {
        at: terms
        for at, (word, _, _) in enumerate(found)
        if (terms := lexicon.asked_by(word.lower())) and (translate or not chinese.is_han(word))
    }
    for first, number, kinds in lexicon.known_names(found):
        terms = lexicon.columns_of(kinds)
        for at in range(first, first + number):
            if terms:
                meant[at] = (*meant.get(at, ()), *terms)
    return meant


def translated(word: str) -> list[tuple[str, float]]:
    """English terms for a Chinese word; each later sense is a little less likely."""
    english = chinese.translations(word)
    return [(tokenize.stem(each), 0.95 - 0.08 * rank) for rank, each in enumerate(english)]


def _spans(text: str, longest: int = 5) -> dict[str, str]:
    """Runs of one to five words as they stand, lower case; single common words are left out."""
    found = tokenize.sentence(text)
    spans: dict[str, str] = {}
    for at in range(len(found)):
        for size in range(1, min(longest, len(found) - at) + 1):
            run = text[found[at][1] : found[at + size - 1][2]]
            low = run.lower()
            if size > 1 or (low not in tokenize.STOP and len(low) > 2):
                spans.setdefault(low, run)
    return spans


def _identifiers(text: str) -> dict[str, str]:
    """Names that are spelled like a schema's: with an underscore, a hump, a dot, or backticks."""
    found: dict[str, str] = {}
    for match in _IDENTIFIER.finditer(text):
        name = match[1] or match[2]
        for part in [name, *name.split(".")]:
            if match[1] or "." in name or "_" in part or re.search(r"[a-z][A-Z]", part):
                found.setdefault(tokenize.compact(part), part)
    return found
