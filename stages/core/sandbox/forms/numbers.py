"""Functions of numbers and of any value whose DuckDB form depends on their arguments."""

from __future__ import annotations

from sqlglot import exp

from stages.core.errors import SqlRefused
from stages.core.sandbox.forms import kinds
from stages.core.sandbox.forms.table import Scope, fill, no_form

Args = list[exp.Expr]


def number_only(name: str, args: Args, scope: Scope) -> exp.Expr:
    """``abs``, which reads a number out of a text elsewhere."""
    if scope.kind(args[0]) in kinds.TEXTS:
        raise SqlRefused(f"{name} of a text refused", hint="write CAST(… AS REAL) around it")
    return exp.Abs(this=args[0])


def null_greatest(_name: str, args: Args, scope: Scope) -> exp.Expr:
    """The largest argument; null where one of them is."""
    return _extreme("greatest", args, scope)


def null_least(_name: str, args: Args, scope: Scope) -> exp.Expr:
    """The smallest argument; null where one of them is."""
    return _extreme("least", args, scope)


def _extreme(name: str, args: Args, scope: Scope) -> exp.Expr:
    nulls = " OR ".join(f"_{at} IS NULL" for at in range(1, len(args) + 1))
    made = fill(f"CASE WHEN {nulls} THEN NULL ELSE {name}(_all) END", args, scope)
    made.meta[kinds.KEY] = kinds.common(args, scope.columns)
    return made


def decimal_round(at: int, digits: str | int) -> str:
    """A number rounded by its decimal digits, as SQLite does, and not by its binary ones."""
    exact = f"round(TRY_CAST(CAST(_{at}f AS VARCHAR) AS DECIMAL(38, 15)), {digits})"
    return f"coalesce(CAST({exact} AS DOUBLE), _{at}f)"


def sqlite_round(_name: str, args: Args, scope: Scope) -> exp.Expr:
    """``round(x, digits)``; less than no digits are none."""
    digits = whole_number(args[1])
    if digits is None:
        raise SqlRefused("round to a computed number of digits refused", hint="write the number")
    return fill(decimal_round(1, min(max(digits, 0), 15)), args[:1], scope)


def whole_number(node: exp.Expr) -> int | None:
    """The value of a whole number that is written out."""
    if isinstance(node, exp.Neg):
        inner = whole_number(node.this)
        return None if inner is None else -inner
    if isinstance(node, exp.Literal) and node.is_int:
        return int(node.name)
    return None


def sqlite_typeof(_name: str, args: Args, scope: Scope) -> exp.Expr:
    """The storage class of a value."""
    return fill(
        "CASE WHEN _1 IS NULL THEN 'null' WHEN typeof(_1) = 'BLOB' THEN 'blob' "
        "WHEN typeof(_1) IN ('DOUBLE', 'FLOAT') OR typeof(_1) LIKE 'DECIMAL%' THEN 'real' "
        "WHEN typeof(_1) LIKE '%INT%' OR typeof(_1) = 'BOOLEAN' THEN 'integer' ELSE 'text' END",
        args,
        scope,
    )


_JSON_TYPES = (
    "CASE json_type(_1t) WHEN 'ARRAY' THEN 'array' WHEN 'OBJECT' THEN 'object' "
    "WHEN 'NULL' THEN 'null' WHEN 'VARCHAR' THEN '{text}' WHEN 'DOUBLE' THEN '{real}' "
    "WHEN 'BOOLEAN' THEN {truth} ELSE '{whole}' END"
)


def sqlite_json_type(_name: str, args: Args, scope: Scope) -> exp.Expr:
    """SQLite's word for the type of a JSON value."""
    truth = "CASE WHEN trim(_1t) = 'true' THEN 'true' ELSE 'false' END"
    return fill(
        _JSON_TYPES.format(text="text", real="real", truth=truth, whole="integer"), args, scope
    )


def json_typeof(_name: str, args: Args, scope: Scope) -> exp.Expr:
    """PostgreSQL's word for the type of a JSON value."""
    return fill(
        _JSON_TYPES.format(text="string", real="number", truth="'boolean'", whole="number"),
        args,
        scope,
    )


def truncate(name: str, args: Args, scope: Scope) -> exp.Expr:
    """A number cut after so many decimals."""
    digits = whole_number(args[1])
    if digits is None or not -15 <= digits <= 15:
        raise no_form(name, len(args), scope.source)
    if digits <= 0:
        return fill(f"(trunc(_1 / {10**-digits}) * {10**-digits})", args, scope)
    return fill(
        f"(CAST(trunc(CAST(_1 AS DECIMAL(38, {min(digits + 6, 18)})) * {10**digits}) AS DOUBLE) "
        f"/ {10**digits})",
        args,
        scope,
    )


mysql_truncate = truncate


def truncate_or_date(name: str, args: Args, scope: Scope) -> exp.Expr:
    """Snowflake's ``trunc``, of a number or of a time."""
    if scope.kind(args[0]) in kinds.TIMES:
        from stages.core.sandbox.forms.times import truncate_time

        return truncate_time(name, [args[1], args[0]], scope)
    return truncate(name, args, scope)


def half_even(_name: str, args: Args, scope: Scope) -> exp.Expr:
    """``round`` of MySQL: half to even for floating-point numbers, away from zero for others."""
    name = "round_even" if scope.kind(args[0]) == "float" else "round"
    return fill(
        f"{name}(_1, _2)", [args[0], args[1] if len(args) > 1 else exp.Literal.number(0)], scope
    )


def postgres_round(_name: str, args: Args, scope: Scope) -> exp.Expr:
    """``round``: half to even for floating-point numbers, away from zero for others."""
    return fill("round_even(_1, 0)" if scope.kind(args[0]) == "float" else "round(_1)", args, scope)


def nulls(name: str, args: Args, scope: Scope) -> exp.Expr:
    """How many arguments are null, or are not."""
    word = "IS NULL" if name == "num_nulls" else "IS NOT NULL"
    parts = " + ".join(f"CAST(_{at} {word} AS INTEGER)" for at in range(1, len(args) + 1))
    return fill(f"({parts})", args, scope)


def decode(name: str, args: Args, scope: Scope) -> exp.Expr:
    """``decode(x, a, 1, b, 2, other)``: nulls are equal."""
    if len(args) < 3:
        raise no_form(name, len(args), scope.source)
    cases = " ".join(
        f"WHEN _1 IS NOT DISTINCT FROM _{at} THEN _{at + 1}" for at in range(2, len(args), 2)
    )
    other = f" ELSE _{len(args)}" if len(args) % 2 == 0 else ""
    return fill(f"CASE {cases}{other} END", args, scope)
