"""Counting tokens, the same way for every model: with the o200k vocabulary.

One measure for all models makes sizes comparable between runs. The vocabulary lies beside
this package (see `data/SOURCES.md`), so nothing is downloaded.

Loading all 200,000 tokens takes a quarter of a second, more than a stage may take to start.
A token can only occur in a text that holds all its bytes, so for a small text only those
tokens are loaded whose parts of three bytes all stand in it; the count is the same.

A long text is counted in pieces, cut where no token can reach across, so that memory stays
bounded and the sum is the same. `size` does not count all of what no model can read.
"""

from __future__ import annotations

import re
import threading
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

VOCABULARY = Path(__file__).parent / "data" / "o200k_base.tiktoken"

_ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
PATTERN = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + _ENDING,
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + _ENDING,
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
"""How o200k parts a text before tokens are looked for."""

SMALL = 200_000
"""Bytes of text up to which a part of the vocabulary is quicker to load than all of it."""

BUILDS = 4
"""Parts that are loaded before all of it is."""


PIECE = 500_000
"""Characters of a piece; the expressions of o200k break down over a million spaces in a row."""

MOST = 8_000_000
"""Characters that `size` counts: two million tokens of English, and more than models read."""

_LETTER = r"[A-Za-z\u4e00-\u9fff]"
_BOUNDARY = re.compile(
    rf"(?<={_LETTER})(?=[\s0-9,.;:!?()，。、；：！？（）])|(?<=\n)(?=[0-9]|{_LETTER})"
)
"""Where no token reaches across, whatever stands around: o200k takes letters up to what is none,
and nothing that begins with a line break goes on with a letter or digit."""


@dataclass(frozen=True)
class Size:
    """How long a text is.

    Args:
        tokens: Its o200k tokens.
        exact: Whether all of it was counted, in pieces that no token reaches across.
    """

    tokens: int
    exact: bool = True

    def __add__(self, other: Size) -> Size:
        return Size(self.tokens + other.tokens, self.exact and other.exact)

    def __sub__(self, other: Size) -> Size:
        return Size(self.tokens - other.tokens, self.exact and other.exact)


def size(text: str, most: int = MOST) -> Size:
    """The tokens of a text: counted up to ``most`` characters, at the rate of evenly spread
    pieces beyond.

    >>> size("hello world")
    Size(tokens=2, exact=True)
    """
    pieces = list(_pieces(text))
    if len(text) <= most:
        return Size(count(text), all(safe for _piece, safe in pieces))
    taken = [text[piece] for piece, _safe in pieces[:: -(-len(text) // most)]]
    return Size(round(total(taken) * len(text) / sum(map(len, taken))), exact=False)


def beside(whole: str, part: str) -> Size:
    """The tokens of ``whole`` beyond those of a ``part`` that stands in it.

    The middle of a long part is the same in both, and is not counted.
    """
    at = whole.find(part)
    first = _BOUNDARY.search(part, 0, PIECE)
    last = _BOUNDARY.search(part, max(0, len(part) - PIECE // 10))
    if at < 0 or first is None or last is None or last.start() <= first.start():
        return size(whole) - size(part)
    head, tail = first.start(), last.start()
    around = size(whole[: at + head]) + size(whole[at + tail :])
    return around - size(part[:head]) - size(part[tail:])


def count(text: str) -> int:
    """The o200k tokens of a text; what looks like a special token counts as plain text.

    >>> count("hello world"), count("")
    (2, 0)
    """
    return counts([text])[0]


def counts(texts: Sequence[str]) -> list[int]:
    """`count` of each text; quicker than one call for each.

    >>> counts(["hello world", "你好"])
    [2, 1]
    """
    if not any(texts):
        return [0] * len(texts)
    safe = [text.encode("utf-8", "replace") for text in texts]
    with _lock:
        encoding = _vocabulary.encoding(safe)
    return [_counted(text.decode(), encoding) for text in safe]


def _counted(text: str, encoding: Encoding) -> int:
    return sum(len(encoding.encode_ordinary(text[piece])) for piece, _safe in _pieces(text))


def _pieces(text: str) -> Iterator[tuple[slice, bool]]:
    """The text in pieces, and whether no token reaches across the end of each.

    A stretch without a boundary is cut all the same, which may count a token more.
    """
    start = 0
    while len(text) - start > PIECE:
        found = _BOUNDARY.search(text, start + PIECE // 2, start + PIECE)
        end = found.start() if found else start + PIECE
        yield slice(start, end), found is not None
        start = end
    yield slice(start, None), True


def total(texts: Iterable[str]) -> int:
    """The sum of `count` over several texts."""
    return sum(counts(list(texts)))


class _Encoder:
    """The part of the vocabulary that the texts so far can hold, and in the end all of it."""

    def __init__(self) -> None:
        self._edges: set[bytes] = set()
        self._encoding: Encoding | None = None
        self._whole = False
        self._builds = 0

    def encoding(self, texts: Sequence[bytes]) -> Encoding:
        """An encoding that is right for these texts."""
        if self._encoding is not None and self._whole:
            return self._encoding
        if sum(map(len, texts)) > SMALL or self._builds >= BUILDS:
            self._whole = True
            self._encoding = _encoding(_all_ranks())
            _words.cache_clear()
            return self._encoding
        edges = {edge for text in texts for edge in _edges(text)}
        if self._encoding is None or not edges <= self._edges:
            self._edges |= edges
            self._builds += 1
            self._encoding = _encoding(_ranks(self._edges))
        return self._encoding


def _edges(text: bytes) -> set[bytes]:
    """Every one, two and three bytes that stand together in the text."""
    return {text[i : i + n] for n in (1, 2, 3) for i in range(len(text) - n + 1)}


def _ranks(edges: set[bytes]) -> dict[bytes, int]:
    """The tokens that are made of edges, as far as is quick to tell, and their ranks.

    Four characters of Base64 are three bytes, so tokens are put aside undecoded.
    """
    parts = {b2a_base64(edge, newline=False) for edge in edges} | {b""}
    words = _words()
    near = [
        place
        for place, word in enumerate(words[::2])
        if word[:4] in parts and word[4:8] in parts and word[8:12] in parts
    ]
    tokens = [(a2b_base64(words[2 * place]), int(words[2 * place + 1])) for place in near]
    return {token: rank for token, rank in tokens if token[-3:] in edges}


def _all_ranks() -> dict[bytes, int]:
    words = _words()
    return dict(zip(map(a2b_base64, words[::2]), map(int, words[1::2]), strict=True))


def _encoding(ranks: dict[bytes, int]) -> Encoding:
    """o200k with these of its tokens."""
    import tiktoken

    return tiktoken.Encoding(
        "o200k_base", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={}
    )


@lru_cache(maxsize=1)
def _words() -> list[bytes]:
    """The vocabulary file: each token in Base64, followed by its rank."""
    return VOCABULARY.read_bytes().split()


_lock = threading.Lock()
_vocabulary = _Encoder()
