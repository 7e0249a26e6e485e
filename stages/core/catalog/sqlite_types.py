"""Which DuckDB type an SQLite column needs: by what it holds, not by what it is declared.

SQLite stores any kind of value in any column. Four types hold all of them without loss:
BIGINT, DOUBLE, VARCHAR and BLOB. Dates stay text, as they are stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

EXACT = 1 << 53
"""Integers up to here are the same as doubles."""

_SCALE = re.compile(r"\(\s*\d+\s*,\s*0*[1-9]\d*\s*\)")
_WORDS = (
    ("BIGINT", ("int", "bool")),
    ("VARCHAR", ("char", "clob", "text", "string")),
    ("BLOB", ("blob", "binary", "image")),
    ("DOUBLE", ("real", "floa", "doub", "num", "dec", "money")),
)


def expected(declared: str) -> str | None:
    """The type that the declaration promises; None where it promises none (dates too)."""
    lower = declared.lower()
    for name, words in _WORDS:
        if any(word in lower for word in words):
            return name
    return None


def decide(declared: str, kinds: Iterable[str], *, beyond: bool = False) -> str:
    """The narrowest type that holds all values without loss.

    Args:
        declared: The declared type, which decides where there are no values, and tells whole
            decimals from whole numbers.
        kinds: Storage classes met: ``integer``, ``real``, ``text``, ``blob``; ``null`` is
            passed over.
        beyond: Whether an integer is too large to be the same as a double.
    """
    found = set(kinds) - {"null"}
    if not found:
        return expected(declared) or "VARCHAR"
    if found == {"integer"}:
        decimal = expected(declared) == "DOUBLE" and bool(_SCALE.search(declared))
        return "DOUBLE" if decimal and not beyond else "BIGINT"
    if found <= {"integer", "real"}:
        return "VARCHAR" if beyond and "integer" in found else "DOUBLE"
    return "BLOB" if found == {"blob"} else "VARCHAR"


def complaint(name: str, declared: str, kind: str, kinds: Iterable[str]) -> str:
    """A warning where values break the declaration so that the type had to be widened."""
    found = set(kinds) - {"null"}
    promised = expected(declared)
    kept = promised in (None, kind) or (promised == "DOUBLE" and kind == "BIGINT")
    mixed = "blob" in found and len(found) > 1
    if not found or (kept and not mixed):
        return ""
    holds = " and ".join(sorted(found))
    return f"column {name} is declared {declared or 'without a type'} and holds {holds}; read as {kind}"


def widest(one: str, other: str) -> str:
    """The narrower of the types that hold both; VARCHAR holds all.

    >>> widest("BIGINT", "DOUBLE"), widest("BLOB", "BIGINT"), widest("VARCHAR", "BIGINT")
    ('DOUBLE', 'VARCHAR', 'VARCHAR')
    """
    if one == other:
        return one
    return "DOUBLE" if {one, other} == {"BIGINT", "DOUBLE"} else "VARCHAR"
