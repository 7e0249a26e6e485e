"""The terms that one table's names, descriptions and values stand under."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from stages.core.judge.index.keys import last_name
from stages.core.judge.index.names import root
from stages.core.judge.language import tokenize

if TYPE_CHECKING:
    from stages.core.records import Table

#: Words of one description.
MOST_WORDS = 60


def of_table(table: Table) -> list[str]:
    """Terms of a table's own name, its natural name, and the root of a cryptic one."""
    own = last_name(table["name"])
    short = root(own).lower()
    more = [short] if short != own.lower() else []
    return of_names(own, table.get("nl_name", "")) + more


def of_names(*spellings: str) -> list[str]:
    """Terms of all spellings of one name."""
    return [term for spelling in spellings if spelling for term in tokenize.terms(spelling)]


def of_texts(*texts: str | None) -> list[str]:
    """Terms of descriptions, without words that say nothing."""
    found: list[str] = []
    for text in texts:
        if text:
            found.extend(_content(text))
    return found[:MOST_WORDS]


def _content(text: str) -> Iterator[str]:
    """Content terms of a text, each word once."""
    seen: set[str] = set()
    for spelling, _, _ in tokenize.sentence(text, 1000):
        low = spelling.lower()
        if low not in seen and low not in tokenize.STOP and low not in tokenize.STOP_ZH:
            seen.add(low)
            yield tokenize.stem(low)


def of_value(value: str) -> list[str]:
    """Terms of a short value; long ones are prose and say less than they cost."""
    parts = value.split()
    if len(parts) > 6:
        return []
    return [tokenize.stem(word) for part in parts for word in tokenize.split(part) if len(word) > 1]
