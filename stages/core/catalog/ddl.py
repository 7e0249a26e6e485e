"""DDL text (``.sql``) of any dialect that sqlglot knows, as a catalog without data.

Read are CREATE TABLE, CREATE VIEW, ALTER TABLE … ADD and COMMENT ON; all else is passed
over, such as the INSERTs of a dump. A statement that cannot be parsed is listed as skipped,
with its line.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from stages.core.catalog import ddl_clauses
from stages.core.catalog.build import ScanResult, stamped
from stages.core.catalog.ddl_clauses import Clauses
from stages.core.catalog.ddl_text import LONGEST, Statement, likely, statements
from stages.core.catalog.encoding import detect
from stages.core.catalog.raw import RawTable, ScanOptions
from stages.core.catalog.schemas import built, placed
from stages.core.errors import DataError, os_words
from stages.core.records import Catalog, Skipped

if TYPE_CHECKING:
    from sqlglot import exp

SUFFIXES = (".sql", ".ddl")
_ALTER = re.compile(r"ALTER\b", re.IGNORECASE)
_COMMENT = re.compile(r"COMMENT\b", re.IGNORECASE)
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
        text, warning = decoded(path.read_bytes(), options.encoding)
    except OSError as error:
        raise DataError(f"cannot be read: {os_words(error)}", place=str(path)) from None
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
    if warning:
        catalog["warnings"] = [warning]
    skipped: list[Skipped] = [
        {"path": f"{path.name}:{line}", "reason": reason} for line, reason in script.skipped
    ]
    if skipped:
        catalog["skipped"] = skipped
    return ScanResult(stamped(catalog, tables), tables)


def decoded(data: bytes, encoding: str | None = None) -> tuple[str, str]:
    """The text of a dump, and a warning where its encoding is a guess.

    Only the statements about tables tell the encoding: the rows of a dump hold the bytes of
    BLOBs, which are text in none.

    Args:
        data: The whole file.
        encoding: The user's own word.
    """
    found = detect([data], whole=True, override=encoding)
    if encoding or found.plain or found.mark or found.unit > 1:
        return found.decode(data, first=True, last=True), found.warning
    rough = data.decode("utf-8", "surrogateescape")
    told = "\n".join(statement.text for statement in statements(rough))
    found = detect([told.encode("utf-8", "surrogateescape") or data], whole=True)
    return data.decode(found.name, "replace"), found.warning


def read(text: str, dialect: str | None = None) -> Script:
    """What DDL text says of tables.

    Args:
        text: Statements, one after the other.
        dialect: Name of a sqlglot dialect; None tries the likeliest ones, statement by statement.

    Raises:
        DataError: sqlglot knows no such dialect.
    """
    from stages.core.catalog import ddl_recovery

    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    names = [_known(dialect)] if dialect else likely(text)[:TRIED]
    script = Script()
    pending: list[tuple[RawTable, Clauses, list[str]]] = []
    for statement in statements(text, dialect):
        used = _take(statement, names, script, pending)
        if used:
            script.dialects[used] = script.dialects.get(used, 0) + 1
    ddl_recovery.inherit(pending, script.tables)
    for _, raw in script.tables.values():
        if not raw.columns:
            raw.warnings.append("the statement names no column of it")
    return script


def _take(
    statement: Statement,
    dialects: list[str],
    script: Script,
    pending: list[tuple[RawTable, Clauses, list[str]]],
) -> str:
    """Take up one statement: as a parser reads it, completed by its clauses, or by those alone.

    Returns:
        The dialect that read it; empty where it could not be read, which is then noted.
    """
    from stages.core.catalog import ddl_recovery
    from stages.core.catalog.ddl_tables import find, note

    tables = script.tables
    clauses = _clauses(statement)
    if _ALTER.match(statement.text):
        raw = ddl_recovery.change(clauses, dialects, tables) if clauses else None
        if raw is not None and clauses is not None and clauses.parents:
            pending.append((raw, clauses, dialects))
        return dialects[0]
    tree, used = _parsed(statement, dialects)
    raw = None
    reason = used if tree is None else note(tree, used, tables)
    if reason and clauses is not None:
        raw = ddl_recovery.make(statement.text, clauses, dialects, tables)
        reason = reason if raw is None else ""
    elif clauses is not None:
        raw = find(*_place(clauses.path), tables)
        if raw is not None:
            ddl_recovery.complete(raw, clauses, dialects)
    if reason:
        script.skipped.append((statement.line, reason))
        return ""
    if raw is not None and clauses is not None and clauses.elsewhere:
        pending.append((raw, clauses, dialects))
    return dialects[0] if tree is None else used


def _clauses(statement: Statement) -> Clauses | None:
    """What the statement says clause by clause; None where it is none about a table."""
    if len(statement.text) > LONGEST or _COMMENT.match(statement.text):
        return None
    if _ALTER.match(statement.text):
        return ddl_clauses.alter(statement.text)
    return ddl_clauses.create(statement.text)


def _place(path: tuple[str, ...]) -> tuple[str, str]:
    return (path[-2] if len(path) > 1 else "", path[-1])


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
    from sqlglot.errors import ErrorLevel

    from stages.core.catalog.ddl_tables import ODD

    if len(statement.text) > LONGEST:
        return None, f"a statement of more than {LONGEST >> 20} million characters"
    reason = "not a statement about tables"
    for name in dialects:
        try:
            trees = sqlglot.parse(statement.text, read=name, error_level=ErrorLevel.IMMEDIATE)
        except ODD as error:
            where = getattr(error, "errors", None) or [{}]
            column = where[0].get("line"), where[0].get("col")
            reason = "cannot be parsed"
            if column[0]:
                reason += f": line {column[0]} of the statement, column {column[1]}"
            continue
        tree = trees[0] if len(trees) == 1 else None
        if isinstance(tree, exp.Create | exp.Comment):
            return tree, name
        reason = "cannot be parsed"
    return None, reason
