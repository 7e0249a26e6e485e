"""Which names in a query are tables, and which of the catalog's tables they are.

Names of WITH are told from tables by scope: a name counts from its own definition onwards
(within it only under RECURSIVE), and only inside the query that defines it.
"""

from __future__ import annotations

from sqlglot import exp

from stages.core.errors import SqlRefused
from stages.core.records import Table
from stages.core.sandbox.names import Names, fold

SCHEMA = "main"
"""The schema of the child that holds a view of every table under its canonical name."""
Ctes = tuple[exp.Identifier, ...]
"""Names of WITH that count in a place, the innermost first."""


class Resolver:
    """Rewrites the tables of one query and keeps what it met.

    Attributes:
        tables: Canonical name to table, in the order of first mention.
        references: Number of table references, names of WITH included.
        aliases: Folded name by which a column can refer to a table, to the tables behind it.
        qualified: Folded ``catalog.schema.name`` spellings that were written, to their alias.
        notes: Names that were guessed.
    """

    def __init__(self, names: Names) -> None:
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
