"""Pieces of DuckDB SQL that loading needs: quoted names, checked casts, wider types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

_DAY = r"\s*[0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}\s*"
_LOSSLESS = {
    "BIGINT": r" *(0|-?[1-9][0-9]*) *",
    "HUGEINT": r" *(0|-?[1-9][0-9]*) *",
    "DOUBLE": r" *(-?((0|[1-9][0-9]*)([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?"
    r"|[+](0|[1-9][0-9]*)[.][0-9]+|[nN][aA][nN]|[+-]?[iI][nN][fF](inity)?) *",
    "BOOLEAN": "(?i)true|false",
    "DATE": _DAY,
    "TIMESTAMP": r"[0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?)?",  # noqa: E501
    "TIMESTAMP WITH TIME ZONE": r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:.]+(Z|[+-][0-9]{2}(:?[0-9]{2})?)",  # noqa: E501
    "TIME": r"[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?",
}
"""Texts that a type reads without losing anything; the rules of `bytes.infer`, for DuckDB."""

_SHORTEST = r"-?(0|[1-9][0-9]*)([.]([0-9]*[1-9]|0))?|-?[.][0-9]*[1-9]|-?[1-9]([.][0-9]+)?[eE][+-][0-9]+|-?[1-9][.][0-9]+[eE][0-9]+"  # noqa: E501
_NO_NUMBER = "[nN][aA][nN]|[+-]?[iI][nN][fF](inity)?"
_FRACTION = "-?(0|[1-9][0-9]*)[.][0-9]+"
_UNFIT = "winnow: a cell does not fit its column"
_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
_WIDER = {"BIGINT": ["HUGEINT", "DOUBLE"], "DATE": ["TIMESTAMP"]}


@dataclass(frozen=True)
class Style:
    """How fractions in a text file are written, where their texts have to come back.

    Args:
        pointed: Columns whose whole numbers have a point (``3.0``) among fractions.
    """

    pointed: frozenset[str] = frozenset()

    def fits(self, name: str, column: str, value: str, kind: str) -> str:
        """Condition that a cell is read by the type of its column and comes back."""
        if kind == "DOUBLE" or kind.startswith("DECIMAL"):
            return _returns(column, value, kind, name in self.pointed)
        return _fits(column, value, kind)


class _Loose(Style):
    """Any spelling of a number is as good as another, as in JSON."""

    def fits(self, name: str, column: str, value: str, kind: str) -> str:
        return _fits(column, value, kind)


LOOSE = _Loose()


def quote(name: str) -> str:
    """A name as a quoted identifier."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A text as a string literal."""
    return "'" + value.replace("'", "''") + "'"


def cast_or_null(name: str, kind: str) -> str:
    """Expression for a text column read as a type; VARCHAR stays as it is.

    A blank cell around a number is no part of it.
    """
    return quote(name) if kind == "VARCHAR" else f"CAST({quote(name)} AS {kind})"


def transform(expression: str, kind: str) -> str:
    """Expression for a JSON value read as a nested type; fields that are missing are null."""
    import json

    return f"json_transform({expression}, {text(json.dumps(kind, ensure_ascii=False))})"


def _returns(column: str, value: str, kind: str, pointed: bool) -> str:
    """Condition that the text of a fraction comes back from its value (`catalog.bytes.infer`).

    Args:
        pointed: Whether whole numbers among doubles are written with a point.
    """
    shown = f"CAST({value} AS VARCHAR)"
    if kind != "DOUBLE":
        return f"({value} IS NOT NULL AND ({shown} = trim({column}) OR trim({column}) = '0'))"
    bare = trimmed = f"trim({column})"
    if pointed:
        quick = f"{shown} = {column}"
        bare = f"NOT regexp_full_match({trimmed}, {text(_LOSSLESS['BIGINT'])})"
    else:
        quick = (
            f"(({shown} = {column} AND right({column}, 2) <> '.0') OR {shown} = {column} || '.0')"
        )
        bare = f"right({trimmed}, 2) <> '.0'"
    same = f"{_digits(trimmed)} = {_digits(shown)}"
    pattern = f"regexp_full_match({trimmed}, {text(_SHORTEST)})"
    word = f"regexp_full_match({trimmed}, {text(_NO_NUMBER)})"
    slow = f"{value} IS NOT NULL AND ({word} OR ({pattern} AND {bare} AND {same}))"
    return f"CASE WHEN {quick} THEN true ELSE {slow} END"


def _digits(number: str) -> str:
    return f"trim(regexp_replace({number}, '[eE].*|[^0-9]', '', 'g'), '0')"


def _fits(column: str, value: str, kind: str) -> str:
    """Condition that a cell is read by the type without loss; null is not.

    Most cells come out of the cast as they went in, which is cheaper to see than a pattern;
    DOUBLE alone is mostly spelt otherwise, and has a short pattern for a plain fraction.

    Args:
        column: Expression for the text.
        value: Expression for ``TRY_CAST`` of it.
    """
    pattern = _LOSSLESS.get("BIGINT" if kind in _WHOLE else kind)
    sound = f"{value} IS NOT NULL"
    if pattern is None:
        return sound
    slow = f"regexp_full_match({column}, {text(pattern)}) AND {sound}"
    if kind != "DOUBLE":
        return f"CASE WHEN CAST({value} AS VARCHAR) = {column} THEN true ELSE {slow} END"
    exact = f"abs(TRY_CAST({column} AS HUGEINT)) <= {1 << 53}"
    slow += f" AND (NOT regexp_full_match({column}, {text(_LOSSLESS['BIGINT'])}) OR {exact})"
    quick = f"regexp_full_match({column}, {text(_FRACTION)})"
    return f"CASE WHEN {quick} THEN {sound} ELSE {slow} END"


def create(
    con: duckdb.DuckDBPyConnection,
    relation: str,
    columns: list[tuple[str, str]],
    target: str,
    made: Mapping[str, str] | None = None,
    style: Style = LOOSE,
) -> None:
    """Make a table of a relation of text, types widened where a cell does not fit.

    The cells are checked while they are cast, so where all of them fit, as mostly, the file
    behind the relation is read once.

    Args:
        relation: What stands after FROM; the columns that are cast are VARCHAR in it.
        columns: Name and wished type.
        target: Plain name of the table.
        made: Expressions for columns that are not to be cast.
        style: How the fractions are written.
    """
    import duckdb

    made = made or {}
    try:
        con.execute(_checking(relation, columns, target, made, style))
    except duckdb.InvalidInputException as error:
        if _UNFIT not in str(error):
            raise
        given = [item for item in columns if item[0] not in made]
        wider = dict(widen(con, relation, given, style))
        chosen = ", ".join(
            f"{made.get(name) or cast_or_null(name, wider[name])} AS {quote(name)}"
            for name, _ in columns
        )
        con.execute(f"CREATE OR REPLACE TABLE {quote(target)} AS SELECT {chosen} FROM {relation}")


def _checking(
    relation: str,
    columns: list[tuple[str, str]],
    target: str,
    made: Mapping[str, str],
    style: Style,
) -> str:
    """Statement that makes the table, and stops at the first cell that does not fit."""
    inner, outer = [], []
    for at, (name, kind) in enumerate(columns):
        given = made.get(name)
        inner.append(f"{given or quote(name)} AS x{at}")
        value = f"x{at}"
        if not given and kind != "VARCHAR":
            inner.append(f"TRY_CAST({quote(name)} AS {kind}) AS v{at}")
            fits = style.fits(name, f"x{at}", f"v{at}", kind)
            value = f"CASE WHEN x{at} IS NULL THEN NULL WHEN {fits} THEN v{at} ELSE error('{_UNFIT}') END"  # noqa: E501
        outer.append(f"{value} AS {quote(name)}")
    return (
        f"CREATE OR REPLACE TABLE {quote(target)} AS SELECT {', '.join(outer)} "
        f"FROM (SELECT {', '.join(inner)} FROM {relation})"
    )


def lasting(error: duckdb.Error) -> bool:
    """Whether another way of reading the same file would meet the same error: it was
    interrupted, or memory or disk ran out."""
    import duckdb

    return isinstance(
        error, (duckdb.InterruptException, duckdb.OutOfMemoryException, duckdb.IOException)
    )


def _all_fit(name: str, kind: str, style: Style) -> str:
    """Aggregate that says whether every cell of a text column is read without loss."""
    column = quote(name)
    fits = style.fits(name, column, f"TRY_CAST({column} AS {kind})", kind)
    return f"coalesce(bool_and(CASE WHEN {column} IS NULL THEN true ELSE {fits} END), true)"


def widen(
    con: duckdb.DuckDBPyConnection,
    relation: str,
    columns: list[tuple[str, str]],
    style: Style = LOOSE,
) -> list[tuple[str, str]]:
    """The columns with types that hold every cell of a relation of text.

    Args:
        relation: What stands after FROM; all its columns are VARCHAR.
        columns: Name and wished type.
        style: How the fractions are written.

    Returns:
        Name and type, the wished one where it holds, else the next that does, else VARCHAR.
    """
    chosen = dict(columns)
    other = replace(style, pointed=frozenset(chosen) - style.pointed)
    waiting = {
        name: [(style, kind), *_next(kind, style, other)]
        for name, kind in columns
        if kind != "VARCHAR"
    }
    while waiting:
        tests = ", ".join(
            _all_fit(name, choices[0][1], choices[0][0]) for name, choices in waiting.items()
        )
        held = con.execute(f"SELECT {tests} FROM {relation}").fetchone() or ()
        for (name, choices), good in zip(list(waiting.items()), held, strict=True):
            _, kind = choices.pop(0)
            if good or not choices:
                chosen[name] = kind if good else "VARCHAR"
                del waiting[name]
    return list(chosen.items())


def _next(kind: str, style: Style, other: Style) -> list[tuple[Style, str]]:
    """What is tried where a type does not hold."""
    more = [(style, wider) for wider in _WIDER.get(kind, [])]
    if style is not LOOSE and "DOUBLE" in (kind, *_WIDER.get(kind, [])):
        more += [(other, "DOUBLE"), (style, "DECIMAL(18,2)")]
    return more
