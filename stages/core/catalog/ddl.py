"""DDL text (``.sql``) of any dialect that sqlglot knows, as a catalog without data.

Read are CREATE TABLE, CREATE VIEW, ALTER TABLE … ADD and COMMENT ON; all else is passed
over, such as the INSERTs of a dump. A statement that cannot be parsed is listed as skipped,
with its line.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from stages.core.catalog.build import ScanResult, stamped
from stages.core.catalog.ddl_text import LONGEST, Statement, likely, statements
from stages.core.catalog.documents import decode
from stages.core.catalog.raw import RawTable, ScanOptions
from stages.core.catalog.schemas import built, placed
from stages.core.errors import DataError
from stages.core.records import Catalog, Skipped

if TYPE_CHECKING:
    from sqlglot import exp

SUFFIXES = (".sql", ".ddl")
TRIED = 4
"""Dialects that one statement is tried in."""
LARGEST = 256 << 20
"""Bytes of a file that is read; a larger dump is asked for without its rows."""


@dataclass
class Script:
    """What the statements said so far.

    Attributes:
        tables: By folded schema and name, in the order they were made.
        skipped: Line of each statement that could not be read, and why.
        dialects: How many statements each dialect read.
    """

    tables: dict[tuple[str, str], tuple[str, RawTable]] = field(default_factory=dict)
    skipped: list[tuple[int, str]] = field(default_factory=list)
    dialects: dict[str, int] = field(default_factory=dict)


def catalog_of(path: Path, options: ScanOptions) -> ScanResult:
    """The catalog of one DDL file.

    Args:
        path: The file.
        options: ``dialect`` is what it is written in; None where that is to be found out.

    Raises:
        DataError: It cannot be read, or makes no table.
    """
    try:
        if path.stat().st_size > LARGEST:
            raise DataError(
                f"more than {LARGEST >> 20} MB of SQL", place=str(path), hint="dump the schema only"
            )
        text = decode(path.read_bytes())
    except OSError as error:
        raise DataError(
            f"cannot be read: {(error.strerror or '').lower()}", place=str(path)
        ) from None
    script = read(text, options.dialect)
    if not script.tables:
        reason = f": {script.skipped[0][1]}" if script.skipped else ""
        raise DataError(
            f"makes no table{reason}", place=str(path), hint="name a file with CREATE TABLE"
        )
    found = [placed(schema, "ddl", raw) for schema, raw in script.tables.values()]
    tables = built(found, options)
    catalog: Catalog = {"kind": "catalog", "v": 1, "id": "", "name": path.name.split(".", 1)[0]}
    catalog["dialect"] = options.dialect or max(
        script.dialects, key=lambda name: script.dialects[name]
    )
    skipped: list[Skipped] = [
        {"path": f"{path.name}:{line}", "reason": reason} for line, reason in script.skipped
    ]
    if skipped:
        catalog["skipped"] = skipped
    return ScanResult(stamped(catalog, tables), tables)


def read(text: str, dialect: str | None = None) -> Script:
    """What DDL text says of tables.

    Args:
        text: Statements, one after the other.
        dialect: Name of a sqlglot dialect; None tries the likeliest ones, statement by statement.

    Raises:
        DataError: sqlglot knows no such dialect.
    """
    from stages.core.catalog.ddl_tables import note

    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    names = [_known(dialect)] if dialect else likely(text)[:TRIED]
    script = Script()
    for statement in statements(text):
        tree, used = _parsed(statement, names)
        if tree is None:
            script.skipped.append((statement.line, used))
            continue
        reason = note(tree, used, script.tables)
        if reason:
            script.skipped.append((statement.line, reason))
        else:
            script.dialects[used] = script.dialects.get(used, 0) + 1
    return script


def _known(dialect: str) -> str:
    from sqlglot.dialects.dialect import Dialect

    try:
        Dialect.get_or_raise(dialect)
    except ValueError:
        raise DataError(
            f"no SQL dialect is called {dialect}", hint="mysql, postgres, sqlite, snowflake, …"
        ) from None
    return dialect


def _parsed(statement: Statement, dialects: list[str]) -> tuple[exp.Expr | None, str]:
    """The statement's tree and the dialect that read it; or None and why no dialect could."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import ErrorLevel, SqlglotError

    if len(statement.text) > LONGEST:
        return None, f"a statement of more than {LONGEST >> 20} million characters"
    reason = "not a statement about tables"
    for name in dialects:
        try:
            trees = sqlglot.parse(statement.text, read=name, error_level=ErrorLevel.IMMEDIATE)
        except (SqlglotError, ValueError, RecursionError, AttributeError, TypeError) as error:
            where = getattr(error, "errors", None) or [{}]
            column = where[0].get("line"), where[0].get("col")
            reason = "cannot be parsed"
            if column[0]:
                reason += f": line {column[0]} of the statement, column {column[1]}"
            continue
        tree = trees[0] if len(trees) == 1 else None
        if isinstance(tree, exp.Create | exp.Alter | exp.Comment):
            return tree, name
        reason = "cannot be parsed"
    return None, reason
