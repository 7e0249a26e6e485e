"""The DuckDB type that a column of text can be read as without losing anything.

A value keeps its text unless casting it and back means the same: numbers with leading
zeros or a plus sign (codes, telephone numbers), days in any order but year-month-day, and
words for yes and no stay VARCHAR. Whole numbers beyond BIGINT become HUGEINT, not DOUBLE.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection

_INT = r"\ *+-?(?:0|[1-9][0-9]*+)\ *+"
_REAL = (
    r"\ *+(?:-?(?:(?:0|[1-9][0-9]*+)(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?"
    r"|\+(?:0|[1-9][0-9]*+)\.[0-9]++)\ *+"
)
_NONE = r"[nN][aA][nN]|[+-]?[iI][nN][fF](?:inity)?"
_DAY = r"[0-9]{4}(?:-[0-9]{1,2}-[0-9]{1,2}|/[0-9]{1,2}/[0-9]{1,2})"
_CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?"
_ZONE = r"(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)"
_MOMENT = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?"

_FIRST = re.compile(r"\ *[-+.0-9tTfFnNiI]")
_ONE_INT = re.compile(_INT)
_DIGIT = re.compile("[0-9]")


def _all(pattern: str) -> re.Pattern[str]:
    """Pattern of texts that are joined by line ends and each match."""
    return re.compile(rf"(?:(?:{pattern})\n)*+")


_ALL = {
    "BIGINT": _all(_INT),
    "DOUBLE": _all(f"{_REAL}|{_NONE}"),
    "DATE": _all(_DAY),
    "TIMESTAMP": _all(f"{_DAY}|{_MOMENT}"),
    "TIMESTAMP WITH TIME ZONE": _all(_MOMENT + _ZONE),
    "TIME": _all(_CLOCK),
    "BOOLEAN": _all("[tT][rR][uU][eE]|[fF][aA][lL][sS][eE]"),
}
"""Narrow before wide; one pass of one pattern over a whole column is what makes it quick."""
_BIG = 1 << 63
_HUGE = 1 << 127
_EXACT = 1 << 53


def text_type(values: Collection[str]) -> str:
    """Type of the distinct, non-empty texts of one column; VARCHAR where there are none.

    >>> text_type({"1", "-20"}), text_type({"1", "2.5"}), text_type({"007", "1"})
    ('BIGINT', 'DOUBLE', 'VARCHAR')
    """
    joined = "\n".join(values) + "\n"
    if not values or not _FIRST.match(joined):  # most columns of words end here
        return "VARCHAR"
    for kind, pattern in _ALL.items():
        if pattern.fullmatch(joined):
            alone = joined.count("\n") == len(values)  # no cell holds a line end
            return _checked(kind, values, joined) if alone else "VARCHAR"
    return "VARCHAR"


def _checked(kind: str, values: Collection[str], joined: str) -> str:
    """The type that texts are shaped like, if it holds all of them."""
    if kind == "BIGINT":
        return _whole(values)
    if kind == "DOUBLE":
        return _real(values, joined)
    if kind in ("BOOLEAN", "TIME"):
        return kind
    return kind if all(map(_is_day, {value[:10] for value in values})) else "VARCHAR"


def _whole(values: Collection[str]) -> str:
    """Narrowest type that holds whole numbers exactly."""
    longest = max(map(len, values))
    if longest < 19:
        return "BIGINT"
    if longest > 45:
        return "VARCHAR"
    numbers = [int(value) for value in values]
    low, high = min(numbers), max(numbers)
    if low >= -_BIG and high < _BIG:
        return "BIGINT"
    return "HUGEINT" if low > -_HUGE and high < _HUGE else "VARCHAR"


def _real(values: Collection[str], joined: str) -> str:
    """DOUBLE, unless a whole number among them would be rounded, one overflows, or none is
    a number at all."""
    if not _DIGIT.search(joined):
        return "VARCHAR"
    if max(map(len, values)) <= 15 and "e" not in joined and "E" not in joined:
        return "DOUBLE"
    risky = [value for value in values if len(value) > 15 or "e" in value or "E" in value]
    return "DOUBLE" if all(map(_fits, risky)) else "VARCHAR"


def _fits(value: str) -> bool:
    """Whether one number survives as a double."""
    if _ONE_INT.fullmatch(value):
        return abs(int(value)) <= _EXACT
    return abs(float(value)) < float("inf") or not _DIGIT.search(value)


def _is_day(text: str) -> bool:
    """Whether the calendar has a day; texts of ten characters may end in a blank or T."""
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        parts = re.split("[-/]", re.split("[ T]", text, maxsplit=1)[0])
        try:
            datetime.date(*map(int, parts))
        except ValueError:
            return False
    return True


def wider(left: str, right: str) -> str:
    """Narrowest type that holds the values of both scalar types as they are.

    >>> wider("BIGINT", "DOUBLE"), wider("DATE", "TIMESTAMP"), wider("DATE", "BIGINT")
    ('DOUBLE', 'TIMESTAMP', 'VARCHAR')
    """
    if left == right:
        return left
    both = {left, right}
    for family in (("BIGINT", "HUGEINT"), ("BIGINT", "DOUBLE"), ("DATE", "TIMESTAMP")):
        if both == set(family):
            return family[1]
    return "VARCHAR"
