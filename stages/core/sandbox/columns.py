"""Column references: qualifiers that follow their table, and spellings that only one column fits."""

from __future__ import annotations

from sqlglot import exp

from stages.core.sandbox.names import fold, seen, shown, squeeze
from stages.core.sandbox.tables import Resolver


def mend_columns(query: exp.Query, resolver: Resolver) -> list[str]:
    """Adapt the columns of a query whose tables have been resolved.

    ``catalog.schema.name.column`` loses what its table lost. A column qualified by another
    spelling of a table that the query reads once gets the spelling in use. A quoted column
    that no table of the query has becomes the one that equals it but for white space, or for
    how its accents are written.

    Returns:
        What was mended, as notes.
    """
    notes: list[str] = []
    outputs = {fold(alias.alias) for alias in query.find_all(exp.Alias)}
    outputs |= {fold(name.name) for cte in query.find_all(exp.TableAlias) for name in cte.columns}
    for column in list(query.find_all(exp.Column)):
        _shorten(column, resolver)
        _follow(column, resolver)
        notes += _squeezed(column, resolver, outputs)
    return notes


def _shorten(column: exp.Column, resolver: Resolver) -> None:
    """Cut ``a.b.t.c`` to ``t.c`` where ``a.b.t`` is how the query names a table."""
    parts = [part.name for part in column.parts]
    if len(parts) > 2 and fold(".".join(parts[:-1])) in resolver.qualified:
        alias = resolver.qualified[fold(".".join(parts[:-1]))]
        column.set("table", exp.to_identifier(alias, quoted=True))
        column.set("db", None)
        column.set("catalog", None)


def _follow(column: exp.Column, resolver: Resolver) -> None:
    """Let ``canonical.column`` mean the table that the query calls by an alias of the catalog."""
    word = fold(column.table)
    if not word or column.args.get("db") or word in resolver.aliases or word in resolver.defined:
        return
    table, _ = resolver.names.find([column.table])
    if table is None or any(
        word == fold(name) for t in resolver.tables.values() for name in seen(t)
    ):
        return
    used = [alias for alias, tables in resolver.aliases.items() if table["name"] in tables]
    if len(used) == 1:
        column.set("table", exp.to_identifier(used[0], quoted=True))


def _squeezed(column: exp.Column, resolver: Resolver, outputs: set[str]) -> list[str]:
    """Mend a quoted column by white space alone; the note, or nothing."""
    identifier = column.this
    if not isinstance(identifier, exp.Identifier):
        return []
    if not identifier.quoted and identifier.name.isascii():
        return []
    real = {name for table in resolver.tables.values() for name in seen(table)}
    word = fold(identifier.name)
    if word in outputs or word in {fold(name) for name in real}:
        return []
    same = [name for name in real if squeeze(name) == squeeze(identifier.name)]
    if len(same) != 1:
        return []
    column.set("this", exp.to_identifier(same[0], quoted=True))
    return [f"column {shown(identifier.name)} read as {shown(same[0])}"]
