"""Words that look like columns or values and ask the server for the time, the user, or the place of a row.

They answer differently tomorrow, to another role, or once a row has moved.
"""

from __future__ import annotations

import re

from sqlglot import exp

from stages.core.errors import SqlRefused
from stages.core.sandbox.names import fold, seen, shown
from stages.core.sandbox.tables import Resolver

_SESSION = frozenset({"user", "current_role", "current_user", "session_user", "system_user"})
_PLACE = frozenset({"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"})
_CLOCK = re.compile(r"\s*(?:now|today|tomorrow|yesterday)\b", re.IGNORECASE)
_OF_TIME = (exp.TimestampTrunc, exp.DateTrunc, exp.Extract)
_OF_TIME_CALLED = frozenset({"age", "date_bin", "date_part", "date_trunc", "timezone"})


def refuse_clock_texts(query: exp.Query) -> None:
    """Refuse ``'now'::timestamp`` and its like, which PostgreSQL reads as the present time.

    Raises:
        SqlRefused: With what to write instead.
    """
    for text in query.find_all(exp.Literal):
        if text.is_string and _CLOCK.match(text.name) and _becomes_time(text.parent):
            raise SqlRefused(
                f"{shown(text.name)} as a time refused", hint="write now() or current_date"
            )


def _becomes_time(parent: exp.Expr | None) -> bool:
    if isinstance(parent, exp.Cast):
        return bool(parent.to.is_type(*exp.DataType.TEMPORAL_TYPES))
    if isinstance(parent, exp.Anonymous):
        return fold(parent.name) in _OF_TIME_CALLED
    return isinstance(parent, _OF_TIME)


def settle_words(query: exp.Query, resolver: Resolver) -> None:
    """Quote a column called ``user``, which it would not be unquoted; refuse it where there is none.

    Args:
        query: Changed in place.
        resolver: Has resolved the tables of the query.

    Raises:
        SqlRefused: No table of the query has such a column.
    """
    real = {fold(name) for table in resolver.tables.values() for name in seen(table)}
    real |= {fold(alias.alias) for alias in query.find_all(exp.Alias)}
    real |= {fold(part.name) for alias in query.find_all(exp.TableAlias) for part in alias.columns}
    for column in query.find_all(exp.Column):
        word = fold(column.name)
        if word not in _SESSION | _PLACE or not isinstance(column.this, exp.Identifier):
            continue
        if word not in real:
            what = "tells who asks" if word in _SESSION else "tells where a row lies"
            raise SqlRefused(f"{word} refused", hint=f"it {what}, and is no column of the catalog")
        if word in _SESSION:
            column.this.set("quoted", True)
