"""Rows in one order only, so that the same query gives the same bytes every time.

A query that leaves the order free is sorted by all its columns; one that sorts by some is
sorted by all its columns after them, which settles ties, also at a LIMIT. A plain read of
one table keeps the order of the file: the engine has one thread, so it is no other tomorrow,
and the first rows are what whoever looks at a table wants to see.
"""

from __future__ import annotations

from sqlglot import exp

_FREE = (
    "joins",
    "group",
    "distinct",
    "having",
    "qualify",
    "windows",
    "laterals",
    "with_",
    "pivots",
)


def with_order(tree: exp.Query, width: int, rows: int) -> exp.Query:
    """A copy of the query with a full order, and no more rows than asked for.

    Args:
        tree: A checked query.
        width: Its number of columns.
        rows: Rows to be fetched, one more included to tell whether there are more.
    """
    query = tree.copy()
    if isinstance(query, exp.Subquery):
        return query
    order = query.args.get("order")
    if order is not None:
        _settle_ties(order, width)
    elif not plain(query):
        query.set("order", exp.Order(expressions=[exp.Ordered(this=exp.var("ALL"))]))
    _limit(query, rows)
    return query


def _settle_ties(order: exp.Order, width: int) -> None:
    if any(_is_all(item) for item in order.expressions):
        return
    for position in range(1, width + 1):
        order.append("expressions", exp.Ordered(this=exp.Literal.number(position)))


def _is_all(item: exp.Expr) -> bool:
    """Whether an item of ORDER BY is ``ALL`` or ``*``."""
    this = item.this if isinstance(item, exp.Ordered) else item
    return isinstance(this, exp.Star) or (
        isinstance(this, exp.Column | exp.Var)
        and this.name.upper() == "ALL"
        and not this.args.get("table")
    )


def plain(query: exp.Query) -> bool:
    """Whether the query reads one table, row by row."""
    if not isinstance(query, exp.Select) or any(query.args.get(key) for key in _FREE):
        return False
    source = query.args.get("from_")
    if source is not None and not isinstance(source.this, exp.Table):
        return False
    inside = (exp.AggFunc, exp.Window, exp.Subquery, exp.Explode, exp.Unnest, exp.Select)
    return not any(isinstance(node, inside) for node in query.walk() if node is not query)


def _limit(query: exp.Query, rows: int) -> None:
    """Lower the number of rows to what will be fetched, which makes a sort a search for the top."""
    limit = query.args.get("limit")
    if limit is None:
        query.set("limit", exp.Limit(expression=exp.Literal.number(rows)))
        return
    options = limit.args.get("limit_options")
    if not isinstance(limit, exp.Limit) or (options is not None and options.args.get("percent")):
        return
    given = limit.expression
    if (
        isinstance(given, exp.Literal)
        and not given.is_string
        and given.name.isdigit()
        and int(given.name) > rows
    ):
        limit.set("expression", exp.Literal.number(rows))
