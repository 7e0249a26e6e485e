"""A clock that stands still, so that a query gives the same rows tomorrow."""

from __future__ import annotations

from sqlglot import exp

_DATE = (exp.CurrentDate,)
_STAMP = (exp.CurrentTimestamp, exp.CurrentTimestampLTZ)
_LOCAL = (exp.Localtimestamp, exp.CurrentDatetime)
_TIME = (exp.CurrentTime, exp.Localtime)
_CALLED = {
    "now": "TIMESTAMPTZ",
    "get_current_timestamp": "TIMESTAMPTZ",
    "transaction_timestamp": "TIMESTAMPTZ",
    "today": "DATE",
    "current_localtimestamp": "TIMESTAMP",
    "get_current_time": "TIME",
    "current_localtime": "TIME",
}
WORDS = frozenset(
    {"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp", *_CALLED}
)
"""Names that mean the clock when they stand alone or are called."""


def freeze(tree: exp.Expr, clock: str, dialect: str = "duckdb") -> list[str]:
    """Put the fixed time wherever the tree asks for the present one.

    Args:
        tree: Changed in place; the root itself is no function.
        clock: ``YYYY-MM-DD HH:MM:SS``, UTC.
        dialect: Of the engine, which decides what its names of types mean.

    Returns:
        A note when something was replaced.
    """
    asked = [(node, kind) for node in tree.walk() if (kind := _kind(node))]
    for node, kind in asked:
        if kind == "age":
            node.replace(
                exp.func(
                    "age", _literal("TIMESTAMP", clock[:10], dialect), node.expressions[0].copy()
                )
            )
        else:
            node.replace(_literal(kind, clock, dialect))
    return [f"the clock stands at {clock} UTC"] if asked else []


def _kind(node: exp.Expr) -> str:
    """The type of the time the node asks for, ``age`` for one-argument age, or empty."""
    for classes, kind in (
        (_DATE, "DATE"),
        (_STAMP, "TIMESTAMPTZ"),
        (_LOCAL, "TIMESTAMP"),
        (_TIME, "TIME"),
    ):
        if isinstance(node, classes):
            return kind
    if isinstance(node, exp.Anonymous):
        name = node.name.lower()
        if name == "age" and len(node.expressions) == 1:
            node.set("this", "age")
            return "age"
        return _CALLED.get(name, "")
    return ""


def _literal(kind: str, clock: str, dialect: str) -> exp.Expr:
    date, _, time = clock.partition(" ")
    text = {"DATE": date, "TIME": time, "TIMESTAMPTZ": f"{clock}+00"}.get(kind, clock)
    return exp.Paren(this=exp.cast(exp.Literal.string(text), kind, dialect=dialect))
