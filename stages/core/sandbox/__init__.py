"""Read-only SQL that holds: one statement, within rows, seconds and bytes.

The layers, since each one alone has been broken: a trusted loader makes one DuckDB file per
table (`store`); the statement is parsed, checked against lists and written anew (`gate`,
`tables`, `columns`, `repair`, `dialect`, `clock`, `order`); a child process that can be killed
(`worker`, `child`) attaches the files read-only, locks the engine, gives up opening anything,
and checks the statement once more with the engine's own parser (`verify`).
"""

from __future__ import annotations

from stages.core.sandbox.database import Database
from stages.core.sandbox.limits import Answer, Limits

__all__ = ["Answer", "Database", "Limits"]
