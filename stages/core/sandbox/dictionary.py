"""Questions about the schema, answered from the catalog: SHOW, DESCRIBE, SUMMARIZE.

The engine's own answers would show its settings and files; the catalog knows better anyway.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from stages.core.errors import SqlRefused
from stages.core.records import Column, Table
from stages.core.sandbox import grammar
from stages.core.sandbox.limits import Answer
from stages.core.sandbox.names import Names

SHOWN_EXAMPLES = 3


def tables(names: Names) -> Answer:
    """All tables: name, rows where they are known, columns, and where each comes from."""
    rows = tuple(
        (
            table["name"],
            table.get("rows", {"count": None})["count"],
            len(table["columns"]),
            table["describe_key"],
        )
        for table in names.tables
    )
    types = ("VARCHAR", "BIGINT", "BIGINT", "VARCHAR")
    return Answer(("table", "rows", "columns", "source"), types, rows)


def columns(table: Table) -> Answer:
    """The columns of one table: name, type, whether nulls were seen, key, examples, meaning."""
    rows = tuple(
        (
            column["name"],
            column["type"],
            _nullable(column),
            _key(table, column),
            ", ".join(column.get("examples", [])[:SHOWN_EXAMPLES]),
            _meaning(column),
        )
        for column in table["columns"]
    )
    head = ("column", "type", "null", "key", "examples", "description")
    return Answer(head, ("VARCHAR",) * len(head), rows)


def _meaning(column: Column) -> str:
    said = column.get("description") or column.get("comment") or ""
    return f"(values hidden) {said}".rstrip() if column.get("hidden") else said


def _nullable(column: Column) -> str | None:
    nullable = column.get("nullable")
    return None if nullable is None else ("yes" if nullable else "no")


def _key(table: Table, column: Column) -> str:
    name = column["name"]
    foreign = [
        f"-> {key['ref_table']}({', '.join(key['ref_columns'])})"
        for key in table.get("foreign_keys", [])
        if name in key["columns"]
    ]
    primary = ["primary"] if name in table.get("primary_key", []) else []
    return ", ".join([*primary, *foreign]) or column.get("key", "")


def asked(tree: exp.Expr, names: Names) -> tuple[str, Table | exp.Expr | None]:
    """What a statement about the schema is about.

    Returns:
        ``"tables"`` and None; ``"columns"`` or ``"summary"`` with a table, or with a query to
        be checked; ``""`` and None where the statement is none of these.

    Raises:
        SqlRefused: SHOW of anything but tables and columns; a name that is no table.
    """
    if isinstance(tree, exp.Show):
        return _show(tree, names)
    if isinstance(tree, exp.Describe | exp.Summarize):
        kind = "columns" if isinstance(tree, exp.Describe) else "summary"
        inner = tree.this
        if isinstance(inner, exp.Table) and isinstance(inner.this, exp.Identifier):
            return kind, named([part.name for part in inner.parts], names)
        return kind, inner
    return "", None


def _show(tree: exp.Show, names: Names) -> tuple[str, Table | None]:
    what = str(tree.name or tree.this).upper()
    if what in ("TABLES", "ALL TABLES"):
        return "tables", None
    raise SqlRefused(f"SHOW {what} refused", hint="SHOW TABLES, or DESCRIBE a table")


def named(parts: Sequence[str], names: Names) -> Table:
    """The table of this name.

    Raises:
        SqlRefused: There is none; with the nearest names.
    """
    table, _ = names.find(parts)
    if table is None:
        raise SqlRefused(names.no_table(".".join(parts)))
    return table


def summary(query: exp.Query, head: Sequence[str], types: Sequence[str]) -> exp.Query:
    """A query that sums up each column of a checked query, in one pass over it."""
    cells = ", ".join(
        _summed(number, name, type_)
        for number, (name, type_) in enumerate(zip(head, types, strict=True), 1)
    )
    given = ", ".join(f"c{number}" for number in range(1, len(head) + 1))
    outer = grammar.parse(
        f"SELECT s.* FROM (SELECT unnest([{cells}]) AS s FROM (SELECT 1) AS q({given})) AS sums ORDER BY 1"
    )
    for subquery in outer.find_all(exp.Subquery):
        if subquery.alias == "q":
            subquery.set("this", query.copy())
    assert isinstance(outer, exp.Query)
    return outer


def _summed(number: int, name: str, type_: str) -> str:
    column = f"c{number}"
    text = "'" + name.replace("'", "''") + "'"
    return (
        f"{{'position': {number}, 'column': {text}, 'type': '{type_.replace(chr(39), chr(39) * 2)}', "
        f"'min': CAST(min({column}) AS VARCHAR), 'max': CAST(max({column}) AS VARCHAR), "
        f"'distinct_about': approx_count_distinct({column}), 'nulls': count(*) - count({column}), "
        f"'rows': count(*)}}"
    )
