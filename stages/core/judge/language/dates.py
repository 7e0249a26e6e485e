"""Dates in questions as spans of time, with the words that make ranges of them.

Words around a date that make it a range: ``since``, ``before``, 以来; and words that ask for a
time beside the one that is said: ``the year before``, ``year over year``, 同比, ``the last 3
years``.

All of it in whole numbers YYYYMMDD as in `dates`. Where a word may mean two times, both are
asked for: a spare table costs tokens, a lost one the answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]

#: The first and last day of an open range.
FIRST, LAST = 10101, 99991231
#: Letters around a date that are looked at.
AROUND = 48
_UNIT = r"(?:year|month|quarter|week|day|date|period)"
_LEAD = rf"\s*(?:the\s+)?(?:(?:end|start|beginning|close|turn|month|year|quarter)\s+of\s+)?(?:(?:fiscal|calendar)\s+)?(?:{_UNIT}\s+(?:of\s+)?|FY\s*)?$"  # noqa: E501
_RANGE = re.compile(
    r"^(?:[年月日号底末初]|[\s,)])*(?:and\s+)?(?:-|–|—|~|～|to|through|thru|until|till|and|up to"
    r"|ending(?:\s+(?:on|in|at|with))?|至|到|和|与|及|直到|截至|截止到?)[\s(]*(?:the\s+)?"
    r"(?:(?:end|start|beginning)\s+of\s+|year\s+|fiscal\s+year\s+|FY\s*)?$",
    re.IGNORECASE,
)


def _before(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{words}){_LEAD}", re.IGNORECASE)


def _after(words: str) -> re.Pattern[str]:
    return re.compile(rf"^[\s,年月日号份度]*(?:{words})", re.IGNORECASE)


_ONWARDS = (
    _before(
        r"\b(?:since|(?:starting|beginning|commencing|counting)(?:\s+(?:from|in|on|at|with))?"
        r"|not before|no earlier than|not earlier than|from and after)"
        r"|(?:自从?|从|不早于|始于)(?:\S{0,2})"
    ),
    _after(
        r"(?:or|and|&)\s+(?:later|after|afterwards?|beyond|since|newer|onwards?|on\b)"
        r"|onwards?\b|on\s*(?:$|[,.?;])|forward\b|to\s+(?:date|now|today|(?:the\s+)?present)\b"
        r"|(?:until|till|through)\s+(?:now|today|(?:the\s+)?present)\b|[-–]\s*(?:present|now)\b"
        r"|(?:以来|(?:及|和|或)?(?:以后|之后|往后)|后|起|开始|至今|迄今|到现在|到今天|至现在)"
    ),
)
_LATER = (
    _before(
        r"\b(?:after|later than|beyond|post|past|newer than|more recent than|subsequent to)[\s-]?"
        r"|晚于|迟于"
    ),
    None,
)
_EARLIER = (
    _before(r"\b(?:before|prior to|earlier than|pre|older than|preceding|ahead of)[\s-]?|早于"),
    _after(r"(?:以前|之前|前)(?![\d一二两三四五六七八九十])"),
)
_UNTIL = (
    _before(
        r"\b(?:until|till|up\s+to|up\s+until|through|no later than|not later than|not after|by"
        r"|as late as|ending(?:\s+(?:on|in|at|with))?|ended)"
        r"(?:,?\s+(?:and|or)\s+including,?)?|(?:截至|截止到?|直到|不晚于)"
    ),
    _after(r"(?:or|and)\s+(?:earlier|before|prior|older)|(?:及|和|或)(?:以前|之前)|为止|止|底前"),
)


def is_range(between: str) -> bool:
    """Whether the words between two dates make one range of them.

    >>> is_range(" to "), is_range(", and ending on "), is_range("年至"), is_range(" sales, ")
    (True, True, True, False)
    """
    return len(between) <= AROUND and _RANGE.match(between) is not None


def opened(span: Span, before: str, after: str) -> Span:
    """The span, open to the side that the words before or after it say.

    >>> opened((20200101, 20201231), "Sales after ", ""), opened((20200101, 20201231), "", "年以前")
    ((20210101, 99991231), (10101, 20191231))
    """
    if span[1] < FIRST:
        return span
    before, after = before[-AROUND:], after[:AROUND]
    for (ahead, behind), made in (
        (_UNTIL, (FIRST, span[1])),
        (_ONWARDS, (span[0], LAST)),
        (_LATER, (_next(span[1]), LAST)),
        (_EARLIER, (FIRST, _previous(span[0]))),
    ):
        if ahead.search(before) or (behind is not None and behind.search(after)):
            return made
    return span


_COUNT = {
    word: at
    for at, words in enumerate(
        [
            "",
            "one 一",
            "two couple 二 两",
            "three 三",
            "four 四",
            "five 五",
            "six 六",
            "seven 七",
            "eight 八",
            "nine 九",
            "ten 十",
            "eleven 十一",
            "twelve 十二",
        ]
    )
    for word in words.split()
}
_N = r"(\d{1,3}|" + "|".join(sorted(filter(str.isascii, _COUNT), key=len, reverse=True)) + ")"
_ZN = r"(\d{1,3}|十[一二]?|[一二两三四五六七八九])"
_UNITS = {"year": 12, "年": 12, "quarter": 3, "季度": 3, "季": 3, "month": 1, "月": 1}
_BACK = re.compile(
    rf"\b(?:last|past|previous|preceding|prior|trailing)\s+{_N}[\s-]+(year|quarter|month|week|day)s?\b"
    rf"|\b{_N}[\s-]+(year|quarter|month|week|day)s?(?:\s+period)?\s+"
    rf"(?:before|earlier|prior|previously|preceding|up to|leading|ago|ending)\b"
    rf"|(?:过去|最近|近|前|此前|之前|往前)的?{_ZN}个?(年|季度|月|周|天|日)"
    rf"|{_ZN}个?(年|季度|月|周|天|日)(?:以?前|之前)",
    re.IGNORECASE,
)
_AHEAD = re.compile(
    rf"\b(?:next|following|subsequent|coming)\s+{_N}[\s-]+(year|quarter|month|week|day)s?\b"
    rf"|\b{_N}[\s-]+(year|quarter|month|week|day)s?(?:\s+period)?\s+(?:after|later|following|since|starting|beginning|from)\b"
    rf"|(?:之后|此后|后|接下来|未来)的?{_ZN}个?(年|季度|月|周|天|日)"
    rf"|{_ZN}个?(年|季度|月|周|天|日)(?:以?后|之后)",
    re.IGNORECASE,
)
_WITHIN = re.compile(
    rf"\bwithin\s+(?:the\s+)?(?:first\s+|next\s+)?{_N}[\s-]+(year|quarter|month|week|day)s?\b"
    rf"|{_ZN}个?(年|季度|月|周|天|日)(?:之?内|以内)",
    re.IGNORECASE,
)
_THEREAFTER = re.compile(
    r"\b(?:subsequent(?:ly)?|thereafter|afterwards?|(?:any|some|a) later|later (?:time|on)"
    r"|eventually)\b|此后|随后|后来|后续",
    re.IGNORECASE,
)
_SIDE = r"(?:the\s+)?(?:immediately\s+)?(?:fiscal\s+|calendar\s+)?"
_YEAR_BEFORE = re.compile(
    rf"year[\s-]+(?:over|on|to)[\s-]+year|\by[\s/-]?o[\s/-]?y\b|\by/y\b"
    rf"|\byear\s+(?:before|earlier|prior|previous|preceding|ago)\b|(?:previous|prior|preceding|last|past|earlier)(?:'s)?\s+{_SIDE}year"
    rf"|same\s+{_UNIT}\s+(?:of\s+)?(?:the\s+)?(?:last|previous|prior|a year|year)|annual\s+(?:growth|change|increase|decline)"  # noqa: E501
    r"|\b(?:grow|growth|grew|grown|growing)\b"
    r"|同比|上年|上一年|前一年|前年|去年|往年|年增长|增长率|增速|增幅|涨幅|增长了?多少|比上",
    re.IGNORECASE,
)
_PERIOD_BEFORE = re.compile(
    rf"{_UNIT}[\s-]+(?:over|on|to)[\s-]+{_UNIT}|\b[mqwd][\s/-]?o[\s/-]?[mqwd]\b"
    rf"|\b{_UNIT}\s+(?:before|earlier|prior|preceding|ago)\b|(?:previous|prior|preceding|last|past|earlier)(?:'s)?\s+{_SIDE}{_UNIT}"
    r"|\b(?:grow|growth|grew|grown|growing)\b|\bday before\b"
    r"|环比|上个?(?:月|季|周|期)|前一(?:个?月|个?季|天|日|周|期)|前一个|增长率|增速|增幅|涨幅|增长了?多少|比上",
    re.IGNORECASE,
)
_YEAR_AFTER = re.compile(
    rf"(?:following|next|subsequent|succeeding)\s+{_SIDE}year|\byear\s+(?:after|later|following)\b"
    r"|次年|翌年|第二年|下一年|后一年|明年|来年",
    re.IGNORECASE,
)
_PERIOD_AFTER = re.compile(
    rf"(?:following|next|subsequent|succeeding)\s+{_SIDE}{_UNIT}|\b{_UNIT}\s+(?:after|later|following)\b"
    r"|次月|下个?(?:月|季|周|期)|后一(?:个?月|个?季|天|日|周)|次日|翌日",
    re.IGNORECASE,
)


def compared(found: Sequence[Span], text: str) -> list[Span]:
    """Spans beside those that a text speaks of, that it compares them with or reaches to."""
    known = [span for span in found if span[1] > FIRST]
    if not known:
        return []
    made: list[Span] = []
    for pattern, sign in ((_BACK, -1), (_AHEAD, 1), (_WITHIN, 1)):
        for match in pattern.finditer(text):
            count, unit = (part.lower() for part in match.groups() if part)
            months = _months_of(count, unit)
            made += (_stretched(span, sign * months) for span in known)
    for pattern, move in (
        (_YEAR_BEFORE, lambda span: _shifted(span, -12)),
        (_PERIOD_BEFORE, lambda span: _beside(span, -1)),
        (_YEAR_AFTER, lambda span: _shifted(span, 12)),
        (_PERIOD_AFTER, lambda span: _beside(span, 1)),
        (_THEREAFTER, lambda span: (span[0], LAST)),
    ):
        if pattern.search(text):
            made += map(move, known)
    return [span for span in made if span not in found]


def _months_of(count: str, unit: str) -> int:
    """How many whole months a number of units takes."""
    number = int(count) if count.isdigit() else _COUNT.get(count, 1)
    days = {"week": 7, "周": 7, "day": 1, "天": 1, "日": 1}
    return number * _UNITS[unit] if unit in _UNITS else -(-number * days[unit] // 28)


def _moved(day: int, months: int) -> int:
    """A day moved by months; the ends of open ranges stay."""
    if day in (FIRST, LAST):
        return day
    at = day // 10000 * 12 + day // 100 % 100 - 1 + months
    return at // 12 * 10000 + (at % 12 + 1) * 100 + day % 100


def _shifted(span: Span, months: int) -> Span:
    return (_moved(span[0], months), _moved(span[1], months))


def _stretched(span: Span, months: int) -> Span:
    """The span longer by months, to the past where they are negative."""
    if months < 0:
        return (_moved(span[0], months), span[1])
    return (span[0], _moved(span[1], months))


def _beside(span: Span, sign: int) -> Span:
    """The time as long as the span right before or after it; of a day, its month and that."""
    first, last = span
    if first in (FIRST, LAST) or last == LAST:
        return _shifted(span, 12 * sign)
    months = last // 10000 * 12 + last // 100 % 100 - (first // 10000 * 12 + first // 100 % 100) + 1
    if first == last:
        return (min(first, _moved(first, sign)), max(first, _moved(first, sign)))
    return _shifted(span, sign * months)


def _next(day: int) -> int:
    """The day after, or what stands after it where a month ends."""
    year, month, number = day // 10000, day // 100 % 100, day % 100
    if number < 31:
        return day + 1
    return (year + 1) * 10000 + 101 if month == 12 else year * 10000 + (month + 1) * 100 + 1


def _previous(day: int) -> int:
    """The day before."""
    year, month, number = day // 10000, day // 100 % 100, day % 100
    if number > 1:
        return day - 1
    return (year - 1) * 10000 + 1231 if month == 1 else year * 10000 + (month - 1) * 100 + 31


# Dates in questions, as spans of time.
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
        if made and is_range(between) and (both := _range(made[-1][2], span)):
            made[-1] = (made[-1][0], end, both)
            joined[-1] = True
        else:
            made.append((start, end, span))
            joined.append(False)
    befores = [0, *(end for _, end, _ in made)]
    afters = [*(start for start, _, _ in made[1:]), len(text)]
    return tuple(
        (start, end, span if ranged else opened(span, text[before:start], text[end:after]))
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
    return tuple(dict.fromkeys(span for _, _, span in places(text) if span[1] > YEAR_END))


#: The last day of the year 0, which stands for any year.
YEAR_END = 1231


@lru_cache(maxsize=16)
def target_spans(text: str) -> tuple[Span, ...]:
    """All spans whose data a text asks for: those it speaks of, in any year where it says none,
    and those it compares them with (``the year before``, 同比).

    >>> target_spans("2020年销售额同比增长多少"), target_spans("sales in March")
    (((20200101, 20201231), (20190101, 20191231)), ((301, 331),))
    """
    found = tuple(dict.fromkeys(span for _, _, span in places(text)))
    return tuple(dict.fromkeys((*found, *compared(found, text))))


def _range(first: Span, last: Span) -> Span | None:
    """The range from one span to another; None where they are none."""
    known = (first[0] > YEAR_END, last[0] > YEAR_END)
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
