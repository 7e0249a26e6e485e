"""The parts of a question that may be values: runs of words, and of characters in Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterator

LONGEST = 6
"""Words of a run, and four times as many characters of a Chinese one."""
MOST = 3_000
"""Runs of one text; it is cut to its first few hundred words."""
_TOKEN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]|[^\W\u3400-\u9fff\uf900-\ufaff]+")
_CHINESE = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_SHORT = 2


def spans(text: str) -> list[str]:
    """The runs, the longest that begin at a place first; a short single word is none.

    >>> spans("the 3-D Man")[:3], "零部件" in spans("有多少零部件")
    (['the 3-D Man', 'the 3-D', 'the 3'], True)
    """
    found: dict[str, None] = {}
    for run in _runs(text):
        if len(found) >= MOST:
            break
        found[run] = None
    return list(found)


def _runs(text: str) -> Iterator[str]:
    tokens = [(m.start(), m.end()) for m in _TOKEN.finditer(text)]
    for at, (start, end) in enumerate(tokens):
        chinese = bool(_CHINESE.match(text[start]))
        reach = LONGEST * 4 if chinese else LONGEST
        for last in range(min(at + reach, len(tokens)) - 1, at - 1, -1):
            run = text[start : tokens[last][1]]
            if "\n" not in run and (last > at or end - start > _SHORT):
                yield run
