"""MySQL and MariaDB: ``information_schema`` in six statements, whatever the number of tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from stages.core.catalog.servers.address import Record
from stages.core.catalog.servers.inventory import (
    FORBIDDEN,
    LEFT_OUT,
    SAMPLE_SECONDS,
    WRITES,
    Inventory,
    Row,
    ServerOptions,
    ServerTable,
    some,
)
from stages.core.catalog.source_table import ScanOptions, SourceTable
from stages.core.catalog.sources.sqlite.relation import blob_text
from stages.core.records import Column

if TYPE_CHECKING:
    import pymysql
    from pymysql.cursors import Cursor

    Connection = pymysql.Connection[Cursor]

BLOB_BYTES = 80
OWN = ("mysql", "information_schema", "performance_schema", "sys")
SESSION = (
    "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION,ONLY_FULL_GROUP_BY', "
    "SESSION time_zone = '+00:00', SESSION group_concat_max_len = 1048576"
)
"""String literals with backslashes, double quotes as strings: what sqlglot writes for MySQL."""
RECURSION = 4_294_967_295
"""Rounds of a recursion; the most that the servers take."""
_TABLES = """
SELECT table_schema, table_name, table_type, table_rows, table_comment
FROM information_schema.tables WHERE {where} AND table_type <> 'SYSTEM VIEW'
ORDER BY table_schema, table_name
"""
_COLUMNS = """
SELECT table_schema, table_name, column_name, data_type, column_type, is_nullable, extra,
  column_comment, privileges, numeric_precision, numeric_scale
FROM information_schema.columns WHERE {where} ORDER BY table_schema, table_name, ordinal_position
"""
_VIEWS = """
SELECT table_schema, table_name, view_definition FROM information_schema.views WHERE {where}
"""
"""A definition is empty where the role may not see it."""
_KEYS = """
SELECT table_schema, table_name, constraint_name, column_name,
  referenced_table_schema, referenced_table_name, referenced_column_name
FROM information_schema.key_column_usage WHERE {where}
ORDER BY table_schema, table_name, constraint_name, ordinal_position
"""
"""Without a join of two tables of information_schema, which takes four times as long."""
_TYPES = {
    "bigint": "BIGINT",
    "int": "INTEGER",
    "mediumint": "INTEGER",
    "smallint": "SMALLINT",
    "tinyint": "TINYINT",
    "year": "INTEGER",
    "double": "DOUBLE",
    "float": "FLOAT",
    "date": "DATE",
    "datetime": "TIMESTAMP",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "json": "JSON",
    "uuid": "UUID",
}
_BYTES = ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob")
_SHAPES = (
    "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon",
    "geometrycollection", "geomcollection",
)  # fmt: skip
_DECIMAL_DIGITS = 38


def duckdb_type(
    data_type: str, column_type: str, digits: int | None = None, scale: int | None = None
) -> str:
    """DuckDB's name for a MySQL type; VARCHAR for times of day, which may pass 24 hours.

    >>> duckdb_type("int", "int(10) unsigned"), duckdb_type("decimal", "decimal(10,2)", 10, 2)
    ('UINTEGER', 'DECIMAL(10,2)')
    """
    kind = data_type.lower()
    if kind in _BYTES:
        return "BLOB"
    if kind in ("decimal", "numeric"):
        fits = digits is not None and digits <= _DECIMAL_DIGITS
        return f"DECIMAL({digits},{scale or 0})" if fits else "DOUBLE"
    name = _TYPES.get(kind, "VARCHAR")
    whole = name.endswith("INT") or name == "INTEGER"
    return f"U{name}" if whole and "unsigned" in column_type.lower() else name


def quote(name: str) -> str:
    """A name as MySQL quotes it."""
    return "`" + name.replace("`", "``") + "`"


def inventory(con: Connection, which: ServerOptions, options: ScanOptions) -> Inventory:
    """Tables, columns, keys and what the role may do."""
    database, version = _first(con, "SELECT DATABASE(), VERSION()")
    _begin(con, str(version))
    own = ", ".join(f"'{name}'" for name in OWN)
    only = bool(database) and not which.schemas
    where = "table_schema = DATABASE()" if only else f"table_schema NOT IN ({own})"
    found = Inventory(str(database or "mysql"))
    tables: dict[tuple[str, str], ServerTable] = {}
    for schema, name, kind, estimate, comment in _all(con, _TABLES.format(where=where)):
        if not which.takes_schema(schema):
            continue
        if not which.takes(schema, name):
            found.skip(f"{schema}.{name}", LEFT_OUT)
            continue
        view = "VIEW" in kind
        raw = SourceTable(
            name, [], checked="declared", view=view, comment="" if view else comment or ""
        )
        if estimate is not None and not view:
            raw.rows = {"count": int(estimate), "how": "estimate"}
        tables[schema, name] = ServerTable(schema, raw)
    _columns(con, tables, where, options.cell)
    _keys(con, tables, where)
    for schema, name, query in _all(con, _VIEWS.format(where=where)):
        if (schema, name) in tables:
            raw = tables[schema, name].raw
            raw.query, raw.query_dialect = query or "", "mysql"
    for seen in tables.values():
        if seen.raw.columns:
            found.tables.append(seen)
        else:
            found.skip(f"{seen.schema}.{seen.raw.name}", FORBIDDEN)
    with suppress(Exception):  # a proxy may not tell, and a scan reads all the same
        found.warnings += [WRITES.format(what=what) for what in beyond_reading(con)]
    return found


def _begin(con: Connection, version: str) -> None:
    """Read-only, short statements, and texts that do not depend on the server's settings."""
    with con.cursor() as cursor:
        cursor.execute(SESSION)
        cursor.execute("SET SESSION TRANSACTION READ ONLY")
        cursor.execute(time_limit(version, SAMPLE_SECONDS * 10))


def time_limit(version: str, seconds: float) -> str:
    """The statement that bounds each query of the session by time, and by time alone.

    The two servers spell it differently. MariaDB would end a recursion after 1,000 rounds and
    answer with what it has until then.
    """
    if "mariadb" in version.lower():
        endless = f"SESSION max_recursive_iterations = {RECURSION}"
        return f"SET SESSION max_statement_time = {seconds:.3f}, {endless}"
    endless = f"SESSION cte_max_recursion_depth = {RECURSION}"
    return f"SET SESSION max_execution_time = {int(seconds * 1000)}, {endless}"


def _first(con: Connection, sql: str) -> Record:
    with con.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone() or ()


def _all(con: Connection, sql: str) -> Iterator[Record]:
    """Rows as they come in, none of them kept; texts that come as bytes are decoded."""
    from pymysql.cursors import SSCursor

    with con.cursor(SSCursor) as cursor:
        cursor.execute(sql)
        for row in cursor:
            yield tuple(x.decode("utf-8", "replace") if isinstance(x, bytes) else x for x in row)


def _columns(
    con: Connection, tables: dict[tuple[str, str], ServerTable], where: str, cell: int
) -> None:
    """Give the tables the columns that the role may read."""
    unseen: dict[tuple[str, str], list[str]] = {}
    for row in _all(con, _COLUMNS.format(where=where)):
        (
            schema,
            table,
            name,
            data_type,
            declared,
            nullable,
            extra,
            comment,
            rights,
            digits,
            scale,
        ) = row
        allowed = set(rights.lower().split(","))
        seen = tables.get((schema, table))
        if seen is None:
            continue
        if "select" not in allowed:
            unseen.setdefault((schema, table), []).append(name)
            continue
        column: Column = {"name": name, "type": duckdb_type(data_type, declared, digits, scale)}
        column["declared"] = declared
        column["nullable"] = None if seen.raw.view else nullable == "YES"
        if comment:
            column["comment"] = comment
        if "GENERATED" in extra.upper() and "DEFAULT_GENERATED" not in extra.upper():
            column["generated"] = True
        seen.raw.columns.append(column)
        seen.texts.append(_text(name, data_type.lower(), cell))
    for place, names in unseen.items():
        told = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
        tables[place].raw.warnings.append(f"the role may not read the columns {told}")


def _text(name: str, kind: str, cell: int) -> str:
    """Expression for a cell as text, cut by the server; bytes stay bytes."""
    if kind in _BYTES:
        return f"LEFT({quote(name)}, {BLOB_BYTES})"
    if kind in _SHAPES:
        return _cut(f"ST_AsText({quote(name)})", cell)
    if kind == "bit":
        return f"BIN({quote(name)} + 0)"
    return _cut(f"CAST({quote(name)} AS CHAR)", cell)


def _cut(text: str, cell: int) -> str:
    """The text as `core.text.shorten` cuts it."""
    return (
        f"CASE WHEN CHAR_LENGTH({text}) > {cell} THEN CONCAT(LEFT({text}, {cell}), '…(+', "
        f"CHAR_LENGTH({text}) - {cell}, ')') ELSE {text} END"
    )


def _keys(con: Connection, tables: dict[tuple[str, str], ServerTable], where: str) -> None:
    keys: dict[tuple[str, str, str], list[Record]] = {}
    for schema, table, name, *rest in _all(con, _KEYS.format(where=where)):
        if (schema, table) in tables:
            keys.setdefault((schema, table, name), []).append(tuple(rest))
    for (schema, table, name), parts in keys.items():
        _key(tables[schema, table], name, parts)


def _key(seen: ServerTable, name: str, parts: list[Record]) -> None:
    """A primary key is called PRIMARY, a foreign key names a table, and the rest are unique."""
    words = [part[0] for part in parts]
    schema, table = parts[0][1], parts[0][2]
    if name == "PRIMARY":
        seen.raw.primary_key = words
        _mark(seen, words, "primary")
    elif table:
        seen.raw.foreign_keys.append(
            {
                "columns": words,
                "ref_table": table if schema == seen.schema else f"{schema}.{table}",
                "ref_columns": [part[3] for part in parts],
            }
        )
        _mark(seen, words, "foreign")
    elif len(words) == 1:
        _mark(seen, words, "unique")


def _mark(seen: ServerTable, words: list[str], kind: str) -> None:
    rank = {"primary": 3, "foreign": 2, "unique": 1}
    for column in seen.raw.columns:
        if column["name"] in words and rank[kind] > rank.get(column.get("key", ""), 0):
            column["key"] = kind  # type: ignore[typeddict-item]


def rows(con: Connection, seen: ServerTable, limit: int) -> list[Row]:
    """The first rows as text, as DuckDB shows values of these types."""
    place = f"{quote(seen.schema)}.{quote(seen.raw.name)}"
    kinds = [column["type"] for column in seen.raw.columns]
    with con.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(seen.texts)} FROM {place} LIMIT {limit}")
        return [
            tuple(_cell(cell, kind) for cell, kind in zip(row, kinds, strict=True))
            for row in cursor.fetchall()
        ]


def _cell(value: object, kind: str) -> str | None:
    if value is None:
        return None
    if isinstance(value, bytes):
        return blob_text(value) if kind == "BLOB" else value.decode("utf-8", "replace")
    text = str(value)
    return repr(float(text)) if kind in ("DOUBLE", "FLOAT") else text


def count(con: Connection, seen: ServerTable) -> int:
    """All rows of a table, without a time limit."""
    version = str(_first(con, "SELECT VERSION()")[0])
    with con.cursor() as cursor:
        cursor.execute(time_limit(version, 0))
        cursor.execute(f"SELECT COUNT(*) FROM {quote(seen.schema)}.{quote(seen.raw.name)}")
        found = cursor.fetchone()
    return int(found[0]) if found else 0


def too_late(error: Exception) -> bool:
    """Whether the statement was stopped by its time limit (MariaDB 1969, MySQL 3024)."""
    return bool(error.args) and error.args[0] in (1969, 3024)


_GRANT = re.compile(r"GRANT (?P<what>.+?) ON (?P<on>.+?) TO ", re.DOTALL)
_APART = re.compile(r",\s*(?![^(]*\))")
_READS = frozenset(
    [
        "USAGE",
        "SELECT",
        "SHOW VIEW",
        "SHOW DATABASES",
        "PROCESS",
        "REFERENCES",
        "REPLICATION CLIENT",
        "BINLOG MONITOR",
        "SLAVE MONITOR",
        "SHOW_ROUTINE",
        "CREATE TEMPORARY TABLES",
        "LOCK TABLES",
    ]
)
_STRONG = frozenset(
    [
        "SUPER",
        "SYSTEM_USER",
        "SET USER",
        "SET_USER_ID",
        "GRANT OPTION",
        "ALL PRIVILEGES",
        "ALL",
        "PROXY",
        "CREATE USER",
        "SYSTEM_VARIABLES_ADMIN",
        "CONNECTION ADMIN",
        "SHUTDOWN",
        "RELOAD",
    ]
)
_STOCK = re.compile(r"`test(?:\\?_\\?%)?`\.\*")
"""The stock database ``test``, to which everyone may write."""


def beyond_reading(con: Connection) -> list[str]:
    """What the role of a connection can do that a reader cannot; empty for a reader."""
    return _rights([str(row[0]) for row in _all(con, "SHOW GRANTS")])


def _rights(grants: Sequence[str]) -> list[str]:
    """The lines of SHOW GRANTS in words."""
    strong: list[str] = []
    writes: list[str] = []
    files = False
    for grant in grants:
        head = _GRANT.match(grant)
        if head is None or _STOCK.fullmatch(head["on"]):
            continue
        everywhere = head["on"] == "*.*"
        words = [part.partition("(")[0].strip().upper() for part in _APART.split(head["what"])]
        if "WITH GRANT OPTION" in grant:
            words.append("GRANT OPTION")
        more = [word for word in words if word not in _READS]
        strong += [word for word in more if word in _STRONG and everywhere]
        files |= "FILE" in more or ("ALL PRIVILEGES" in more and everywhere)
        if any(word not in _STRONG - {"ALL PRIVILEGES"} and word != "FILE" for word in more):
            writes.append(head["on"].replace("`", ""))
        elif not everywhere and more:
            strong.append(f"{more[0]} on {head['on'].replace('`', '')}")
    found = [f"do anything: it has {some(list(dict.fromkeys(strong)))}"] if strong else []
    found += ["reach the server's files: it has FILE"] if files else []
    return [*found, *([f"write: on {some(writes)}"] if writes else [])]
