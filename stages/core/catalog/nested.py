"""What only DuckDB itself can say of nested types and values, asked in one statement each."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from stages.core.catalog import jsontypes, sqltext

if TYPE_CHECKING:
    import duckdb

_THREAD = threading.local()
_ONCE = 500  # expressions of one statement


def is_nested(kind: str) -> bool:
    """Whether values of a type have parts; JSON is text."""
    return kind.endswith("[]") or kind.startswith(("STRUCT", "MAP"))


def connection() -> duckdb.DuckDBPyConnection:
    """A connection without data, one for each thread."""
    import duckdb

    con: duckdb.DuckDBPyConnection | None = getattr(_THREAD, "con", None)
    if con is None:
        con = _THREAD.con = duckdb.connect(config={"threads": 1})
        con.execute("SET TimeZone = 'UTC'")
    return con


def spelt(kinds: Sequence[str]) -> dict[str, str]:
    """Each nested type as DuckDB spells it, which quotes names by rules of its own."""
    asked = [kind for kind in dict.fromkeys(kinds) if "(" in kind]
    made = [f"typeof(CAST(NULL AS {kind}))" for kind in asked]
    return dict(zip(asked, _answers(made, [], asked), strict=True))


def texts(values: Sequence[tuple[Any, str]]) -> list[str]:
    """Nested values as DuckDB casts them to text; JSON where it cannot.

    Args:
        values: A value and its type, each.
    """
    written = [jsontypes.dumped(value) for value, _ in values]
    made = [
        f"CAST({sqltext.transformed('CAST(? AS JSON)', kind)} AS VARCHAR)" for _, kind in values
    ]
    return _answers(made, written, written)


def _answers(made: list[str], given: list[str], instead: list[str]) -> list[str]:
    """What the expressions are, some hundreds at a time; the last argument where DuckDB
    refuses one of them."""
    import duckdb

    found: list[Any] = []
    for at in range(0, len(made), _ONCE):
        statement = f"SELECT {', '.join(made[at : at + _ONCE])}"
        try:
            row = connection().execute(statement, given[at : at + _ONCE]).fetchone() or ()
        except duckdb.Error:
            row = tuple(instead[at : at + _ONCE])
        found.extend(row)
    return [text if value is None else value for value, text in zip(found, instead, strict=True)]
