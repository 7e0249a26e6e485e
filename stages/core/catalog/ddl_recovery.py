"""Tables out of the clauses of a statement, where a parser fails or passes something over."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import sqlglot
from sqlglot import exp

from stages.core.catalog.ddl_clauses import Clauses
from stages.core.catalog.ddl_columns import ColumnPart
from stages.core.catalog.ddl_tables import ODD, Tables, find, mark, put, query_columns, type_of
from stages.core.catalog.ddl_tokens import tokens
from stages.core.catalog.raw import RawTable
from stages.core.catalog.schemas import key
from stages.core.catalog.types import duckdb_type
from stages.core.records import Column

_TAILS = ("WITH", "REFRESH", "COMMENT", "GO", "END")
"""Words that end the query of a view where it does not parse as a whole."""


def make(text: str, clauses: Clauses, dialects: list[str], tables: Tables) -> RawTable | None:
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
    raw = RawTable(clauses.path[-1], [], checked="declared", view=clauses.view)
    _keys(raw, clauses, schema)
    raw.columns = [_column(raw, part, schema, dialects) for part in clauses.columns]
    raw.comment = clauses.comment
    if clauses.query:
        query = _query(text[clauses.query :], dialects)
        if query is not None:
            with suppress(*ODD):
                query_columns(raw, query, tables)
    mark(raw)
    put(tables, schema, raw)
    return find(schema, raw.name, tables)


def complete(raw: RawTable, clauses: Clauses, dialects: list[str]) -> None:
    """Give a parsed table what the parser passed over: columns, and its key."""
    known = {column["name"].casefold() for column in raw.columns}
    if len(clauses.columns) > len(raw.columns) and clauses.whole:
        schema = _schema(clauses.path)
        by_name = {column["name"].casefold(): column for column in raw.columns}
        raw.columns = [
            by_name.get(part.name.casefold()) or _column(raw, part, schema, dialects)
            for part in clauses.columns
        ]
        known |= {part.name.casefold() for part in clauses.columns}
    if not raw.primary_key and {name.casefold() for name in clauses.primary_key} <= known:
        raw.primary_key = clauses.primary_key
    raw.comment = raw.comment or clauses.comment
    mark(raw)


def change(clauses: Clauses, dialects: list[str], tables: Tables) -> RawTable | None:
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
            raw.columns.append(_column(raw, part, schema, dialects))
    mark(raw)
    return raw


def inherit(pending: Iterable[tuple[RawTable, Clauses, list[str]]], tables: Tables) -> None:
    """Columns that stand in other statements: of tables that one inherits from, is a part or a
    copy of; and those behind the brackets. Done once all tables are known."""
    waiting = {id(raw): (raw, clauses, dialects) for raw, clauses, dialects in pending}

    def settle(raw: RawTable) -> None:
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
            _column(raw, part, schema, dialects)
            for part in clauses.partition_columns
            if part.name.casefold() not in own
        ]
        mark(raw)

    for raw, _, _ in list(waiting.values()):
        settle(raw)


def _inherited(raw: RawTable, clauses: Clauses, schema: str, tables: Tables) -> None:
    before: dict[str, Column] = {}
    for path in (*clauses.copies, *clauses.parents):
        other = _near(path, schema, tables)
        if other is None or other is raw:
            continue
        for column in other.columns:
            copy: Any = {name: value for name, value in column.items() if name != "key"}
            before.setdefault(column["name"].casefold(), copy)
        if path in clauses.copies and not raw.primary_key:
            raw.primary_key = list(other.primary_key)
    own = {column["name"].casefold(): column for column in raw.columns}
    merged = [own.pop(name, column) for name, column in before.items()]
    raw.columns = merged + list(own.values())


def _near(path: tuple[str, ...], schema: str, tables: Tables) -> RawTable | None:
    """The table that a name means in a statement about a table of ``schema``."""
    if not path:
        return None
    if len(path) == 1:
        own = tables.get((schema.casefold(), path[0].casefold()))
        return own[1] if own else find("", path[0], tables)
    return find(path[-2], path[-1], tables) or find("", path[-1], tables)


def _schema(path: tuple[str, ...]) -> str:
    return path[-2] if len(path) > 1 else ""


def _keys(raw: RawTable, clauses: Clauses, schema: str) -> None:
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


def _column(raw: RawTable, part: ColumnPart, schema: str, dialects: list[str]) -> Column:
    column: dict[str, Any] = {"name": part.name, "type": _type(part.declared, dialects)}
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
