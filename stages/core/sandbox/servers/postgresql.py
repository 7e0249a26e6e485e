"""PostgreSQL in place: a read-only transaction, a cursor, the extended protocol.

``DECLARE … CURSOR FOR`` takes nothing but a query, and the extended protocol nothing but one
statement, so what would pass the gate by mistake still cannot commit or run twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from stages.core.catalog.servers.address import Address, Connection
from stages.core.catalog.servers.postgresql import SESSION, duckdb_type
from stages.core.catalog.sources.sqlite.relation import blob_text
from stages.core.sandbox.engine.engine import ANSWER_CUT
from stages.core.sandbox.gate.gate import CheckedQuery
from stages.core.sandbox.gate.normal import write
from stages.core.sandbox.limits import Answer, Cell, Limits
from stages.core.sandbox.servers.session import ServerEngine
from stages.core.sandbox.servers.shape import batch, room, shape_query, taken, wrap

if TYPE_CHECKING:
    from psycopg import Column

DIALECT = "postgres"
_UNSORTED = frozenset(
    {
        *(114, 142, 600, 601, 602, 603, 604, 628, 718, 1033, 4072),  # json, xml, shapes, ACL, paths
        *(199, 143, 1017, 1018, 1019, 1020, 1027, 629, 719, 1034, 4073),  # arrays of them
    }
)
_NAMES = {
    "int8": "bigint",
    "int4": "integer",
    "int2": "smallint",
    "float8": "double precision",
    "float4": "real",
    "bool": "boolean",
    "timestamp": "timestamp without time zone",
    "timestamptz": "timestamp with time zone",
    "time": "time without time zone",
    "timetz": "time with time zone",
}
_FIXED = (
    "BIGINT",
    "INTEGER",
    "SMALLINT",
    "DOUBLE",
    "FLOAT",
    "BOOLEAN",
    "DATE",
    "TIMESTAMP",
    "TIME",
)
"""Types whose texts are never long."""


class PostgresEngine(ServerEngine):
    """Runs checked queries on one PostgreSQL server."""

    def describe(self, checked: CheckedQuery) -> tuple[list[str], list[str]]:
        """Names and types of the columns of the query; nothing of it is run.

        Raises:
            SqlError: As `run`.
        """
        with self._session.watched() as con, con.transaction():
            names, types, _ = _described(con, checked)
        return names, types

    def run(self, checked: CheckedQuery, rows: int) -> Answer:
        """The first rows of the query, in its full order.

        Raises:
            SqlLimit: Too slow.
            SqlFailed: The server says no (`worker.EngineError`).
            SqlUnavailable: It cannot be reached, or is not well.
        """
        with self._session.watched() as con, con.transaction():
            names, types, codes = _described(con, checked)
            positions = [at for at, code in enumerate(codes, 1) if code not in _UNSORTED]
            shape = shape_query(checked, positions, rows + 1, DIALECT)
            width = room(self.limits, len(types))
            cells = [_cell(f"c{at}", kind, width) for at, kind in enumerate(types, 1)]
            sql = wrap(shape.query, cells, rows + 1, DIALECT)
            with con.cursor("winnow_rows") as cursor:
                cursor.itersize = batch(self.limits, len(types))
                cursor.execute(sql.encode())
                found, more, cut = taken(cursor, types, rows, self.limits)
        found = [_bytes(row, types, width) for row in found]
        told = [*checked.notes, *filter(None, [shape.note, ANSWER_CUT if cut else ""])]
        return Answer(tuple(names), tuple(types), tuple(found), more, tuple(told))

    def _kill(self, where: Address, con: Connection) -> None:
        con.cancel_safe(timeout=5)

    def _begin(self, con: Connection) -> None:
        con.autocommit = True
        con.execute(SESSION.encode())
        con.execute(f"SET statement_timeout = {int(self.limits.seconds * 1000)}".encode())
        for setting in _bounds(self.limits):
            with suppress(Exception):  # older servers have not all, and some are for superusers
                con.execute(setting.encode())
        _admit_extensions(con)
        con.read_only = True
        con.prepare_threshold = None
        _texts_only(con)


_EXTENSIONS = """
WITH trusted AS (SELECT oid FROM pg_roles WHERE rolsuper OR rolname = current_user),
owned AS (SELECT classid, objid FROM pg_depend WHERE deptype = 'e')
SELECT DISTINCT n.nspname FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE ('pg_type'::regclass, t.oid) IN (SELECT classid, objid FROM owned)
  AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
  AND NOT EXISTS (SELECT 1 FROM pg_proc p WHERE p.pronamespace = n.oid
    AND p.proowner NOT IN (SELECT oid FROM trusted)
    AND ('pg_proc'::regclass, p.oid) NOT IN (SELECT classid, objid FROM owned))
  AND NOT EXISTS (SELECT 1 FROM pg_operator o WHERE o.oprnamespace = n.oid
    AND o.oprowner NOT IN (SELECT oid FROM trusted)
    AND ('pg_operator'::regclass, o.oid) NOT IN (SELECT classid, objid FROM owned))
ORDER BY 1
"""
"""Schemas with types of extensions (citext, hstore), whose operators are found by the search
path alone. One in which another role than a superuser has put functions or operators is none
of them: they could take the place of those of ``pg_catalog``."""


def _admit_extensions(con: Connection) -> None:
    """Let operators of extension types mean what they do in the database."""
    found = con.execute(_EXTENSIONS.encode()).fetchall()
    if found:
        names = ", ".join('"' + str(row[0]).replace('"', '""') + '"' for row in found)
        con.execute(f"SET search_path = pg_catalog, {names}".encode())


def _bounds(limits: Limits) -> list[str]:
    """What a session may hold and wait for, as far as the server lets the role say so."""
    return [
        "SET idle_in_transaction_session_timeout = 600000",
        "SET idle_session_timeout = 3600000",
        "SET lock_timeout = 5000",
        "SET max_parallel_workers_per_gather = 0",
        "SET jit = off",
        f"SET work_mem = '{max(limits.memory // 16, 4)}MB'",
        f"SET temp_file_limit = '{limits.memory * 8}MB'",
    ]


def _texts_only(con: Connection) -> None:
    """Let every type come as the text that the server writes."""
    from psycopg.types.string import TextLoader

    for info in con.adapters.types:
        for oid in filter(None, (info.oid, info.array_oid)):
            con.adapters.register_loader(oid, TextLoader)


def _described(con: Connection, checked: CheckedQuery) -> tuple[list[str], list[str], list[int]]:
    """Names, types and type numbers of the query's columns, from a cursor that is not read."""
    sql = write(checked.tree, DIALECT)
    with con.cursor("winnow_shape") as cursor:
        cursor.execute(sql.encode())
        columns = list(cursor.description or ())
    codes = [column.type_code for column in columns]
    return [column.name for column in columns], [_type(con, column) for column in columns], codes


def _type(con: Connection, column: Column) -> str:
    info = con.adapters.types.get(column.type_code)
    if info is None:
        return "VARCHAR"
    name = _NAMES.get(info.name, info.name)
    if column.type_code == info.oid and info.name == "numeric":
        if column.precision is None:
            return "DECIMAL"
        name = f"numeric({column.precision},{column.scale or 0})"
    return duckdb_type(f"{name}[]" if column.type_code == info.array_oid else name)


def _cell(name: str, kind: str, cell: int) -> str:
    """Expression for a cell as text, cut by the server, which tells how much it cut."""
    if kind.startswith(("DECIMAL", *_FIXED)) and not kind.endswith("[]"):
        return f"{name}::text"
    if kind == "BLOB":
        return f"encode(substring({name} FROM 1 FOR {cell + 1}), 'hex')"
    text = f"{name}::text"
    return (
        f"CASE WHEN length({text}) > {cell} THEN left({text}, {cell}) || '…(+' || "
        f"(length({text}) - {cell}) || ')' ELSE {text} END"
    )


def _bytes(row: tuple[Cell, ...], types: Sequence[str], cell: int) -> tuple[Cell, ...]:
    if "BLOB" not in types:
        return row
    return tuple(
        blob_text(bytes.fromhex(value))[: cell + 1]
        if kind == "BLOB" and isinstance(value, str)
        else value
        for value, kind in zip(row, types, strict=True)
    )


ENGINE = PostgresEngine
