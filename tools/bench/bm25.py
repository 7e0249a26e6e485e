"""Plain BM25 over table names, column names, natural names and descriptions: the floor.

k1 1.2, b 0.75, idf ``log(1 + (N - n + 0.5) / (n + 0.5))`` (Robertson and Zaragoza, The
Probabilistic Relevance Framework, 2009). Words are runs of letters or digits, split at
camel case and between letters and digits, lower case, unstemmed; Chinese goes by pairs of
characters. Ties keep the order of the tables.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from stages.core.records import Table

K1, B = 1.2, 0.75
_SPLITS = (
    re.compile(r"(?<=[a-z0-9])(?=[A-Z])"),
    re.compile(r"(?<=[A-Za-z])(?=\d)"),
    re.compile(r"(?<=[A-Z])(?=[A-Z][a-z])"),
)
_WORD = re.compile(r"[a-z0-9]+|[\u4e00-\u9fff]+")


def words(text: str) -> list[str]:
    """The words of a text, as they are indexed and asked for."""
    for split in _SPLITS:
        text = split.sub(" ", text)
    found: list[str] = []
    for word in _WORD.findall(text.lower()):
        chinese = "\u4e00" <= word[0] <= "\u9fff"
        found += [word[i : i + 2] for i in range(max(1, len(word) - 1))] if chinese else [word]
    return found


def table_text(table: Table) -> str:
    """What of a table is indexed."""
    parts: list[str | None] = [table["name"], table.get("nl_name"), table.get("description")]
    for column in table["columns"]:
        parts += [column["name"], column.get("nl_name"), column.get("description")]
    return " ".join(part for part in parts if part)


class Bm25:
    """An index over the tables of one catalog."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self.names = [table["name"] for table in tables]
        self.postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        counts = [Counter(words(table_text(table))) for table in tables]
        lengths = [count.total() for count in counts]
        mean = sum(lengths) / len(lengths)
        seen = Counter(word for count in counts for word in count)
        for at, count in enumerate(counts):
            norm = K1 * (1 - B + B * lengths[at] / mean)
            for word, n in count.items():
                idf = math.log(1 + (len(tables) - seen[word] + 0.5) / (seen[word] + 0.5))
                self.postings[word].append((at, idf * n * (K1 + 1) / (n + norm)))

    def rank(self, question: str) -> list[str]:
        """All tables, best first."""
        scores = [0.0] * len(self.names)
        for word in words(question):
            for at, score in self.postings.get(word, ()):
                scores[at] += score
        return [self.names[at] for at in sorted(range(len(scores)), key=lambda at: -scores[at])]


def strict(ranked: Sequence[str], gold: Iterable[str], k: int) -> bool:
    """Whether every gold table, without regard to case, is among the first ``k``."""
    first = {name.lower() for name in ranked[:k]}
    return all(name.lower() in first for name in gold)
