"""Comparisons and patterns: what is equal, larger or alike in each dialect."""

from __future__ import annotations

import re

from sqlglot import exp

from stages.core.errors import SqlRefused
from stages.core.sandbox.forms import Scope, call, duck_cast, fill, kinds
from stages.core.sandbox.names import shown

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
