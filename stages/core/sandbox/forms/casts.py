"""CAST as the dialects understand it: numbers read out of texts, cut or rounded."""

from __future__ import annotations

from sqlglot import exp

from stages.core.errors import SqlRefused
from stages.core.sandbox.forms import WRITE_DUCKDB, Scope, fill, kinds

INTEGER = r"^\s*([+-]?\d+)"
REAL = r"^\s*([+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)"


def cast(node: exp.Cast, scope: Scope) -> exp.Expr:
    """A CAST of the dialect in DuckDB.

    Raises:
        SqlRefused: It gives something that DuckDB's types do not have.
    """
    value: exp.Expr = node.this.copy()
    if node.args.get("format"):
        raise SqlRefused("CAST with a format refused", hint=WRITE_DUCKDB)
    to = node.to
    if to.this == exp.DType.CHARACTER_SET:
        return value
    if to.is_type("binary") and scope.source == "mysql":
        return exp.Paren(this=node.this.copy())
    if to.this in exp.DataType.TEXT_TYPES and scope.kind(node.this) == "float":
        return scope.cast(node.this.copy(), "t")
    whole = to.this in exp.DataType.INTEGER_TYPES
    if scope.source == "sqlite":
        return _affinity(node, whole, scope)
    if scope.source == "mysql" and (whole or to.is_type("decimal")):
        return _number(node, scope)
    if to.is_type("decimal") and not to.expressions:
        size = {"postgres": "DOUBLE", "snowflake": "DECIMAL(38, 0)", "bigquery": "DECIMAL(38, 9)"}
        exact = scope.source == "postgres" and _rounded(node)
        node.set(
            "to",
            exp.DataType.build(
                "DECIMAL(38, 12)" if exact else size[scope.source], dialect="duckdb"
            ),
        )
    if (
        whole
        and scope.source in ("bigquery", "snowflake")
        and scope.kind(node.this) in ("float", "decimal", "")
    ) and scope.kind(node.this):
        node.set("this", fill("round(_1)", [node.this], scope))
    return node


def _rounded(node: exp.Expr) -> bool:
    """Whether the value goes into ``round(x, n)``, which shows what a float would lose."""
    parent = node.parent
    while isinstance(parent, exp.Paren):
        parent = parent.parent
    return isinstance(parent, exp.Round)


def prefix(node: exp.Expr, pattern: str, to: str, scope: Scope) -> exp.Expr:
    """The number that a text begins with, and 0 where it begins with none."""
    text = f"CASE WHEN _1 IS NULL THEN NULL ELSE CAST(coalesce(nullif(regexp_extract(_1t, '{pattern}', 1), ''), '0') AS {to}) END"
    made = fill(text, [node], scope)
    made.meta[kinds.KEY] = "int" if to == "BIGINT" else "float"
    return made


def _affinity(node: exp.Cast, whole: bool, scope: Scope) -> exp.Expr:
    """SQLite's CAST: numbers are cut, texts read as far as they are numbers."""
    kind, to = scope.kind(node.this), node.to
    value: exp.Expr = node.this.copy()
    if whole:
        if kind in ("float", "decimal"):
            return fill("CAST(trunc(_1) AS BIGINT)", [node.this], scope)
        return node if kind in ("int", "bool") else prefix(node.this, INTEGER, "BIGINT", scope)
    if to.this in exp.DataType.FLOAT_TYPES:
        return node if kind in kinds.NUMBERS else prefix(node.this, REAL, "DOUBLE", scope)
    if to.this in exp.DataType.TEXT_TYPES:
        return node
    if to.is_type("decimal") and kind in ("int", "float"):
        return value
    raise SqlRefused(
        f"CAST to {to.sql()} refused: it makes a number in SQLite",
        hint="write date(x) for a date, or CAST(x AS INTEGER), REAL or TEXT",
    )


def _number(node: exp.Cast, scope: Scope) -> exp.Expr:
    """MySQL's CAST to a number, which reads a text as far as it is one."""
    to = node.to
    if to.is_type("decimal") and not to.expressions:
        node.set("to", exp.DataType.build("DECIMAL(10, 0)", dialect="duckdb"))
    if scope.kind(node.this) in kinds.TIMES:
        raise SqlRefused("CAST of a time to a number refused", hint="use year(x), month(x) …")
    if scope.kind(node.this) in kinds.NUMBERS:
        return node
    if to.is_type("decimal"):
        node.set("this", prefix(node.this, REAL, "DOUBLE", scope))
        return node
    return prefix(node.this, INTEGER, "BIGINT", scope)
