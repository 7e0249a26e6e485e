"""Operators, casts and comparisons that mean something else in DuckDB.

CAST as the dialects understand it: numbers read out of texts, cut or rounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sqlglot import exp

from stages.core.errors import SqlRefused
from stages.core.sandbox.forms import call, kinds
from stages.core.sandbox.forms.table import MADE, WRITE_DUCKDB, Scope, duck_cast, fill
from stages.core.sandbox.forms.times import shift
from stages.core.sandbox.forms.units import extracted_by, unit_of
from stages.core.sandbox.names import shown

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
    text = f"CASE WHEN _1 IS NULL THEN NULL ELSE CAST(coalesce(nullif(regexp_extract(_1t, '{pattern}', 1), ''), '0') AS {to}) END"  # noqa: E501
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


# Comparisons and patterns: what is equal, larger or alike in each dialect.

BACKSLASH = ("mysql", "postgres", "bigquery")
"""Dialects in which a backslash stands before a ``%`` that means itself."""
NOCASE = "nocase"


def ascii_lower(node: exp.Expr, scope: Scope) -> exp.Expr:
    """A text without the case of its ASCII letters, which is all that SQLite ignores."""
    return call("lower", [node.copy()], scope)


def like(node: exp.Expr, scope: Scope) -> exp.Expr:
    """LIKE without the case that the dialect ignores, and with its backslash."""
    text, pattern = node.this, node.expression
    if isinstance(pattern, exp.Any | exp.All | exp.Tuple):
        return node
    if scope.source == "sqlite":
        sides = ascii_lower(text, scope), ascii_lower(pattern, scope)
    else:
        letter = "" if scope.source == "postgres" else "t"
        sides = scope.cast(text.copy(), letter), pattern.copy()
    kind = exp.ILike if scope.source == "mysql" else type(node)
    made: exp.Expr = kind(this=sides[0], expression=sides[1], negate=node.args.get("negate"))
    plain = isinstance(pattern, exp.Literal) and "\\" not in pattern.name
    if scope.source in BACKSLASH and not plain and not isinstance(node.parent, exp.Escape):
        made = exp.Escape(this=made, expression=exp.Literal.string("\\"))
    return made


def glob(node: exp.Expr, scope: Scope) -> exp.Expr:
    """GLOB of what is a text there."""
    if scope.source != "sqlite":
        return node
    node.set("this", scope.cast(node.this.copy(), "t"))
    return node


def regexp(node: exp.Expr, scope: Scope) -> exp.Expr:
    """A regular expression somewhere in a text, or for all of it.

    Raises:
        SqlRefused: The dialect has none.
    """
    if scope.source == "sqlite":
        raise SqlRefused("REGEXP refused: SQLite has none by itself", hint="write LIKE or GLOB")
    caseless = scope.source == "mysql" or isinstance(node, exp.RegexpILike)
    name = "regexp_full_match" if scope.source == "snowflake" else "regexp_matches"
    flags = ", 'i'" if caseless else ""
    made = fill(f"{name}(_1t, _2t{flags})", [node.this, node.expression], scope)
    made.meta[kinds.KEY] = "bool"
    return made


def similar(node: exp.Expr, scope: Scope) -> exp.Expr:
    """SIMILAR TO as a regular expression.

    Raises:
        SqlRefused: The pattern is computed, or has an ESCAPE.
    """
    pattern = node.expression
    if not isinstance(pattern, exp.Literal) or isinstance(node.parent, exp.Escape):
        raise SqlRefused(
            "SIMILAR TO with this pattern refused", hint="write a regular expression with ~"
        )
    made = fill(
        "regexp_full_match(_1t, _2, 's')",
        [node.this, exp.Literal.string(_similar_pattern(pattern.name))],
        scope,
    )
    made.meta[kinds.KEY] = "bool"
    return made


def _similar_pattern(pattern: str) -> str:
    """A pattern of SIMILAR TO as a regular expression for a whole text.

    >>> _similar_pattern("5%|a_b.")
    '5.*|a.b\\\\.'
    """
    out, brackets = [], False
    for part in re.findall(r"\\.|.", pattern, re.DOTALL):
        if brackets:
            brackets = part != "]"
            out.append(part if part != "\\" else "\\\\")
        elif len(part) == 2:
            out.append(re.escape(part[1]))
        elif part == "[":
            brackets = True
            out.append(part)
        else:
            out.append({"%": ".*", "_": ".", ".": "\\.", "^": "\\^", "$": "\\$"}.get(part, part))
    return "".join(out)


def compare(node: exp.Expr, scope: Scope) -> exp.Expr:
    """A comparison in SQLite, where a date is a text and a column of texts holds no numbers."""
    if scope.source != "sqlite":
        return node
    keys = [key for key in ("this", "expression", "low", "high") if node.args.get(key)]
    operands = [node.args[key] for key in keys] + list(node.args.get("expressions") or [])
    made = _like_text(operands, scope)
    if any(NOCASE in operand.meta for operand in made):
        made = [ascii_lower(operand, scope) for operand in made]
    for key, operand in zip(keys, made, strict=False):
        node.set(key, operand)
    if node.args.get("expressions"):
        node.set("expressions", made[len(keys) :])
    return node


_FULL = {
    "date": re.compile(r"\d{4}-\d\d-\d\d"),
    "timestamp": re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"),
}


def _like_text(operands: list[exp.Expr], scope: Scope) -> list[exp.Expr]:
    """Operands of one comparison, as texts where SQLite takes them for that."""
    found = [scope.kind(operand) for operand in operands]
    if not set(found) & kinds.TEXTS:
        return operands
    numbers = {"int", "float", "decimal"}
    texts = [op for op, kind in zip(operands, found, strict=True) if kind in kinds.TEXTS]
    computed = [op for op in texts if not isinstance(op, exp.Literal | exp.Column | exp.Cast)]
    columns = [op for op in texts if isinstance(op, exp.Column)]
    mixed = any(
        kind in numbers and not isinstance(op, exp.Column)
        for op, kind in zip(operands, found, strict=True)
    )
    if mixed and computed:
        raise SqlRefused(
            "a text compared with a number refused: SQLite takes every text for larger",
            hint="put the number in quotes, or write CAST(… AS INTEGER)",
        )
    out = []
    for op, kind in zip(operands, found, strict=True):
        number = kind in numbers and columns and not isinstance(op, exp.Column)
        time = kind in kinds.TIMES and not all(_whole_time(text, kind) for text in texts)
        out.append(duck_cast(op.copy(), "VARCHAR") if number or time else op)
    return out


def _whole_time(text: exp.Expr, kind: str) -> bool:
    return isinstance(text, exp.Literal) and bool(_FULL[kind].fullmatch(text.name))


def collate(node: exp.Expr, scope: Scope) -> exp.Expr:
    """COLLATE, where it names text with or without case.

    Raises:
        SqlRefused: It names another order.
    """
    name = node.expression.name.lower()
    if scope.source == "mysql":
        return (
            exp.Paren(this=node.this.copy())
            if name.endswith(("_bin", "_cs")) or name == "binary"
            else node.this.copy()
        )
    if scope.source == "sqlite":
        if name == "nocase":
            made = ascii_lower(node.this, scope)
            made.meta[NOCASE] = True
            return made
        return node.this.copy() if name == "binary" else fill("rtrim(_1t)", [node.this], scope)
    raise SqlRefused(f"COLLATE {shown(name)} refused", hint="write lower(x) for text without case")


# Operators and syntax that mean something else in DuckDB than where the statement comes from.

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
        return prefix(node, REAL if real else INTEGER, "DOUBLE" if real else "BIGINT", scope)
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
        return shift(left.copy(), right.copy(), scope, "+" if isinstance(node, exp.Add) else "-")
    if isinstance(left, exp.Interval) and scope.source != "postgres":
        return shift(right.copy(), left.copy(), scope, "+")
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


Change = Callable[[Any, Scope], exp.Expr]  # Any: each takes the node of its own class
_CHANGES: tuple[tuple[type[exp.Expr] | tuple[type[exp.Expr], ...], Change], ...] = (
    (exp.Extract, _extract),
    (exp.Trim, _trim),
    (exp.Substring, _substring),
    (exp.StrPosition, _position),
    (exp.GroupConcat, _group_concat),
    ((exp.CurrentTimestamp, exp.CurrentDatetime), _stamp),
    (exp.Cast, cast),
    (exp.Div, _divide),
    (exp.IntDiv, _divide_whole),
    (exp.Mod, _modulo),
    ((exp.Add, exp.Sub), _plus_minus),
    (exp.Mul, _multiply),
    ((exp.Like, exp.ILike), like),
    (exp.Glob, glob),
    ((exp.RegexpLike, exp.RegexpILike), regexp),
    (exp.SimilarTo, similar),
    (exp.Collate, collate),
    (exp.DPipe, _join),
    ((exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseAnd), _bits),
    ((*_COMPARED, exp.In, exp.Between), compare),
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
