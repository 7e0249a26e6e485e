"""PostgreSQL: its own tables in five statements, whatever their number."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from stages.core.catalog.duck.sql import quote
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
    import psycopg

    Connection = psycopg.Connection[Record]

BLOB_BYTES = 80
SESSION = """
SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY;
SET search_path = pg_catalog; SET client_encoding = 'UTF8'; SET standard_conforming_strings = on;
SET DateStyle = 'ISO, YMD'; SET IntervalStyle = 'postgres'; SET TimeZone = 'UTC';
SET extra_float_digits = 1; SET bytea_output = 'hex'; SET xmloption = 'content'
"""
"""Read-only, and texts that do not depend on the server's settings. Only functions and operators
of ``pg_catalog`` are found without a schema, so that no table owner can put one in their place."""
_TAKEN = """c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^pg_'
  AND n.nspname <> 'information_schema'"""
_TABLES = f"""
SELECT c.oid, n.nspname, c.relname, c.relkind, c.reltuples, c.relispartition, d.description,
  has_schema_privilege(n.oid, 'USAGE')
    AND (has_table_privilege(c.oid, 'SELECT') OR has_any_column_privilege(c.oid, 'SELECT'))
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass
WHERE {_TAKEN} ORDER BY n.nspname, c.relname
"""  # noqa: E501
_COLUMNS = f"""
SELECT a.attrelid, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod),
  CASE WHEN t.typtype = 'd' THEN format_type(t.typbasetype, t.typtypmod)
       WHEN t.typtype = 'e' THEN 'enum' WHEN e.typtype = 'e' THEN 'enum[]' END,
  a.attnotnull OR t.typnotnull, a.attgenerated <> '', d.description,
  CASE WHEN has_table_privilege(c.oid, 'SELECT') THEN true
       ELSE has_column_privilege(c.oid, a.attnum, 'SELECT') END
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typcategory = 'A'
LEFT JOIN pg_description d
  ON d.objoid = a.attrelid AND d.objsubid = a.attnum AND d.classoid = 'pg_class'::regclass
WHERE {_TAKEN} AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attrelid, a.attnum
"""  # noqa: E501
_VIEWS = f"""
SELECT c.oid, pg_get_viewdef(c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('v', 'm') AND {_TAKEN}
"""
_KEYS = """
SELECT k.conrelid, k.contype, k.conkey, k.confrelid, k.confkey FROM pg_constraint k
WHERE k.contype IN ('p', 'u', 'f') AND k.conrelid <> 0 ORDER BY k.conrelid, k.conname
"""
_TYPES = {
    "bigint": "BIGINT",
    "integer": "INTEGER",
    "smallint": "SMALLINT",
    "double precision": "DOUBLE",
    "real": "FLOAT",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "bytea": "BLOB",
    "uuid": "UUID",
    "interval": "INTERVAL",
    "json": "JSON",
    "jsonb": "JSON",
    "numeric": "DOUBLE",
    "oid": "UINTEGER",
    "timestamp without time zone": "TIMESTAMP",
    "timestamp with time zone": "TIMESTAMP WITH TIME ZONE",
    "time without time zone": "TIME",
    "time with time zone": "TIME WITH TIME ZONE",
}
_NUMERIC = re.compile(r"numeric\((\d+),(-?\d+)\)")
_DECIMAL_DIGITS = 38


def duckdb_type(declared: str) -> str:
    """DuckDB's name for a type as ``format_type`` spells it; VARCHAR where it has none.

    >>> duckdb_type("numeric(10,2)"), duckdb_type("integer[]"), duckdb_type("character varying(5)")
    ('DECIMAL(10,2)', 'INTEGER[]', 'VARCHAR')
    """
    if declared.endswith("[]"):
        return f"{duckdb_type(declared[:-2])}[]"
    found = _NUMERIC.fullmatch(declared)
    if found:
        digits, scale = int(found[1]), int(found[2])
        fits = digits <= _DECIMAL_DIGITS and 0 <= scale <= digits
        return f"DECIMAL({digits},{scale})" if fits else "DOUBLE"
    return _TYPES.get(re.sub(r"\(\d+\)", "", declared), "VARCHAR")


def inventory(con: Connection, which: ServerOptions, options: ScanOptions) -> Inventory:
    """Tables, columns, keys and what the role may do."""
    con.autocommit = True
    con.execute(SESSION.encode())
    (name,) = con.execute(b"SELECT current_database()").fetchone() or ("",)
    found = Inventory(name)
    tables: dict[int, ServerTable] = {}
    for oid, schema, table, kind, estimate, part, comment, readable in con.execute(_TABLES):
        seen = _taken(found, which, (schema, table, kind, part, readable))
        if seen is not None:
            seen.raw.comment = comment or ""
            if kind != "v" and estimate >= 0:
                seen.raw.rows = {"count": int(estimate), "how": "estimate"}
            tables[oid] = seen
    names = _columns(con, tables, options.cell)
    _keys(con, tables, names)
    for oid, query in con.execute(_VIEWS):
        if oid in tables:
            tables[oid].raw.query, tables[oid].raw.query_dialect = query or "", "postgres"
    found.tables = [seen for seen in tables.values() if _usable(found, seen)]
    found.warnings += [WRITES.format(what=what) for what in beyond_reading(con)]
    return found


def _taken(found: Inventory, which: ServerOptions, row: Record) -> ServerTable | None:
    """The table, or None where it is left out, which is then listed with the reason."""
    schema, table, kind, part, readable = row
    path = f"{schema}.{table}"
    if not which.takes_schema(schema):
        return None
    if part:
        found.skip(path, "a partition of another table")
    elif not which.takes(schema, table):
        found.skip(path, LEFT_OUT)
    elif not readable:
        found.skip(path, FORBIDDEN)
    else:
        return ServerTable(
            schema, SourceTable(table, [], checked="declared", view=kind in ("v", "m"))
        )
    return None


def _columns(
    con: Connection, tables: dict[int, ServerTable], cell: int
) -> dict[int, dict[int, str]]:
    """Give the tables their columns, row by row as they come in; names by table and number."""
    names: dict[int, dict[int, str]] = {}
    unseen: dict[int, list[str]] = {}
    with con.cursor() as cursor:
        for oid, number, name, declared, base, required, made, comment, readable in cursor.stream(
            _COLUMNS
        ):
            names.setdefault(oid, {})[number] = name
            seen = tables.get(oid)
            if seen is None:
                continue
            if not readable:
                unseen.setdefault(oid, []).append(name)
                continue
            column: Column = {
                "name": name,
                "type": duckdb_type(base or declared),
                "declared": declared,
            }
            column["nullable"] = None if seen.raw.view else not required
            if comment:
                column["comment"] = comment
            if made:
                column["generated"] = True
            seen.raw.columns.append(column)
            seen.texts.append(_text(name, column["type"], cell))
    for oid, columns in unseen.items():
        told = ", ".join(columns[:10]) + (", …" if len(columns) > 10 else "")
        tables[oid].raw.warnings.append(f"the role may not read the columns {told}")
    return names


def _text(name: str, kind: str, cell: int) -> str:
    """Expression for a cell as text, cut by the server."""
    if kind == "BLOB":
        return f"encode(substring({quote(name)} FROM 1 FOR {BLOB_BYTES}), 'hex')"
    text = f"{quote(name)}::text"
    return (
        f"CASE WHEN length({text}) > {cell} "
        f"THEN left({text}, {cell}) || '…(+' || (length({text}) - {cell}) || ')' ELSE {text} END"
    )


def _keys(
    con: Connection, tables: dict[int, ServerTable], names: dict[int, dict[int, str]]
) -> None:
    by_oid = dict(tables)
    for oid, kind, columns, other, others in con.execute(_KEYS):
        seen = tables.get(oid)
        if seen is None or not columns:
            continue
        words = [names[oid][number] for number in columns]
        if kind == "p":
            seen.raw.primary_key = words
            _mark(seen, words, "primary")
        elif kind == "u" and len(words) == 1:
            _mark(seen, words, "unique")
        elif kind == "f" and other in by_oid:
            target = by_oid[other]
            near = target.schema == seen.schema
            seen.raw.foreign_keys.append(
                {
                    "columns": words,
                    "ref_table": target.raw.name if near else f"{target.schema}.{target.raw.name}",
                    "ref_columns": [names[other][number] for number in others or ()],
                }
            )
            _mark(seen, words, "foreign")


def _mark(seen: ServerTable, words: list[str], kind: str) -> None:
    rank = {"primary": 3, "foreign": 2, "unique": 1}
    for column in seen.raw.columns:
        if column["name"] in words and rank[kind] > rank.get(column.get("key", ""), 0):
            column["key"] = kind  # type: ignore[typeddict-item]


def _usable(found: Inventory, seen: ServerTable) -> bool:
    if not seen.raw.columns and seen.raw.warnings:
        found.skip(f"{seen.schema}.{seen.raw.name}", FORBIDDEN)
        return False
    return True


def rows(con: Connection, seen: ServerTable, limit: int) -> list[Row]:
    """The first rows as text, as DuckDB shows values of these types."""
    con.execute(f"SET statement_timeout = {int(SAMPLE_SECONDS * 1000)}".encode())
    place = f"{quote(seen.schema)}.{quote(seen.raw.name)}"
    if not seen.texts:
        return []
    sql = f"SELECT {', '.join(seen.texts)} FROM {place} LIMIT {limit}"
    kinds = [column["type"] for column in seen.raw.columns]
    return list(_shown(con.execute(sql.encode()), kinds))


def _shown(found: Iterable[Record], kinds: list[str]) -> Iterator[Row]:
    for row in found:
        yield tuple(
            cell if cell is None else _cell(cell, kind)
            for cell, kind in zip(row, kinds, strict=True)
        )


def _cell(text: str, kind: str) -> str:
    if kind == "BLOB":
        return blob_text(bytes.fromhex(text))
    if kind in ("DOUBLE", "FLOAT"):
        return repr(float(text))
    return text


def count(con: Connection, seen: ServerTable) -> int:
    """All rows of a table, without a time limit."""
    con.execute(b"SET statement_timeout = 0")
    place = f"{quote(seen.schema)}.{quote(seen.raw.name)}"
    found = con.execute(f"SELECT count(*) FROM {place}".encode()).fetchone()
    return int(found[0]) if found else 0


def too_late(error: Exception) -> bool:
    """Whether the statement was stopped by its time limit."""
    return getattr(error, "sqlstate", "") == "57014"


_RIGHTS = """
SELECT json_build_array(r.rolsuper, r.rolcreaterole, r.rolcreatedb, r.rolreplication, r.rolbypassrls,
  ARRAY(SELECT p.rolname::text FROM pg_roles p WHERE pg_has_role(p.oid, 'MEMBER') AND p.rolname IN
    ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program',
     'pg_write_all_data', 'pg_maintain', 'pg_create_subscription', 'pg_signal_backend')),
  ARRAY(SELECT p.rolname::text FROM pg_roles p WHERE pg_has_role(p.oid, 'MEMBER')
    AND (p.rolsuper OR p.rolcreaterole) AND p.rolname <> r.rolname),
  ARRAY(SELECT p.proname::text FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace
    AND p.proname IN ('pg_read_file', 'pg_read_binary_file', 'pg_ls_dir', 'pg_stat_file', 'lo_import',
      'lo_export') AND has_function_privilege(p.oid, 'EXECUTE')),
  ARRAY(SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
    AND (has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
      OR has_any_column_privilege(c.oid, 'INSERT, UPDATE')) ORDER BY 1),
  ARRAY(SELECT 'schema ' || n.nspname FROM pg_namespace n WHERE n.nspname !~ '^pg_'
    AND n.nspname <> 'information_schema' AND has_schema_privilege(n.oid, 'CREATE')
    AND NOT (n.nspname = 'public' AND EXISTS (SELECT FROM aclexplode(n.nspacl) a
      WHERE a.grantee = 0 AND a.privilege_type = 'CREATE')) ORDER BY 1),
  has_database_privilege(current_database(), 'CREATE'), current_database())::text
FROM pg_roles r WHERE r.rolname = current_user
"""  # noqa: E501
"""What the role can do; stock grants to everyone, ``public`` of older servers, do not count."""


def beyond_reading(con: Connection) -> list[str]:
    """What the role of a connection can do that a reader cannot; empty for a reader."""
    row = con.execute(_RIGHTS.encode()).fetchone()
    return _rights(*json.loads(row[0])) if row else []


def _rights(
    superuser: bool,
    roles: bool,
    databases: bool,
    replication: bool,
    bypass: bool,
    member: Sequence[str],
    above: Sequence[str],
    files: Sequence[str],
    tables: Sequence[str],
    schemas: Sequence[str],
    creates: bool,
    database: str,
) -> list[str]:
    """The row of `_RIGHTS` in words."""
    if superuser:
        return ["do anything: it is a superuser"]
    found = [f"become {some(above)}"] if above else []
    named = [*member, *files]
    if named:
        found.append(f"reach the server's files or processes: {some(named)}")
    flags = {"CREATEROLE": roles, "CREATEDB": databases, "REPLICATION": replication}
    flags["BYPASSRLS"] = bypass
    if any(flags.values()):
        found.append(
            f"do more than read: it has {some([name for name, on in flags.items() if on])}"
        )
    places = [*tables, *schemas, *([f"database {database}"] if creates else [])]
    return [*found, *([f"write: on {some(places)}"] if places else [])]
