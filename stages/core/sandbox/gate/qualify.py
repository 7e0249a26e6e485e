"""The tables and columns of a query, found and spelt as they are.

Which names in a query are tables, and which of the catalog's tables they are.

Names of WITH are told from tables by scope: a name counts from its own definition onwards
(within it only under RECURSIVE), and only inside the query that defines it.
"""

from __future__ import annotations

from sqlglot import exp

from stages.core.errors import SqlRefused
from stages.core.records import Table
from stages.core.sandbox.names import TableNames, fold, seen, shown, squeeze

SCHEMA = "main"
"""The schema of the child that holds a view of every table under its canonical name."""
Ctes = tuple[exp.Identifier, ...]
"""Names of WITH that count in a place, the innermost first."""


class TableResolver:
    """Rewrites the tables of one query and keeps what it met.

    Attributes:
        tables: Canonical name to table, in the order of first mention.
        references: Number of table references, names of WITH included.
        aliases: Folded name by which a column can refer to a table, to the tables behind it.
        qualified: Folded ``catalog.schema.name`` spellings that were written, to their alias.
        notes: Names that were guessed.
    """

    def __init__(self, names: TableNames) -> None:
        self.names = names
        self.tables: dict[str, Table] = {}
        self.references = 0
        self.aliases: dict[str, dict[str, Table]] = {}
        self.qualified: dict[str, str] = {}
        self.defined: set[str] = set()
        self.notes: list[str] = []

    def resolve(self, query: exp.Expr) -> None:
        """Rewrite every table reference below the node to ``main."canonical name"``.

        Raises:
            SqlRefused: A name is no table of the catalog.
        """
        self._walk(query, ())

    def _walk(self, node: exp.Expr, ctes: Ctes) -> None:
        if isinstance(node, exp.Table):
            self._table(node, ctes)
        with_ = node.args.get("with_")
        if isinstance(with_, exp.With):
            ctes = self._with(with_, ctes)
        for child in list(node.iter_expressions()):
            if child is not with_:
                self._walk(child, ctes)

    def _with(self, with_: exp.With, ctes: Ctes) -> Ctes:
        """Walk the definitions; the names that count in the query after them."""
        for cte in with_.expressions:
            self.defined.add(fold(cte.alias))
            after = (cte.args["alias"].this, *ctes)
            self._walk(cte.this, after if with_.recursive else ctes)
            ctes = after
        return ctes

    def same(self, one: exp.Identifier, other: exp.Identifier) -> bool:
        """Whether the engine takes two names for one."""
        return fold(one.name) == fold(other.name)

    def find(self, node: exp.Table) -> tuple[Table | None, str]:
        """The table that a reference means, and a note where that was a guess."""
        return self.names.find([part.name for part in node.parts])

    def _table(self, node: exp.Table, ctes: Ctes) -> None:
        self.references += 1
        if not isinstance(node.this, exp.Identifier):
            return
        parts = [part.name for part in node.parts]
        if len(parts) == 1:
            defined = next((name for name in ctes if self.same(name, node.this)), None)
            if defined is not None:
                _name_alike(node, defined)
                return
        table, note = self.find(node)
        if table is None:
            raise SqlRefused(self.names.no_table(".".join(parts)))
        self.notes += [note] if note else []
        self._rewrite(node, table, parts)

    def _rewrite(self, node: exp.Table, table: Table, parts: list[str]) -> None:
        alias = node.alias or parts[-1]
        self.tables.setdefault(table["name"], table)
        self.aliases.setdefault(fold(alias), {})[table["name"]] = table
        if len(parts) > 1 and not node.alias:
            self.qualified[fold(".".join(parts))] = alias
        if not node.alias:
            node.set("alias", exp.TableAlias(this=exp.to_identifier(parts[-1], quoted=True)))
        node.set("this", exp.to_identifier(table["name"], quoted=True))
        node.set("db", exp.to_identifier(SCHEMA))
        node.set("catalog", None)


def _name_alike(node: exp.Table, defined: exp.Identifier) -> None:
    """Spell a name of WITH as its definition does, so that nothing else can answer to it."""
    if (node.name, node.this.args.get("quoted")) == (defined.name, defined.args.get("quoted")):
        return
    if not node.alias:
        node.set("alias", exp.TableAlias(this=node.this.copy()))
    node.set("this", defined.copy())


# Column references: qualifiers that follow their table, and spellings that only one column fits.


def mend_columns(query: exp.Query, resolver: TableResolver) -> list[str]:
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


def _shorten(column: exp.Column, resolver: TableResolver) -> None:
    """Cut ``a.b.t.c`` to ``t.c`` where ``a.b.t`` is how the query names a table."""
    parts = [part.name for part in column.parts]
    if len(parts) > 2 and fold(".".join(parts[:-1])) in resolver.qualified:
        alias = resolver.qualified[fold(".".join(parts[:-1]))]
        column.set("table", exp.to_identifier(alias, quoted=True))
        column.set("db", None)
        column.set("catalog", None)


def _follow(column: exp.Column, resolver: TableResolver) -> None:
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


def _squeezed(column: exp.Column, resolver: TableResolver, outputs: set[str]) -> list[str]:
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
