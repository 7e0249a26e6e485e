"""What one parsed DDL statement says of tables, columns and keys."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError

from stages.core.catalog.raw import RawTable
from stages.core.catalog.schemas import key
from stages.core.catalog.types import duckdb_type
from stages.core.records import Column, ForeignKey

ODD = (SqlglotError, ValueError, RecursionError, AttributeError, TypeError, KeyError, IndexError)
"""What sqlglot raises on text that it cannot read, or write again."""
Tables = dict[tuple[str, str], tuple[str, RawTable]]


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


def _find(node: exp.Expr | None, tables: Tables) -> RawTable | None:
    return find(*_place(node), tables)


def find(schema: str, name: str, tables: Tables) -> RawTable | None:
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
    raw = RawTable(name, [], checked="declared", view=kind == "VIEW")
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


def put(tables: Tables, schema: str, raw: RawTable) -> None:
    """Make a table known. The first statement of a name stands, but a view is made anew: dumps
    first write a stand-in for it."""
    place = schema.casefold(), raw.name.casefold()
    if place not in tables or (raw.view and raw.columns):
        tables[place] = schema, raw


def _part(raw: RawTable, part: exp.Expr, schema: str, dialect: str) -> None:
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


def _names(nodes: list[Any]) -> list[str]:
    return [node.name for node in nodes if node.name]


def _reference(reference: exp.Reference, columns: list[str], schema: str) -> ForeignKey:
    target = reference.this
    other, name = _place(target)
    parts = target.expressions if isinstance(target, exp.Schema) else []
    spelt = name if other in ("", schema) else key(other, name)
    return {"columns": columns, "ref_table": spelt, "ref_columns": _names(parts)}


def _column(raw: RawTable, node: exp.ColumnDef, schema: str, dialect: str) -> Column:
    kind = node.args.get("kind")
    declared = kind.sql(dialect=dialect) if isinstance(kind, exp.Expr) else ""
    column: dict[str, Any] = {"name": node.name, "type": type_of(kind, declared, dialect)}
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


def type_of(kind: Any, declared: str, dialect: str) -> str:
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


def query_columns(raw: RawTable, query: exp.Query, tables: Tables) -> None:
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


def mark(raw: RawTable) -> None:
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
