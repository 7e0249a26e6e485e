"""All rows of one SQLite table into DuckDB, with nothing lost.

The plan comes from SQLite itself (which storage classes each column holds); the rows go
through the ADBC driver as Arrow, without pyarrow. The driver guesses a column's type from
the first rows, so a typed row that is taken out again goes ahead. Real numbers among text
travel in a column of their own and become text in DuckDB, since the driver prints
``3.350000e+01`` and SQLite does not keep all digits. Text that is not UTF-8 would be passed
on unchecked, so it is decoded on the way, and a table that fails there goes row by row
through a temporary file.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stages.core.catalog.sources.sqlite.file import SqliteHandle, open_database, quoted, text_of
from stages.core.catalog.sources.sqlite.relation import (
    EXACT,
    Relation,
    decide,
    relation_of,
    virtual_sql,
    widest,
)
from stages.core.errors import SourceError
from stages.core.records import Table

if TYPE_CHECKING:
    import duckdb

PER_QUERY = 400
"""Columns asked about in one statement; SQLite allows 2,000 results, here two each."""
WIDEST = 1_990
DUMMIES = {"BIGINT": "0", "DOUBLE": "0.0", "VARCHAR": "''", "BLOB": "x'00'"}
STORED = {"BIGINT": "integer", "DOUBLE": "real", "VARCHAR": "text", "BLOB": "blob"}
STREAM = "_winnow_stream"


@dataclass(frozen=True)
class _Load:
    """One column: its name, the type it is loaded as, the type asked for, what it holds."""

    name: str
    kind: str
    wanted: str
    mixed: bool

    @property
    def parts(self) -> tuple[str, ...]:
        """Types of the columns that carry it through Arrow."""
        return (self.kind, "DOUBLE") if self.kind == "VARCHAR" and self.mixed else (self.kind,)


def load_table(con: duckdb.DuckDBPyConnection, path: Path, table: Table, target: str) -> None:
    """Write all rows into ``con`` as table ``target``, the types widened where rows disagree.

    Raises:
        SourceError: The file or the table cannot be read.
    """
    name = table.get("source", {}).get("table") or table["name"]
    with open_database(path) as file:
        try:
            relation = relation_of(file.con, name, virtual_sql(file.con, name))
            plan = _plan(file.con, relation, name, table)
            if sum(len(column.parts) for column in plan) > WIDEST or not _by_arrow(
                con, file, relation.sql, plan, target
            ):
                _by_rows(con, file.con, relation.sql, plan, target)
        except sqlite3.Error as error:
            raise SourceError(str(error), place=f"{path}::{name}") from None
    for column in plan:
        if column.wanted != column.kind:
            _retype(con, target, column)


def _plan(con: sqlite3.Connection, relation: Relation, name: str, table: Table) -> list[_Load]:
    """The columns of the line that the table has; all of the table's where the line has none."""
    declared = {row[1]: row[2] for row in relation.info}
    wanted = {column["name"]: column["type"] for column in table["columns"]}
    names = [column for column in wanted or declared if column in declared]
    if not names:
        raise sqlite3.OperationalError(f"no such table, or none of its columns: {name}")
    kinds = [wanted.get(column, "") for column in names]
    if (
        len(names) <= PER_QUERY
        and set(kinds) <= STORED.keys()
        and not _broken(con, relation.sql, names, kinds)
    ):
        return [_Load(column, kind, kind, False) for column, kind in zip(names, kinds, strict=True)]
    return [
        _column(column, declared[column], low, high, beyond, wanted.get(column))
        for column, (low, high, beyond) in zip(
            names, _storage(con, relation.sql, names), strict=True
        )
    ]


def _broken(
    con: sqlite3.Connection, source: str, names: Sequence[str], kinds: Sequence[str]
) -> bool:
    """Whether any value is stored otherwise than its column's type in the line says; quicker
    than finding out how, and mostly the answer is no."""
    other = " OR ".join(
        f"({quoted(column)} IS NOT NULL AND typeof({quoted(column)}) <> '{STORED[kind]}')"
        for column, kind in zip(names, kinds, strict=True)
    )
    return con.execute(f"SELECT 1 FROM {source} WHERE {other} LIMIT 1").fetchone() is not None


def _column(
    name: str, declared: str, low: str | None, high: str | None, beyond: bool, wanted: str | None
) -> _Load:
    """``low`` and ``high`` are the first and last storage class by alphabet; what may lie
    between them (``blob`` and ``text`` have numbers between) needs VARCHAR anyway."""
    kinds = {kind for kind in (low, high) if kind}
    found = decide(declared, kinds, beyond=beyond) if kinds else (wanted or "VARCHAR")
    asked = wanted or found
    if asked not in DUMMIES:
        kind = found if found in DUMMIES else "VARCHAR"
        return _Load(name, kind, asked, len(kinds) > 1)
    kind = widest(asked, found)
    if kind == "DOUBLE" and beyond:
        kind = "VARCHAR" if "real" in kinds else "BIGINT"
    return _Load(name, kind, kind, kinds != {"text"})


def _storage(
    con: sqlite3.Connection, source: str, names: Sequence[str]
) -> list[tuple[str | None, str | None, bool]]:
    """For each column the least and greatest storage class that is not null, and whether an
    integer is too large for a double."""
    found: list[tuple[str | None, str | None, bool]] = []
    for start in range(0, len(names), PER_QUERY):
        part = [quoted(column) for column in names[start : start + PER_QUERY]]
        kinds = ", ".join(
            f"min(nullif(typeof({c}), 'null')), max(nullif(typeof({c}), 'null'))" for c in part
        )
        row = con.execute(f"SELECT {kinds} FROM {source}").fetchone()
        pairs = list(zip(row[::2], row[1::2], strict=True))
        found += [(*pair, False) for pair in pairs]
        numeric = [
            i
            for i, pair in enumerate(pairs)
            if pair[0] == "integer" and pair[1] in ("integer", "real")
        ]
        if numeric:
            large = ", ".join(
                f"max(typeof({part[i]}) = 'integer' AND ({part[i]} > {EXACT} OR {part[i]} < "
                f"-{EXACT}))"
                for i in numeric
            )
            for i, beyond in zip(
                numeric, con.execute(f"SELECT {large} FROM {source}").fetchone(), strict=True
            ):
                found[start + i] = (*pairs[i], bool(beyond))
    return found


def _by_arrow(
    con: duckdb.DuckDBPyConnection,
    file: SqliteHandle,
    source: str,
    plan: Sequence[_Load],
    target: str,
) -> bool:
    """Load through ADBC; False where the rows hold what Arrow cannot."""
    import adbc_driver_manager
    import adbc_driver_sqlite
    import duckdb

    cells = ", ".join(cell for i, column in enumerate(plan) for cell in _cells_of(i, column))
    dummy = ", ".join(DUMMIES[kind] for column in plan for kind in column.parts)
    sql = (
        f"SELECT 1 AS k, {cells} FROM {source} WHERE 0 "  # names the columns
        f"UNION ALL SELECT 0, {dummy} UNION ALL SELECT 1, {cells} FROM {source}"
    )
    names = ", ".join(f"{_value_of(i, c)} AS {quoted(c.name)}" for i, c in enumerate(plan))
    try:
        with (
            adbc_driver_sqlite.connect(file.uri) as database,
            adbc_driver_manager.AdbcConnection(database) as connection,
            adbc_driver_manager.AdbcStatement(connection) as statement,
        ):
            statement.set_sql_query(sql)
            stream, _ = statement.execute_query()
            con.register(STREAM, stream)
            try:
                con.execute(
                    f"CREATE TABLE {quoted(target)} AS SELECT {names} FROM {STREAM} WHERE k = 1"
                ).fetchall()
            finally:
                con.unregister(STREAM)
    except (duckdb.Error, adbc_driver_manager.Error, UnicodeDecodeError):
        con.execute(f"DROP TABLE IF EXISTS {quoted(target)}").fetchall()
        return False
    return True


def _cells_of(i: int, column: _Load) -> list[str]:
    """What SQLite is asked for: the column, or its text and its real numbers apart."""
    c = quoted(column.name)
    if len(column.parts) == 2:
        text = f"CASE WHEN typeof({c}) NOT IN ('real', 'null') THEN CAST({c} AS TEXT) END"
        return [f"{text} AS c{i}", f"CASE typeof({c}) WHEN 'real' THEN {c} END AS r{i}"]
    return [f"CAST({c} AS REAL) AS c{i}" if column.kind == "DOUBLE" else f"{c} AS c{i}"]


def _value_of(i: int, column: _Load) -> str:
    """What DuckDB makes of it; ``decode`` refuses text that is not UTF-8."""
    if column.kind != "VARCHAR":
        return f"c{i}::{column.kind}"
    text = f"decode(encode(c{i}))"
    return f"coalesce({text}, r{i}::VARCHAR)" if len(column.parts) == 2 else text


def _by_rows(
    con: duckdb.DuckDBPyConnection,
    db: sqlite3.Connection,
    source: str,
    plan: Sequence[_Load],
    target: str,
) -> None:
    """Load through a temporary file of quoted cells, text decoded one cell at a time."""
    columns = ", ".join(quoted(column.name) for column in plan)
    read = {f"c{i}": "VARCHAR" if c.kind == "BLOB" else c.kind for i, c in enumerate(plan)}
    names = ", ".join(
        f"{f'unhex(c{i})' if c.kind == 'BLOB' else f'c{i}'} AS {quoted(c.name)}"
        for i, c in enumerate(plan)
    )
    with tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="utf-8", newline="") as part:
        with closing(db.execute(f"SELECT {columns} FROM {source}")) as rows:
            for row in rows:
                part.write(",".join(_cells(row, plan)) + "\n")
        part.flush()
        con.execute(
            f"CREATE TABLE {quoted(target)} AS SELECT {names} FROM read_csv($file, header=false, "
            "delim=',', quote='\"', escape='\"', nullstr='', allow_quoted_nulls=false, "
            "parallel=false, "
            f"auto_detect=false, max_line_size=200000000, columns={read})",
            {"file": part.name},
        ).fetchall()


def _cells(row: Iterable[object], plan: Sequence[_Load]) -> Iterable[str]:
    """Cells of one line: null as nothing, all else in quotes."""
    for value, column in zip(row, plan, strict=True):
        if value is None:
            yield ""
        elif isinstance(value, bytes) and column.kind == "BLOB":
            yield f'"{value.hex()}"'
        else:
            yield '"' + _cell(value).replace('"', '""') + '"'


def _cell(value: object) -> str:
    return text_of(value) if isinstance(value, bytes) else str(value)


def _retype(con: duckdb.DuckDBPyConnection, target: str, column: _Load) -> None:
    """Give a column the type that the line asks for, where all its values allow it."""
    import duckdb

    try:
        con.execute(
            f"ALTER TABLE {quoted(target)} ALTER {quoted(column.name)} TYPE {column.wanted}"
        ).fetchall()
    except duckdb.Error:
        return
