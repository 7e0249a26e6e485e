"""DDL text of any dialect as a catalog without data.

What one parsed DDL statement says of tables, columns and keys.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from stages.core.catalog.build import ScanResult, built, key, place, with_id
from stages.core.catalog.bytes.encoding import detect
from stages.core.catalog.schema_only import clauses as schema_only_clauses
from stages.core.catalog.schema_only.clauses import Clauses, ColumnPart
from stages.core.catalog.schema_only.statements import (
    LONGEST,
    DdlStatement,
    likely,
    statements,
    tokens,
)
from stages.core.catalog.schema_only.types import duckdb_type
from stages.core.catalog.source_table import ScanOptions, SourceTable
from stages.core.errors import DataError, os_words
from stages.core.jsontypes import JsonObject
from stages.core.records import Catalog, Column, ForeignKey, Skipped

if TYPE_CHECKING:
    from sqlglot import exp

ODD = (SqlglotError, ValueError, RecursionError, AttributeError, TypeError, KeyError, IndexError)
"""What sqlglot raises on text that it cannot read, or write again."""
Tables = dict[tuple[str, str], tuple[str, SourceTable]]


def note(tree: exp.Expr, dialect: str, tables: Tables) -> str:
    """Take up a statement.

    Args:
        tree: CREATE or COMMENT.
        dialect: What it was read as.
        tables: Tables known so far, by folded schema and name; changed in place.

    Returns:
        Why it could not be taken up; empty where it could, or where it says nothing of tables.
    """
    try:
        if isinstance(tree, exp.Create):
            return _create(tree, dialect, tables)
        return _comment(tree, tables)
    except ODD:
        return "cannot be parsed"


def _place(node: exp.Expr | None) -> tuple[str, str]:
    table = node if isinstance(node, exp.Table) else node.find(exp.Table) if node else None
    return (table.db, table.name) if table is not None else ("", "")


def _find(node: exp.Expr | None, tables: Tables) -> SourceTable | None:
    return find(*_place(node), tables)


def find(schema: str, name: str, tables: Tables) -> SourceTable | None:
    """The table of a name; one without a schema may lie in any, where only one does."""
    found = tables.get((schema.casefold(), name.casefold()))
    if found is None and not schema:
        named = [raw for (_, other), (_, raw) in tables.items() if other == name.casefold()]
        return named[0] if len(named) == 1 else None
    return found[1] if found else None


def _create(tree: exp.Create, dialect: str, tables: Tables) -> str:
    kind = str(tree.args.get("kind") or "").upper()
    if kind not in ("TABLE", "VIEW"):
        return ""
    schema, name = _place(tree.this)
    if not name:
        return "the table has no name"
    raw = SourceTable(name, [], checked="declared", view=kind == "VIEW")
    parts = tree.this.expressions if isinstance(tree.this, exp.Schema) else []
    for part in parts:
        _part(raw, part, schema, dialect)
    body = tree.args.get("expression")
    if isinstance(body, exp.Query):
        query_columns(raw, body, tables)
    comment = tree.find(exp.SchemaCommentProperty)
    if comment is not None:
        raw.comment = comment.this.name
    mark(raw)
    put(tables, schema, raw)
    return ""


def put(tables: Tables, schema: str, raw: SourceTable) -> None:
    """Make a table known. The first statement of a name stands, but a view is made anew: dumps
    first write a stand-in for it."""
    place = schema.casefold(), raw.name.casefold()
    if place not in tables or (raw.view and raw.columns):
        tables[place] = schema, raw


def _part(raw: SourceTable, part: exp.Expr, schema: str, dialect: str) -> None:
    """A column or a constraint of a table."""
    if isinstance(part, exp.ColumnDef):
        raw.columns.append(_column(raw, part, schema, dialect))
    elif isinstance(part, exp.Identifier):
        raw.columns.append({"name": part.name, "type": "VARCHAR"})
    elif isinstance(part, exp.Constraint):
        for inner in part.expressions:
            _part(raw, inner, schema, dialect)
    elif isinstance(part, exp.PrimaryKey | exp.PrimaryKeyColumnConstraint) and part.expressions:
        raw.primary_key = _names(part.expressions)
    elif isinstance(part, exp.ForeignKey):
        reference = part.args.get("reference")
        if isinstance(reference, exp.Reference):
            raw.foreign_keys.append(_reference(reference, _names(part.expressions), schema))
    elif isinstance(part, exp.UniqueColumnConstraint) and isinstance(part.this, exp.Schema):
        names = _names(part.this.expressions)
        if len(names) == 1:
            raw.reader.setdefault("unique", []).append(names[0])


def _names(nodes: Iterable[exp.Expr]) -> list[str]:
    return [node.name for node in nodes if node.name]


def _reference(reference: exp.Reference, columns: list[str], schema: str) -> ForeignKey:
    target = reference.this
    other, name = _place(target)
    parts = target.expressions if isinstance(target, exp.Schema) else []
    spelt = name if other in ("", schema) else key(other, name)
    return {"columns": columns, "ref_table": spelt, "ref_columns": _names(parts)}


def _column(raw: SourceTable, node: exp.ColumnDef, schema: str, dialect: str) -> Column:
    kind = node.args.get("kind")
    declared = kind.sql(dialect=dialect) if isinstance(kind, exp.Expr) else ""
    column: JsonObject = {"name": node.name, "type": type_of(kind, declared, dialect)}
    if declared:
        column["declared"] = declared
    for constraint in node.args.get("constraints") or ():
        rule = (
            constraint.args.get("kind")
            if isinstance(constraint, exp.ColumnConstraint)
            else constraint
        )
        if isinstance(rule, exp.NotNullColumnConstraint):
            column["nullable"] = bool(rule.args.get("allow_null"))
        elif isinstance(rule, exp.PrimaryKeyColumnConstraint):
            raw.primary_key = [node.name]
        elif isinstance(rule, exp.UniqueColumnConstraint):
            raw.reader.setdefault("unique", []).append(node.name)
        elif isinstance(rule, exp.CommentColumnConstraint):
            column["comment"] = rule.this.name
        elif isinstance(rule, exp.Reference):
            raw.foreign_keys.append(_reference(rule, [node.name], schema))
        elif isinstance(rule, exp.ComputedColumnConstraint):
            column["generated"] = True
        elif isinstance(rule, exp.Properties):
            column |= _options(rule)
    return column  # type: ignore[return-value]


def _options(rule: exp.Properties) -> dict[str, str]:
    """BigQuery's ``OPTIONS(description = …)``."""
    for item in rule.expressions:
        if item.name.lower() == "description" and isinstance(item.args.get("value"), exp.Literal):
            return {"comment": item.args["value"].name}
    return {}


def type_of(kind: object, declared: str, dialect: str) -> str:
    """DuckDB's name for a declared type: exact where DuckDB has it, else the nearest."""
    if not isinstance(kind, exp.DataType):
        return duckdb_type(declared, dialect)
    if kind.this in (exp.DType.ENUM, exp.DType.SET):
        return "VARCHAR"
    try:
        exact = _exact(kind.sql(dialect="duckdb"))
    except ODD:
        exact = ""
    return exact or duckdb_type(declared, dialect)


@lru_cache(maxsize=4096)
def _exact(text: str) -> str:
    """The type as DuckDB itself prints it; empty where it has no such type."""
    import duckdb

    for spelling in (text, text.partition("(")[0]):
        try:
            return str(duckdb.sqltype(spelling))
        except duckdb.Error:
            if not text.endswith(")") or text.startswith(("STRUCT", "MAP", "DECIMAL")):
                return ""
    return ""


def query_columns(raw: SourceTable, query: exp.Query, tables: Tables) -> None:
    """Columns of a view or of CREATE TABLE AS: named by the statement, typed by what they read."""
    sources = [found for node in query.find_all(exp.Table) if (found := _find(node, tables))]
    known = {column["name"].casefold(): column for raw in sources for column in raw.columns}
    given: list[Column] = []
    for item in query.selects:
        if item.is_star:
            given += [_copy(column) for source in sources for column in source.columns]
        elif item.alias_or_name:
            base = item.unalias()
            column = known.get(base.name.casefold()) if isinstance(base, exp.Column) else None
            kind = column["type"] if column else _cast_type(base)
            given.append({"name": item.alias_or_name, "type": kind})
    if not raw.columns:
        raw.columns = given
    elif len(raw.columns) == len(given):
        for column, other in zip(raw.columns, given, strict=True):
            column["type"] = other["type"]
    raw.warnings += ["types of its columns are guessed from its statement"] if raw.columns else []


def _copy(column: Column) -> Column:
    return {"name": column["name"], "type": column["type"]}


def _cast_type(node: exp.Expr) -> str:
    if isinstance(node, exp.Cast):
        return type_of(node.to, node.to.sql(), "")
    return "BIGINT" if isinstance(node, exp.Count) else "VARCHAR"


def _comment(tree: exp.Expr, tables: Tables) -> str:
    text = tree.args.get("expression")
    words = text.name if isinstance(text, exp.Expr) else ""
    if isinstance(tree.this, exp.Table):
        raw = _find(tree.this, tables)
        if raw is not None:
            raw.comment = words
    elif isinstance(tree.this, exp.Column):
        owner = exp.table_(tree.this.table, db=tree.this.args.get("db"))
        raw = _find(owner, tables)
        for column in raw.columns if raw else ():
            if column["name"].casefold() == tree.this.name.casefold():
                column["comment"] = words
    return ""


def mark(raw: SourceTable) -> None:
    """Say on each column which key it belongs to; the strongest word stands."""
    unique = set(raw.reader.pop("unique", ()))
    foreign = {name for one in raw.foreign_keys for name in one["columns"]}
    for column in raw.columns:
        name = column["name"]
        if name in raw.primary_key:
            column["key"] = "primary"
            column["nullable"] = False
        elif name in foreign:
            column["key"] = "foreign"
        elif name in unique:
            column["key"] = "unique"


# Tables out of the clauses of a statement, where a parser fails or passes something over.

_TAILS = ("WITH", "REFRESH", "COMMENT", "GO", "END")
"""Words that end the query of a view where it does not parse as a whole."""


def make(text: str, clauses: Clauses, dialects: list[str], tables: Tables) -> SourceTable | None:
    """Put the table that a statement makes among the others.

    Args:
        text: The statement.
        clauses: What was read of it.
        dialects: To read types and queries in, the likeliest first.
        tables: Tables known so far; changed in place.

    Returns:
        The table; None where nothing of it can be told but its name, in brackets that hold
        no column.
    """
    bare = not (clauses.columns or clauses.copies or clauses.parents or clauses.query)
    if bare and not clauses.whole:
        return None
    schema = _schema(clauses.path)
    raw = SourceTable(clauses.path[-1], [], checked="declared", view=clauses.view)
    _keys(raw, clauses, schema)
    raw.columns = [_column_of_clause(raw, part, schema, dialects) for part in clauses.columns]
    raw.comment = clauses.comment
    if clauses.query:
        query = _query(text[clauses.query :], dialects)
        if query is not None:
            with suppress(*ODD):
                query_columns(raw, query, tables)
    mark(raw)
    put(tables, schema, raw)
    return find(schema, raw.name, tables)


def complete(raw: SourceTable, clauses: Clauses, dialects: list[str]) -> None:
    """Give a parsed table what the parser passed over: columns, and its key."""
    known = {column["name"].casefold() for column in raw.columns}
    if len(clauses.columns) > len(raw.columns) and clauses.whole:
        schema = _schema(clauses.path)
        by_name = {column["name"].casefold(): column for column in raw.columns}
        raw.columns = [
            by_name.get(part.name.casefold()) or _column_of_clause(raw, part, schema, dialects)
            for part in clauses.columns
        ]
        known |= {part.name.casefold() for part in clauses.columns}
    if not raw.primary_key and {name.casefold() for name in clauses.primary_key} <= known:
        raw.primary_key = clauses.primary_key
    raw.comment = raw.comment or clauses.comment
    mark(raw)


def change(clauses: Clauses, dialects: list[str], tables: Tables) -> SourceTable | None:
    """Take up what ALTER TABLE adds.

    Returns:
        The table; None where it is not known.
    """
    schema = _schema(clauses.path)
    raw = find(schema, clauses.path[-1], tables)
    if raw is None:
        return None
    _keys(raw, clauses, schema)
    known = {column["name"].casefold() for column in raw.columns}
    for part in clauses.columns:
        if part.name.casefold() not in known:
            raw.columns.append(_column_of_clause(raw, part, schema, dialects))
    mark(raw)
    return raw


def inherit(pending: Iterable[tuple[SourceTable, Clauses, list[str]]], tables: Tables) -> None:
    """Columns that stand in other statements: of tables that one inherits from, is a part or a
    copy of; and those behind the brackets. Done once all tables are known."""
    waiting = {id(raw): (raw, clauses, dialects) for raw, clauses, dialects in pending}

    def settle(raw: SourceTable) -> None:
        entry = waiting.pop(id(raw), None)  # taken out first, which ends circles
        if entry is None:
            return
        _, clauses, dialects = entry
        schema = _schema(clauses.path)
        for path in (*clauses.parents, *clauses.copies):
            other = _near(path, schema, tables)
            if other is not None:
                settle(other)
        _inherited(raw, clauses, schema, tables)
        own = {column["name"].casefold() for column in raw.columns}
        raw.columns += [
            _column_of_clause(raw, part, schema, dialects)
            for part in clauses.partition_columns
            if part.name.casefold() not in own
        ]
        mark(raw)

    for raw, _, _ in list(waiting.values()):
        settle(raw)


def _inherited(raw: SourceTable, clauses: Clauses, schema: str, tables: Tables) -> None:
    before: dict[str, Column] = {}
    for path in (*clauses.copies, *clauses.parents):
        other = _near(path, schema, tables)
        if other is None or other is raw:
            continue
        for column in other.columns:
            copy = column.copy()
            copy.pop("key", None)
            before.setdefault(column["name"].casefold(), copy)
        if path in clauses.copies and not raw.primary_key:
            raw.primary_key = list(other.primary_key)
    own = {column["name"].casefold(): column for column in raw.columns}
    merged = [own.pop(name, column) for name, column in before.items()]
    raw.columns = merged + list(own.values())


def _near(path: tuple[str, ...], schema: str, tables: Tables) -> SourceTable | None:
    """The table that a name means in a statement about a table of ``schema``."""
    if not path:
        return None
    if len(path) == 1:
        own = tables.get((schema.casefold(), path[0].casefold()))
        return own[1] if own else find("", path[0], tables)
    return find(path[-2], path[-1], tables) or find("", path[-1], tables)


def _schema(path: tuple[str, ...]) -> str:
    return path[-2] if len(path) > 1 else ""


def _keys(raw: SourceTable, clauses: Clauses, schema: str) -> None:
    raw.primary_key = clauses.primary_key or raw.primary_key
    for names in clauses.unique:
        if len(names) == 1:
            raw.reader.setdefault("unique", []).append(names[0])
    for columns, target, target_columns in clauses.foreign_keys:
        if target:
            raw.foreign_keys.append(
                {
                    "columns": columns,
                    "ref_table": _spelt(target, schema),
                    "ref_columns": target_columns,
                }
            )


def _spelt(path: tuple[str, ...], schema: str) -> str:
    other = _schema(path)
    return path[-1] if other in ("", schema) else key(other, path[-1])


def _column_of_clause(
    raw: SourceTable, part: ColumnPart, schema: str, dialects: list[str]
) -> Column:
    column: JsonObject = {"name": part.name, "type": _type(part.declared, dialects)}
    if part.declared:
        column["declared"] = part.declared
    if part.nullable is not None:
        column["nullable"] = part.nullable
    if part.comment:
        column["comment"] = part.comment
    if part.generated:
        column["generated"] = True
    if part.primary:
        raw.primary_key = raw.primary_key or [part.name]
    if part.unique:
        raw.reader.setdefault("unique", []).append(part.name)
    if part.reference is not None and part.reference[0]:
        path, names = part.reference
        raw.foreign_keys.append(
            {"columns": [part.name], "ref_table": _spelt(path, schema), "ref_columns": names}
        )
    return column  # type: ignore[return-value]


def _type(declared: str, dialects: list[str]) -> str:
    """DuckDB's name for a type as it is spelt."""
    if not declared:
        return "VARCHAR"
    for dialect in dialects:
        try:
            kind = exp.DataType.build(declared, dialect=dialect)
        except ODD:
            continue
        if kind.this != exp.DType.USERDEFINED:
            return type_of(kind, declared, dialect)
    return duckdb_type(declared, dialects[0])


def _query(text: str, dialects: list[str]) -> exp.Query | None:
    """The query at the start of a text; what stands behind it is cut off, a clause at a time."""
    ends = [t.start for t in tokens(text) if t.upper in _TAILS and t.start][::-1]
    for end in (len(text), *ends[:4]):
        for dialect in dialects:
            try:
                tree = sqlglot.parse_one(text[:end], read=dialect)
            except ODD:
                continue
            if isinstance(tree, exp.Query):
                return tree
    return None


# DDL text (``.sql``) of any dialect that sqlglot knows, as a catalog without data.

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

    tables: dict[tuple[str, str], tuple[str, SourceTable]] = field(default_factory=dict)
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
        text, warning = decode(path.read_bytes(), options.encoding)
    except OSError as error:
        raise DataError(f"cannot be read: {os_words(error)}", place=str(path)) from None
    script = read(text, options.dialect)
    if not script.tables:
        reason = f": {script.skipped[0][1]}" if script.skipped else ""
        raise DataError(
            f"makes no table{reason}", place=str(path), hint="name a file with CREATE TABLE"
        )
    found = [place(schema, "ddl", raw) for schema, raw in script.tables.values()]
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
    return ScanResult(with_id(catalog, tables), tables)


def decode(data: bytes, encoding: str | None = None) -> tuple[str, str]:
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

    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    names = [_known(dialect)] if dialect else likely(text)[:TRIED]
    script = Script()
    pending: list[tuple[SourceTable, Clauses, list[str]]] = []
    for statement in statements(text, dialect):
        used = _take(statement, names, script, pending)
        if used:
            script.dialects[used] = script.dialects.get(used, 0) + 1
    inherit(pending, script.tables)
    for _, raw in script.tables.values():
        if not raw.columns:
            raw.warnings.append("the statement names no column of it")
    return script


def _take(
    statement: DdlStatement,
    dialects: list[str],
    script: Script,
    pending: list[tuple[SourceTable, Clauses, list[str]]],
) -> str:
    """Take up one statement: as a parser reads it, completed by its clauses, or by those alone.

    Returns:
        The dialect that read it; empty where it could not be read, which is then noted.
    """

    tables = script.tables
    clauses = _clauses(statement)
    if _ALTER.match(statement.text):
        raw = change(clauses, dialects, tables) if clauses else None
        if raw is not None and clauses is not None and clauses.parents:
            pending.append((raw, clauses, dialects))
        return dialects[0]
    tree, used = _parsed(statement, dialects)
    raw = None
    reason = used if tree is None else note(tree, used, tables)
    if reason and clauses is not None:
        raw = make(statement.text, clauses, dialects, tables)
        reason = reason if raw is None else ""
    elif clauses is not None:
        raw = find(*_place_of(clauses.path), tables)
        if raw is not None:
            complete(raw, clauses, dialects)
    if reason:
        script.skipped.append((statement.line, reason))
        return ""
    if raw is not None and clauses is not None and clauses.elsewhere:
        pending.append((raw, clauses, dialects))
    return dialects[0] if tree is None else used


def _clauses(statement: DdlStatement) -> Clauses | None:
    """What the statement says clause by clause; None where it is none about a table."""
    if len(statement.text) > LONGEST or _COMMENT.match(statement.text):
        return None
    if _ALTER.match(statement.text):
        return schema_only_clauses.alter(statement.text)
    return schema_only_clauses.create(statement.text)


def _place_of(path: tuple[str, ...]) -> tuple[str, str]:
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


def _parsed(statement: DdlStatement, dialects: list[str]) -> tuple[exp.Expr | None, str]:
    """The statement's tree and the dialect that read it; or None and why no dialect could."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import ErrorLevel

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
