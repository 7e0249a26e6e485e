"""Definitions in knowledge, video and hints that speak of the question's words.

A definition is a line or sentence that says what a term means (``X refers to Y``, ``X: Y``,
``X = Y``, ``X 是指 Y``, a table row); it counts when its term stands in the question.
"""

from __future__ import annotations

import re
from functools import lru_cache

from stages.core.judge import chinese, words

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
    asked = {words.stem(word.lower()) for word, _, _ in words.sentence(question)}
    kept: list[str] = []
    for term, meaning in definitions(knowledge):
        if _stands(term, asked, question):
            kept.append(f"{term} {meaning}")
    return "\n".join(kept)[:MOST_KEPT]


def _stands(term: str, asked: set[str], question: str) -> bool:
    """Whether all content words of the term stand in the question."""
    if chinese.has_han(term):
        return len(term) > 1 and term in question
    found = [w.lower() for w, _, _ in words.sentence(term)]
    content = [words.stem(w) for w in found if w not in words.STOP]
    return bool(content) and all(w in asked for w in content)
