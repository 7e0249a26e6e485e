"""What a role can do on a server beyond reading, each with what it can do it on.

A queried role should have SELECT and nothing else: then the server itself holds what the gate
holds. Stock grants to everyone (temporary tables, ``public`` of older PostgreSQL, ``test`` of
MySQL) do not count.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import closing

from stages.core.catalog.servers.address import Connection

NAMED = 3
"""Places that are named, of all that a role can write to."""
_POSTGRES = """
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


def beyond_reading(con: Connection, kind: str) -> list[str]:
    """What the role of a connection can do that a reader cannot; empty for a reader.

    Args:
        con: An open connection; autocommitting.
        kind: ``postgresql`` or ``mysql``.

    Raises:
        Exception: The driver's own; the server does not tell.
    """
    if kind == "postgresql":
        row = con.execute(_POSTGRES.encode()).fetchone()
        return _postgres(*json.loads(row[0])) if row else []
    with closing(con.cursor()) as cursor:
        cursor.execute("SHOW GRANTS")
        return _mysql([_text(row[0]) for row in cursor.fetchall()])


def _postgres(
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
    """The row of `_POSTGRES` in words."""
    if superuser:
        return ["do anything: it is a superuser"]
    found = [f"become {_some(above)}"] if above else []
    named = [*member, *files]
    if named:
        found.append(f"reach the server's files or processes: {_some(named)}")
    flags = {"CREATEROLE": roles, "CREATEDB": databases, "REPLICATION": replication}
    flags["BYPASSRLS"] = bypass
    if any(flags.values()):
        found.append(
            f"do more than read: it has {_some([name for name, on in flags.items() if on])}"
        )
    places = [*tables, *schemas, *([f"database {database}"] if creates else [])]
    return [*found, *([f"write: on {_some(places)}"] if places else [])]


def _mysql(grants: Sequence[str]) -> list[str]:
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
    found = [f"do anything: it has {_some(list(dict.fromkeys(strong)))}"] if strong else []
    found += ["reach the server's files: it has FILE"] if files else []
    return [*found, *([f"write: on {_some(writes)}"] if writes else [])]


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
