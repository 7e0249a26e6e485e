"""Pieces of DuckDB SQL that loading needs: quoted names, checked casts, wider types."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

_DAY = r"\s*[0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}\s*"
_LOSSLESS = {
    "BIGINT": r" *-?(0|[1-9][0-9]*) *",
    "HUGEINT": r" *-?(0|[1-9][0-9]*) *",
    "DOUBLE": r" *(-?((0|[1-9][0-9]*)([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?"
    r"|[+](0|[1-9][0-9]*)[.][0-9]+|[nN][aA][nN]|[+-]?[iI][nN][fF](inity)?) *",
    "BOOLEAN": "(?i)true|false",
    "DATE": _DAY,
    "TIMESTAMP": r"[0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?)?",
    "TIMESTAMP WITH TIME ZONE": r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:.]+(Z|[+-][0-9]{2}(:?[0-9]{2})?)",
    "TIME": r"[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?",
}
"""Texts that a type reads without losing anything; the rules of `catalog.infer`, for DuckDB."""

_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
_WIDER = {"BIGINT": ["HUGEINT", "DOUBLE"], "DATE": ["TIMESTAMP"]}


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


def transformed(expression: str, kind: str) -> str:
    """Expression for a JSON value read as a nested type; fields that are missing are null."""
    import json

    return f"json_transform({expression}, {text(json.dumps(kind, ensure_ascii=False))})"


def _fits(name: str, kind: str) -> str:
    """Condition that every cell of a text column is read by the type without loss."""
    column = quote(name)
    sound = f"TRY_CAST({column} AS {kind}) IS NOT NULL"
    if pattern := _LOSSLESS.get("BIGINT" if kind in _WHOLE else kind):
        sound = f"regexp_full_match({column}, {text(pattern)}) AND {sound}"
    if kind == "DOUBLE":
        exact = f"abs(TRY_CAST({column} AS HUGEINT)) <= {1 << 53}"
        sound += f" AND (NOT regexp_full_match({column}, {text(_LOSSLESS['BIGINT'])}) OR {exact})"
    return f"coalesce(bool_and({column} IS NULL OR ({sound})), true)"


def widened(
    con: duckdb.DuckDBPyConnection, relation: str, columns: list[tuple[str, str]]
) -> list[tuple[str, str]]:
    """The columns with types that hold every cell of a relation of text.

    Args:
        relation: What stands after FROM; all its columns are VARCHAR.
        columns: Name and wished type.

    Returns:
        Name and type, the wished one where it holds, else the next that does, else VARCHAR.
    """
    chosen = dict(columns)
    waiting = {name: [kind, *_WIDER.get(kind, [])] for name, kind in columns if kind != "VARCHAR"}
    while waiting:
        tests = ", ".join(_fits(name, choices[0]) for name, choices in waiting.items())
        held = con.execute(f"SELECT {tests} FROM {relation}").fetchone() or ()
        for (name, choices), good in zip(list(waiting.items()), held, strict=True):
            kind = choices.pop(0)
            if good or not choices:
                chosen[name] = kind if good else "VARCHAR"
                del waiting[name]
    return list(chosen.items())
