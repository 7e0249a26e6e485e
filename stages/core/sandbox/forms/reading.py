"""Parsers that leave every function call as it was written, by name and arguments.

sqlglot's own parsers take a call for what it means in their view (``DAYOFWEEK`` of MySQL and
of BigQuery, ``LOG`` with one base or another) and lose the name on the way. Here a call stays
``exp.Anonymous``, so that `core.sandbox.forms` alone says what it means; what is syntax (CAST,
EXTRACT, TRIM … FROM) is still read as such.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlglot.dialects.dialect import Dialect

_SYNTAX = frozenset(
    {"CAST", "TRY_CAST", "SAFE_CAST", "CONVERT", "EXTRACT", "TRIM", "SUBSTRING", "POSITION",
     "OVERLAY", "GROUP_CONCAT", "STRING_AGG", "LISTAGG"}
)  # fmt: skip
"""Calls with words between their arguments."""
_NO_SYNTAX = {"snowflake": {"POSITION", "SUBSTRING"}, "sqlite": {"STRING_AGG", "SUBSTRING"}}
"""Calls that one dialect writes with commas alone."""
_WORDS = ("CASE", "ANY")


@cache
def reader(source: str) -> type[Dialect]:
    """The dialect with a parser that knows no function.

    Args:
        source: One of `core.dialects.WRITTEN_IN`.
    """
    # Any: sqlglot makes the parser of a dialect at run time
    base: Any = Dialect.get_or_raise(source).__class__
    kept = _SYNTAX - _NO_SYNTAX.get(source, set())
    parsers = {name: read for name, read in base.Parser.FUNCTION_PARSERS.items() if name in kept}
    words = {
        word: read for word, read in base.Parser.NO_PAREN_FUNCTION_PARSERS.items() if word in _WORDS
    }
    parser = type(
        "Parser",
        (base.Parser,),
        {"FUNCTIONS": {}, "FUNCTION_PARSERS": parsers, "NO_PAREN_FUNCTION_PARSERS": words},
    )
    return type(f"Winnow{base.__name__}", (base,), {"Parser": parser})
