"""SQLite files: metadata by PRAGMA, a bounded sample by the standard driver.

Types are what the sample holds, since SQLite stores anything anywhere; see
`sqlite.relation`. Counts and views are bounded, so that one file costs well under a
second whatever its size; see `sqlite.sample`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from stages.core.catalog.documents import MARK_TABLE
from stages.core.catalog.source_table import ScanOptions, SourceTable
from stages.core.catalog.sources.sqlite.file import (
    RepairedText,
    SqliteHandle,
    open_database,
    quoted,
)
from stages.core.catalog.sources.sqlite.relation import (
    EXACT,
    Info,
    cell_text,
    complaint,
    decide,
    first_distinct,
    relation_of,
)
from stages.core.catalog.sources.sqlite.sample import Row, Sampler, SqliteEntry
from stages.core.errors import SourceError
from stages.core.jsontypes import JsonObject
from stages.core.records import Column, ForeignKey, Table

if TYPE_CHECKING:
    import duckdb

KIND = "sqlite"
SUFFIXES = (
    ".db", ".sqlite", ".sqlite3", ".db3", ".s3db", ".sl3", ".sdb", ".sqlitedb", ".gpkg", ".mbtiles",
)  # fmt: skip
SEVERAL = True
MAGIC = (0, b"SQLite format 3\x00")

KINDS = {
    int: "integer",
    float: "real",
    str: "text",
    RepairedText: "text",
    bytes: "blob",
    type(None): "null",
}
_LISTING = """
    SELECT m.name, m.type, coalesce(l.type, m.type), coalesce(l.wr, 0),
           CASE WHEN m.type = 'view' OR l.type = 'virtual' THEN m.sql END
    FROM sqlite_master m LEFT JOIN pragma_table_list l ON l.name = m.name AND l.schema = 'main'
    WHERE m.type IN ('table', 'view') ORDER BY m.rowid"""
MOST_COMMENTS = 100_000
_OLD_LISTING = """
    SELECT name, type, CASE WHEN sql LIKE 'CREATE VIRTUAL%' THEN 'virtual' ELSE type END,
           coalesce(sql LIKE '%WITHOUT ROWID%', 0),
           CASE WHEN type = 'view' OR sql LIKE 'CREATE VIRTUAL%' THEN sql END
    FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY rowid"""


def scan(path: Path, options: ScanOptions) -> Iterator[SourceTable]:
    """Every table and view of the file, in the order they were made.

    SQLite's own tables and the mark of `catalog.documents` are left out; the tables behind
    virtual ones, and virtual ones that hold nothing of their own, are handed on as skipped.

    Raises:
        SourceError: It is no SQLite database, is encrypted, or its schema is damaged.
    """
    with open_database(path) as file:
        try:
            entries = _entries(file.con)
        except sqlite3.Error as error:
            raise SourceError(f"damaged or not readable: {error}", place=str(path)) from None
        prepared = any(entry.name == MARK_TABLE for entry in entries)
        comments = _comments(file.con) if prepared else {}
        sampler = Sampler(file.con, path.stat().st_size, options)
        for entry in entries:
            if entry.name == MARK_TABLE or entry.name.lower().startswith("sqlite_"):
                continue
            if entry.kind == "shadow":
                yield SourceTable(entry.name, [], skipped="a shadow table")
                continue
            raw = _table(file, entry, sampler, options)
            raw.prepared = prepared
            raw.comment = comments.get((raw.name, None), "")
            for column in raw.columns:
                if said := comments.get((raw.name, column["name"])):
                    column["comment"] = said
            yield raw


def _comments(con: sqlite3.Connection) -> dict[tuple[str, str | None], str]:
    """By table and column, None for the table itself, what the mark says; empty where it says
    nothing that is read here, for its content is free."""
    sql = f"SELECT table_name, column_name, comment FROM {MARK_TABLE} LIMIT {MOST_COMMENTS}"
    try:
        rows = con.execute(sql).fetchall()
    except sqlite3.Error:
        return {}
    return {
        (table, column): comment
        for table, column, comment in rows
        if isinstance(table, str) and isinstance(comment, str)
    }


def _entries(con: sqlite3.Connection) -> list[SqliteEntry]:
    try:
        rows = con.execute(_LISTING).fetchall()
    except sqlite3.OperationalError as error:
        if "pragma_table_list" not in str(error):
            raise
        rows = con.execute(_OLD_LISTING).fetchall()
    return [
        SqliteEntry(name, kind == "view", special, bool(wr), sql or "")
        for name, kind, special, wr, sql in rows
    ]


def _table(
    file: SqliteHandle, entry: SqliteEntry, sampler: Sampler, options: ScanOptions
) -> SourceTable:
    """One table; what cannot be read of it is told in its ``error``."""
    raw = SourceTable(
        entry.name, [], inner=entry.name, view=entry.view, warnings=list(file.warnings)
    )
    if entry.view:
        raw.query, raw.query_dialect = entry.sql, "sqlite"
    try:
        relation = relation_of(file.con, entry.name, "" if entry.view else entry.sql)
        if relation.skipped:
            return SourceTable(entry.name, [], skipped=relation.skipped)
        raw.foreign_keys = _foreign_keys(file.con, entry, relation.names)
        unique = set() if entry.view else _unique(file.con, entry)
    except sqlite3.Error as error:
        raw.checked, raw.error = "none", f"its schema cannot be read: {error}"
        return raw
    info = relation.info
    raw.primary_key = [row[1] for row in sorted(info, key=lambda row: row[5]) if row[5]]
    rows = _fill(raw, replace(entry, relation=relation), sampler, [row[1] for row in info])
    cells: Sequence[Row] = list(zip(*rows, strict=True)) if rows else [()] * len(info)
    keys = {name: "foreign" for key in raw.foreign_keys for name in key["columns"]}
    keys = dict.fromkeys(unique, "unique") | keys | dict.fromkeys(raw.primary_key, "primary")
    raw.columns = [
        _column(row, values, raw, keys, options.examples)
        for row, values in zip(info, cells, strict=True)
    ]
    raw.sample = [
        {c["name"]: cell_text(value, c["type"]) for c, value in zip(raw.columns, row, strict=True)}
        for row in rows[: options.sample_rows]
    ]
    return raw


def _fill(raw: SourceTable, entry: SqliteEntry, sampler: Sampler, names: list[str]) -> list[Row]:
    """The sampled rows; count and ``checked``, or the error, go into the table."""
    try:
        sample = sampler.sample(entry, names)
    except sqlite3.Error as error:
        late = "interrupted" in str(error)
        words = "its rows take too long to compute" if late else f"its rows cannot be read: {error}"
        raw.checked, raw.error = "declared", words
        return []
    raw.rows, raw.checked = sample.count, "full" if sample.whole else "sample"
    return sample.rows


def _foreign_keys(
    con: sqlite3.Connection, entry: SqliteEntry, names: dict[str, str]
) -> list[ForeignKey]:
    """Declared foreign keys, in the order of declaration (SQLite lists them backwards)."""
    keys: dict[int, ForeignKey] = {}
    rows = con.execute(f"PRAGMA foreign_key_list({quoted(entry.name)})").fetchall()
    for number, _seq, table, column, to, *_ in rows:
        key = keys.setdefault(number, {"columns": [], "ref_table": table, "ref_columns": []})
        key["columns"].append(names.get(column, column))
        if to is not None:
            key["ref_columns"].append(to)
    return [keys[number] for number in sorted(keys, reverse=True)]


def _unique(con: sqlite3.Connection, entry: SqliteEntry) -> set[str]:
    """Columns that are unique by themselves; partial indexes do not count."""
    found = set()
    for index in con.execute(f"PRAGMA index_list({quoted(entry.name)})").fetchall():
        if index[2] and not index[4]:
            names = con.execute(f"PRAGMA index_info({quoted(index[1])})").fetchall()
            if len(names) == 1 and names[0][2] is not None:
                found.add(names[0][2])
    return found


def _column(
    info: Info, values: Row, raw: SourceTable, keys: dict[str, str], examples: int
) -> Column:
    """One column; what is odd about its values goes into the table's warnings."""
    _cid, name, declared, notnull, _default, pk, hidden = info
    types = set(map(type, values))
    kinds = {KINDS[kind] for kind in types}
    beyond = int in types and any(type(v) is int and abs(v) > EXACT for v in values)
    kind = decide(declared, kinds, beyond=beyond)
    warning = complaint(name, declared, kind, kinds)
    if warning:
        raw.warnings.append(warning)
    if RepairedText in types:
        raw.warnings.append(f"column {name} holds text that is not UTF-8; read by a fallback")
    column: JsonObject = {"name": name, "type": kind}
    if declared:
        column["declared"] = declared
    column["nullable"] = None if raw.view else not notnull and (not pk or "null" in kinds)
    if name in keys:
        column["key"] = keys[name]
    if hidden in (2, 3):
        column["generated"] = True
    found = first_distinct(values, kind, examples)
    if found:
        column["examples"] = found
    return column  # type: ignore[return-value]


def load(con: duckdb.DuckDBPyConnection, path: Path, table: Table, target: str) -> None:
    """Write all rows of one table or view into ``con``; see `sqlite.loader`."""
    from stages.core.catalog.sources.sqlite.loader import load_table

    load_table(con, path, table, target)
