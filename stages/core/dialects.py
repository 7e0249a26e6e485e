"""The kinds of SQL that winnow writes, and of the servers that speak them: each one once.

A server is an entry here, an inventory in `core.catalog.servers` and an engine in
`core.sandbox.servers`, both in modules named as its kind, which are found by that name.
Servers whose SQL is that of another (`sql`) share its functions and its gate.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

WRITTEN_IN = ("duckdb", "mysql", "sqlite", "snowflake", "bigquery", "postgres")
"""What a statement may be written in, as sqlglot calls it: `core.sandbox.forms` translates it."""
_STANDARD = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")
_STANDARD_LOOSE = re.compile(r"--|/\*|\*/|\$\w*\$|[;\\'\"`\0]")


@dataclass(frozen=True)
class Dialect:
    """A kind of SQL, and of server where one is asked in place.

    Args:
        kind: Its name in ``source.kind`` and of its modules.
        sql: What sqlglot calls its SQL.
        quoted: Strings and quoted names of that SQL.
        loose: What nothing that was checked has outside quotes: comments, ends of statements,
            open quotes.
        schemes: Schemes of URLs that mean such a server; the first is shown in help.
        driver: SQLAlchemy's name of the driver.
        port: Where the server listens; 0 is the port that the driver takes by itself.
        password: Environment variable that the server's own tools read a password from.
        password_read: Whether the driver does not read it, so that winnow does.
        password_bytes: Whether the driver takes a password as bytes, where it would encode
            text as Latin-1.
        options: Options of every connection.
        nulls_first: Whether ORDER BY puts nulls first by itself.
        orders_rollup: Whether ORDER BY may stand beside ROLLUP.
        folds_case: Whether a name is looked for in lower case unless it is quoted.
        zoned: Whether times may have zones.
        regexp_like: Whether there is a function ``REGEXP_LIKE``.
        traps: Whether texts can name objects and the clock, as PostgreSQL's do.
    """

    kind: str
    sql: str
    quoted: re.Pattern[str] = _STANDARD
    loose: re.Pattern[str] = _STANDARD_LOOSE
    schemes: tuple[str, ...] = ()
    driver: str = ""
    port: int = 0
    password: str = ""
    password_read: bool = False
    password_bytes: bool = False
    options: dict[str, object] = field(default_factory=dict, hash=False)
    nulls_first: bool = False
    orders_rollup: bool = True
    folds_case: bool = False
    zoned: bool = True
    regexp_like: bool = True
    traps: bool = False


TABLE = (
    Dialect("duckdb", "duckdb"),
    Dialect(
        "postgresql",
        "postgres",
        schemes=("postgresql", "postgres"),
        driver="postgresql+psycopg",
        password="PGPASSWORD",
        folds_case=True,
        traps=True,
    ),
    Dialect(
        "mysql",
        "mysql",
        quoted=re.compile(
            r"'(?:[^'\\]|''|\\.)*'|\"(?:[^\"\\]|\"\"|\\.)*\"|`(?:[^`]|``)*`", re.DOTALL
        ),
        loose=re.compile(r"--|/\*|\*/|[;#@\\'\"`\0]"),
        schemes=("mysql", "mariadb"),
        driver="mysql+pymysql",
        password="MYSQL_PWD",
        password_read=True,
        password_bytes=True,
        options={"charset": "utf8mb4", "autocommit": True, "local_infile": False},
        nulls_first=True,
        orders_rollup=False,
        zoned=False,
        regexp_like=False,  # nor MySQL before 8; all of them have the operator
    ),
)
"""Every dialect that is written; files are read by DuckDB's, the others are those of servers."""

SERVERS = tuple(dialect for dialect in TABLE if dialect.schemes)
BY_KIND = {dialect.kind: dialect for dialect in TABLE}
BY_SCHEME = {scheme: dialect for dialect in SERVERS for scheme in dialect.schemes}
BY_SQL = {dialect.sql: dialect for dialect in reversed(TABLE)}
"""The first dialect of each SQL."""
