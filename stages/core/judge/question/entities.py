"""Kinds of column that a question wants, as units of their own: a person's name, a name, a date.

A name that was seen in no data still says that some table must hold names. The catalog's columns
stand under the same terms (`semantic_types.terms_of`).
"""

from __future__ import annotations

import itertools

from stages.core.judge.index.semantic_types import DATE, NAME, PERSON
from stages.core.judge.language import dates, lexicon, tokenize
from stages.core.judge.question import patterns

#: Likeness of a name that begins with a given name, and of two or three capitalised words; of a
#: time in figures and of a question for one.
GIVEN, CAPITALS, ASKED = 0.9, 0.6, 0.6
#: Runs of words taken from one question.
MOST_RUNS = 6


def units(question: str, hint: str) -> list[tuple[str, lexicon.Terms]]:
    """Texts of the question and hint, and the terms that they want."""
    made: dict[str, tuple[str, float]] = {}
    for text in (question, hint):
        for run, likeness in people(text).items():
            made.setdefault(run, (PERSON, likeness))
        for run in (*patterns.quoted(text).values(), *unquoted(text)):
            made.setdefault(run, (NAME, 1.0))
    found: list[tuple[str, lexicon.Terms]] = [
        (run, (pair,)) for run, pair in itertools.islice(made.items(), MOST_RUNS)
    ]
    asked = patterns.kinds(question)
    if not any(term == PERSON for _, ((term, _),) in found) and "person" in asked:
        found.append((patterns.said(question, "person"), ((PERSON, ASKED),)))
    if dates.spans(question):
        found.append((patterns.said(question, "year", "date") or "time", ((DATE, 1.0),)))
    elif "date" in asked or "year" in asked:
        found.append((patterns.said(question, "date", "year"), ((DATE, ASKED),)))
    return found


def unquoted(text: str) -> list[str]:
    """Capitalised runs of words that stand in no quotation."""
    inside = " ".join(patterns.quoted(text))
    return [run for run in map(bare, patterns.named(text)) if run.lower() not in inside]


def people(text: str) -> dict[str, float]:
    """Runs of words that are likely names of persons → how likely."""
    found = tokenize.sentence(text)
    places = {
        at
        for first, size, kinds in lexicon.known_names(found)
        if kinds != ("given",)
        for at in range(first, first + size)
    }
    made: dict[str, float] = {}
    for first, size in lexicon.persons(found):
        if size > 1 or first not in places:
            made[text[found[first][1] : found[first + size - 1][2]]] = (
                GIVEN if size > 1 else CAPITALS
            )
    for run in unquoted(text):
        parts = tokenize.sentence(run)
        known = any(kinds != ("given",) for _, _, kinds in lexicon.known_names(parts))
        if len(parts) in (2, 3) and not known:
            made.setdefault(run, CAPITALS)
    return made


def bare(run: str) -> str:
    """A run of words without what clings to it.

    >>> bare("Nick Wahlberg's"), bare("Blue Moon'"), bare("J. K. Rowling.")
    ('Nick Wahlberg', 'Blue Moon', 'J. K. Rowling')
    """
    return run.strip(" .,'\"").removesuffix("'s").strip()
