"""Cells as text, the way DuckDB casts values to VARCHAR, without asking DuckDB for each."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable
from typing import TypeVar

_UTC = datetime.UTC
T = TypeVar("T")


def cast(kind: str, text: str) -> str:
    """What DuckDB shows for a text once it is read as the type.

    Args:
        kind: A scalar type that `infer.text_type` gave for this text; any other leaves the
            text as it is.

    >>> cast("DOUBLE", "1.50"), cast("DATE", "2024/1/5"), cast("VARCHAR", "007")
    ('1.5', '2024-01-05', '007')
    """
    if kind.startswith("DECIMAL"):
        return _fixed(text.strip(" "), int(kind.rstrip(")").rpartition(",")[2]))
    change = _CASTS.get(kind)
    return change(text) if change else text


def real(number: float) -> str:
    """A double as DuckDB prints it: the shortest text that reads back the same.

    >>> real(100000.0), real(1e16), real(-0.0)
    ('100000.0', '1e+16', '-0.0')
    """
    return repr(number)


def _fixed(text: str, scale: int) -> str:
    """A number with its digits behind the point, which a bare 0 has none of."""
    return text if "." in text else f"{text}.{'0' * scale}"


def spread(values: Iterable[T], most: int) -> list[T]:
    """Up to so many of the distinct values, evenly spread over the order they came in.

    >>> spread(["a", "b", "c", "d", "e"], 3)
    ['a', 'c', 'e']
    """
    distinct = list(dict.fromkeys(values))
    if len(distinct) <= most:
        return distinct
    if most <= 1:
        return distinct[:most]
    step = (len(distinct) - 1) / (most - 1)
    return [distinct[round(at * step)] for at in range(most)]


def _day(text: str) -> str:
    year, month, day = re.split("[-/]", text)
    return f"{year}-{int(month):02d}-{int(day):02d}"


def _moment(text: str) -> str:
    if len(text) <= 10 and ":" not in text:
        return f"{_day(text)} 00:00:00"
    return _stamp(datetime.datetime.fromisoformat(_padded(text)))


def _zoned(text: str) -> str:
    moment = datetime.datetime.fromisoformat(_padded(text)).astimezone(_UTC)
    return _stamp(moment.replace(tzinfo=None)) + "+00"


def _padded(text: str) -> str:
    """ISO text with exactly six digits of a second's fraction, as Python wants them."""
    return re.sub(r"\.([0-9]{1,6})", lambda found: f".{found[1]:0<6}", text)


def _stamp(moment: datetime.datetime) -> str:
    text = moment.replace(microsecond=0).isoformat(" ")
    return f"{text}.{moment.microsecond:06d}".rstrip("0") if moment.microsecond else text


def _clock(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


_CASTS: dict[str, Callable[[str], str]] = {
    "BIGINT": lambda text: str(int(text)),
    "HUGEINT": lambda text: str(int(text)),
    "DOUBLE": lambda text: real(float(text)),
    "BOOLEAN": str.lower,
    "DATE": _day,
    "TIMESTAMP": _moment,
    "TIMESTAMP WITH TIME ZONE": _zoned,
    "TIME": _clock,
}
