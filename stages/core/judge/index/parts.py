"""Tables split by time or number: which part holds the time that a question asks for.

``events_20210102`` holds one day, ``sales_2018`` a year, ``visits_2020q3`` a quarter,
``orders_jan`` a month of any year. Spans are pairs of whole numbers as in `dates`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from stages.core.judge.index.keys import last_name
from stages.core.judge.index.postings import Floats, Ints
from stages.core.judge.language import dates

_Y = r"(?<!\d)((?:19|20)\d{2})"
_SEP = r"[\W_年]?"
_MONTH = "(" + "|".join(sorted(dates.MONTHS, key=len, reverse=True)) + ")"
_ALONE = rf"(?<![a-z]){_MONTH}(?![a-z])"
_NUMBER = r"(0[1-9]|1[0-2]|十[一二]?|[一二三四五六七八九]|[1-9](?=月))"
_QUARTER = r"(?:q([1-4])(?!\d)|第?([一二三四1-4])季度?)"
#: How times stand in names; what an earlier one takes, later ones do not see.
_FORMS = tuple(
    (form, re.compile(pattern))
    for form, pattern in (
        ("ymd", rf"{_Y}{_SEP}(0[1-9]|1[0-2]){_SEP}([0-3]\d)(?!\d)"),
        ("yq", rf"{_Y}{_SEP}{_QUARTER}"),
        ("qy", rf"(?<![a-z]){_QUARTER}{_SEP}{_Y}(?!\d)"),
        ("yh", rf"{_Y}{_SEP}(?:h([12])(?!\d)|([上下])半年)"),
        ("hy", rf"(?<![a-z])h([12]){_SEP}{_Y}(?!\d)"),
        ("ym", rf"{_Y}{_SEP}{_MONTH}(?![a-z])"),
        ("my", rf"(?<![a-z]){_MONTH}{_SEP}{_Y}(?!\d)"),
        ("ym", rf"{_Y}{_SEP}{_NUMBER}(?!\d)"),
        ("my", rf"(?<!\d)(0[1-9]|1[0-2])[\W_]{_Y}(?!\d)"),
        ("y", rf"{_Y}(?!\d)"),
    )
)
_YEARLESS = (
    ("q", re.compile(rf"(?<![a-z]){_QUARTER}")),
    ("m", re.compile(_ALONE)),
    ("m", re.compile(r"(?<!\d)(1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])月")),
)
_HALVES = {"上": "1", "下": "2"}
_FAMILY = re.compile(rf"\d+|{_ALONE}|(?:十[一二]?|[一二三四五六七八九])(?=季|月)")


@lru_cache(maxsize=50_000)
def shard(name: str) -> dates.Span | None:
    """The span of time in a table's name, from the first to the last where it has several years.

    >>> shard("events_20210102"), shard("sales_2018"), shard("visits_2020q3"), shard("orders")
    ((20210102, 20210102), (20180101, 20181231), (20200701, 20200931), None)
    """
    low, found = name.lower(), []
    for form, pattern in _FORMS:
        for match in pattern.finditer(low):
            if span := _span(form, [part for part in match.groups() if part]):
                found.append((match.start(), span))
        low = pattern.sub(lambda match: "#" * len(match[0]), low)
    years = [span for _, span in sorted(found)]
    if len(years) > 1 and all(_is_year(span) for span in years) and years == sorted(years):
        return (years[0][0], years[-1][1])
    return years[-1] if years else None


def _is_year(span: dates.Span) -> bool:
    return span[1] - span[0] == 1130


def _span(form: str, said: list[str]) -> dates.Span | None:
    """The span of one time in a name."""
    if form == "ymd":
        return dates.day(said[0], int(said[1]), int(said[2]))
    if form == "y":
        return dates.whole(said[0], 1, 12)
    year, part = (said[1], said[0]) if form.endswith("y") else (said[0], said[1])
    number = dates.number_of(_HALVES.get(part, part))
    months = {"q": 3, "h": 6, "m": 1}[form.strip("y")]
    return dates.whole(year, months * (number - 1) + 1, months * number)


@lru_cache(maxsize=50_000)
def season(name: str) -> dates.Span | None:
    """The months in the name of a table that says no year, in the year 0.

    >>> season("sales_jan"), season("budget_q2"), season("一季度销售"), season("market")
    ((101, 131), (401, 631), (101, 331), None)
    """
    for form, pattern in _YEARLESS:
        if match := pattern.search(name.lower()):
            return _span(f"y{form}", ["0", next(part for part in match.groups() if part)])
    return None


@lru_cache(maxsize=50_000)
def family(name: str) -> str:
    """A table's name with its numbers and months taken out: what the parts of one family share.

    >>> family("events_20210102") == family("events_20201101"), family("pay_jan") == family("pay_feb")
    (True, True)
    """  # noqa: E501
    return _FAMILY.sub("#", name.lower())


@lru_cache(maxsize=50_000)
def digits(name: str) -> frozenset[str]:
    """The numbers in a name, without leading zeros; those of two digits also as years.

    >>> sorted(digits("indiv_20"))
    ['20', '2020']
    """
    found = {number.lstrip("0") for number in re.findall(r"\d+", name)}
    return frozenset(found | {f"20{n}" for n in found if len(n) == 2})


@dataclass(frozen=True)
class Parts:
    """The times and numbers in the names of all tables.

    Args:
        at: Tables with a time in their name, by number.
        start, end: Their spans; where ``start`` is below `dates.LAST` it is of any year.
        vague: Whether the time is only likely (two digits that may be a year): such a table is
            never said to be outside of the time asked for.
        family: Same for the parts of one family, of all tables.
        numbers: Number as written in a question → tables whose names hold it.
    """

    at: Ints
    start: Ints
    end: Ints
    vague: Ints
    family: Ints
    numbers: dict[str, list[int]]

    def when(self, asked: Sequence[dates.Span]) -> Floats:
        """1 for tables inside the time asked for, -1 outside, 0 without a time; float32 [T]."""
        made = np.zeros(len(self.family), dtype=np.float32)
        if not asked or not len(self.at):
            return made
        inside = np.zeros(len(self.at), dtype=bool)
        for span in asked:
            inside |= self._meets(span)
        made[self.at] = np.where(inside, 1.0, np.where(self.vague, 0.0, -1.0))
        return made

    def which(self, asked: Collection[str]) -> Floats:
        """1 for tables whose name holds a number that is asked for; float32 [T]."""
        made = np.zeros(len(self.family), dtype=np.float32)
        for number in asked:
            made[self.numbers.get(number, [])] = 1.0
        return made

    def _meets(self, span: dates.Span) -> Ints:
        """Which tables hold any of a span; only months count where a side says no year."""
        anyway = self.start <= dates.YEAR_END
        known = (self.start <= span[1]) & (span[0] <= self.end) & ~anyway
        months = np.zeros(len(self.at), dtype=bool)
        seasonal = span[1] <= dates.YEAR_END
        mine = anyway | seasonal
        if mine.any():
            wide = (self.end // 10000 > self.start // 10000) | (span[1] // 10000 > span[0] // 10000)
            first, last = self.start % 10000, self.end % 10000
            months = wide | ((first <= span[1] % 10000) & (span[0] % 10000 <= last))
        made: Ints = np.where(mine, months, known)
        return made


def parts_of(names: Sequence[str], families: Ints) -> Parts:
    """The parts among tables, by their names as their sources spell them.

    Months and quarters of no year, and years of two digits, count only where several tables of one
    family have different ones.
    """
    last = [last_name(name) for name in names]
    sizes = Counter(families.tolist())
    found = {at: (span, False) for at, name in enumerate(last) if (span := shard(name))}
    rest = [at for at in range(len(names)) if at not in found and sizes[int(families[at])] > 1]
    for read, vague in ((season, False), (_short_year, True)):
        kin: dict[int, dict[int, dates.Span]] = defaultdict(dict)
        for at in rest:
            if at not in found and (span := read(last[at])):
                kin[int(families[at])][at] = span
        for spans in kin.values():
            if len(set(spans.values())) > 1:
                found |= {at: (span, vague) for at, span in spans.items()}
    numbers: dict[str, list[int]] = defaultdict(list)
    for at, name in enumerate(last):
        for number in digits(name):
            numbers[number].append(at)
    held = [(at, *span, vague) for at, (span, vague) in sorted(found.items())]
    table = np.array(held, dtype=np.int64).reshape(-1, 4)
    return Parts(
        table[:, 0], table[:, 1], table[:, 2], table[:, 3].astype(bool), families, dict(numbers)
    )


def _short_year(name: str) -> dates.Span | None:
    """The year that two digits may mean at the end of a name that is no code (``indiv_16``)."""
    match = re.search(r"(?:[a-z]{4}|[\W_])(\d\d)$", name.lower())
    return dates.whole(f"20{match[1]}", 1, 12) if match else None
