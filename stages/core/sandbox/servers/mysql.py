"""MySQL and MariaDB in place: a read-only transaction, limits on both sides of the wire.

The server's own time limit comes first; a client on a second connection kills what that does
not stop, and cuts the line after that. The driver sends one statement at a time.
"""

from __future__ import annotations

from contextlib import closing, suppress
from typing import Any

from sqlglot import exp

from stages.core.catalog.servers.address import Address, Connection, connect
from stages.core.catalog.servers.mysql import SESSION, time_limit
from stages.core.catalog.sources.sqlite.relation import blob_text
from stages.core.sandbox.engine.engine import ANSWER_CUT
from stages.core.sandbox.gate.gate import CheckedQuery
from stages.core.sandbox.gate.normal import write
from stages.core.sandbox.limits import Answer, Limits
from stages.core.sandbox.servers.session import ServerEngine
from stages.core.sandbox.servers.shape import room, shape_query, taken, wrap

DIALECT = "mysql"
_TYPES = {
    0: "DECIMAL", 1: "TINYINT", 2: "SMALLINT", 3: "INTEGER", 4: "FLOAT", 5: "DOUBLE", 6: "VARCHAR",
    7: "TIMESTAMP WITH TIME ZONE", 8: "BIGINT", 9: "INTEGER", 10: "DATE", 12: "TIMESTAMP",
    13: "INTEGER", 245: "JSON", 246: "DECIMAL",
}  # fmt: skip
"""Numbers of the wire protocol; what is missing is text or bytes."""
_TEXT_OR_BYTES = (15, 249, 250, 251, 252, 253, 254)
_BINARY = 63
_UNSIGNED = 32
_BIT, _SHAPE = 16, 255


class MysqlEngine(ServerEngine):
    """Runs checked queries on one MySQL or MariaDB server."""

    def describe(self, checked: CheckedQuery) -> tuple[list[str], list[str]]:
        """Names and types of the columns of the query, of which no row is read.

        Raises:
            SqlError: As `run`.
        """
        with self._session.watched() as con:
            return _described(con, checked)

    def run(self, checked: CheckedQuery, rows: int) -> Answer:
        """The first rows of the query, in its full order.

        Raises:
            SqlLimit: Too slow.
            SqlFailed: The server says no (`worker.EngineError`).
            SqlUnavailable: It cannot be reached, or is not well.
        """
        from pymysql.cursors import SSCursor

        with self._session.watched() as con:
            names, types = _described(con, checked)
            shape = shape_query(checked, range(1, len(names) + 1), rows + 1, DIALECT)
            width = room(self.limits, len(types))
            cells = [_cell(f"c{at}", kind, width) for at, kind in enumerate(types, 1)]
            types = [kind.partition(" ")[0] if kind in _MARKED else kind for kind in types]
            sql = wrap(shape.query, cells, rows + 1, DIALECT)
            with closing(con.cursor(SSCursor)) as cursor:
                cursor.execute("START TRANSACTION READ ONLY")
                cursor.execute(sql)
                texts = ([_text(value, width) for value in row] for row in cursor)
                found, more, cut = taken(texts, types, rows, self.limits)
            with con.cursor() as cursor:
                cursor.execute("ROLLBACK")
        told = [*checked.notes, *filter(None, [shape.note, ANSWER_CUT if cut else ""])]
        return Answer(tuple(names), tuple(types), tuple(found), more, tuple(told))

    def _kill(self, where: Address, con: Connection) -> None:
        with closing(connect(where, 5)) as other, other.cursor() as cursor:
            cursor.execute(f"KILL QUERY {int(con.thread_id())}")

    def _begin(self, con: Connection) -> None:
        con.decoders = {}
        with con.cursor() as cursor:
            cursor.execute("SELECT VERSION()")
            version = str(_text((cursor.fetchone() or ("",))[0], 80))
            cursor.execute(SESSION)
            cursor.execute("SET SESSION TRANSACTION READ ONLY")
            cursor.execute(time_limit(version, self.limits.seconds))
            for setting in _bounds(self.limits):
                with suppress(Exception):  # each server has some of them
                    cursor.execute(setting)


def _bounds(limits: Limits) -> list[str]:
    """What a session may hold and wait for, as far as the server lets the role say so."""
    room = limits.memory * 1024**2
    return [
        f"SET SESSION max_session_mem_used = {room}",
        f"SET SESSION connection_memory_limit = {room}",
        "SET SESSION lock_wait_timeout = 5, SESSION innodb_lock_wait_timeout = 5",
        "SET SESSION idle_transaction_timeout = 600",
        "SET SESSION wait_timeout = 3600",
    ]


_MARKED = ("VARCHAR bits", "VARCHAR shape", "VARCHAR time")


def _described(con: Connection, checked: CheckedQuery) -> tuple[list[str], list[str]]:
    """Names and types from the head of an answer without rows."""
    query = checked.tree.copy()
    query.set("limit", exp.Limit(expression=exp.Literal.number(0)))
    query.set("offset", None)
    with con.cursor() as cursor:
        cursor.execute(write(query, DIALECT))
        fields = cursor._result.fields or ()
        return [field.name for field in fields], [_type(field) for field in fields]


# Any: the driver's packet, whose stubs name none of its fields
def _type(field: Any) -> str:
    code = field.type_code
    if code in _TEXT_OR_BYTES:
        return "BLOB" if field.charsetnr == _BINARY else "VARCHAR"
    if code in (_BIT, _SHAPE, 11):
        return {_BIT: _MARKED[0], _SHAPE: _MARKED[1]}.get(code, _MARKED[2])
    kind = _TYPES.get(code, "VARCHAR")
    if kind == "DECIMAL":
        digits = field.length - 1 - bool(field.scale)
        return f"DECIMAL({min(max(digits, 1), 38)},{min(field.scale, 38)})"
    whole = kind.endswith("INT") or kind == "INTEGER"
    return f"U{kind}" if whole and field.flags & _UNSIGNED else kind


def _cell(name: str, kind: str, cell: int) -> str:
    """Expression for a cell, cut by the server, which tells how much it cut."""
    if kind == "BLOB":
        return f"LEFT({name}, {cell + 1})"
    if kind == _MARKED[0]:
        return f"BIN({name} + 0)"
    if kind not in ("VARCHAR", "JSON", _MARKED[1]):
        return name
    text = f"ST_AsText({name})" if kind == _MARKED[1] else name
    return (
        f"CASE WHEN CHAR_LENGTH({text}) > {cell} THEN CONCAT(LEFT({text}, {cell}), '…(+', "
        f"CHAR_LENGTH({text}) - {cell}, ')') ELSE {text} END"
    )


def _text(value: object, cell: int) -> str | None:
    """A cell of the wire: text, or bytes that are none and are shown as DuckDB shows them."""
    if not isinstance(value, bytes):
        return None if value is None else str(value)
    try:
        return value.decode()
    except UnicodeDecodeError:
        return blob_text(value)[: cell + 1]


ENGINE = MysqlEngine
