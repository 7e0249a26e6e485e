"""Operators and syntax that mean something else in DuckDB than where the statement comes from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlglot import exp

from stages.core.errors import SqlRefused
from stages.core.sandbox.forms import (
    MADE,
    WRITE_DUCKDB,
    Scope,
    call,
    casts,
    comparisons,
    duck_cast,
    fill,
    kinds,
)
from stages.core.sandbox.forms.times import shifted
from stages.core.sandbox.forms.units import extracted_by, unit_of
from stages.core.sandbox.names import shown

_SYNTAX = (
    *(exp.Cast, exp.Case, exp.If, exp.Extract, exp.Trim, exp.Substring, exp.StrPosition),
    *(exp.GroupConcat, exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentTime, exp.Localtimestamp),
    *(exp.Localtime, exp.And, exp.Or, exp.Xor, exp.JSONExtract, exp.JSONExtractScalar),
    *(exp.RegexpLike, exp.RegexpILike, exp.Array, exp.Unnest, exp.Exists, exp.Anonymous),
    *(exp.Collate, exp.CurrentDatetime, exp.Pow, exp.Sqrt, exp.JSONExtractArray),
)
"""Functions that are syntax; every other is read as a name."""
_TRUTHS = ("sqlite", "mysql")
"""Dialects in which a comparison gives a number."""
_LOGICAL = (exp.Where, exp.Having, exp.Qualify, exp.And, exp.Or, exp.Xor, exp.Not, exp.Join, exp.Is)
_WHOLE_DIVISION = ("sqlite", "postgres")
_COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)


def check_syntax(tree: exp.Expr, source: str) -> None:
    """Refuse syntax that has no DuckDB form that is known to be faithful.

    Raises:
        SqlRefused: With its name.
    """
    for node in tree.walk():
        if isinstance(node, exp.Func) and not isinstance(node, _SYNTAX):
            name = node.sql_names()[0].lower()
            raise SqlRefused(
                f"{shown(name)} of {source} refused",
                hint=f"it has no tested DuckDB form; {WRITE_DUCKDB}",
            )
        if isinstance(node, exp.HexString | exp.BitString | exp.ByteString | exp.Introducer):
            raise SqlRefused(
                "a literal of bytes or bits refused", hint="write the number or the text"
            )


def rewrite(tree: exp.Expr, scope: Scope) -> None:
    """Rewrite operators and syntax, innermost first, in place.

    Raises:
        SqlRefused: One has no DuckDB form.
    """
    for node in reversed(list(tree.walk())):
        if MADE in node.meta:
            continue
        change = next((change for kind, change in _CHANGES if isinstance(node, kind)), None)
        made = change(node, scope) if change else node
        if made is not node:
            node.replace(made)
    if scope.source in _TRUTHS:
        _count_truths(tree)


def _extract(node: exp.Expr, scope: Scope) -> exp.Expr:
    unit = unit_of(node.this, "extract")
    value = node.expression
    letter = "s" if scope.kind(value) in kinds.TEXTS | {""} and scope.source != "postgres" else ""
    if scope.source == "mysql":
        letter = "s" if unit in ("HOUR", "MINUTE", "SECOND") else "d"
    return extracted_by(unit, scope.cast(value.copy(), letter), "extract", scope)


def _trim(node: exp.Expr, scope: Scope) -> exp.Expr:
    node.set("this", scope.cast(node.this.copy(), "t"))
    if node.expression is None and scope.source != "sqlite":
        node.set("expression", exp.Literal.string(" "))
    cut = node.expression
    if scope.source == "mysql" and not (isinstance(cut, exp.Literal) and len(cut.name) == 1):
        raise SqlRefused("trim of more than one character refused", hint="use regexp_replace")
    return node


def _substring(node: exp.Expr, scope: Scope) -> exp.Expr:
    args = [node.this, node.args.get("start"), node.args.get("length")]
    return call("substring", [arg.copy() for arg in args if arg is not None], scope)


def _position(node: exp.Expr, scope: Scope) -> exp.Expr:
    low = "lower(_{}t)" if scope.source == "mysql" else "_{}t"
    made = fill(f"instr({low.format(1)}, {low.format(2)})", [node.this, node.args["substr"]], scope)
    made.meta[kinds.KEY] = "int"
    return made


def _group_concat(node: exp.Expr, scope: Scope) -> exp.Expr:
    ordered = node.this
    if isinstance(ordered, exp.Order) and isinstance(ordered.this, exp.Distinct):
        return _distinct_list(node, ordered, scope)
    node.set("this", scope.cast(node.this.copy(), "t"))
    if not node.args.get("separator"):
        node.set("separator", exp.Literal.string("" if scope.source == "snowflake" else ","))
    return node


def _distinct_list(node: exp.Expr, ordered: exp.Order, scope: Scope) -> exp.Expr:
    """Distinct values in their own order, which for numbers is not that of their texts."""
    value = ordered.this.expressions[0]
    if len(ordered.expressions) != 1 or ordered.expressions[0].this != value:
        raise SqlRefused(
            "DISTINCT in another order refused", hint="order by what is distinct, or use a subquery"
        )
    values = exp.ArrayAgg(this=ordered.copy())
    kept = exp.Filter(this=values, expression=exp.Where(this=value.copy().is_(exp.null()).not_()))
    separator = node.args.get("separator") or exp.Literal.string(",")
    return exp.Anonymous(this="array_to_string", expressions=[kept, separator.copy()])


_UNSIGNED = "CASE WHEN {0} < 0 THEN CAST({0} AS HUGEINT) + 18446744073709551616 ELSE {0} END"


def _bits(node: exp.Expr, scope: Scope) -> exp.Expr:
    """Bits of MySQL, where a negative number is a large one."""
    if scope.source != "mysql":
        return node
    written: dict[type, str] = {
        exp.BitwiseOr: "(_1i | _2i)",
        exp.BitwiseXor: "xor(_1i, _2i)",
        exp.BitwiseAnd: "(_1i & _2i)",
    }
    made = fill(_UNSIGNED.format(written[type(node)]), [node.this, node.expression], scope)
    made.meta[kinds.KEY] = "int"
    return made


def _join(node: exp.Expr, scope: Scope) -> exp.Expr:
    for key in ("this", "expression"):
        if scope.kind(node.args[key]) == "float":
            node.set(key, scope.cast(node.args[key].copy(), "t"))
    return node


def _stamp(node: exp.Expr, scope: Scope) -> exp.Expr:
    return node if scope.source == "postgres" else exp.Localtimestamp()


def _nonzero(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Literal) and float(node.name or 0) != 0:
        return node.copy()
    return exp.Nullif(this=node.copy(), expression=exp.Literal.number(0))


def _divide(node: exp.Expr, scope: Scope) -> exp.Expr:
    """``/``: DuckDB's ``//`` cuts whole numbers, divides others, and fails at zero as it should."""
    left, right = _numeric(node.this, scope), _numeric(node.expression, scope)
    if "interval" in (scope.kind(left), scope.kind(right)):
        return node
    if scope.source in ("sqlite", "mysql"):
        right = _nonzero(right)
    if scope.source in _WHOLE_DIVISION:
        made: exp.Expr = exp.IntDiv(this=left.copy(), expression=right.copy())
        whole = {scope.kind(left), scope.kind(right)} <= {"int", "bool"}
        made.meta[kinds.KEY] = "int" if whole else "float"
        return made
    if scope.source == "mysql":
        return exp.Div(this=left.copy(), expression=right.copy())
    made = fill("_1f // _2", [left, right], scope)
    made.meta[kinds.KEY] = "float"
    return made


def _divide_whole(node: exp.Expr, scope: Scope) -> exp.Expr:
    if scope.source != "mysql":
        return node
    pair = [node.this, _nonzero(node.expression)]
    if {scope.kind(node.this), scope.kind(node.expression)} == {"int"}:
        return fill("_1 // _2", pair, scope)
    return fill("CAST(trunc(_1 / _2) AS BIGINT)", pair, scope)


def _modulo(node: exp.Expr, scope: Scope) -> exp.Expr:
    if scope.source not in ("sqlite", "mysql"):
        return node
    left, right = _numeric(node.this, scope), _numeric(node.expression, scope)
    if scope.source == "sqlite":
        left, right = (
            part if scope.kind(part) == "int" else fill("CAST(trunc(_1) AS BIGINT)", [part], scope)
            for part in (left, right)
        )
    return exp.Mod(this=left.copy(), expression=_nonzero(right))


def _numeric(node: exp.Expr, scope: Scope) -> exp.Expr:
    """An operand as a number, where it is a text that is one."""
    if scope.kind(node) == "digits":
        return duck_cast(node.copy(), "BIGINT")
    if scope.source in _TRUTHS and isinstance(node, exp.Literal) and node.is_string:
        real = "." in node.name or "e" in node.name.lower()
        return casts.prefix(
            node, casts.REAL if real else casts.INTEGER, "DOUBLE" if real else "BIGINT", scope
        )
    return node


_TIMES_HINT = {
    "sqlite": "SQLite subtracts the years: write julianday(a) - julianday(b)",
    "mysql": "MySQL subtracts the digits: write DATEDIFF(a, b) or INTERVAL",
    "bigquery": "write DATE_DIFF(a, b, DAY) or DATE_ADD",
}


def _plus_minus(node: exp.Expr, scope: Scope) -> exp.Expr:
    left, right = node.this, node.expression
    if isinstance(right, exp.Interval):
        if scope.source == "postgres":
            return node
        return shifted(left.copy(), right.copy(), scope, "+" if isinstance(node, exp.Add) else "-")
    if isinstance(left, exp.Interval) and scope.source != "postgres":
        return shifted(right.copy(), left.copy(), scope, "+")
    both = {scope.kind(left), scope.kind(right)}
    if scope.source in _TIMES_HINT and both & kinds.TIMES and not _plain_days(both, scope):
        raise SqlRefused("arithmetic with dates refused", hint=_TIMES_HINT[scope.source])
    for key in ("this", "expression"):
        node.set(key, _numeric(node.args[key], scope).copy())
        if both == {"date", "int"} and scope.kind(node.args[key]) == "int":
            node.set(key, duck_cast(node.args[key].copy(), "INTEGER"))
    return node


def _plain_days(both: set[str], scope: Scope) -> bool:
    return scope.source == "bigquery" and both == {"date", "int"}


def _multiply(node: exp.Expr, scope: Scope) -> exp.Expr:
    for key in ("this", "expression"):
        node.set(key, _numeric(node.args[key], scope).copy())
    return node


Change = Callable[[Any, Scope], exp.Expr]
_CHANGES: tuple[tuple[type[exp.Expr] | tuple[type[exp.Expr], ...], Change], ...] = (
    (exp.Extract, _extract),
    (exp.Trim, _trim),
    (exp.Substring, _substring),
    (exp.StrPosition, _position),
    (exp.GroupConcat, _group_concat),
    ((exp.CurrentTimestamp, exp.CurrentDatetime), _stamp),
    (exp.Cast, casts.cast),
    (exp.Div, _divide),
    (exp.IntDiv, _divide_whole),
    (exp.Mod, _modulo),
    ((exp.Add, exp.Sub), _plus_minus),
    (exp.Mul, _multiply),
    ((exp.Like, exp.ILike), comparisons.like),
    (exp.Glob, comparisons.glob),
    ((exp.RegexpLike, exp.RegexpILike), comparisons.regexp),
    (exp.SimilarTo, comparisons.similar),
    (exp.Collate, comparisons.collate),
    (exp.DPipe, _join),
    ((exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseAnd), _bits),
    ((*_COMPARED, exp.In, exp.Between), comparisons.compare),
)


def _count_truths(tree: exp.Expr) -> None:
    """Make a comparison that is used as a value the number that it is there."""
    for node in reversed(list(tree.walk())):
        if _truth(node) and not _logical(node):
            node.replace(duck_cast(node.copy(), "INTEGER"))


def _truth(node: exp.Expr) -> bool:
    if isinstance(node, exp.Any | exp.All | exp.Case):
        return False
    if node.meta.get(kinds.KEY) == "bool":
        return not isinstance(node, exp.Cast)
    logical = isinstance(node, exp.Predicate | exp.Connector | exp.Not | exp.Boolean)
    return logical and MADE not in node.meta


def _logical(node: exp.Expr) -> bool:
    """Whether a condition stands where one is asked for."""
    parent = node.parent
    if isinstance(parent, exp.Paren | exp.Escape):
        return isinstance(parent, exp.Escape) or _logical(parent)
    if isinstance(parent, exp.If):
        simple = isinstance(parent.parent, exp.Case) and parent.parent.this is not None
        return node.arg_key == "this" and not simple
    return parent is None or isinstance(parent, _LOGICAL)
