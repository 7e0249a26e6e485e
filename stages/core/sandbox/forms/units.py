"""Units of time as each dialect writes them, and the fields that they name."""

from __future__ import annotations

from sqlglot import exp

from stages.core.errors import SqlRefused
from stages.core.sandbox.forms import kinds
from stages.core.sandbox.forms.table import WRITE_DUCKDB, Scope, fill, forms
from stages.core.sandbox.names import shown

Args = list[exp.Expr]

_SHORT = {
    "Y": "YEAR", "YY": "YEAR", "YYYY": "YEAR", "YR": "YEAR", "QTR": "QUARTER", "Q": "QUARTER",
    "MM": "MONTH", "MON": "MONTH", "W": "WEEK", "WK": "WEEK", "D": "DAY", "DD": "DAY", "H": "HOUR",
    "HH": "HOUR", "HR": "HOUR", "M": "MINUTE", "MI": "MINUTE", "MIN": "MINUTE", "S": "SECOND",
    "SEC": "SECOND", "DAYS": "DAY", "MONTHS": "MONTH", "YEARS": "YEAR", "HOURS": "HOUR",
    "MINUTES": "MINUTE", "SECONDS": "SECOND", "WEEKS": "WEEK", "QUARTERS": "QUARTER",
    "WEEK(SUNDAY)": "WEEK",
}  # fmt: skip


def unit_name(node: exp.Expr, name: str) -> str:
    """The unit by its long name, in capitals.

    Raises:
        SqlRefused: It is computed.
    """
    word = unit_of(node, name)
    return _SHORT.get(word, word)


def extract(name: str, args: Args, scope: Scope) -> exp.Expr:
    """``DATE_PART('unit', x)``."""
    return extracted_by(unit_name(args[0], name), _timed(args[1], scope), name, scope)


def _timed(value: exp.Expr, scope: Scope) -> exp.Expr:
    """A value that is a time: a text is read as one."""
    return scope.cast(value, "s") if scope.kind(value) in kinds.TEXTS | {""} else value


def unit_of(node: exp.Expr, name: str) -> str:
    """The word of a unit, written bare or as text, in capitals.

    Raises:
        SqlRefused: It is computed.
    """
    if isinstance(node, exp.Column | exp.Var | exp.Identifier) or (
        isinstance(node, exp.Literal) and node.is_string
    ):
        return node.name.upper()
    if isinstance(node, exp.Anonymous) and len(node.expressions) == 1:
        return f"{node.name.upper()}({node.expressions[0].name.upper()})"
    raise SqlRefused(f"{name} with a computed unit refused", hint="write the unit itself")


def extracted_by(unit: str, value: exp.Expr, name: str, scope: Scope) -> exp.Expr:
    """A field of a time.

    Raises:
        SqlRefused: The dialect's field is not known.
    """
    table = forms(scope.source).units
    word = unit.rstrip("S") if unit not in table and unit.rstrip("S") in table else unit
    if word not in table:
        raise SqlRefused(
            f"{shown(unit.lower())} of {name} refused",
            hint=f"it has no DuckDB form; {WRITE_DUCKDB}",
        )
    made = fill(table[word], [value], scope)
    whole = word not in ("EPOCH", "SECOND", "MILLISECONDS") or scope.source != "postgres"
    made.meta[kinds.KEY] = "int" if whole else "decimal"
    return made
