"""What stands after FROM for one table of an SQLite file, its types and its cells.

Which DuckDB type an SQLite column needs: by what it holds, not by what it is declared.

SQLite stores any kind of value in any column. Four types hold all of them without loss:
BIGINT, DOUBLE, VARCHAR and BLOB. Dates stay text, as they are stored.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from stages.core.catalog.schema_only import clauses
from stages.core.catalog.sources.sqlite.file import quoted, text_of

EXACT = 1 << 53
"""Integers up to here are the same as doubles."""

_SCALE = re.compile(r"\(\s*\d+\s*,\s*0*[1-9]\d*\s*\)")
_WORDS = (
    ("BIGINT", ("int", "bool")),
    ("VARCHAR", ("char", "clob", "text", "string")),
    ("BLOB", ("blob", "binary", "image")),
    ("DOUBLE", ("real", "floa", "doub", "num", "dec", "money")),
)


def expected_type(declared: str) -> str | None:
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
        return expected_type(declared) or "VARCHAR"
    if found == {"integer"}:
        decimal = expected_type(declared) == "DOUBLE" and bool(_SCALE.search(declared))
        return "DOUBLE" if decimal and not beyond else "BIGINT"
    if found <= {"integer", "real"}:
        return "VARCHAR" if beyond and "integer" in found else "DOUBLE"
    return "BLOB" if found == {"blob"} else "VARCHAR"


def complaint(name: str, declared: str, kind: str, kinds: Iterable[str]) -> str:
    """A warning where values break the declaration so that the type had to be widened."""
    found = set(kinds) - {"null"}
    promised = expected_type(declared)
    kept = promised in (None, kind) or (promised == "DOUBLE" and kind == "BIGINT")
    mixed = "blob" in found and len(found) > 1
    if not found or (kept and not mixed):
        return ""
    holds = " and ".join(sorted(found))
    return f"column {name} is declared {declared or 'without a type'} and holds {holds}; read as {kind}"  # noqa: E501


def widest(one: str, other: str) -> str:
    """The narrower of the types that hold both; VARCHAR holds all.

    >>> widest("BIGINT", "DOUBLE"), widest("BLOB", "BIGINT"), widest("VARCHAR", "BIGINT")
    ('DOUBLE', 'VARCHAR', 'VARCHAR')
    """
    if one == other:
        return one
    return "DOUBLE" if {one, other} == {"BIGINT", "DOUBLE"} else "VARCHAR"


# Stored values of SQLite as text.

_NOT_PLAIN = re.compile(rb"[^\x20-\x7e]|[\\'\"]")


def first_distinct(values: Iterable[SqliteValue], kind: str, limit: int) -> list[str]:
    """The first distinct values that are not null, as text."""
    found: dict[str, None] = {}
    for value in values:
        if len(found) >= limit:
            break
        text = cell_text(value, kind)
        if text is not None:
            found[text] = None
    return list(found)


SqliteValue: TypeAlias = int | float | str | bytes | None
"""What a cell of a SQLite file can hold."""


def cell_text(value: SqliteValue, kind: str) -> str | None:
    """A stored value as the text that DuckDB casts it to, once it is of type ``kind``."""
    if value is None:
        return None
    if isinstance(value, bytes):
        return blob_text(value) if kind == "BLOB" else str(text_of(value))
    return repr(float(value)) if kind == "DOUBLE" or isinstance(value, float) else str(value)


def blob_text(value: bytes) -> str:
    r"""DuckDB's way of casting a blob: what is no plain ASCII, and quotes, as ``\xHH``.

    >>> print(blob_text(b"a\x00'"))
    a\x00\x27
    """
    return _NOT_PLAIN.sub(lambda match: b"\\x%02X" % match[0][0], value).decode("ascii")


# What stands after FROM for one table of an SQLite file, and the columns that come of it.

FULL_TEXT = ("fts3", "fts4", "fts5")
SPATIAL = ("rtree", "rtree_i32", "geopoly")
_MODULE = re.compile(r"CREATE\s+VIRTUAL\s+TABLE\b.*?\bUSING\s+[\"'`\[]?(\w+)", re.I | re.S)
Info = tuple[int, str, str, int, str | None, int, int]
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
    return _renamed(quoted(name), info, fill_names([row[1] for row in info]))


def virtual_sql(con: sqlite3.Connection, name: str) -> str:
    """What made a virtual table; empty for any other table."""
    row = con.execute(
        "SELECT sql FROM sqlite_master WHERE name = ? AND sql LIKE 'CREATE VIRTUAL%'", (name,)
    ).fetchone()
    return str(row[0]) if row else ""


def fill_names(names: Sequence[str]) -> list[str]:
    """The names, with one by its place for each that is empty.

    >>> fill_names(["", "name", "column2", ""])
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
    told = clauses.create(sql)
    names = [column.name for column in told.columns] if told else []
    kept = _xinfo(con, content)[1 : len(names) + 1]
    if not names:  # FTS3 calls its only column so
        names, kept = ["content"], _xinfo(con, content)[1:2]
    if len(kept) != len(names):
        return _none("a virtual table whose text is kept in a way that is not known")
    info = [(*row[:2], "", 0, None, 0, 0) for row in kept]
    return _renamed(quoted(content), info, fill_names(names))


def _indexes(con: sqlite3.Connection, name: str) -> bool:
    """Whether a spatial table is the index of a column of another one, as GeoPackage
    (``rtree_TABLE_COLUMN``) and SpatiaLite (``idx_TABLE_COLUMN``) make them."""
    _, _, of = name.partition("_")
    return name.lower().startswith(("rtree_", "idx_")) and any(
        of.lower().startswith(f"{table.lower()}_")
        for (table,) in con.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        if table != name
    )
