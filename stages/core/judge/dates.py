"""Dates in questions, as spans of time.

Spans are pairs of whole numbers YYYYMMDD, both ends included; where no year is said the year is
0 (``in March`` is 301 to 331). A question about a time needs the parts of its span (`parts`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias

from stages.core.judge import ranges

Span: TypeAlias = tuple[int, int]
#: A span in a text: where it begins and ends there.
Place: TypeAlias = tuple[int, int, Span]

#: Letters of a text that are read.
MOST_LETTERS = 5000
MONTHS = {
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
_CHINESE = {
    name: at + 1
    for at, name in enumerate(
        ["一", "二", "三", "四", "五", "六", "七", "八", "九", "十", "十一", "十二"]
    )
}
_NTH = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4}
_NTH |= {"last": 4, "final": 4, "上": 1, "下": 2}
_M = "(" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\.?"
_Y = r"((?:19|20)\d\d)"
_D = r"(\d{1,2})(?:st|nd|rd|th)?"
_Z = r"(0?[1-9]|1[0-2]|十[一二]?|[一二三四五六七八九])"
_Q = r"(first|second|third|fourth|last|final|1st|2nd|3rd|4th)\s+quarter"
_OF = r",?\s*(?:of\s+)?(?:the\s+)?(?:(?:fiscal|calendar)\s+)?(?:year\s+|FY\s*)?"
_TO = r"\s*(?:-|–|—|to|through|until|and|至|到)\s*"
#: Patterns in the order they are tried; what one takes, later ones do not see.
_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (form, re.compile(pattern, re.IGNORECASE))
    for form, pattern in (
        ("ymd", rf"\b{_Y}\s*[-/.年]\s*(\d{{1,2}})\s*[-/.月]\s*(\d{{1,2}})(?!\d)[日号]?"),
        ("ymd", rf"(?<!\d){_Y}年{_Z}月(\d{{1,2}})[日号]?"),
        ("packed", rf"(?<!\d){_Y}(0[1-9]|1[0-2])([0-3]\d)(?!\d)"),
        ("mdy", rf"\b(\d{{1,2}})/(\d{{1,2}})/{_Y}\b"),
        ("days", rf"\b{_M}\s+{_D}{_TO}{_D},?\s+{_Y}\b"),
        ("month day", rf"\b{_M}\s+{_D},?\s+(?:of\s+)?{_Y}\b"),
        ("day month", rf"\b{_D}\s+(?:of\s+)?{_M},?\s+{_Y}\b"),
        ("months", rf"\b{_M}{_TO}{_M},?\s+(?:of\s+)?{_Y}\b"),
        ("month", rf"\b{_M},?\s+(?:of\s+)?{_Y}\b"),
        ("quarter year", rf"\b(?:Q\s?([1-4])|{_Q}){_OF}{_Y}\b"),
        ("year quarter", rf"(?<!\d){_Y}[\s_-]*(?:年度?)?[\s_-]*(?:Q\s?([1-4])\b|{_Q})"),
        ("year quarter", rf"(?<!\d){_Y}\s*年?度?第?([一二三四1-4])季度?"),
        ("half", rf"\b(?:(first|second|last) half{_OF}|H\s?([12])\s*){_Y}\b"),
        ("year half", rf"(?<!\d){_Y}\s*(?:年?度?(上|下)半年|[\s_-]*H([12])\b)"),
        ("ym", rf"(?<![\d.,]){_Y}\s*[-/年]\s*{_Z}(?!\d)(?:月份?)?(?![年季])"),
        ("decade", rf"(?<![\d.,]){_Y}(?:'?s\b|年代)"),
        ("season", rf"(?<![\d.,]){_Y}\s*[-/–]\s*(\d\d)(?![\d-])"),
        ("year", rf"(?<![\d.,]){_Y}(?![\d]|,\d)(?:\s*(?:财?年度?|財年))?"),
        ("bare", rf"\b{_M}\s+{_D}\b(?!,?\s*\d{{4}})"),
        ("bare", rf"\b{_D}\s+(?:of\s+)?{_M}\b"),
        ("bare", rf"(?<![\d年]){_Z}月(\d{{1,2}})[日号]"),
        ("bare quarter", rf"\b(?:Q([1-4])\b|{_Q})|第?([一二三四1-4])季度"),
        ("bare half", r"(上|下)半年|\b(first|second) half of the year\b"),
        ("bare month", rf"(?<![\d年]){_Z}月(?!\d)份?"),
    )
)
#: A month that stands alone has a capital, or no other meaning.
_ALONE = re.compile(
    r"\b(Jan|January|Feb|February|March|Apr|April|May|June?|July?|Aug|August|Sept?|September|Oct"
    r"|October|Nov|November|Dec|December|january|february|april|june|july|august|september"
    r"|october|november|december)\b\.?"
)
#: Words that are also names of months need a word of time before them.
_DOUBTFUL = frozenset(["may", "march"])
_TIMELY = re.compile(
    r"\b(?:in|of|during|for|since|until|till|from|to|through|between|and|before|after|by|last|this"
    r"|early|late|mid|next|each|every|or)[\s-]+$|[-–,]\s*$",
    re.IGNORECASE,
)
_ANY = re.compile(
    r"(?:19|20)\d\d|quarter|Q\d|[季月]|半年|half of|\b" + _M + r"(?![a-z])", re.IGNORECASE
)


@lru_cache(maxsize=16)
def places(text: str) -> tuple[Place, ...]:
    """The spans of time a text speaks of, where they stand; two dates joined by a word of range
    are one, and a date after ``since`` or before ``以前`` is open to one side."""
    text = text[:MOST_LETTERS]
    if not _ANY.search(text):
        return ()
    found = sorted(_found(text))
    made: list[Place] = []
    joined: list[bool] = []
    for start, end, span in found:
        between = text[made[-1][1] : start] if made else ""
        if made and ranges.is_range(between) and (both := _joined(made[-1][2], span)):
            made[-1] = (made[-1][0], end, both)
            joined[-1] = True
        else:
            made.append((start, end, span))
            joined.append(False)
    befores = [0, *(end for _, end, _ in made)]
    afters = [*(start for start, _, _ in made[1:]), len(text)]
    return tuple(
        (start, end, span if ranged else ranges.opened(span, text[before:start], text[end:after]))
        for (start, end, span), ranged, before, after in zip(
            made, joined, befores, afters, strict=False
        )
    )


def spans(text: str) -> tuple[Span, ...]:
    """The spans of time of known years that a text speaks of, in order.

    >>> spans("from June 1, 2017 to July 31, 2017")
    ((20170601, 20170731),)
    >>> spans("2019年到2021年"), spans("since Q2 2020")
    (((20190101, 20211231),), ((20200401, 99991231),))
    """
    return tuple(dict.fromkeys(span for _, _, span in places(text) if span[1] > LAST))


#: The last day of the year 0, which stands for any year.
LAST = 1231


@lru_cache(maxsize=16)
def asked(text: str) -> tuple[Span, ...]:
    """All spans whose data a text asks for: those it speaks of, in any year where it says none,
    and those it compares them with (``the year before``, 同比).

    >>> asked("2020年销售额同比增长多少"), asked("sales in March")
    (((20200101, 20201231), (20190101, 20191231)), ((301, 331),))
    """
    found = tuple(dict.fromkeys(span for _, _, span in places(text)))
    return tuple(dict.fromkeys((*found, *ranges.compared(found, text))))


def _joined(first: Span, last: Span) -> Span | None:
    """The range from one span to another; None where they are none."""
    known = (first[0] > LAST, last[0] > LAST)
    if known[0] != known[1] or first[0] > last[1]:
        return None
    return (first[0], last[1])


def _found(text: str) -> list[Place]:
    """Dates by place; each letter belongs to one date."""
    found: list[Place] = []
    year = next(iter(re.findall(_Y, text)), "0")
    for form, pattern in _FORMS:
        for match in pattern.finditer(text):
            _add(found, match, _span(form, [p.lower() for p in match.groups() if p], year))
    for match in _ALONE.finditer(text):
        name = match[1].lower()
        if name not in _DOUBTFUL or _TIMELY.search(text[: match.start()]):
            _add(found, match, whole(year, MONTHS[name], MONTHS[name]))
    return found


def _add(found: list[Place], match: re.Match[str], span: Span | None) -> None:
    """Add a date where no other stands."""
    start, end = match.span()
    if span and all(end <= first or start >= last for first, last, _ in found):
        found.append((start, end, span))


def number_of(part: str) -> int:
    """A month, quarter or half by its name or number in either language."""
    known = MONTHS.get(part) or _CHINESE.get(part) or _NTH.get(part)
    return known or int(part)


def _span(form: str, parts: list[str], year: str) -> Span | None:
    """The span of one match; None where it is none. ``parts`` are the groups that matched."""
    if form in _BY_ORDER:
        order = _BY_ORDER[form]
        year, month, number = (parts[at] for at in order)
        return day(year, number_of(month), int(number))
    if form == "days":
        first, last = day(parts[3], MONTHS[parts[0]], int(parts[1])), int(parts[2])
        return (first[0], first[0] - int(parts[1]) + last) if first and first[0] else None
    if form == "bare":
        month, at = reversed(parts) if parts[1] in MONTHS else parts
        return day(year, number_of(month), int(at))
    if form in {"quarter year", "half", "months", "month"}:
        return _months(form, parts[-1], parts[:-1])
    if form in {"year quarter", "year half", "ym"}:
        return _months(form, parts[0], parts[1:])
    if form.startswith("bare "):
        return _months(form, year, parts)
    if form in {"decade", "season"}:
        return _years(form, parts)
    return whole(parts[0], 1, 12)


#: Forms of one day: where year, month and day stand among the groups.
_BY_ORDER = {
    "ymd": (0, 1, 2),
    "packed": (0, 1, 2),
    "mdy": (2, 0, 1),
    "month day": (2, 0, 1),
    "day month": (2, 1, 0),
}


def _months(form: str, year: str, said: list[str]) -> Span:
    """Months, a quarter or a half of a year."""
    numbers = [number_of(part) for part in said]
    if "quarter" in form:
        return whole(year, 3 * numbers[0] - 2, 3 * numbers[0])
    if "half" in form:
        return whole(year, 1, 6) if numbers[0] == 1 else whole(year, 7, 12)
    return whole(year, numbers[0], numbers[-1])


def _years(form: str, parts: list[str]) -> Span | None:
    """A decade, or two years written as one (``2018/19``)."""
    first = int(parts[0])
    if form == "decade":
        if first % 10:
            return whole(parts[0], 1, 12)
        return (first * 10000 + 101, (first + 9) * 10000 + 1231)
    last = first // 100 * 100 + int(parts[1])
    return (first * 10000 + 101, last * 10000 + 1231) if last == first + 1 else None


def day(year: str, month: int, number: int) -> Span | None:
    """One day; None where the calendar has none such."""
    if not (1 <= month <= 12 and 1 <= number <= 31):
        return None
    at = int(year) * 10000 + month * 100 + number
    return (at, at)


def whole(year: str, first: int, last: int) -> Span:
    """Whole months of a year."""
    return (int(year) * 10000 + first * 100 + 1, int(year) * 10000 + max(first, last) * 100 + 31)
