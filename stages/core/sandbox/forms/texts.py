"""Functions of texts whose DuckDB form depends on what their arguments are."""

from __future__ import annotations

import re

from sqlglot import exp

from stages.core.errors import SqlRefused
from stages.core.sandbox.forms import kinds
from stages.core.sandbox.forms.numbers import decimal_round, whole_number
from stages.core.sandbox.forms.table import Scope, fill, no_form
from stages.core.sandbox.names import shown

Args = list[exp.Expr]


def strict_concat(_name: str, args: Args, scope: Scope) -> exp.Expr:
    """Texts one after the other; null where one of them is."""
    parts = [scope.cast(arg, "t") for arg in args]
    text = " || ".join(f"_{at}" for at in range(1, len(args) + 1))
    return fill(text if len(args) > 1 else "_1t", parts, scope)


def strict_concat_ws(_name: str, args: Args, scope: Scope) -> exp.Expr:
    """Texts with a text between them; null where one of them is."""
    nulls = " OR ".join(f"_{at} IS NULL" for at in range(1, len(args) + 1))
    return fill(f"CASE WHEN {nulls} THEN NULL ELSE concat_ws(_allt) END", args, scope)


def characters(_name: str, args: Args, scope: Scope) -> exp.Expr:
    """SQLite's ``char(…)``: one character for each number."""
    text = " || ".join(f"chr(CAST(_{at} AS INTEGER))" for at in range(1, len(args) + 1))
    return fill(text or "''", args, scope)


_C_CODE = re.compile(
    r"%(?:(?P<zero>0?)(?P<width>\d*)(?:\.(?P<digits>\d+))?(?P<kind>[dsfi])|%)|[^%]+|%"
)


def c_format(name: str, args: Args, scope: Scope) -> exp.Expr:
    """``printf`` with the codes ``%d``, ``%s``, ``%.2f`` and ``%%``."""
    if not args or not isinstance(args[0], exp.Literal) or not args[0].is_string:
        raise SqlRefused(
            f"{name} with a format that is no text refused", hint="write the format itself"
        )
    values, parts = iter(range(2, len(args) + 1)), []
    for match in _C_CODE.finditer(args[0].name):
        if match["kind"]:
            parts.append(_c_code(match, next(values, 0), name))
        elif match[0] == "%":
            raise SqlRefused(
                f"{shown(args[0].name)} in {name} refused", hint="only %d, %s and %.2f"
            )
        else:
            text = match[0].replace("%%", "%").replace("'", "''")
            parts.append(f"'{text}'")
    return fill(" || ".join(parts) or "''", args, scope)


def _c_code(match: re.Match[str], at: int, name: str) -> str:
    if not at:
        raise SqlRefused(f"{name} has too few values", hint="one for each % of its format")
    width = match["width"]
    if match["kind"] == "s":
        if match["digits"] or match["zero"]:
            raise SqlRefused(f"{match[0]} in {name} refused", hint="only %d, %s and %.2f")
        text = f"coalesce(_{at}t, '')"
        return f"lpad({text}, greatest({width}, length({text})), ' ')" if width else text
    if match["kind"] == "f":
        code = f"%{match['zero']}{width}.{match['digits'] or 6}f"
        return f"printf('{code}', coalesce({decimal_round(at, match['digits'] or 6)}, 0.0::DOUBLE))"
    return f"printf('%{match['zero']}{width}d', coalesce(CAST(trunc(_{at}) AS BIGINT), 0))"


def sqlite_substr(_name: str, args: Args, scope: Scope) -> exp.Expr:
    """``substr(x, start, length)``, whose start counts from the end where it is negative."""
    start, length = (whole_number(arg) for arg in args[1:])
    if start is None or length is None or length < 0:
        raise SqlRefused(
            "substr with a computed or negative place refused", hint="write the numbers"
        )
    if start > 0:
        return fill("substr(_1t, _2, _3)", args, scope)
    if start == 0:
        return fill("substr(_1t, 1, greatest(_3 - 1, 0))", args, scope)
    given = [*args, exp.Literal.number(-start)]
    return fill(
        "substr(_1t, greatest(length(_1t) - _4 + 1, 1), "
        "greatest(_3 + least(length(_1t) - _4, 0), 0))",
        given,
        scope,
    )


def postgres_substr(_name: str, args: Args, scope: Scope) -> exp.Expr:
    """``substr(x, start, length)``: what lies before the first character counts."""
    if scope.kind(args[1]) in kinds.TEXTS:
        raise SqlRefused(
            "substring with a pattern refused", hint="write regexp_extract, without --dialect"
        )
    if len(args) == 2:
        return fill("substr(_1t, greatest(_2i, 1))", args, scope)
    return fill("substr(_1t, greatest(_2i, 1), greatest(_3i + least(_2i, 1) - 1, 0))", args, scope)


def mysql_substr(_name: str, args: Args, scope: Scope) -> exp.Expr:
    """``substr``: nothing at place 0, and nothing from before the text."""
    size = ", greatest(_3i, 0)" if len(args) > 2 else ""
    return fill(
        "CASE WHEN _1t IS NULL THEN NULL WHEN _2i = 0 OR abs(_2i) > length(_1t) THEN '' ELSE "
        f"substr(_1t, _2i{size}) END",
        args,
        scope,
    )


def bigquery_substr(_name: str, args: Args, scope: Scope) -> exp.Expr:
    """``substr``: place 0 is 1, and a place before the text its beginning."""
    size = ", _3i" if len(args) > 2 else ""
    return fill(
        f"substr(_1t, CASE WHEN _2i = 0 OR _2i < -length(_1t) THEN 1 ELSE _2i END{size})",
        args,
        scope,
    )


def mysql_hex(_name: str, args: Args, scope: Scope) -> exp.Expr:
    """Bytes of a text, or a whole number, in hexadecimal."""
    whole = scope.kind(args[0]) == "int"
    return fill("upper(to_hex(_1i))" if whole else "hex(_1t)", args, scope)


def mysql_elt(_name: str, args: Args, scope: Scope) -> exp.Expr:
    """The text at a place of the list of arguments."""
    cases = " ".join(f"WHEN {at - 1} THEN _{at}t" for at in range(2, len(args) + 1))
    return fill(f"CASE _1i {cases} END", args, scope)


def mysql_field(_name: str, args: Args, scope: Scope) -> exp.Expr:
    """The place of the first argument among the others."""
    texts = all(scope.kind(arg) in kinds.TEXTS for arg in args)
    form = "lower(_{}t)" if texts else "_{}"
    same = " ".join(
        f"WHEN {form.format(1)} = {form.format(at)} THEN {at - 1}" for at in range(2, len(args) + 1)
    )
    return fill(f"CASE {same} ELSE 0 END", args, scope)


def mysql_format(name: str, args: Args, scope: Scope) -> exp.Expr:
    """A number with thousands apart and so many decimals."""
    digits = whole_number(args[1])
    if digits is None or digits < 0:
        raise no_form(name, len(args), scope.source)
    return fill(f"format('{{:,.{digits}f}}', round(CAST(_1 AS DOUBLE), {digits}))", args[:1], scope)


def mysql_sha2(name: str, args: Args, scope: Scope) -> exp.Expr:
    """SHA-256; DuckDB has no other of the family."""
    if whole_number(args[1]) not in (0, 256):
        raise no_form(name, len(args), scope.source)
    return fill("sha256(_1t)", args, scope)


def mysql_substring_index(name: str, args: Args, scope: Scope) -> exp.Expr:
    """What stands before the n-th separator, from the left or from the right."""
    count = whole_number(args[2])
    if count is None:
        raise no_form(name, len(args), scope.source)
    if count == 0:
        return exp.Literal.string("")
    parts = "string_split(_1t, _2t)"
    cut = (
        f"{parts}[1:{count}]"
        if count > 0
        else f"{parts}[greatest(len({parts}) - {-count - 1}, 1):]"
    )
    return fill(
        f"CASE WHEN _1t IS NULL OR _2t IS NULL THEN NULL ELSE array_to_string({cut}, _2t) END",
        args,
        scope,
    )


def bigquery_extract(_name: str, args: Args, scope: Scope) -> exp.Expr:
    """The first match, or its one group; null where there is none."""
    pattern = args[1]
    if not isinstance(pattern, exp.Literal):
        raise SqlRefused("regexp_extract with a computed pattern refused", hint="write the pattern")
    group = 1 if re.search(r"(?<!\\)\((?!\?)", pattern.name) else 0
    return fill(
        f"CASE WHEN regexp_matches(_1t, _2t) THEN regexp_extract(_1t, _2t, {group}) END",
        args,
        scope,
    )
