"""What stands after FROM for one table of an SQLite file, and the columns that come of it.

Mostly that is the table itself. A column without a name, which no other engine can name, is
given one by its place, as in CSV. The rows of a full-text table are read from the plain table
that SQLite keeps them in, so that its own code, its tokenizers and a damaged index are not
needed; where there is no such table, because the index was made of another table or keeps no
text, there is nothing to read that does not stand elsewhere.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stages.core.catalog import ddl_clauses
from stages.core.catalog.sqlite_file import quoted

FULL_TEXT = ("fts3", "fts4", "fts5")
SPATIAL = ("rtree", "rtree_i32", "geopoly")
_MODULE = re.compile(r"CREATE\s+VIRTUAL\s+TABLE\b.*?\bUSING\s+[\"'`\[]?(\w+)", re.I | re.S)
Info = tuple[Any, ...]
"""A row of ``PRAGMA table_xinfo``: number, name, declared type, not null, default, key, hidden."""


@dataclass(frozen=True)
class Relation:
    """A table as it can be read.

    Attributes:
        sql: What stands after FROM.
        info: Its columns, under the names they have in ``sql``; none of them hidden.
        plain: Whether ``sql`` is the table itself, whose rows may have numbers.
        names: Name in ``sql`` by name in the file.
        skipped: Why there is nothing to read; empty where there is.
    """

    sql: str
    info: list[Info]
    plain: bool
    names: dict[str, str]
    skipped: str = ""


def relation_of(con: sqlite3.Connection, name: str, sql: str) -> Relation:
    """The relation of a table or view of the file.

    Args:
        con: The open file.
        name: The table.
        sql: What made it, where it is a virtual table; `virtual_sql` finds it.

    Raises:
        sqlite3.Error: Its schema cannot be read.
    """
    module = _MODULE.match(sql)
    kind = module[1].lower() if module else ""
    if kind in FULL_TEXT:
        return _full_text(con, name, sql)
    if kind in SPATIAL and _indexes(con, name):
        return _none("a virtual table that indexes another one")
    try:
        info = [row for row in _xinfo(con, name) if row[6] != 1]
    except sqlite3.Error as error:
        if not kind:
            raise
        return _none(f"a virtual table: {error}")
    if all(row[1] for row in info):
        return Relation(quoted(name), info, True, {row[1]: row[1] for row in info})
    return _renamed(quoted(name), info, named([row[1] for row in info]))


def virtual_sql(con: sqlite3.Connection, name: str) -> str:
    """What made a virtual table; empty for any other table."""
    row = con.execute(
        "SELECT sql FROM sqlite_master WHERE name = ? AND sql LIKE 'CREATE VIRTUAL%'", (name,)
    ).fetchone()
    return str(row[0]) if row else ""


def named(names: Sequence[str]) -> list[str]:
    """The names, with one by its place for each that is empty.

    >>> named(["", "name", "column2", ""])
    ['column0', 'name', 'column2', 'column3']
    """
    taken = {name.casefold() for name in names}
    found = []
    for at, name in enumerate(names):
        number = at
        while not name:
            fresh = f"column{number}"
            name = "" if fresh in taken else fresh
            number += len(names)
        taken.add(name.casefold())
        found.append(name)
    return found


def _xinfo(con: sqlite3.Connection, name: str) -> list[Info]:
    return con.execute(f"PRAGMA table_xinfo({quoted(name)})").fetchall()


def _renamed(source: str, info: Sequence[Info], names: Sequence[str]) -> Relation:
    pairs = list(zip(info, names, strict=True))
    columns = ", ".join(f"{quoted(row[1])} AS {quoted(name)}" for row, name in pairs)
    shown = [(row[0], name, *row[2:]) for row, name in pairs]
    known = {row[1]: name for row, name in pairs}
    return Relation(f"(SELECT {columns} FROM {source})", shown, False, known)


def _none(reason: str) -> Relation:
    return Relation("", [], False, {}, reason)


def _full_text(con: sqlite3.Connection, name: str, sql: str) -> Relation:
    """The rows of a full-text table out of its ``_content``: columns c0, c1 of FTS5, c0title
    of the older ones, behind the number of the row."""
    content = f"{name}_content"
    if not con.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (content,)).fetchone():
        return _none("a virtual table whose text stands in another table, or nowhere")
    told = ddl_clauses.create(sql)
    names = [column.name for column in told.columns] if told else []
    kept = _xinfo(con, content)[1 : len(names) + 1]
    if not names:  # FTS3 calls its only column so
        names, kept = ["content"], _xinfo(con, content)[1:2]
    if len(kept) != len(names):
        return _none("a virtual table whose text is kept in a way that is not known")
    info = [(*row[:2], "", 0, None, 0, 0) for row in kept]
    return _renamed(quoted(content), info, named(names))


def _indexes(con: sqlite3.Connection, name: str) -> bool:
    """Whether a spatial table is the index of a column of another one, as GeoPackage
    (``rtree_TABLE_COLUMN``) and SpatiaLite (``idx_TABLE_COLUMN``) make them."""
    _, _, of = name.partition("_")
    return name.lower().startswith(("rtree_", "idx_")) and any(
        of.lower().startswith(f"{table.lower()}_")
        for (table,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        if table != name
    )
