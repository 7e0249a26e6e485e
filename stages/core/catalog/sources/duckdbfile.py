"""DuckDB files: metadata from the engine's own tables, a bounded sample of each table.

The file is attached read-only, and before anything in it is run the connection gives up all
other files: a view may hold ``read_csv('/etc/passwd')``, and must not get it. Such a view
is listed with the error. Views are bounded in time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from stages.core.catalog.documents import MARK_TABLE
from stages.core.catalog.duck import interrupt
from stages.core.catalog.duck import rows as duck_rows
from stages.core.catalog.duck.rows import ColumnSpec, Row
from stages.core.catalog.duck.sql import quote, text
from stages.core.catalog.source_table import ScanOptions, SourceTable
from stages.core.errors import SourceError
from stages.core.records import ForeignKey, Table

if TYPE_CHECKING:
    import duckdb

KIND = "duckdb"
SUFFIXES = (".duckdb", ".ddb")
SEVERAL = True
MAGIC = (8, b"DUCK")
"""Offset and bytes by which the file is told, whatever its name says."""
SIDE_FILES = (".wal",)
"""Changes that stand beside the file."""

ALIAS = "winnow_source"
VIEW_SECONDS = 2.0
TABLE_SECONDS = 20.0


@dataclass
class DuckEntry:
    """One table or view of the file, before its rows are looked at."""

    schema: str
    name: str
    view: bool
    comment: str
    query: str = ""
    columns: list[ColumnSpec] = field(default_factory=list)
    primary: list[str] = field(default_factory=list)
    foreign: list[ForeignKey] = field(default_factory=list)
    unique: set[str] = field(default_factory=set)

    @property
    def spelling(self) -> str:
        """The name, with its schema where that is not ``main``."""
        return self.name if self.schema == "main" else f"{self.schema}.{self.name}"

    @property
    def sql(self) -> str:
        """How a statement names it."""
        return f"{ALIAS}.{quote(self.schema)}.{quote(self.name)}"


def scan(path: Path, options: ScanOptions) -> Iterator[SourceTable]:
    """Every table and view of the file; those of other schemas than ``main`` as ``schema.name``.

    Raises:
        SourceError: It is no DuckDB file, is encrypted, is open for writing elsewhere, or is
            of a version that this engine cannot read.
    """
    with _opened(path) as con:
        entries = list(_entries(con).values())
        prepared = any(entry.name == MARK_TABLE for entry in entries)
        for entry in entries:
            if entry.name != MARK_TABLE:
                raw = _table(con, entry, options)
                raw.prepared = prepared
                yield raw


@contextmanager
def _opened(path: Path, writable: Path | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A locked connection that has the file attached read-only, and nothing else but one new
    file to write to, where asked for."""
    import duckdb

    _check(path)
    with duckdb.connect(config=duck_rows.CONFIG) as con:
        try:
            con.execute(f"ATTACH {text(str(path))} AS {ALIAS} (READ_ONLY)")
        except (duckdb.Error, RuntimeError) as error:
            raise SourceError(
                f"cannot be opened: {duck_rows.told(error, path)}", place=path.name
            ) from None
        if writable is not None:
            con.execute(f"ATTACH {text(str(writable))} AS winnow_copy")
        con.execute("SET enable_external_access = false")
        con.execute("SET lock_configuration = true")
        yield con


def _check(path: Path) -> None:
    with path.open("rb") as file:
        head = file.read(12)
    if head[8:12] != MAGIC[1]:
        raise SourceError("not a DuckDB database", place=path.name, hint="leave it out")


def _entries(con: duckdb.DuckDBPyConnection) -> dict[tuple[str, str], DuckEntry]:
    """All tables and views with their columns and keys, in five statements."""
    found = {
        (schema, name): DuckEntry(schema, name, view, comment or "", sql or "")
        for schema, name, view, comment, sql in con.execute(
            f"""SELECT schema_name, table_name, false, comment, NULL FROM duckdb_tables()
            WHERE database_name = '{ALIAS}' AND NOT internal
            UNION ALL SELECT schema_name, view_name, true, comment, sql FROM duckdb_views()
            WHERE database_name = '{ALIAS}' AND NOT internal ORDER BY 1, 2"""
        ).fetchall()
    }
    _keys(con, found)
    columns = con.execute(
        f"""SELECT schema_name, table_name, column_name, data_type, is_nullable, comment
        FROM duckdb_columns() WHERE database_name = '{ALIAS}' AND NOT internal
        ORDER BY schema_name, table_name, column_index"""
    ).fetchall()
    for schema, table, name, kind, nullable, comment in columns:
        entry = found.get((schema, table))
        if entry is not None:
            free = None if entry.view else bool(nullable) and name not in entry.primary
            entry.columns.append(
                ColumnSpec(name, kind, nullable=free, key=_mark(entry, name), comment=comment or "")
            )
    return found


def _keys(con: duckdb.DuckDBPyConnection, found: dict[tuple[str, str], DuckEntry]) -> None:
    rows = con.execute(
        f"""SELECT schema_name, table_name, constraint_type, constraint_column_names,
        referenced_table, referenced_column_names FROM duckdb_constraints()
        WHERE database_name = '{ALIAS}' ORDER BY schema_name, table_name, constraint_index"""
    ).fetchall()
    for schema, table, kind, columns, other, others in rows:
        entry = found.get((schema, table))
        if entry is None:
            continue
        if kind == "PRIMARY KEY":
            entry.primary = list(columns)
        elif kind == "FOREIGN KEY" and other:
            spelt = other if schema == "main" else f"{schema}.{other}"
            entry.foreign.append(
                {"columns": list(columns), "ref_table": spelt, "ref_columns": list(others or ())}
            )
        elif kind == "UNIQUE" and len(columns) == 1:
            entry.unique.add(columns[0])


def _mark(entry: DuckEntry, name: str) -> str:
    """Which key a column belongs to, the primary key first."""
    if name in entry.primary:
        return "primary"
    if any(name in key["columns"] for key in entry.foreign):
        return "foreign"
    return "unique" if name in entry.unique else ""


def _table(con: duckdb.DuckDBPyConnection, entry: DuckEntry, options: ScanOptions) -> SourceTable:
    """One table or view; what cannot be read of it is told in its ``error``."""
    import duckdb

    raw = SourceTable(
        entry.spelling,
        [],
        inner=entry.spelling,
        view=entry.view,
        query=entry.query,
        query_dialect="duckdb",
        comment=entry.comment,
        primary_key=entry.primary,
        foreign_keys=entry.foreign,
        checked="full",
    )
    if entry.schema != "main":
        raw.reader = {"schema": entry.schema, "name": entry.name}
    rows: list[Row] = []
    types: list[object] = [None] * len(entry.columns)
    try:
        with duck_rows.within(con, VIEW_SECONDS if entry.view else TABLE_SECONDS):
            probe = con.execute(f"SELECT * FROM {entry.sql} LIMIT 0").description or []
            if len(probe) == len(types):
                types = [item[1] for item in probe]
            if not entry.view:
                counted = con.execute(f"SELECT count(*) FROM {entry.sql}").fetchone()
                raw.rows = {"count": counted[0] if counted else 0, "how": "exact"}
            rows = _rows(con, entry, raw, options)
    except duckdb.InterruptException:
        raw.checked, raw.error = "declared", "its rows take too long to compute"
    except duckdb.Error as error:
        raw.checked, raw.error = "declared", f"its rows cannot be read: {duck_rows.told(error)}"
    duck_rows.fill(raw, entry.columns, types, rows, options)
    return raw


def _rows(
    con: duckdb.DuckDBPyConnection, entry: DuckEntry, raw: SourceTable, options: ScanOptions
) -> list[Row]:
    """Rows of the head, and of middle and tail of a table, by the numbers of its rows."""
    names = [column.name for column in entry.columns]
    if not options.values or not names:
        return []
    chosen = duck_rows.text_list(names, options.cell)
    head = duck_rows.limit(options, len(names))
    rows: list[Row] = con.execute(f"SELECT {chosen} FROM {entry.sql} LIMIT {head}").fetchall()
    count = raw.rows["count"]
    if count is None or count <= head or "rowid" in map(str.lower, names):
        return rows
    for size, start in ((duck_rows.MIDDLE, count // 2), (duck_rows.TAIL, count - duck_rows.TAIL)):
        low = max(start, head)
        rows += con.execute(
            f"SELECT {chosen} FROM {entry.sql} WHERE rowid BETWEEN {low} AND "
            f"{low + min(size, head) - 1}"
        ).fetchall()
    return rows


def load(con: duckdb.DuckDBPyConnection, path: Path, table: Table, target: str) -> None:
    """Write all rows of one table or view into ``target``.

    A view is run in a locked connection of its own and only its rows come over, because the
    connection given may read any file.

    Raises:
        SourceError: The file cannot be opened, or lacks the table or a column of the line.
    """
    import duckdb

    source = table["source"]
    reader = source.get("reader") or {}
    entry = DuckEntry(
        reader.get("schema", "main"), reader.get("name", source.get("table", "")), False, ""
    )
    chosen = ", ".join(quote(column["name"]) for column in table["columns"]) or "*"
    with tempfile.TemporaryDirectory(prefix="winnow-") as folder:
        copy = Path(folder) / "copy.duckdb"
        with _opened(path, copy) as locked:
            try:
                with interrupt.also(locked):
                    locked.execute(
                        f"CREATE TABLE winnow_copy.data AS SELECT {chosen} FROM {entry.sql}"
                    )
            except duckdb.Error as error:
                raise SourceError(
                    f"cannot be read: {duck_rows.told(error, path)}", place=table["name"]
                ) from None
            locked.execute("DETACH winnow_copy")
        con.execute(f"ATTACH {text(str(copy))} AS winnow_copy (READ_ONLY)")
        try:
            con.execute(
                f"CREATE OR REPLACE TABLE {quote(target)} AS SELECT * FROM winnow_copy.data"
            )
        finally:
            con.execute("DETACH winnow_copy")
