"""Which columns of a view hold what comes from columns of other tables."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, build_scope
from sqlglot.schema import MappingSchema

from stages.core.catalog.source_table import SourceTable
from stages.core.names import fold

Place = tuple[str, str]


def passed_on(
    view: SourceTable,
    place: Place,
    columns: Mapping[Place, Sequence[str]],
    secret: Mapping[Place, set[str]],
) -> set[str]:
    """Names of the view's columns that hold something of a secret column.

    A statement that cannot be followed hides every column of the view, where it names a table
    with a secret column: a value that was shown cannot be taken back.

    Args:
        view: The view, with its statement.
        place: Where it is.
        columns: All tables' columns by place.
        secret: Columns to look for, by the place of their table.
    """
    words = set(re.findall(r"\w+", fold(view.query)))
    if not any(words.issuperset(re.findall(r"\w+", table)) for _, table in secret):
        return set()
    names = [column["name"] for column in view.columns]
    try:
        outputs = _sources(view, place[0], columns)
    except Exception:
        return set(names)
    if len(outputs) != len(names):
        return set(names)
    return {
        name
        for name, reads in zip(names, outputs, strict=True)
        if any(column in map(fold, secret.get(other, ())) for other, column in reads)
    }


def _sources(
    view: SourceTable, source: str, columns: Mapping[Place, Sequence[str]]
) -> list[set[tuple[Place, str]]]:
    """For each column of the view, the tables and folded columns that it is made of."""
    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    dialect = view.query_dialect
    tree = sqlglot.parse_one(view.query, read=dialect)
    query = tree if isinstance(tree, exp.Query) else tree.find(exp.Query)
    if query is None:
        raise ValueError("no query in it")
    query = query.copy()
    schema: dict[str, object] = {}
    places: dict[str, Place] = {}
    ctes = {fold(cte.alias) for cte in query.find_all(exp.CTE)}
    for table in query.find_all(exp.Table):
        if fold(table.name) in ctes and not table.db:
            continue
        place = _place(table, source, columns)
        key = f"t{len(places)}" if place else fold(table.name)
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
        table.set("db", None)
        table.set("catalog", None)
        if place:
            places[key] = place
            schema[key] = {fold(name): "text" for name in columns[place]}
            table.set("this", exp.to_identifier(key, quoted=True))
    for column in query.find_all(exp.Column):
        column.set("db", None)
        column.set("catalog", None)
    for name in query.find_all(exp.Identifier):
        name.set("this", fold(name.this))
        name.set("quoted", True)
    query = qualify(
        query,
        dialect=dialect,
        schema=MappingSchema(schema, normalize=False),
        quote_identifiers=False,
        validate_qualify_columns=False,
        identify=True,
    )
    scope = build_scope(query)
    if scope is None or any(item.is_star for item in query.selects):
        raise ValueError("a star that cannot be expanded")
    outputs = [_reads(scope, at, frozenset()) for at in range(len(query.selects))]
    return [
        {(places[table], column) for table, column in reads if table in places} for reads in outputs
    ]


def _place(table: exp.Table, source: str, columns: Mapping[Place, Sequence[str]]) -> Place | None:
    """The table that a name in the statement means; None where it is none of the catalog."""
    name = fold(table.name)
    within = fold(f"{table.db}.{table.name}")
    for place in ((table.db, name), (source, within), (source, name)):
        if place in columns:
            return place
    return None


def _reads(scope: Scope, at: int, seen: frozenset[tuple[int, int]]) -> set[tuple[str, str]]:
    """Tables and columns that the output column at a place reads, through all queries inside.

    Args:
        scope: A query.
        at: Place of its output column.
        seen: Queries and places that are being looked at, for a query may read itself.
    """
    if (id(scope), at) in seen:
        return set()
    seen |= {(id(scope), at)}
    if scope.set_operation_scopes:
        return set().union(*(_reads(part, at, seen) for part in scope.set_operation_scopes))
    item = _selects(scope)[at]
    if isinstance(item.unalias(), exp.Count):
        return set()
    found: set[tuple[str, str]] = set()
    for column in item.find_all(exp.Column):
        found |= _column(scope, column, seen)
    return found


def _selects(scope: Scope) -> list[exp.Expr]:
    if not isinstance(scope.expression, exp.Query):
        raise ValueError("rows of no query")
    return list(scope.expression.selects)


def _column(
    scope: Scope, column: exp.Column, seen: frozenset[tuple[int, int]]
) -> set[tuple[str, str]]:
    """What one column stands for; of a query inside, what its output column reads."""
    name, table = column.name, column.table
    near = [scope, *scope.traverse()]
    while scope.parent is not None:
        scope = scope.parent
        near.append(scope)
    if not table:  # of any of the tables, or a text in double quotes
        every = [source for part in near for source in part.sources.values()]
        return set().union(*(_of_source(source, name, seen, sure=False) for source in every))
    for part in near:
        if table in part.sources:
            return _of_source(part.sources[table], name, seen, sure=True)
    raise ValueError("a table that is not known")


def _of_source(
    source: exp.Expr | Scope, name: str, seen: frozenset[tuple[int, int]], *, sure: bool
) -> set[tuple[str, str]]:
    if isinstance(source, exp.Table):
        return {(source.name, name)}
    if not isinstance(source, Scope):
        raise ValueError("a source that is no table")
    outputs = [item.alias_or_name for item in _selects(source)]
    outer = source.expression.parent
    given = outer.alias_column_names if isinstance(outer, exp.CTE | exp.Subquery) else []
    for names in (given, outputs):
        if name in names:
            return _reads(source, names.index(name), seen)
    if sure:
        raise ValueError("a column that no query inside has")
    return set()
