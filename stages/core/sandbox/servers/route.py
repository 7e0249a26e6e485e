"""Which statements run on a server: those whose tables all lie there."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from stages.core.catalog.servers.address import address
from stages.core.errors import SqlError, SqlRefused
from stages.core.records import Table
from stages.core.sandbox.limits import Limits
from stages.core.sandbox.names import TableNames, shown

if TYPE_CHECKING:
    from stages.core.sandbox.engine.engine import Engine


def url_of(table: Table) -> str:
    """The server that a table lies on, without a password; empty for a file."""
    return table.get("source", {}).get("url", "")


def route(sql: str, dialect: str | None, names: TableNames) -> str:
    """The server that a statement runs on; empty where it runs over files.

    Args:
        sql: The statement as it came.
        dialect: What it is written in; None is the dialect of its server.
        names: The tables of the catalog.

    Raises:
        SqlRefused: It names tables of a server beside files, or of two servers.
    """
    places = {url_of(table) for table in names.tables}
    if len(places) < 2:
        return next(iter(places), "")
    named = {url_of(table): table["name"] for table in _named(sql, dialect, names, places)}
    if len(named) > 1:
        told = " and ".join(shown(name) for name in list(named.values())[:2])
        raise SqlRefused(
            f"{told} lie in different places",
            hint="one query reads from one server, or from files; ask for each on its own",
        )
    return next(iter(named), "")


def _named(sql: str, dialect: str | None, names: TableNames, places: set[str]) -> list[Table]:
    """The tables that a statement names, read in the first dialect that can read it."""
    from sqlglot import exp

    from stages.core.sandbox.gate import grammar

    own = sorted({dialect_of(url) for url in places if url})
    for choice in [dialect] if dialect else ["duckdb", *own]:
        try:
            tree = grammar.parse(sql, choice or "duckdb")
        except SqlError:
            continue
        found = [
            names.find([part.name for part in node.parts])[0] for node in tree.find_all(exp.Table)
        ]
        return [table for table in found if table is not None]
    return []


def dialect_of(url: str) -> str:
    """What sqlglot calls the SQL of a server."""
    return address(url).dialect.sql


def engine_for(url: str, limits: Limits) -> Engine:
    """An engine of a server; it connects when it is first asked."""
    made: Engine = import_module(f"{__package__}.{address(url).kind}").ENGINE(url, limits)
    return made
