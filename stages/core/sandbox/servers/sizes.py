"""Numbers that make a server hold a huge value: ``repeat('x', 1000000000)``.

A server bounds a value by itself, PostgreSQL at 1 GB, MySQL by ``max_allowed_packet``, but not
all the values of a statement. What a statement says in figures is bounded here; what it takes
from rows, by the server and by the time of the statement.
"""

from __future__ import annotations

import re
from math import prod

from sqlglot import exp

from stages.core.errors import SqlLimit
from stages.core.sandbox.gate import gate

MOST = 1_000_000
"""Characters or elements that one call may ask for."""
NESTED = 10 * MOST
"""All figures of calls within one another, multiplied."""
ROWS = 10_000_000
"""The largest figure of a series in FROM."""
_GROWING = frozenset(
    [
        "repeat",
        "lpad",
        "rpad",
        "pad",
        "space",
        "array_fill",
        "format",
        "printf",
        "export_set",
        "make_set",
        "insert",
        "stuff",
        "overlay",
    ]
)
_SERIES = frozenset(["generate_series", "exploding_generate_series", "range", "sequence"])
_WIDTH = re.compile(r"\d{7,}")


def refuse_large(query: exp.Query) -> None:
    """Refuse figures that would fill the memory of a server.

    Raises:
        SqlLimit: With the largest that may stand there.
    """
    for node in query.find_all(exp.Func):
        names = set(gate.names_of_call(node))
        if names & _GROWING:
            _refuse_growth(node, next(iter(names & _GROWING)))
        elif names & _SERIES and max(_figures(node), default=0) > ROWS:
            raise SqlLimit(f"a series up to more than {ROWS:,} refused", hint="take fewer rows")


def _refuse_growth(node: exp.Func, name: str) -> None:
    figures = _figures(node)
    widths = [text for text in node.find_all(exp.Literal) if text.is_string]
    wide = name in ("format", "printf") and any(_WIDTH.search(text.name) for text in widths)
    if wide or max(figures, default=0) > MOST or prod(max(one, 1) for one in figures) > NESTED:
        raise SqlLimit(f"{name} of more than {MOST:,} characters refused", hint="take fewer")


def _figures(node: exp.Expr) -> list[float]:
    """All numbers that stand within a call."""
    found = [one for one in node.find_all(exp.Literal) if not one.is_string]
    return [float(one.name) for one in found]
