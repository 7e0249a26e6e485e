"""Dates in questions and in the names of tables that are split by date or number.

``events_20210102`` holds one day, ``sales_2018`` a year; a question about a time needs the parts
of its span. Spans are pairs of whole numbers YYYYMMDD, both ends included.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]

_MONTHS = {
    name: at + 1
    for at, names in enumerate(
        [
            "jan january",
            "feb february",
            "mar march",
            "apr april",
            "may",
            "jun june",
            "jul july",
            "aug august",
            "sep sept september",
            "oct october",
            "nov november",
            "dec december",
        ]
    )
    for name in names.split()
}
_M = "(" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\.?"
_Y = r"((?:19|20)\d\d)"
_D = r"(\d{1,2})(?:st|nd|rd|th)?"
_TO = r"\s*(?:-|–|—|to|through|until|and|至|到)\s*"
#: Patterns in the order they are tried; what one takes, later ones do not see.
_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("ymd", re.compile(rf"\b{_Y}[-/.年](\d{{1,2}})[-/.月](\d{{1,2}})")),
    ("packed", re.compile(rf"\b{_Y}(0[1-9]|1[0-2])([0-3]\d)\b")),
    ("mdy", re.compile(rf"\b(\d{{1,2}})/(\d{{1,2}})/{_Y}\b")),
    ("days", re.compile(rf"\b{_M}\s+{_D}{_TO}{_D},?\s+{_Y}\b", re.I)),
    ("month day", re.compile(rf"\b{_M}\s+{_D},?\s+(?:of\s+)?{_Y}\b", re.I)),
    ("day month", re.compile(rf"\b{_D}\s+(?:of\s+)?{_M},?\s+{_Y}\b", re.I)),
    ("months", re.compile(rf"\b{_M}{_TO}{_M},?\s+(?:of\s+)?{_Y}\b", re.I)),
    ("month", re.compile(rf"\b{_M},?\s+(?:of\s+)?{_Y}\b", re.I)),
    ("ym", re.compile(rf"\b{_Y}[-/年](0?[1-9]|1[0-2])(?!\d)")),
    ("half", re.compile(rf"\b(first|second) half of {_Y}\b", re.I)),
    ("bare", re.compile(rf"\b{_M}\s+{_D}\b(?!,?\s*\d{{4}})", re.I)),
    ("year", re.compile(rf"(?<![\d.,]){_Y}(?![\d]|,\d)")),
)
_RANGE = re.compile(
    r"^[\s,)]*(?:-|–|—|to|through|until|till|and|up to|至|到|和)[\s(]*(?:the\s+)?$", re.I
)
_SHARD = re.compile(r"(?<!\d)((?:19|20)\d{2})(?:_?(0[1-9]|1[0-2])(?:_?([0-3]\d))?)?(?!\d)")


@lru_cache(maxsize=16)
def spans(text: str) -> tuple[Span, ...]:
    """The spans of time a text speaks of, in order; two dates joined by a word of range are one.

    >>> spans("from June 1, 2017 to July 31, 2017")
    ((20170601, 20170731),)
    >>> spans("on January 2nd, 2021")
    ((20210102, 20210102),)
    """
    found = sorted(_found(text[:5000]))
    made: list[Span] = []
    last = -1
    for start, end, span in found:
        if made and last >= 0 and _RANGE.match(text[last:start]) and made[-1][0] <= span[1]:
            made[-1] = (made[-1][0], span[1])
        else:
            made.append(span)
        last = end
    return tuple(dict.fromkeys(made))


def _found(text: str) -> list[tuple[int, int, Span]]:
    """Dates by place: ``(start, end, span)``; each letter belongs to one date."""
    found: list[tuple[int, int, Span]] = []
    year = next(iter(re.findall(_Y, text)), "")
    for form, pattern in _FORMS:
        for match in pattern.finditer(text):
            if all(match.end() <= start or match.start() >= end for start, end, _ in found):
                span = _span(form, [part.lower() for part in match.groups()], year)
                if span is not None:
                    found.append((match.start(), match.end(), span))
    return found


def _span(form: str, parts: list[str], year: str) -> Span | None:
    """The span of one match; None where the year is not known or the month is none."""
    month = {name: _MONTHS.get(name, 0) for name in parts}
    if form in {"ymd", "packed"}:
        return _day(parts[0], int(parts[1]), int(parts[2]))
    if form == "mdy":
        return _day(parts[2], int(parts[0]), int(parts[1]))
    if form == "days":
        first, last = _day(parts[3], month[parts[0]], int(parts[1])), int(parts[2])
        return (first[0], first[0] - int(parts[1]) + last) if first else None
    if form == "month day":
        return _day(parts[2], month[parts[0]], int(parts[1]))
    if form == "day month":
        return _day(parts[2], month[parts[1]], int(parts[0]))
    if form == "months":
        return _whole(parts[2], month[parts[0]], month[parts[1]])
    if form == "month":
        return _whole(parts[1], month[parts[0]], month[parts[0]])
    if form == "ym":
        return _whole(parts[0], int(parts[1]), int(parts[1]))
    if form == "half":
        return _whole(parts[1], *((1, 6) if parts[0] == "first" else (7, 12)))
    if form == "bare":
        return _day(year, month[parts[0]], int(parts[1])) if year else None
    return _whole(parts[0], 1, 12)


def _day(year: str, month: int, day: int) -> Span | None:
    """One day."""
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    at = int(year) * 10000 + month * 100 + day
    return (at, at)


def _whole(year: str, first: int, last: int) -> Span:
    """Whole months of a year."""
    return (int(year) * 10000 + first * 100 + 1, int(year) * 10000 + last * 100 + 31)


@lru_cache(maxsize=50_000)
def shard(name: str) -> Span | None:
    """The span of time in a table's name; the last where there are several.

    >>> shard("events_20210102"), shard("sales_2018"), shard("orders")
    ((20210102, 20210102), (20180101, 20181231), None)
    """
    found = _SHARD.findall(name)
    if not found:
        return None
    year, month, day = found[-1]
    if day:
        return _day(year, int(month), int(day))
    return _whole(year, int(month), int(month)) if month else _whole(year, 1, 12)


@lru_cache(maxsize=50_000)
def family(name: str) -> str:
    """A table's name with its numbers taken out: what the parts of one family share.

    >>> family("events_20210102") == family("events_20201101")
    True
    """
    return re.sub(r"\d+", "#", name.lower())


def overlaps(part: Span, asked: tuple[Span, ...]) -> bool:
    """Whether a part of a family holds any of the time asked for."""
    return any(part[0] <= end and start <= part[1] for start, end in asked)


@lru_cache(maxsize=50_000)
def digits(name: str) -> frozenset[str]:
    """The numbers in a name, without leading zeros; those of two digits also as years.

    >>> sorted(digits("indiv_20"))
    ['20', '2020']
    """
    found = {number.lstrip("0") for number in re.findall(r"\d+", name)}
    return frozenset(found | {f"20{n}" for n in found if len(n) == 2})
