"""Statements written for another engine, rewritten for DuckDB by sqlglot.

What differs in meaning between engines and not in spelling is settled here where the catalog
decides it: division of integers (SQLite and PostgreSQL cut it, DuckDB does not), LIKE without
regard to case and columns beside aggregates (SQLite, MySQL), and double quotes around what is no column (text for SQLite).
"""

from __future__ import annotations

from sqlglot import exp

from stages.core.records import Table
from stages.core.sandbox import grammar
from stages.core.sandbox.bare import say_which_row
from stages.core.sandbox.names import Names, fold, seen

_CASELESS_LIKE = ("sqlite", "mysql")
_BARE_COLUMNS = ("sqlite", "mysql")
_WHOLE_DIVISION = ("sqlite", "postgres")
_WHOLE_TYPES = (
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
)


def to_duckdb(tree: exp.Expr, source: str, names: Names) -> exp.Expr:
    """The statement as a DuckDB tree.

    Args:
        tree: Parsed in the dialect of `source`; a query is changed in place.
        source: One of `grammar.DIALECTS`.
        names: For the types of columns.

    Raises:
        SqlRefused: It has no counterpart.
    """
    if isinstance(tree, exp.Query):
        if source in _CASELESS_LIKE:
            for like in list(tree.find_all(exp.Like)):
                like.replace(exp.ILike(**like.args))
        if source == "sqlite":
            _quoted_text(tree, names)
        if source in _BARE_COLUMNS:
            say_which_row(tree)
        if source in _WHOLE_DIVISION:
            _cut_divisions(tree, names, null_by_zero=source == "sqlite")
    with grammar.faults(f"this {source} statement has no DuckDB form"):
        text = tree.sql(dialect="duckdb")
    return grammar.parse(text)


def _quoted_text(tree: exp.Query, names: Names) -> None:
    """Make a double-quoted name that is no column a string, which is what SQLite takes it for."""
    known = {fold(name) for table in _read(tree, names) for name in seen(table)}
    known |= {fold(alias.alias) for alias in tree.find_all(exp.Alias, exp.TableAlias, exp.Table)}
    known |= {fold(name.name) for alias in tree.find_all(exp.TableAlias) for name in alias.columns}
    for column in list(tree.find_all(exp.Column)):
        name = column.this
        if (
            isinstance(name, exp.Identifier)
            and name.quoted
            and not column.table
            and fold(name.name) not in known
        ):
            column.replace(exp.Literal.string(name.name))


def _read(tree: exp.Query, names: Names) -> list[Table]:
    """The catalog's tables that a query names."""
    found = (names.find([part.name for part in node.parts])[0] for node in tree.find_all(exp.Table))
    return [table for table in found if table is not None]


def _cut_divisions(tree: exp.Query, names: Names, *, null_by_zero: bool) -> None:
    """Make ``/`` between whole numbers ``//``, innermost first; both cut towards zero."""
    whole = _whole_columns(tree, names)
    for node in reversed(list(tree.find_all(exp.Div))):
        if _whole(node.this, whole) and _whole(node.expression, whole):
            by = node.expression.copy()
            if null_by_zero and not isinstance(by, exp.Literal):
                by = exp.Nullif(this=by, expression=exp.Literal.number(0))
            node.replace(exp.IntDiv(this=node.this.copy(), expression=by))


def _whole_columns(tree: exp.Query, names: Names) -> set[str]:
    """Folded names of columns that are whole numbers in every table of the statement."""
    kinds: dict[str, set[bool]] = {}
    for table in _read(tree, names):
        for column in table["columns"]:
            kinds.setdefault(fold(column["name"]), set()).add(column["type"] in _WHOLE_TYPES)
    return {name for name, kind in kinds.items() if kind == {True}}


def _whole(node: exp.Expr, columns: set[str]) -> bool:
    """Whether an expression is known to be a whole number; unknown is not."""
    if isinstance(node, exp.Literal):
        return node.is_int
    if isinstance(node, exp.Column):
        return fold(node.name) in columns
    if isinstance(node, exp.Cast):
        return bool(node.to.is_type(*exp.DataType.INTEGER_TYPES))
    if isinstance(node, exp.Count | exp.Length | exp.IntDiv):
        return True
    if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Mod):
        return _whole(node.this, columns) and _whole(node.expression, columns)
    if isinstance(node, exp.Paren | exp.Neg | exp.Sum | exp.Max | exp.Min | exp.Abs | exp.Distinct):
        return _whole(node.this, columns)
    return False
