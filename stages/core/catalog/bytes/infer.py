"""The DuckDB type that a column of text can be read as without losing anything.

Numbers that are written in more than one way: points and commas for fractions or thousands.

``1.000`` is one or a thousand. Beside a column of decimal commas it is a thousand, so it stays
text; by itself it is read as it stands, and said. Nothing is turned into another number here.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection, Mapping, Sequence

from stages.core.catalog.bytes import cells

_DOTTED = re.compile(r"-?[1-9][0-9]{0,2}(?:\.[0-9]{3})+|-?[0-9]{1,3}")
_COMMA = re.compile(r"[-+]?(?:[0-9]{1,3}(?:[.' \u00a0\u202f][0-9]{3})+|[0-9]+)(?:,[0-9]+)?")
_FRACTION = re.compile(r",(?![0-9]{3}(?![0-9]))[0-9]+$")
_ENGLISH = re.compile(r"[-+]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[-+]?[0-9]+(?:\.[0-9]+)?")
_NAMED = 10
_NO: set[int] = set()

Values = Sequence[Mapping[str, None]]


def settle(names: Sequence[str], types: list[str], values: Values) -> list[str]:
    """Make columns text whose numbers would be read wrongly, in place, and say what is doubtful.

    Args:
        names: Column names.
        types: Their types, changed where a point is one of thousands.
        values: Distinct texts of each column.

    Returns:
        Warnings.
    """
    texts = [[text.strip() for text in column] for column in values]
    grouped = {at for at, kind in enumerate(types) if _is_grouped(kind, texts[at])}
    commas = {at for at, kind in enumerate(types) if kind == "VARCHAR" and _has_commas(texts[at])}
    european = any(_FRACTION.search(text) for at in commas for text in texts[at])
    if european:
        for at in grouped:
            types[at] = "VARCHAR"
    odd = {
        at
        for at, kind in enumerate(types)
        if kind == "VARCHAR" and at not in grouped | commas and looks_real(values[at])
    }
    groups: dict[str, set[int]] = {
        "numbers with commas in them, kept as text": commas,
        "points are of thousands beside decimal commas, kept as text": grouped
        if european
        else set(),
        "every fraction has three digits, so the points may be of thousands; "
        "read as fractions, a guess": _NO if european else grouped - _texts(types, grouped),
        "every fraction has three digits, so the points may be of thousands; kept as text": _NO
        if european
        else _texts(types, grouped),
        "numbers that would not come back as they are written (1.10, 1E5, too many digits), "
        "kept as text": odd,
    }
    return [f"{what}: {_listed(names, columns)}" for what, columns in groups.items() if columns]


def are_numbers(values: Mapping[str, None]) -> bool:
    """Whether texts are numbers all the same, spelt in a way that no type takes."""
    first = next(iter(values), "").strip()
    if not first[-1:].isdigit():
        return False
    texts = [text.strip() for text in values]
    return _is_grouped("VARCHAR", texts) or _has_commas(texts) or looks_real(values)


def _texts(types: Sequence[str], columns: set[int]) -> set[int]:
    return {at for at in columns if types[at] == "VARCHAR"}


def _listed(names: Sequence[str], columns: set[int]) -> str:
    shown = [names[at] for at in sorted(columns)]
    return ", ".join(shown[:_NAMED]) + (f" and {len(shown) - _NAMED} more" * (len(shown) > _NAMED))


def _is_grouped(kind: str, texts: Sequence[str]) -> bool:
    """Whether all points may be of thousands."""
    if kind not in ("DOUBLE", "VARCHAR") and not kind.startswith("DECIMAL"):
        return False
    return any("." in text for text in texts) and all(map(_DOTTED.fullmatch, texts))


def _has_commas(texts: Sequence[str]) -> bool:
    """Whether all texts are numbers, some with commas."""
    if not any("," in text for text in texts):
        return False
    return all(map(_COMMA.fullmatch, texts)) or all(map(_ENGLISH.fullmatch, texts))


# The DuckDB type that a column of text can be read as without losing anything.

_INT = r"\ *+(?:0|-?[1-9][0-9]*+)\ *+"
_POWER = r"-?[1-9](?:\.[0-9]++)?[eE][+-][0-9]{1,3}|-?[1-9]\.[0-9]++[eE][0-9]{1,3}"
"""As programs write it: ``12E12`` and ``1E5`` are codes."""
_REAL = rf"\ *+(?:-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?|-?\.[0-9]++|{_POWER})\ *+"
_NONE = r"[nN][aA][nN]|[+-]?[iI][nN][fF](?:inity)?"
_DAY = r"[0-9]{4}(?:-[0-9]{1,2}-[0-9]{1,2}|/[0-9]{1,2}/[0-9]{1,2})"
_CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?"
_ZONE = r"(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)"
_MOMENT = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?"  # noqa: E501

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
_SHORT = _all(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]*[1-9])?")
_POINTED = _all(r"-?(?:0|[1-9][0-9]*+)\.(?:0|[0-9]*[1-9])")
_LOOKS = _all(rf"{_REAL}|\ *+[+-]?[0-9]++\.[0-9]++\ *+")
_ONE_FIXED = re.compile(r"0|-?(?:0|[1-9][0-9]*+)\.[0-9]++(?<!-0\.0)(?<!-0\.00)(?<!-0\.000)")
_ONE_POWER = re.compile(_POWER)
_HEADED = re.compile(r"-?0\.")
_NO_DIGITS = re.compile(r"[eE].*|[^0-9]")
_INFINITE = float("inf")
_DIGITS = 38  # of a DECIMAL
_BIG = 1 << 63
_HUGE = 1 << 127


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
    if kind not in ("BOOLEAN", "TIME") and not all(map(_is_day, {v[:10] for v in values})):
        return "VARCHAR"
    return kind if _distinct(kind, values) else "VARCHAR"


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
    """DOUBLE or DECIMAL where the texts come back from it, else VARCHAR."""
    if not _DIGIT.search(joined) or "-0" in values:
        return "VARCHAR"
    if max(map(len, values)) <= 15 and (_SHORT.fullmatch(joined) or _POINTED.fullmatch(joined)):
        return "DOUBLE"
    texts = [value.strip(" ") for value in values]
    tails = [
        text.rpartition(".")[2] for text in texts if "." in text and not _ONE_POWER.match(text)
    ]
    if any(tail.endswith("0") and tail != "0" for tail in tails):
        return _decimal(texts, tails)
    whole = any(map(_ONE_INT.fullmatch, texts))
    headless = any(text.lstrip("-").startswith(".") for text in texts)
    if (whole and "0" in tails) or (headless and any(_HEADED.match(text) for text in texts)):
        return "VARCHAR"
    return "DOUBLE" if all(map(_returns, texts)) and _distinct("DOUBLE", texts) else "VARCHAR"


def _decimal(texts: Collection[str], tails: Collection[str]) -> str:
    """DECIMAL of numbers that all have the same digits behind the point; a bare 0 may be
    among them."""
    if len(set(map(len, tails))) > 1 or not all(map(_ONE_FIXED.fullmatch, texts)):
        return "VARCHAR"
    scale = max(map(len, tails))
    digits = max(len(text.lstrip("-")) for text in texts) - 1
    zeros = sum(1 for text in texts if not text.strip("0."))
    if digits > _DIGITS or scale < 2 or zeros > 1:
        return "VARCHAR"
    return f"DECIMAL({18 if digits <= 18 else _DIGITS},{scale})"


def _returns(text: str) -> bool:
    """Whether a double keeps all digits of one number."""
    number = float(text)
    if number != number or number in (_INFINITE, -_INFINITE):
        return not _DIGIT.search(text)
    return digits(text) == digits(repr(number))


def digits(text: str) -> str:
    """The digits of a number that count.

    >>> digits("-0.00120"), digits("1.2e-05"), digits("1200")
    ('12', '12', '12')
    """
    return _NO_DIGITS.sub("", text).strip("0")


def _distinct(kind: str, values: Collection[str]) -> bool:
    """Whether no two texts become the same value."""
    return len({cells.cast(kind, value) for value in values}) == len(values)


def looks_real(values: Collection[str]) -> bool:
    """Whether texts that stay VARCHAR are fractions all the same: versions, or numbers of more
    digits than there is room for."""
    joined = "\n".join(values) + "\n"
    return "." in joined and bool(_LOOKS.fullmatch(joined))


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
    decimal = [kind for kind in both if kind.startswith("DECIMAL")]
    if len(decimal) == 2:
        return max(decimal) if len({kind.split(",")[1] for kind in decimal}) == 1 else "VARCHAR"
    if decimal and both & {"BIGINT", "DOUBLE"}:
        return "DOUBLE"
    for family in (("BIGINT", "HUGEINT"), ("BIGINT", "DOUBLE"), ("DATE", "TIMESTAMP")):
        if both == set(family):
            return family[1]
    return "VARCHAR"
