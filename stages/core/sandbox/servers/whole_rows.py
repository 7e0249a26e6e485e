"""``g.name`` where ``g`` is a function in FROM, which PostgreSQL may read as ``name(g)``.

Where no column of ``g`` has the name, the server tries a function of that name on the whole
row; for ``unnest(…) AS g`` the whole row is a bare value, so that ``g.pg_read_file`` reads a
file. Rows of tables and subqueries are records, which no function of ``pg_catalog`` that does
harm takes.
"""

from __future__ import annotations

from sqlglot import exp

from stages.core.errors import SqlRefused
from stages.core.sandbox import gate
from stages.core.sandbox.names import fold, shown

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
        names += gate.called(inner)
    return names
