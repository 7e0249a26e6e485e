"""SQLite's date functions: time values, modifiers and formats (sqlite.org, lang_datefunc)."""

from __future__ import annotations

import re

from sqlglot import exp

from stages.core.errors import SqlRefused
from stages.core.sandbox.forms import kinds
from stages.core.sandbox.forms import time_formats as formats
from stages.core.sandbox.forms.table import WRITE_DUCKDB, Scope, duck_cast, fill, no_form
from stages.core.sandbox.names import shown

Args = list[exp.Expr]

_STEPS = {
    "day": "DAY", "days": "DAY", "hour": "HOUR", "hours": "HOUR", "minute": "MINUTE",
    "minutes": "MINUTE", "second": "SECOND", "seconds": "SECOND", "month": "MONTH",
    "months": "MONTH", "year": "YEAR", "years": "YEAR",
}  # fmt: skip
_MICROS = {"DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000}
_STEP = re.compile(r"([+-]?\d+(?:\.\d+)?) +(\w+)", re.ASCII)
_MODIFIERS = 6
_JULIAN = "make_timestamp(CAST(round(_1f * 86400000.0 - 210866760000000) AS BIGINT) * 1000)"
_DAY = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
_TIME = r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?"
_WRITTEN = (
    rf"CASE WHEN regexp_full_match(_1t, '{_DAY}([ T]+{_TIME})? *Z? *') "
    "THEN TRY_CAST(trim(left(_1t, 8) || '01 ' || trim(substr(_1t, 11), ' TZ')) AS TIMESTAMP) "
    "+ to_days(CAST(substr(_1t, 9, 2) AS INTEGER) - 1) "
    rf"WHEN regexp_full_match(_1t, '{_TIME} *Z? *') THEN TRY_CAST('2000-01-01 ' || trim(_1t, ' Z') AS TIMESTAMP) "  # noqa: E501
    r"WHEN regexp_full_match(_1t, '\d+(\.\d+)?') AND TRY_CAST(_1t AS DOUBLE) < 5373484.5 THEN "
    f"{_JULIAN.replace('_1f', 'TRY_CAST(_1t AS DOUBLE)')} END"
)
"""A time value of SQLite (sqlite.org, lang_datefunc): its text forms, and a Julian day number."""
_OUT = {
    "date": "strftime(_1, '%Y-%m-%d')",
    "time": "strftime(_1, '%H:%M:%S')",
    "datetime": "strftime(_1, '%Y-%m-%d %H:%M:%S')",
    "julianday": "((epoch_ms(_1) + 210866760000000) / 86400000.0)",
    "unixepoch": "CAST(floor(epoch(_1)) AS BIGINT)",
}
_DIGITS = frozenset({"%Y", "%m", "%d", "%H", "%M", "%S", "%j", "%s", "%w", "%W"})


def sqlite_time(name: str, args: Args, scope: Scope) -> exp.Expr:
    """SQLite's date functions, with their modifiers."""
    given = list(args)
    pattern = given.pop(0) if name == "strftime" and given else None
    if name == "strftime" and pattern is None:
        raise no_form(name, 0, scope.source)
    value = given[0] if given else exp.Literal.string("now")
    time = _modified(value, given[1:], name, scope)
    if pattern is None:
        return fill(_OUT[name], [time], scope)
    made = formats.written(time, pattern, name, scope)
    made.meta[kinds.KEY] = "digits" if pattern.name in _DIGITS else "text"
    return made


def _modified(value: exp.Expr, modifiers: Args, name: str, scope: Scope) -> exp.Expr:
    if len(modifiers) > _MODIFIERS:
        raise SqlRefused(f"{name} with {len(modifiers)} modifiers refused", hint="use fewer")
    words = [_word(modifier, name) for modifier in modifiers]
    if words[:1] == ["unixepoch"]:
        number = (
            scope.cast(value, "f")
            if scope.kind(value) in kinds.NUMBERS
            else duck_cast(scope.cast(value, "t"), "DOUBLE", lenient=True)
        )
        time = fill("make_timestamp(CAST(floor(_1 * 1000000) AS BIGINT))", [number], scope)
        words = words[1:]
    else:
        time = _time_value(value, scope)
    for word in words:
        time = fill(_step(word, name), [time], scope)
    return time


def _word(modifier: exp.Expr, name: str) -> str:
    if not isinstance(modifier, exp.Literal) or not modifier.is_string:
        raise SqlRefused(
            f"{name} with a computed modifier refused", hint="write the modifier itself"
        )
    return " ".join(modifier.name.lower().split())


def _time_value(value: exp.Expr, scope: Scope) -> exp.Expr:
    if isinstance(value, exp.Literal) and value.is_string and value.name.lower() == "now":
        return fill("localtimestamp", [], scope)
    kind = scope.kind(value)
    if kind in kinds.TIMES:
        return scope.cast(value, "s")
    return fill(_JULIAN if kind in ("int", "float", "decimal") else _WRITTEN, [value], scope)


def _step(word: str, name: str) -> str:
    """A modifier as DuckDB SQL over the time before it."""
    start = word.removeprefix("start of ")
    if start != word and start in ("day", "month", "year"):
        return f"date_trunc('{start}', _1)"
    if word.startswith("weekday ") and word[8:] in "0123456":
        return f"(_1 + to_days(CAST((7 + {word[8:]} - dayofweek(_1)) % 7 AS INTEGER)))"
    match = _STEP.fullmatch(word)
    unit = _STEPS.get(match[2]) if match else None
    if match is None or unit is None:
        raise SqlRefused(f"modifier {shown(word)} of {name} refused", hint=WRITE_DUCKDB)
    if unit in _MICROS:
        micros = round(float(match[1]) * _MICROS[unit])
        return f"(_1 + to_microseconds(CAST({micros} AS BIGINT)))"
    if "." in match[1]:
        raise SqlRefused(f"modifier {shown(word)} of {name} refused", hint="use a whole number")
    months = int(match[1]) * (12 if unit == "YEAR" else 1)
    return f"(date_trunc('month', _1) + to_months({months}) + (_1 - date_trunc('month', _1)))"
