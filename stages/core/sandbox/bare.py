"""Columns that stand beside aggregates without being grouped by, as SQLite and MySQL allow.

SQLite takes such a column from any row of the group, or from the row of the one ``min`` or
``max`` of the query (sqlite.org, lang_select, "bare columns"); MySQL from any row where the
key of the group decides it. DuckDB wants that said: ``first``, ``arg_min_null``, ``arg_max_null``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from stages.core.sandbox.names import fold

FOLDED = "folded"
"""What marks a key that is a column without its case: the column itself is not grouped by."""


def say_which_row(tree: exp.Expr, *, any_extreme: bool = True) -> None:
    """Wrap the bare columns of every aggregating SELECT of the tree, in place.

    Args:
        tree: Of DuckDB's functions.
        any_extreme: Whether a single ``min`` or ``max`` says which row it is, as in SQLite.
    """
    for select in list(tree.find_all(exp.Select)):
        aggregates = [node for node in _own(select) if _aggregates(node)]
        if aggregates or select.args.get("group"):
            _wrap(select, aggregates if any_extreme else ())


def _aggregates(node: exp.Expr) -> bool:
    """Whether a node folds rows into one; a window function does not, what stands in it may."""
    if not isinstance(node, exp.AggFunc):
        return False
    inner: exp.Expr = node
    outer: exp.Expr | None = node.parent
    while isinstance(outer, exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
        inner = outer
        outer = outer.parent
    return not (isinstance(outer, exp.Window) and outer.this is inner)


def _wrap(select: exp.Select, aggregates: Sequence[exp.Expr]) -> None:
    keys = [key for key in _keys(select) if FOLDED not in key.meta]
    grouped = [column for item in keys for column in item.find_all(exp.Column)]
    aliases = {fold(item.alias) for item in select.expressions if item.alias}
    for column in list(_own(select)):
        if not isinstance(column, exp.Column) or isinstance(column.this, exp.Star):
            continue
        named = (
            not column.table
            and fold(column.name) in aliases
            and column.find_ancestor(exp.Order, exp.Having)
        )
        if named or any(_same(column, key) for key in grouped) or _inside(column, select):
            continue
        wrapped = _of_row(column, aggregates)
        column.replace(
            exp.alias_(wrapped, column.name, quoted=True) if column.parent is select else wrapped
        )


def _keys(select: exp.Select) -> list[exp.Expr]:
    """What is grouped by; positions and aliases as the expressions that they stand for."""
    group = select.args.get("group")
    aliased = {fold(item.alias): item.this for item in select.expressions if item.alias}
    keys: list[exp.Expr] = []
    for key in group.expressions if group else ():
        if (
            isinstance(key, exp.Literal)
            and key.is_int
            and 0 < int(key.name) <= len(select.expressions)
        ):
            key = select.expressions[int(key.name) - 1]
        keys.append(key)
        if isinstance(key, exp.Column) and not key.table and fold(key.name) in aliased:
            keys.append(aliased[fold(key.name)])
    return keys


def _own(select: exp.Select) -> Iterator[exp.Expr]:
    """Nodes of what a SELECT gives, filters groups by and sorts by, those of inner queries left out."""
    parts = [*select.expressions, select.args.get("having"), select.args.get("order")]
    for part in parts:
        if part is not None:
            yield from part.walk(prune=lambda node: isinstance(node, exp.Query))


def _same(one: exp.Column, other: exp.Column) -> bool:
    tables = {fold(one.table), fold(other.table)} - {""}
    return fold(one.name) == fold(other.name) and len(tables) < 2


def _inside(column: exp.Column, select: exp.Select) -> bool:
    """Whether the column stands within an aggregate or in an inner query."""
    node = column.parent
    while node is not None and node is not select:
        filtered = isinstance(node, exp.Filter) and _aggregates(node.this)
        if filtered or _aggregates(node) or isinstance(node, exp.Query):
            return True
        node = node.parent
    return False


def _of_row(column: exp.Column, aggregates: Sequence[exp.Expr]) -> exp.Expr:
    """The column's value in the row that the other engine would take."""
    first = exp.Anonymous(this="first", expressions=[column.copy()])
    extremes = [node for node in aggregates if isinstance(node, exp.Max | exp.Min)]
    if len(extremes) != 1 or extremes[0].expressions:
        return first
    name = "arg_max_null" if isinstance(extremes[0], exp.Max) else "arg_min_null"
    row = exp.Anonymous(this=name, expressions=[column.copy(), extremes[0].this.copy()])
    none = exp.Is(this=extremes[0].copy(), expression=exp.Null())
    return exp.Case(ifs=[exp.If(this=none, true=first)], default=row)
