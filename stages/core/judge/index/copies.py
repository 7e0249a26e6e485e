"""Copies of tables: histories, archives and backups that hold the columns of another table.

A copy has the columns of its original and a name that says so: a word or first letter under which
most tables are twins of one outside it (``ACRD`` of ``OCRD``, ``ACPR`` of ``OCPR``), or a word for
copies (``orders_archive``). Questions are asked of originals, and words cannot tell the two.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from stages.core.judge.index.keys import last_name
from stages.core.judge.index.postings import Ints
from stages.core.judge.language import tokenize

#: Columns that make a table worth comparing, tables with the same columns at most (more are parts
#: of one), letters of a name that is read by its first letter.
LEAST_COLUMNS, MOST_TWINS, LONGEST_CODE = 3, 6, 6
#: Tables under one word or letter, the share of them that are twins, and how much more that is than
#: under the original's.
LEAST_TABLES, LEAST_SHARE, LEAST_MORE = 3, 0.6, 0.45
#: Words that say so by themselves.
MEANT = frozenset(
    tokenize.stem(word)
    for word in [
        "archive",
        "archived",
        "history",
        "hist",
        "historical",
        "bak",
        "backup",
        "old",
        "copy",
        "tmp",
        "temp",
        "dup",
        "duplicate",
        "staging",
        "stg",
        "audit",
        "log",
    ]
)


def copies_of(names: Sequence[str], columns: Sequence[Sequence[str]]) -> Ints:
    """The original of each table that is a copy, -1 for others; int32 [T].

    >>> copies_of(["orders_archive", "orders"], [["id", "day", "sum"]] * 2).tolist()
    [1, -1]
    """
    twins = _twins(columns)
    signs = {at: _signs(names[at]) for at in range(len(names))}
    total = Counter(sign for found in signs.values() for sign in found)
    apart = Counter(
        sign
        for at, others in twins.items()
        for sign in signs[at]
        if any(sign not in signs[other] for other in others)
    )
    share = {sign: apart[sign] / count for sign, count in total.items()}
    found = {
        at: [
            other
            for other in others
            if _is_copy(signs[at], signs[other], total, share) and _kindred(names[at], names[other])
        ]
        for at, others in twins.items()
    }
    copies = {at for at, originals in found.items() if originals}
    made = np.full(len(names), -1, dtype=np.int32)
    for at in copies:
        made[at] = min(found[at], key=lambda other: (other in copies, names[other]))
    return made


def _twins(columns: Sequence[Sequence[str]]) -> dict[int, list[int]]:
    """Tables with the same columns."""
    groups: dict[frozenset[str], list[int]] = defaultdict(list)
    for at, found in enumerate(columns):
        if len(found) >= LEAST_COLUMNS:
            groups[frozenset(map(str.lower, found))].append(at)
    return {
        at: [other for other in group if other != at]
        for group in groups.values()
        if 2 <= len(group) <= MOST_TWINS
        for at in group
    }


def _signs(name: str) -> frozenset[tuple[str, str]]:
    """What a name may show a copy by: its first word, its last word, a code's first letter."""
    own = last_name(name)
    parts = tokenize.split(own)
    found = {("letter", own[:1].lower())} if len(parts) <= 2 and len(own) <= LONGEST_CODE else set()
    if len(parts) > 1:
        found |= {("first", tokenize.stem(parts[0])), ("last", tokenize.stem(parts[-1]))}
    return frozenset(sign for sign in found if not sign[1].isdigit())


def _is_copy(
    mine: frozenset[tuple[str, str]],
    theirs: frozenset[tuple[str, str]],
    total: Counter[tuple[str, str]],
    share: dict[tuple[str, str], float],
) -> bool:
    """Whether the signs of one twin say that it is the copy, and those of the other do not."""
    own, other = mine - theirs, theirs - mine
    if any(sign[1] in MEANT for sign in other):
        return False
    meant = [share[sign] for sign in own if sign[1] in MEANT]
    if meant:
        return max(meant) >= LEAST_SHARE
    sure = [share[sign] for sign in own if total[sign] >= LEAST_TABLES]
    most = max(sure, default=0.0)
    return (
        most >= LEAST_SHARE and most - max(map(share.__getitem__, other), default=0) >= LEAST_MORE
    )


def _kindred(left: str, right: str) -> bool:
    """Whether two names share a word, or two codes two letters in a row."""
    one, two = last_name(left).lower(), last_name(right).lower()
    if max(len(one), len(two)) > LONGEST_CODE:
        return not set(tokenize.terms(last_name(left))).isdisjoint(tokenize.terms(last_name(right)))
    pairs = (one[at : at + 2] for at in range(len(one) - 1))
    return any(pair.isalpha() and pair in two for pair in pairs)
