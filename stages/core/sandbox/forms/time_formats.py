"""Formats of dates: the codes of each dialect, and what each is in DuckDB.

A format is taken apart into pieces of text and of DuckDB SQL over ``_1``, a timestamp. A code
that stands in no list is refused: ``to_char`` of PostgreSQL writes what it does not know as
it stands, and a reader would not see the difference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from sqlglot import exp

from stages.core.errors import SqlRefused
from stages.core.sandbox.forms.table import WRITE_DUCKDB, Scope, fill
from stages.core.sandbox.names import shown

_SUFFIX = (
    "CASE WHEN day(_1) IN (11, 12, 13) THEN 'th' WHEN day(_1) % 10 = 1 THEN 'st' "
    "WHEN day(_1) % 10 = 2 THEN 'nd' WHEN day(_1) % 10 = 3 THEN 'rd' ELSE 'th' END"
)
WEEKS = {
    0: "CAST(strftime(_1, '%U') AS INTEGER)",
    1: "((dayofyear(_1) - isodow(_1) + 10) // 7)",
    2: "CAST(strftime(CASE WHEN strftime(_1, '%U') = '00' THEN date_trunc('year', _1) - INTERVAL 1 DAY ELSE _1 END, '%U') AS INTEGER)",  # noqa: E501
    3: "week(_1)",
    4: "((dayofyear(_1) - dayofweek(_1) + 9) // 7)",
    5: "CAST(strftime(_1, '%W') AS INTEGER)",
    7: "CAST(strftime(CASE WHEN strftime(_1, '%W') = '00' THEN date_trunc('year', _1) - INTERVAL 1 DAY ELSE _1 END, '%W') AS INTEGER)",  # noqa: E501
}
"""Modes of MySQL's WEEK to DuckDB SQL over ``_1``."""
SUNDAY_YEAR = "(year(_1) - CASE WHEN strftime(_1, '%U') = '00' THEN 1 ELSE 0 END)"
"""The year that a week of mode 2 belongs to."""


def _two(text: str) -> str:
    return f"lpad(CAST({text} AS VARCHAR), 2, '0')"


_SQLITE = {
    **dict.fromkeys(("d", "H", "j", "m", "M", "S", "w", "W", "Y"), ""),
    "f": "strftime(_1, '%S.%g')",
    "s": "CAST(CAST(floor(epoch(_1)) AS BIGINT) AS VARCHAR)",
}
_MYSQL = {
    **dict.fromkeys(("a", "b", "d", "f", "H", "I", "j", "m", "p", "S", "w", "Y", "y", "U"), ""),
    "c": "%-m",
    "e": "%-d",
    "h": "%I",
    "i": "%M",
    "k": "%-H",
    "l": "%-I",
    "M": "%B",
    "s": "%S",
    "T": "%H:%M:%S",
    "r": "%I:%M:%S %p",
    "W": "%A",
    "v": "%V",
    "x": "%G",
    "D": f"CAST(day(_1) AS VARCHAR) || {_SUFFIX}",
    "u": _two(WEEKS[1]),
    "V": _two(WEEKS[2]),
    "X": f"CAST({SUNDAY_YEAR} AS VARCHAR)",
}
_BIGQUERY = {
    **dict.fromkeys(("A", "a", "B", "b", "d", "H", "I", "j", "m", "M", "p", "S", "U", "u", "V", "W", "w", "Y", "y", "G"), ""),  # noqa: E501
    "e": "%-d", "h": "%b", "F": "%Y-%m-%d", "T": "%H:%M:%S", "D": "%m/%d/%y", "R": "%H:%M",
    "Q": "CAST(quarter(_1) AS VARCHAR)",
    "s": "CAST(CAST(floor(epoch(_1)) AS BIGINT) AS VARCHAR)",
}  # fmt: skip
_PERCENT = {"sqlite": _SQLITE, "mysql": _MYSQL, "bigquery": _BIGQUERY}

_DAY9, _MONTH9 = "rpad(strftime(_1, '%A'), 9, ' ')", "rpad(strftime(_1, '%B'), 9, ' ')"
_POSTGRES = {
    "YYYY": "%Y",
    "YY": "%y",
    "MM": "%m",
    "DD": "%d",
    "DDD": "%j",
    "HH24": "%H",
    "HH12": "%I",
    "HH": "%I",
    "MI": "%M",
    "SS": "%S",
    "IYYY": "%G",
    "IW": "%V",
    "ID": "%u",
    "MS": "%g",
    "Mon": "%b",
    "Dy": "%a",
    "US": "%f",
    "FMMonth": "%B",
    "FMDay": "%A",
    "FMMM": "%-m",
    "FMDD": "%-d",
    "FMHH24": "%-H",
    "FMHH12": "%-I",
    "FMMI": "%-M",
    "FMSS": "%-S",
    "FMMon": "%b",
    "FMDy": "%a",
    "FMYYYY": "%-Y",
    "FMDDD": "%-j",
    "MON": "upper(strftime(_1, '%b'))",
    "mon": "lower(strftime(_1, '%b'))",
    "DY": "upper(strftime(_1, '%a'))",
    "dy": "lower(strftime(_1, '%a'))",
    "Day": _DAY9,
    "DAY": f"upper({_DAY9})",
    "day": f"lower({_DAY9})",
    "Month": _MONTH9,
    "MONTH": f"upper({_MONTH9})",
    "month": f"lower({_MONTH9})",
    "FMDAY": "upper(strftime(_1, '%A'))",
    "FMday": "lower(strftime(_1, '%A'))",
    "FMMONTH": "upper(strftime(_1, '%B'))",
    "FMmonth": "lower(strftime(_1, '%B'))",
    "D": "CAST(dayofweek(_1) + 1 AS VARCHAR)",
    "Q": "CAST(quarter(_1) AS VARCHAR)",
    "W": "CAST((day(_1) - 1) // 7 + 1 AS VARCHAR)",
    "WW": _two("(dayofyear(_1) - 1) // 7 + 1"),
    "CC": _two("century(_1)"),
    "AM": "%p",
    "PM": "%p",
    "am": "lower(strftime(_1, '%p'))",
    "pm": "lower(strftime(_1, '%p'))",
    "DDth": f"strftime(_1, '%d') || {_SUFFIX}",
    "FMDDth": f"strftime(_1, '%-d') || {_SUFFIX}",
}
_SNOWFLAKE = {
    "YYYY": "%Y",
    "YY": "%y",
    "MM": "%m",
    "MON": "%b",
    "MMMM": "%B",
    "DD": "%d",
    "DY": "%a",
    "HH24": "%H",
    "HH12": "%I",
    "AM": "%p",
    "PM": "%p",
    "MI": "%M",
    "SS": "%S",
    "FF3": "%g",
    "FF6": "%f",
    "FF": "%n",
    "FF9": "%n",
}
_SPELT = {"postgres": _POSTGRES, "snowflake": _SNOWFLAKE}
_ANY_CASE = frozenset({"YYYY", "YY", "MM", "DD", "DDD", "HH24", "HH12", "HH", "MI", "SS", "IYYY", "IW",  # noqa: E501
                       "ID", "MS", "US", "D", "Q", "W", "WW", "CC"})  # fmt: skip
"""Codes of PostgreSQL that mean the same in every case."""
_LETTERS = re.compile(r'"(?P<quoted>[^"]*)"|(?P<letters>[A-Za-z0-9]+)|(?P<other>[^A-Za-z0-9"]+|")')


class FormatPiece(NamedTuple):
    """A part of a format: text as it stands, or a code."""

    text: str
    code: str = ""


def written(value: exp.Expr, pattern: exp.Expr | None, name: str, scope: Scope) -> exp.Expr:
    """A time as text in a format of the dialect.

    Args:
        value: A timestamp, already of that type.
        pattern: The format, which has to be a literal.
        name: The function, for the message.
        scope: Holds the dialect.

    Raises:
        SqlRefused: The format is no literal, or has a code that is not known.
    """
    parts: list[str] = []
    plain = ""
    for piece in [*pieces(pattern, name, scope.source), FormatPiece("", "''")]:
        if not piece.code or piece.code.startswith("%"):
            plain += piece.code or piece.text.replace("%", "%%")
            continue
        parts += [_plain(plain)] if plain else []
        parts.append(f"({piece.code})")
        plain = ""
    return fill(" || ".join(parts[:-1]) or "''", [value], scope)


def _plain(pattern: str) -> str:
    quoted = pattern.replace("'", "''")
    return f"strftime(_1, '{quoted}')"


def pieces(pattern: exp.Expr | None, name: str, source: str) -> list[FormatPiece]:
    """A format taken apart.

    Raises:
        SqlRefused: It is no literal, or has a code that is not known.
    """
    if not isinstance(pattern, exp.Literal) or not pattern.is_string:
        raise SqlRefused(
            f"{name} with a format that is no text refused", hint="write the format itself"
        )
    text = pattern.name
    if source in _PERCENT:
        return list(_by_percent(text, name, _PERCENT[source], source))
    return list(_by_letters(text, name, _SPELT[source], source))


def _unknown(code: str, name: str) -> SqlRefused:
    return SqlRefused(
        f"{shown(code)} in a format of {name} refused",
        hint=f"it has no DuckDB form; {WRITE_DUCKDB}",
    )


def _by_percent(text: str, name: str, codes: Mapping[str, str], source: str) -> list[FormatPiece]:
    found: list[FormatPiece] = []
    for match in re.finditer(r"%(.?)|[^%]+", text, re.DOTALL):
        code = match[1]
        if code is None:
            found.append(FormatPiece(match[0]))
        elif code == "%":
            found.append(FormatPiece("%"))
        elif code in codes:
            found.append(FormatPiece("", codes[code] or f"%{code}"))
        elif source == "mysql" and code:
            found.append(FormatPiece(code))
        else:
            raise _unknown(match[0], name)
    return found


def _by_letters(text: str, name: str, codes: Mapping[str, str], source: str) -> list[FormatPiece]:
    found: list[FormatPiece] = []
    for match in _LETTERS.finditer(text):
        if match["quoted"] is not None:
            found.append(FormatPiece(match["quoted"]))
        elif match["other"]:
            found.append(FormatPiece(match["other"]))
        else:
            found += _spelt(match["letters"], name, codes, source)
    return found


def _spelt(word: str, name: str, codes: Mapping[str, str], source: str) -> list[FormatPiece]:
    """Letters without a break, as the longest codes that they begin with."""
    found: list[FormatPiece] = []
    longest = max(map(len, codes))
    while word:
        for size in range(min(longest, len(word)), 0, -1):
            code = codes.get(word[:size]) or _in_any_case(word[:size], codes, source)
            if code:
                found.append(FormatPiece("", code))
                word = word[size:]
                break
        else:
            if not word[0].isdigit() and not (source == "snowflake" and word[0] in "Tt"):
                raise _unknown(word, name)
            found.append(FormatPiece(word[0]))
            word = word[1:]
    return found


def _in_any_case(word: str, codes: Mapping[str, str], source: str) -> str:
    upper = word.upper()
    if source == "snowflake" or upper in _ANY_CASE:
        return codes.get(upper, "")
    fill_mode = upper.startswith("FM") and upper[2:] in _ANY_CASE
    return codes.get(upper, "") if fill_mode else ""


_READ = {"%Y", "%y", "%m", "%d", "%H", "%I", "%M", "%S", "%p", "%b", "%B", "%a", "%A", "%j", "%f",
         "%-m", "%-d", "%-H", "%-I", "%H:%M:%S", "%Y-%m-%d", "%m/%d/%y"}  # fmt: skip


def reading(pattern: exp.Expr | None, name: str, source: str) -> exp.Literal:
    """A format of the dialect as one of DuckDB's strptime.

    Raises:
        SqlRefused: It has a code that strptime reads otherwise.
    """
    out = ""
    for piece in pieces(pattern, name, source):
        if piece.code and piece.code not in _READ:
            raise _unknown(pattern.name if pattern else "", name)
        out += piece.code or piece.text.replace("%", "%%")
    return exp.Literal.string(out)
