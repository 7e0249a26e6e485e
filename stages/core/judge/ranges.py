"""Words around a date that make it a range: ``since``, ``before``, 以来; and words that ask for a
time beside the one that is said: ``the year before``, ``year over year``, 同比, ``the last 3 years``.

All of it in whole numbers YYYYMMDD as in `dates`. Where a word may mean two times, both are
asked for: a spare table costs tokens, a lost one the answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]

#: The first and last day of an open range.
FIRST, LAST = 10101, 99991231
#: Letters around a date that are looked at.
AROUND = 48
_UNIT = r"(?:year|month|quarter|week|day|date|period)"
_LEAD = rf"\s*(?:the\s+)?(?:(?:end|start|beginning|close|turn|month|year|quarter)\s+of\s+)?(?:(?:fiscal|calendar)\s+)?(?:{_UNIT}\s+(?:of\s+)?|FY\s*)?$"
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
        r"|as late as|ending(?:\s+(?:on|in|at|with))?|ended)|(?:截至|截止到?|直到|不晚于)"
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
    rf"|same\s+{_UNIT}\s+(?:of\s+)?(?:the\s+)?(?:last|previous|prior|a year|year)|annual\s+(?:growth|change|increase|decline)"
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
