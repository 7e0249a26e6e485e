"""Functions of dates and times whose form depends on units, formats or types."""

from __future__ import annotations

import re

from sqlglot import exp

from stages.core.errors import SqlRefused
from stages.core.sandbox.forms import kinds
from stages.core.sandbox.forms import time_formats as formats
from stages.core.sandbox.forms.table import Scope, duck_cast, fill
from stages.core.sandbox.forms.units import unit_name
from stages.core.sandbox.names import shown

Args = list[exp.Expr]

_MICROS = {"DAY": 86_400_000_000, "HOUR": 3_600_000_000, "MINUTE": 60_000_000, "SECOND": 1_000_000}
_DATE_UNITS = frozenset({"DAY", "WEEK", "MONTH", "QUARTER", "YEAR"})
_TIME_UNITS = frozenset({"HOUR", "MINUTE", "SECOND", "MICROSECOND", "MILLISECOND"})


def shift(value: exp.Expr, by: exp.Interval, scope: Scope, sign: str) -> exp.Expr:
    """A time and an interval; a date stays one where the interval is of days or longer."""
    unit = by.unit.name.upper() if by.unit is not None else ""
    if scope.source in ("mysql", "bigquery", "snowflake") and unit not in _DATE_UNITS | _TIME_UNITS:
        raise SqlRefused(f"INTERVAL … {unit} refused", hint="use one unit, such as DAY")
    kind = scope.kind(value)
    if scope.source == "mysql":
        by = _rounded(by)
        if kind not in kinds.TIMES:
            return _shifted_text(value, by, unit, scope, sign)
    to_date = kind == "date" and unit in _DATE_UNITS and scope.source != "postgres"
    text = f"CAST(_1 {sign} _2 AS DATE)" if to_date else f"(_1s {sign} _2)"
    made = fill(text, [value, by], scope)
    made.meta[kinds.KEY] = "date" if to_date else "timestamp"
    return made


def _rounded(by: exp.Interval) -> exp.Interval:
    amount = by.this
    if isinstance(amount, exp.Literal) and re.fullmatch(r"\s*-?\d+\s*", amount.name):
        return by
    if isinstance(amount, exp.Literal):
        raise SqlRefused(f"INTERVAL {shown(amount.name)} refused", hint="use a whole number")
    return exp.Interval(this=duck_cast(amount.copy(), "BIGINT"), unit=by.unit)


def _shifted_text(
    value: exp.Expr, by: exp.Interval, unit: str, scope: Scope, sign: str
) -> exp.Expr:
    """MySQL adds to a text, and gives a text: a date where it was one."""
    if unit not in _DATE_UNITS:
        return fill(f"CAST(_1s {sign} _2 AS VARCHAR)", [value, by], scope)
    return fill(
        f"CASE WHEN length(_1t) <= 10 THEN CAST(CAST(_1s {sign} _2 AS DATE) AS VARCHAR) "
        f"ELSE CAST(_1s {sign} _2 AS VARCHAR) END",
        [value, by],
        scope,
    )


def _added(name: str, args: Args, scope: Scope, sign: str) -> exp.Expr:
    by = args[1]
    if not isinstance(by, exp.Interval):
        if scope.source == "bigquery" or name not in ("adddate", "subdate"):
            raise SqlRefused(f"{name} without INTERVAL refused", hint="write INTERVAL n DAY")
        by = exp.Interval(this=by.copy(), unit=exp.var("DAY"))
    return shift(args[0].copy(), by.copy(), scope, sign)


def mysql_add(name: str, args: Args, scope: Scope) -> exp.Expr:
    """``DATE_ADD(x, INTERVAL n unit)`` and ``ADDDATE(x, days)``."""
    return _added(name, args, scope, "+")


def mysql_sub(name: str, args: Args, scope: Scope) -> exp.Expr:
    """``DATE_SUB(x, INTERVAL n unit)`` and ``SUBDATE(x, days)``."""
    return _added(name, args, scope, "-")


def date_plus(_name: str, args: Args, scope: Scope) -> exp.Expr:
    """BigQuery's ``DATE_ADD``, which gives a date."""
    return fill("CAST(_1d + _2 AS DATE)", args, scope)


def date_minus(_name: str, args: Args, scope: Scope) -> exp.Expr:
    """BigQuery's ``DATE_SUB``, which gives a date."""
    return fill("CAST(_1d - _2 AS DATE)", args, scope)


def mysql_date_format(name: str, args: Args, scope: Scope) -> exp.Expr:
    """``DATE_FORMAT(x, format)``."""
    return formats.written(scope.cast(args[0], "s"), args[1], name, scope)


def to_char(name: str, args: Args, scope: Scope) -> exp.Expr:
    """``TO_CHAR(time, format)``; a number's format has no DuckDB form."""
    if scope.kind(args[0]) in kinds.NUMBERS:
        raise SqlRefused(f"{name} of a number refused", hint="write CAST(round(x, 2) AS VARCHAR)")
    if scope.kind(args[0]) in kinds.TEXTS or scope.kind(args[0]) == "interval":
        raise SqlRefused(
            f"{name} of what is no time refused", hint="cast to date or timestamp first"
        )
    return formats.written(scope.cast(args[0], "s"), args[1], name, scope)


def swap_strftime(name: str, args: Args, scope: Scope) -> exp.Expr:
    """BigQuery's ``FORMAT_DATE(format, time)``."""
    return formats.written(scope.cast(args[1], "s"), args[0], name, scope)


def to_date(name: str, args: Args, scope: Scope) -> exp.Expr:
    """A date read from a text by a format."""
    pattern = formats.reading(args[1], name, scope.source)
    return fill("CAST(strptime(_1t, _2) AS DATE)", [args[0], pattern], scope)


def to_timestamp(name: str, args: Args, scope: Scope) -> exp.Expr:
    """A timestamp read from a text by a format."""
    pattern = formats.reading(args[1], name, scope.source)
    return fill("strptime(_1t, _2)", [args[0], pattern], scope)


def bigquery_parse(name: str, args: Args, scope: Scope) -> exp.Expr:
    """``PARSE_DATE(format, text)`` and its like."""
    swapped = [args[1], args[0]]
    return (to_date if name == "parse_date" else to_timestamp)(name, swapped, scope)


_SPACED = re.compile(r"\s*([,/.:-])\s*")
_UNSPACED = (
    r"regexp_replace(regexp_replace(trim(_1t), '\s+', ' ', 'g'), '\s*([,/.:-])\s*', '\1', 'g')"
)
"""A text as MySQL reads it, which lets spaces be anywhere."""


def mysql_str_to_date(name: str, args: Args, scope: Scope) -> exp.Expr:
    """``STR_TO_DATE``: a date, or a timestamp where the format has a time."""
    pattern = formats.reading(args[1], name, scope.source)
    pattern.set("this", _SPACED.sub(r"\1", re.sub(r"\s+", " ", pattern.name.strip())))
    timed = re.search(r"%-?[HIMSpf]", pattern.name)
    made = fill(f"try_strptime({_UNSPACED}, _2)", [args[0], pattern], scope)
    made = made if timed else fill("CAST(_1 AS DATE)", [made], scope)
    made.meta[kinds.KEY] = "timestamp" if timed else "date"
    return made


def _mode(args: Args) -> int:
    mode = args[1] if len(args) > 1 else exp.Literal.number(0)
    return int(mode.name) if isinstance(mode, exp.Literal) and mode.is_int else -1


def mysql_week(name: str, args: Args, scope: Scope) -> exp.Expr:
    """``WEEK(x, mode)``."""
    mode = _mode(args)
    if mode not in formats.WEEKS:
        raise SqlRefused(f"{name} in this mode refused", hint="use a mode of 0, 1, 2, 3, 4, 5 or 7")
    return fill(formats.WEEKS[mode], [scope.cast(args[0], "d")], scope)


def mysql_yearweek(name: str, args: Args, scope: Scope) -> exp.Expr:
    """``YEARWEEK(x, mode)``."""
    texts = {
        0: f"{formats.SUNDAY_YEAR} * 100 + {formats.WEEKS[2]}",
        1: "isoyear(_1) * 100 + week(_1)",
    }
    texts[2], texts[3] = texts[0], texts[1]
    if _mode(args) not in texts:
        raise SqlRefused(f"{name} in this mode refused", hint="use a mode of 0, 1, 2 or 3")
    return fill(texts[_mode(args)], [scope.cast(args[0], "d")], scope)


def mysql_period(_name: str, args: Args, scope: Scope) -> exp.Expr:
    """``PERIOD_ADD(yyyymm, months)``."""
    months = "((_1i // 100) * 12 + _1i % 100 - 1 + _2i)"
    return fill(f"({months} // 12) * 100 + {months} % 12 + 1", args, scope)


def mysql_timestampadd(name: str, args: Args, scope: Scope) -> exp.Expr:
    """``TIMESTAMPADD(unit, n, x)``."""
    unit = unit_name(args[0], name).removeprefix("SQL_TSI_")
    by = exp.Interval(this=args[1].copy(), unit=exp.var(unit))
    return shift(args[2].copy(), by, scope, "+")


_FULL = {"MICROSECOND": 1, "WEEK": 7 * _MICROS["DAY"], **_MICROS}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def mysql_timestampdiff(name: str, args: Args, scope: Scope) -> exp.Expr:
    """``TIMESTAMPDIFF(unit, from, to)`` in whole units that have passed."""
    unit = unit_name(args[0], name)
    ends = [scope.cast(args[1].copy(), "s"), scope.cast(args[2].copy(), "s")]
    if unit in _FULL:
        return fill(f"date_diff('microsecond', _1, _2) // {_FULL[unit]}", ends, scope)
    if unit not in _MONTHS:
        raise SqlRefused(f"{shown(unit)} of {name} refused", hint="use DAY, MONTH, YEAR …")
    low, high = "least(_1, _2)", "greatest(_1, _2)"
    early = f"day({high}) * 86400000000 + epoch_us({high}) % 86400000000"
    late = f"day({low}) * 86400000000 + epoch_us({low}) % 86400000000"
    months = (
        f"((year({high}) - year({low})) * 12 + month({high}) - month({low}) "
        f"- CASE WHEN {early} < {late} THEN 1 ELSE 0 END)"
    )
    return fill(
        f"CASE WHEN _1 IS NULL OR _2 IS NULL THEN NULL WHEN _2 < _1 THEN -({months} // "
        f"{_MONTHS[unit]}) "
        f"ELSE {months} // {_MONTHS[unit]} END",
        ends,
        scope,
    )


_TRUNCATED = ("MICROSECONDS", "MILLISECONDS", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH",
              "QUARTER", "YEAR", "DECADE", "CENTURY", "MILLENNIUM")  # fmt: skip


def truncate_time(name: str, args: Args, scope: Scope) -> exp.Expr:
    """``DATE_TRUNC('unit', x)``; weeks begin on Monday."""
    unit = unit_name(args[0], name)
    if unit not in _TRUNCATED:
        raise SqlRefused(f"{shown(unit.lower())} of {name} refused", hint="use day, month, year …")
    return _cut(f"date_trunc('{unit.lower()}', _1s)", args[1], scope)


def _cut(text: str, value: exp.Expr, scope: Scope) -> exp.Expr:
    if scope.kind(value) == "interval":
        text = text.replace("_1s", "_1")
    made = fill(text, [value], scope)
    if scope.kind(value) == "date" and scope.source != "postgres":
        made = fill("CAST(_1 AS DATE)", [made], scope)
        made.meta[kinds.KEY] = "date"
    return made


def bigquery_trunc(name: str, args: Args, scope: Scope) -> exp.Expr:
    """``DATE_TRUNC(x, unit)``; WEEK begins on Sunday, ISOWEEK on Monday."""
    unit = {"ISOWEEK": "MONDAY", "WEEK(MONDAY)": "MONDAY"}.get(
        unit_name(args[1], name), unit_name(args[1], name)
    )
    if unit == "WEEK":
        text = "(date_trunc('day', _1s) - to_days(CAST(dayofweek(_1s) AS INTEGER)))"
    elif unit == "MONDAY":
        text = "date_trunc('week', _1s)"
    elif unit in _TRUNCATED:
        text = f"date_trunc('{unit.lower()}', _1s)"
    else:
        raise SqlRefused(f"{shown(unit)} of {name} refused", hint="use DAY, WEEK, MONTH, YEAR …")
    return _cut(text, args[0], scope)


_COUNTED = (
    "MICROSECOND",
    "MILLISECOND",
    "SECOND",
    "MINUTE",
    "HOUR",
    "DAY",
    "MONTH",
    "QUARTER",
    "YEAR",
)


def _borders(name: str, unit: str, ends: Args, scope: Scope, week: str) -> exp.Expr:
    """How many borders of units lie between two times."""
    if unit == "WEEK":
        text = f"date_diff('day', {week.format('_1s')}, {week.format('_2s')}) // 7"
    elif unit in _COUNTED:
        text = f"date_diff('{unit.lower()}', _1s, _2s)"
    else:
        raise SqlRefused(f"{shown(unit)} of {name} refused", hint="use DAY, WEEK, MONTH, YEAR …")
    return fill(text, ends, scope)


def snowflake_datediff(name: str, args: Args, scope: Scope) -> exp.Expr:
    """``DATEDIFF(unit, from, to)``; weeks begin on Monday."""
    return _borders(name, unit_name(args[0], name), args[1:], scope, "date_trunc('week', {})")


def bigquery_diff(name: str, args: Args, scope: Scope) -> exp.Expr:
    """``DATE_DIFF(to, from, unit)``; WEEK begins on Sunday, ISOWEEK on Monday."""
    unit, week = unit_name(args[2], name), "date_trunc('week', {0} + to_days(1))"
    if unit in ("ISOWEEK", "WEEK(MONDAY)"):
        unit, week = "WEEK", "date_trunc('week', {0})"
    return _borders(name, unit, [args[1], args[0]], scope, week)


def bigquery_timestamp_diff(name: str, args: Args, scope: Scope) -> exp.Expr:
    """``TIMESTAMP_DIFF(to, from, unit)`` in whole units that have passed."""
    unit = unit_name(args[2], name)
    if unit not in _FULL or unit == "WEEK":
        raise SqlRefused(f"{shown(unit)} of {name} refused", hint="use SECOND, MINUTE, HOUR or DAY")
    return fill(f"date_diff('microsecond', _1s, _2s) // {_FULL[unit]}", [args[1], args[0]], scope)


def snowflake_dateadd(name: str, args: Args, scope: Scope) -> exp.Expr:
    """``DATEADD(unit, n, x)``."""
    by = exp.Interval(this=args[1].copy(), unit=exp.var(unit_name(args[0], name)))
    return shift(args[2].copy(), by, scope, "+")


def add_months(_name: str, args: Args, scope: Scope) -> exp.Expr:
    """``ADD_MONTHS(x, n)``; the last day of a month stays the last."""
    added = "(_1s + to_months(CAST(_2 AS INTEGER)))"
    return _cut(
        f"CASE WHEN last_day(_1s) = CAST(_1s AS DATE) THEN last_day({added}) + (_1s - "
        "date_trunc('day', _1s)) "
        f"ELSE {added} END".replace("_2", args[1].sql(dialect="duckdb")),
        args[0],
        scope,
    )


def date_from_parts(_name: str, args: Args, scope: Scope) -> exp.Expr:
    """A date from year, month and day, which may lie outside of their ranges."""
    return fill(
        "CAST(make_date(CAST(_1 AS BIGINT), 1, 1) + to_months(CAST(_2 - 1 AS INTEGER)) "
        "+ to_days(CAST(_3 - 1 AS INTEGER)) AS DATE)",
        args,
        scope,
    )
