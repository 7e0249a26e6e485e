"""What kind of value an expression gives, as far as the text and the catalog tell.

Kinds are ``int``, ``decimal``, ``float``, ``text``, ``digits`` (text that is a whole number),
``date``, ``timestamp``, ``time``, ``interval``, ``bool`` and empty for unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlglot import exp

from stages.core.records import Table
from stages.core.sandbox.names import fold, seen

KEY = "kind"
"""Where a node carries the kind that a table of functions gives it."""
TIMES = frozenset({"date", "timestamp"})
TEXTS = frozenset({"text", "digits"})
NUMBERS = frozenset({"int", "decimal", "float", "bool"})
_TYPES = {
    **dict.fromkeys(exp.DataType.INTEGER_TYPES, "int"),
    **dict.fromkeys(exp.DataType.FLOAT_TYPES, "float"),
    **dict.fromkeys(exp.DataType.TEXT_TYPES, "text"),
    exp.DType.DECIMAL: "decimal",
    exp.DType.DATE: "date",
    exp.DType.DATE32: "date",
    exp.DType.TIMESTAMP: "timestamp",
    exp.DType.TIMESTAMPTZ: "timestamp",
    exp.DType.TIMESTAMPNTZ: "timestamp",
    exp.DType.DATETIME: "timestamp",
    exp.DType.TIME: "time",
    exp.DType.INTERVAL: "interval",
    exp.DType.BOOLEAN: "bool",
}
_NAMED = (
    ("TIMESTAMP", "timestamp"), ("TIME", "time"), ("DATE", "date"), ("DECIMAL", "decimal"),
    ("NUMERIC", "decimal"), ("DOUBLE", "float"), ("FLOAT", "float"), ("REAL", "float"),
    ("VARCHAR", "text"), ("BOOLEAN", "bool"), ("INTERVAL", "interval"),
)  # fmt: skip
_SAME = (
    *(exp.Paren, exp.Neg, exp.Distinct, exp.Window, exp.Filter, exp.Ordered, exp.Order, exp.Abs),
    *(exp.Max, exp.Min, exp.AnyValue, exp.First, exp.Last, exp.Lag, exp.Lead, exp.FirstValue),
    *(exp.LastValue, exp.NthValue, exp.Alias, exp.IgnoreNulls, exp.Limit, exp.Collate),
)
_WHOLE = (exp.Count, exp.Length, exp.IntDiv, exp.RowNumber, exp.Rank, exp.DenseRank, exp.Ntile,
          exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseLeftShift,
          exp.BitwiseRightShift, exp.BitwiseNot)  # fmt: skip
_TEXT = (
    exp.DPipe,
    exp.Trim,
    exp.Substring,
    exp.GroupConcat,
    exp.Lower,
    exp.Upper,
    exp.JSONExtractScalar,
)
Columns = Mapping[str, str]


def columns_of(tree: exp.Expr, tables: Iterable[Table]) -> dict[str, str]:
    """Folded names of columns to their kinds; a name of two kinds has none.

    Names that inner queries give to expressions are among them.
    """
    found: dict[str, set[str]] = {}
    for table in tables:
        names = set(seen(table))
        for column in table["columns"]:
            if column["name"] in names:
                found.setdefault(fold(column["name"]), set()).add(_named(column["type"]))
    known = _single(found)
    for alias in reversed(list(tree.find_all(exp.Alias))):
        found.setdefault(fold(alias.alias), set()).add(kind(alias.this, known))
        known = _single(found)
    for renamed in tree.find_all(exp.TableAlias):
        for name in renamed.columns:
            found.setdefault(fold(name.name), set()).add("")
    return _single(found)


def _single(found: Mapping[str, set[str]]) -> dict[str, str]:
    return {name: next(iter(kinds)) for name, kinds in found.items() if len(kinds) == 1}


def _named(type_: str) -> str:
    """The kind of a column of the catalog, whose type is DuckDB's name."""
    word = type_.upper()
    if "[" in word or word.startswith(("STRUCT", "MAP", "UNION")):
        return ""
    if word.endswith("INT") or word == "INTEGER":
        return "int"
    return next((kind for name, kind in _NAMED if word.startswith(name)), "")


def kind(node: exp.Expr | None, columns: Columns) -> str:
    """The kind of an expression."""
    if node is None:
        return ""
    if KEY in node.meta:
        return str(node.meta[KEY])
    if isinstance(node, exp.Literal):
        return "text" if node.is_string else "int" if node.is_int else "decimal"
    if isinstance(node, exp.Column):
        return columns.get(fold(node.name), "")
    if isinstance(node, exp.Cast):
        return _TYPES.get(node.to.this, "")
    if isinstance(node, exp.Interval):
        return "interval"
    if isinstance(node, exp.Connector | exp.Predicate | exp.Not | exp.Boolean | exp.Exists):
        return "bool"
    if isinstance(node, _WHOLE):
        return "int"
    if isinstance(node, _TEXT):
        return "text"
    return _composed(node, columns)


def _composed(node: exp.Expr, columns: Columns) -> str:
    if isinstance(node, _SAME):
        return kind(node.this, columns)
    if isinstance(node, exp.Sum):
        return {"int": "int", "bool": "int", "decimal": "decimal"}.get(kind(node.this, columns), "")
    if isinstance(node, exp.Avg | exp.Div):
        return "interval" if kind(node.this, columns) == "interval" else "float"
    if isinstance(node, exp.Case):
        branches = [branch.args.get("true") for branch in node.args.get("ifs") or []]
        return common([*branches, node.args.get("default")], columns)
    if isinstance(node, exp.Coalesce | exp.Greatest | exp.Least):
        return common([node.this, *node.expressions], columns)
    if isinstance(node, exp.If):
        return common([node.args.get("true"), node.args.get("false")], columns)
    if isinstance(node, exp.Nullif):
        return kind(node.this, columns)
    if isinstance(node, exp.Subquery):
        inner = node.this
        one = isinstance(inner, exp.Select) and len(inner.expressions) == 1
        return kind(inner.expressions[0], columns) if one else ""
    if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Mod):
        return _computed(node, kind(node.this, columns), kind(node.expression, columns))
    return ""


def common(nodes: Iterable[exp.Expr | None], columns: Columns) -> str:
    """The kind that all expressions share, nulls aside."""
    kinds = {kind(node, columns) for node in nodes if node is not None and not _null(node)}
    if kinds == {"int", "float"} or kinds == {"decimal", "float"}:
        return "float"
    return next(iter(kinds)) if len(kinds) == 1 else ""


def _null(node: exp.Expr) -> bool:
    return isinstance(node, exp.Null)


def _computed(node: exp.Expr, left: str, right: str) -> str:
    kinds = {left, right}
    if kinds <= {"int", "bool", "digits"}:
        return "int"
    if left == "date" and right == "date" and isinstance(node, exp.Sub):
        return "int"
    if left == "timestamp" and right in TIMES and isinstance(node, exp.Sub):
        return "interval"
    if "date" in kinds and kinds <= {"date", "int"}:
        return "date"
    if "interval" in kinds and kinds & TIMES:
        return "timestamp"
    if "float" in kinds and kinds <= NUMBERS:
        return "float"
    return "decimal" if "decimal" in kinds and kinds <= NUMBERS else ""
