"""BM25 over the texts of a catalog: names, natural names and descriptions, word by word.

What the fields of the index say of each unit, this says of the texts as a whole: how often a
word stands there, how long they are, and how rare it is. A word of most descriptions weighs
next to nothing. Chinese goes by pairs of characters, which no cut into words can miss.

k1 1.2, b 0.75, idf ``log(1 + (N - n + 0.5) / (n + 0.5))`` (Robertson and Zaragoza, The
Probabilistic Relevance Framework, 2009).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stages.core.judge.index.postings import Floats, Ints, Postings, counted
from stages.core.judge.language import chinese, tokenize
from stages.core.text import parted

if TYPE_CHECKING:
    from stages.core.records import Column, Table

#: Texts that are scored: of tables with their columns, of tables alone, of columns.
TEXTS = ("all", "own", "column")
K1, B = 1.2, 0.75
#: Letters of one text that are read.
MOST_LETTERS = 2_000


@dataclass(frozen=True)
class Texts:
    """The words of one kind of text, with their BM25 weights.

    Args:
        words: Word to its number.
        lists: Word → documents that hold it; ``weight`` float32, one for each entry.
        n_docs: Number of documents.
    """

    words: Mapping[str, int]
    lists: Postings
    weight: Floats
    n_docs: int

    def scores(self, asked: Iterable[str]) -> Floats:
        """BM25 of every document for these words, float32 [documents]."""
        made = np.zeros(self.n_docs, dtype=np.float32)
        for word in asked:
            at = self.words.get(word)
            if at is not None:
                begin, end = self.lists.start[at], self.lists.start[at + 1]
                made[self.lists.doc[begin:end]] += self.weight[begin:end]
        return made


def words(text: str) -> tuple[str, ...]:
    """The words of a text as they are scored: stems, and pairs of Chinese characters.

    >>> words("The net_profits of 净利润")
    ('net', 'profit', '净利', '利润')
    """
    found: list[str] = []
    for part in tokenize.plain_parts(text[:MOST_LETTERS]):
        if chinese.is_han(part):
            found += [part[at : at + 2] for at in range(max(1, len(part) - 1))]
        elif part not in tokenize.STOP:
            found.append(tokenize.stem(part))
    return tuple(found)


def texts_of(tables: Sequence[Table]) -> dict[str, Texts]:
    """The texts of a catalog by kind (`TEXTS`)."""
    own, columns, every = [], [], []
    known: dict[str, tuple[str, ...]] = {}  # housekeeping columns stand in every table
    for table in tables:
        mine = _counted(known, table["name"], table.get("nl_name"), _described(table))
        parts = [
            _counted(known, column["name"], column.get("nl_name"), _described(column))
            for column in table["columns"]
        ]
        own.append(mine)
        columns += parts
        every.append(Counter(itertools.chain(mine.elements(), *(p.elements() for p in parts))))
    return {"all": _texts(every), "own": _texts(own), "column": _texts(columns)}


def _described(record: Mapping[str, object]) -> str:
    """Description and comment of a table or column."""
    return f"{record.get('description') or ''} {record.get('comment') or ''}"


def _counted(known: dict[str, tuple[str, ...]], *parts: str | None) -> Counter[str]:
    """The words of some texts with how often each stands there; ``known`` are texts read before,
    and grows."""
    found: Counter[str] = Counter()
    for part in parts:
        if part:
            if part not in known:
                known[part] = words(part)
            found.update(known[part])
    return found


def _texts(counts: Sequence[Counter[str]]) -> Texts:
    """Weights of all words of these documents."""
    number: dict[str, int] = {}
    flat = [
        (number.setdefault(word, len(number)), at, n)
        for at, count in enumerate(counts)
        for word, n in count.items()
    ]
    held = np.array(flat, dtype=np.int64).reshape(-1, 3)
    held = held[np.argsort(held[:, 0], kind="stable")]
    start = np.zeros(len(number) + 1, dtype=np.int32)
    np.cumsum(np.bincount(held[:, 0], minlength=len(number)), out=start[1:])
    doc = held[:, 1].astype(np.int32)
    lengths = counted(doc, len(counts), held[:, 2].astype(np.float32))
    weight = _weights(start, doc, held[:, 2].astype(np.float64), lengths)
    return Texts(number, Postings(start, doc), weight, len(counts))


def _weights(start: Ints, doc: Ints, times: Floats, lengths: Floats) -> Floats:
    """BM25 of each entry, float32."""
    seen = np.diff(start)
    idf = np.log1p((len(lengths) - seen + 0.5) / (seen + 0.5))
    norm = K1 * (1 - B + B * lengths / max(float(lengths.mean()) if len(lengths) else 1.0, 1e-9))
    made: Floats = np.repeat(idf, seen) * times * (K1 + 1) / (times + norm[doc])
    return made.astype(np.float32)


# What tables take in a prompt, by the length of their texts: no vocabulary of tokens is loaded.

#: Bytes of UTF-8 of one token of o200k, about, in English names and in Chinese descriptions.
BYTES = 4.0
#: Tokens of what stands around a table (its file, its rows, two of them shown) and around a column.
AROUND_TABLE, AROUND_COLUMN = 40.0, 10.0
#: Examples of a column that are shown, and letters of one.
SHOWN, SHOWN_LETTERS = 3, 80


def costs_of(tables: Sequence[Table]) -> Floats:
    """Tokens of each table with its columns, about; float32 [tables]."""
    made = [
        _size(table["name"], table.get("nl_name"), table.get("description"), table.get("comment"))
        + sum(map(_column, table["columns"]))
        for table in tables
    ]
    around = [AROUND_TABLE + AROUND_COLUMN * len(table["columns"]) for table in tables]
    costs: Floats = (np.array(made) / BYTES + np.array(around)).astype(np.float32)
    return costs


def _column(column: Column) -> int:
    """Bytes of the line that stands for a column."""
    seen = (parted(value)[0][:SHOWN_LETTERS] for value in column.get("examples", ())[:SHOWN])
    told = (column.get("description"), column.get("comment"))
    return _size(column["name"], column["type"], *told, *seen)


def _size(*parts: str | None) -> int:
    """Bytes of some texts and what stands between them."""
    return sum(len(part.encode("utf-8", "replace")) + 1 for part in parts if part)
