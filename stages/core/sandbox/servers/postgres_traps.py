"""What PostgreSQL reads otherwise than it looks: words that are calls, rows that are.

Words that look like columns or values and ask the server for the time, the user, or the place
of a row.

They answer differently tomorrow, to another role, or once a row has moved.
"""

from __future__ import annotations

import re

from sqlglot import exp

from stages.core.errors import SqlRefused
from stages.core.sandbox.gate import gate
from stages.core.sandbox.gate.qualify import TableResolver
from stages.core.sandbox.names import fold, seen, shown

_SESSION = frozenset({"user", "current_role", "current_user", "session_user", "system_user"})
_PLACE = frozenset({"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"})
_CLOCK = re.compile(r"\s*(?:now|today|tomorrow|yesterday)\b", re.IGNORECASE)
_OF_TIME = (exp.TimestampTrunc, exp.DateTrunc, exp.Extract)
_OF_TIME_CALLED = frozenset({"age", "date_bin", "date_part", "date_trunc", "timezone"})


def refuse_clock_texts(query: exp.Query) -> None:
    """Refuse ``'now'::timestamp`` and its like, which PostgreSQL reads as the present time.

    Raises:
        SqlRefused: With what to write instead.
    """
    for text in query.find_all(exp.Literal):
        if text.is_string and _CLOCK.match(text.name) and _becomes_time(text.parent):
            raise SqlRefused(
                f"{shown(text.name)} as a time refused", hint="write now() or current_date"
            )


def _becomes_time(parent: exp.Expr | None) -> bool:
    if isinstance(parent, exp.Cast):
        return bool(parent.to.is_type(*exp.DataType.TEMPORAL_TYPES))
    if isinstance(parent, exp.Anonymous):
        return fold(parent.name) in _OF_TIME_CALLED
    return isinstance(parent, _OF_TIME)


def settle_words(query: exp.Query, resolver: TableResolver) -> None:
    """Quote a column called ``user``, which it would not be unquoted; refuse it where there is
    none.

    Args:
        query: Changed in place.
        resolver: Has resolved the tables of the query.

    Raises:
        SqlRefused: No table of the query has such a column.
    """
    real = {fold(name) for table in resolver.tables.values() for name in seen(table)}
    real |= {fold(alias.alias) for alias in query.find_all(exp.Alias)}
    real |= {fold(part.name) for alias in query.find_all(exp.TableAlias) for part in alias.columns}
    for column in query.find_all(exp.Column):
        word = fold(column.name)
        if word not in _SESSION | _PLACE or not isinstance(column.this, exp.Identifier):
            continue
        if word not in real:
            what = "tells who asks" if word in _SESSION else "tells where a row lies"
            raise SqlRefused(f"{word} refused", hint=f"it {what}, and is no column of the catalog")
        if word in _SESSION:
            column.this.set("quoted", True)


# ``g.name`` where ``g`` is a function in FROM, which PostgreSQL may read as ``name(g)``.

_OWN = frozenset({"key", "value", "ordinality"})
"""Columns that some functions in FROM have without being told."""


def refuse(query: exp.Query) -> None:
    """Refuse a name behind the alias of a function in FROM that is none of its columns.

    A name behind what is no alias at all is refused as well: what a function in FROM is called
    by the server is not always what it was written as.

    Raises:
        SqlRefused: With what to write instead.
    """
    known, sources = _functions(query), _sources(query)
    for column in query.find_all(exp.Column):
        owner = fold(column.table)
        if not owner or isinstance(column.this, exp.Star):
            continue
        if owner not in known and owner not in sources:
            raise SqlRefused(
                f"no table {shown(column.table)} in FROM", hint="give what stands there an alias"
            )
        if owner in known and fold(column.name) not in known[owner]:
            raise SqlRefused(
                f"{shown(column.name)} is no column of {shown(column.table)}",
                hint=f"name the columns of the function: {shown(column.table)}(…)",
            )


def _functions(query: exp.Query) -> dict[str, frozenset[str]]:
    """Aliases of functions in FROM, and the columns that each surely has, in every scope."""
    found: dict[str, frozenset[str]] = {}
    for node in query.walk():
        if not _is_function(node):
            continue
        alias = node.args.get("alias") or exp.TableAlias()
        names = [alias.name] if alias.name else _default_names(node)
        listed = alias.args.get("columns") or []
        columns = frozenset(fold(part.name) for part in listed) | _OWN
        for name in map(fold, names):
            fits = columns if listed else columns | {name}
            found[name] = found[name] & fits if name in found else fits
    return found


def _sources(query: exp.Query) -> frozenset[str]:
    """What a column may be qualified by, beside functions: aliases, and names of WITH."""
    named = query.find_all(exp.Table, exp.Subquery, exp.CTE, exp.Lateral, exp.UDTF)
    return frozenset(fold(node.alias_or_name) for node in named if node.alias_or_name)


def _is_function(node: exp.Expr) -> bool:
    if isinstance(node, exp.Table):
        return isinstance(node.this, exp.Func) or bool(node.args.get("rows_from"))
    if isinstance(node, exp.Lateral):
        return not isinstance(node.this, exp.Subquery)
    return isinstance(node, exp.Unnest)


def _default_names(node: exp.Expr) -> list[str]:
    """What a function without an alias is called: as the function."""
    names: list[str] = []
    for inner in node.find_all(exp.Func):
        names += gate.names_of_call(inner)
    return names
