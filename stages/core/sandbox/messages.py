"""The engine's errors as one short line, with the nearest real names and without the statement."""

from __future__ import annotations

import re
from collections.abc import Sequence

from stages.core.errors import SqlError, SqlFailed, SqlRefused
from stages.core.records import Table
from stages.core.sandbox.names import Names, fold, hidden, nearest, seen, shown
from stages.core.sandbox.worker import EngineError
from stages.core.text import visible

LONGEST = 240
_SYNTAX = "syntax error: "
_PREFIX = re.compile(r"^(?:[A-Z][A-Za-z ]*Error|INTERRUPT Error): ")
_ECHO = re.compile(
    r"\s*(?:LINE \d+:|Candidate bindings:|Candidate functions:|Either add|Use TRY|Did you mean|Possible ).*",
    re.DOTALL,
)
_NO_COLUMN = re.compile(
    r'(?:Referenced column "(?P<a>[^"]+)" (?:was )?not found'
    r'|Values list "(?P<table>[^"]*)" does not have a column named "(?P<b>[^"]+)"'
    r'|[Tt]able "(?P<owner>[^"]*)" does not have a column named "(?P<c>[^"]+)")'
)
_NO_OWNER = re.compile(r'Referenced table "(?P<name>[^"]+)" not found')
_NO_FUNCTION = re.compile(r"Function with name \"?(?P<name>\w+)\"? does not exist", re.IGNORECASE)


def fit(
    error: EngineError, names: Names, used: Sequence[Table], columns: Sequence[str] = ()
) -> SqlError:
    """The error as a model should read it.

    Args:
        error: What the engine said.
        names: All tables of the catalog.
        used: The tables of the statement.
        columns: Names that the statement itself gives to columns or tables.
    """
    message = error.what
    syntax = message.removeprefix(_SYNTAX)
    if error.kind == "refused" and syntax != message:
        return SqlFailed(f"{_SYNTAX}{visible(syntax, LONGEST)}", hint=_hint(message))
    if error.kind == "refused":
        return SqlRefused(
            f"{visible(message, LONGEST)} refused",
            hint="only queries over the tables of the catalog",
        )
    found = _NO_COLUMN.search(message)
    if found:
        return _no_column(found["a"] or found["b"] or found["c"], names, used, columns)
    found = _NO_OWNER.search(message)
    if found:
        return SqlFailed(
            f"no table {shown(found['name'])} in FROM",
            hint=f"in FROM: {_some([table['name'] for table in used])}",
        )
    what = _ECHO.sub("", _PREFIX.sub("", message)).strip()
    return SqlFailed(visible(" ".join(what.split()), LONGEST), hint=_hint(message))


def _no_column(name: str, names: Names, used: Sequence[Table], given: Sequence[str]) -> SqlFailed:
    """No such column: the nearest in the statement's tables, or the tables that do have it."""
    here = [word for table in used for word in seen(table)]
    near = nearest(name, [*here, *given])
    word = fold(name)
    owners = [table["name"] for table in names.tables if word in map(fold, seen(table))]
    if any(word in map(fold, hidden(table)) for table in used):
        hint = "its values are hidden; winnow scan --show-values and --hide-values say which are"
    elif owners and word not in map(fold, here):
        hint = f"{_some(owners)} {'has' if len(owners) == 1 else 'have'} it"
    elif near:
        hint = f"did you mean {near}?"
    else:
        hint = f"columns: {_some(here)}" if here else "name a column of a table in FROM"
        hint += "; text stands in single quotes"
    return SqlFailed(f"no column {shown(name)}", hint=hint)


def _some(words: Sequence[str], most: int = 5) -> str:
    told = ", ".join(shown(word) for word in words[:most])
    return f"{told} and {len(words) - most} more" if len(words) > most else told


def _hint(message: str) -> str:
    """What to do about the commonest errors of the engine."""
    if "must appear in the GROUP BY" in message:
        return "add it to GROUP BY, or use any_value()"
    if message.startswith("Conversion Error"):
        return "use TRY_CAST where some values do not fit"
    if "Division by zero" in message:
        return "divide by nullif(x, 0)"
    if "Cannot compare values" in message or "No function matches" in message:
        return "add a cast"
    return "" if _NO_FUNCTION.search(message) else "write the statement differently"
