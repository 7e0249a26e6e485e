"""Statements written for another engine, rewritten for DuckDB.

Columns that stand beside aggregates without being grouped by, as SQLite and MySQL allow.

SQLite takes such a column from any row of the group, or from the row of the one ``min`` or
``max`` of the query (sqlite.org, lang_select, "bare columns"); MySQL from any row where the
key of the group decides it. DuckDB wants that said: ``first``, ``arg_min_null``, ``arg_max_null``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from stages.core.errors import SqlRefused
from stages.core.records import Table
from stages.core.sandbox.forms import kinds, operators, translate
from stages.core.sandbox.forms.table import Scope
from stages.core.sandbox.gate import grammar
from stages.core.sandbox.names import TableNames, fold, seen

FOLDED = "folded"
"""What marks a key that is a column without its case: the column itself is not grouped by."""


def say_which_row(tree: exp.Expr, *, any_extreme: bool = True) -> None:
    """Wrap the bare columns of every aggregating SELECT of the tree, in place.

    Args:
        tree: Of DuckDB's functions.
        any_extreme: Whether a single ``min`` or ``max`` says which row it is, as in SQLite.
    """
    for select in list(tree.find_all(exp.Select)):
        aggregates = [node for node in _own(select) if _aggregates(node)]
        if aggregates or select.args.get("group"):
            _wrap(select, aggregates if any_extreme else ())


def _aggregates(node: exp.Expr) -> bool:
    """Whether a node folds rows into one; a window function does not, what stands in it may."""
    if not isinstance(node, exp.AggFunc):
        return False
    inner: exp.Expr = node
    outer: exp.Expr | None = node.parent
    while isinstance(outer, exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
        inner = outer
        outer = outer.parent
    return not (isinstance(outer, exp.Window) and outer.this is inner)


def _wrap(select: exp.Select, aggregates: Sequence[exp.Expr]) -> None:
    keys = [key for key in _keys(select) if FOLDED not in key.meta]
    grouped = [column for item in keys for column in item.find_all(exp.Column)]
    aliases = {fold(item.alias) for item in select.expressions if item.alias}
    for column in list(_own(select)):
        if not isinstance(column, exp.Column) or isinstance(column.this, exp.Star):
            continue
        named = (
            not column.table
            and fold(column.name) in aliases
            and column.find_ancestor(exp.Order, exp.Having)
        )
        if named or any(_same(column, key) for key in grouped) or _inside(column, select):
            continue
        wrapped = _of_row(column, aggregates)
        column.replace(
            exp.alias_(wrapped, column.name, quoted=True) if column.parent is select else wrapped
        )


def _keys(select: exp.Select) -> list[exp.Expr]:
    """What is grouped by; positions and aliases as the expressions that they stand for."""
    group = select.args.get("group")
    aliased = {fold(item.alias): item.this for item in select.expressions if item.alias}
    keys: list[exp.Expr] = []
    for key in group.expressions if group else ():
        if (
            isinstance(key, exp.Literal)
            and key.is_int
            and 0 < int(key.name) <= len(select.expressions)
        ):
            key = select.expressions[int(key.name) - 1]
        keys.append(key)
        if isinstance(key, exp.Column) and not key.table and fold(key.name) in aliased:
            keys.append(aliased[fold(key.name)])
    return keys


def _own(select: exp.Select) -> Iterator[exp.Expr]:
    """Nodes of what a SELECT gives, filters groups by and sorts by, those of inner queries left
    out."""
    parts = [*select.expressions, select.args.get("having"), select.args.get("order")]
    for part in parts:
        if part is not None:
            yield from part.walk(prune=lambda node: isinstance(node, exp.Query))


def _same(one: exp.Column, other: exp.Column) -> bool:
    tables = {fold(one.table), fold(other.table)} - {""}
    return fold(one.name) == fold(other.name) and len(tables) < 2


def _inside(column: exp.Column, select: exp.Select) -> bool:
    """Whether the column stands within an aggregate or in an inner query."""
    node = column.parent
    while node is not None and node is not select:
        filtered = isinstance(node, exp.Filter) and _aggregates(node.this)
        if filtered or _aggregates(node) or isinstance(node, exp.Query):
            return True
        node = node.parent
    return False


def _of_row(column: exp.Column, aggregates: Sequence[exp.Expr]) -> exp.Expr:
    """The column's value in the row that the other engine would take."""
    first = exp.Anonymous(this="first", expressions=[column.copy()])
    extremes = [node for node in aggregates if isinstance(node, exp.Max | exp.Min)]
    if len(extremes) != 1 or extremes[0].expressions:
        return first
    name = "arg_max_null" if isinstance(extremes[0], exp.Max) else "arg_min_null"
    row = exp.Anonymous(this=name, expressions=[column.copy(), extremes[0].this.copy()])
    none = exp.Is(this=extremes[0].copy(), expression=exp.Null())
    return exp.Case(ifs=[exp.If(this=none, true=first)], default=row)


# Statements written for another engine, rewritten for DuckDB.

_BARE_COLUMNS = ("sqlite", "mysql")
_ROW_NUMBERS = frozenset({"rowid", "oid", "_rowid_"})
KEEPS_CASE = "DISTINCT and windows over text keep case here; MySQL's default does without"


def to_duckdb(tree: exp.Expr, source: str, names: TableNames) -> tuple[exp.Expr, list[str]]:
    """The statement as a DuckDB tree, and what the reader of the answer should know.

    Args:
        tree: Read by `forms.reading.reader` of the source; a query is changed in place.
        source: One of `core.dialects.WRITTEN_IN`.
        names: For the types of columns.

    Raises:
        SqlRefused: It has no counterpart.
    """
    notes: list[str] = []
    if isinstance(tree, exp.Query):
        holder = exp.Subquery(this=tree)
        with grammar.faults(f"this {source} statement has no DuckDB form"):
            notes = _rewrite(holder, source, names)
        tree = holder.this
    with grammar.faults(f"this {source} statement has no DuckDB form"):
        text = tree.sql(dialect="duckdb")
    return grammar.parse(text), notes


def _rewrite(tree: exp.Subquery, source: str, names: TableNames) -> list[str]:
    operators.check_syntax(tree, source)
    heads = _heads(tree, source)
    tables = _read(tree, names)
    if source == "sqlite":
        _quoted_text(tree, names)
        _row_numbers(tree, tables)
        _say_recursive(tree)
    scope = Scope(source, kinds.columns_of(tree, tables))
    translate(tree, scope)
    scope = Scope(source, kinds.columns_of(tree, tables))
    operators.rewrite(tree, scope)
    notes = _caseless(tree, scope) if source == "mysql" else []
    if source in _BARE_COLUMNS:
        say_which_row(tree, any_extreme=source == "sqlite")
    _name_columns(tree, heads)
    return notes


def _first_select(tree: exp.Expr) -> exp.Select | None:
    """The SELECT that gives the answer's columns their names."""
    node = tree.this
    while isinstance(node, exp.SetOperation | exp.Subquery):
        node = node.this
    return node if isinstance(node, exp.Select) else None


def _heads(tree: exp.Expr, source: str) -> list[str]:
    """The answer's columns as the statement writes them; empty for names and stars."""
    select = _first_select(tree)
    named = (exp.Alias, exp.Column, exp.Star)
    return [
        "" if isinstance(item, named) else item.sql(dialect=source, normalize_functions=False)
        for item in (select.expressions if select else ())
    ]


def _name_columns(tree: exp.Expr, heads: list[str]) -> None:
    """Call columns as the statement wrote them, and not by what they became."""
    select = _first_select(tree)
    if select is None or len(heads) != len(select.expressions):
        return
    named = [
        exp.alias_(item, head, quoted=True) if head and not item.alias else item
        for item, head in zip(select.expressions, heads, strict=True)
    ]
    select.set("expressions", named)


def _quoted_text(tree: exp.Expr, names: TableNames) -> None:
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


def _row_numbers(tree: exp.Expr, tables: list[Table]) -> None:
    """Let ``rowid`` mean the whole-number key that it is another name of.

    Raises:
        SqlRefused: There is no such key, so that the number is not kept.
    """
    known = {fold(name) for table in tables for name in seen(table)}
    for column in tree.find_all(exp.Column):
        if fold(column.name) not in _ROW_NUMBERS - known:
            continue
        owners = [
            table for table in tables if not column.table or _called(tree, column.table, table)
        ]
        keys = {table["primary_key"][0] for table in owners if _row_key(table)}
        if len(owners) != 1 or len(keys) != 1:
            raise SqlRefused(f"{column.name} refused", hint="name a column that numbers the rows")
        column.set("this", exp.to_identifier(keys.pop(), quoted=True))


def _called(tree: exp.Expr, alias: str, table: Table) -> bool:
    """Whether the statement calls the table so."""
    words = {fold(table["name"]), *map(fold, table.get("aliases", []))}
    return any(
        fold(node.alias_or_name) == fold(alias) and fold(node.name) in words
        for node in tree.find_all(exp.Table)
    )


def _row_key(table: Table) -> bool:
    key = table.get("primary_key", [])
    types = {column["name"]: column["type"] for column in table["columns"]}
    return len(key) == 1 and types.get(key[0], "").endswith(("INT", "INTEGER"))


def _say_recursive(tree: exp.Expr) -> None:
    """Write RECURSIVE where a name of WITH reads itself, which SQLite does without the word."""
    for with_ in tree.find_all(exp.With):
        for cte in with_.expressions:
            if any(fold(node.name) == fold(cte.alias) for node in cte.this.find_all(exp.Table)):
                with_.set("recursive", True)


def _read(tree: exp.Expr, names: TableNames) -> list[Table]:
    """The catalog's tables that a query names, each once."""
    found = (names.find([part.name for part in node.parts])[0] for node in tree.find_all(exp.Table))
    return list({table["name"]: table for table in found if table is not None}.values())


def _caseless(tree: exp.Expr, scope: Scope) -> list[str]:
    """Compare texts as MySQL's default collations do; a note where groups and order do not."""
    for node in list(
        tree.find_all(exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ)
    ):
        if _text(node.this, scope) and _text(node.expression, scope):
            for key in ("this", "expression"):
                node.set(key, _folded(node.args[key]))
    for member in list(tree.find_all(exp.In)):
        if _text(member.this, scope) and all(_text(item, scope) for item in member.expressions):
            _fold_in(member, scope)
    for between in list(tree.find_all(exp.Between)):
        if all(_text(between.args[key], scope) for key in ("this", "low", "high")):
            for key in ("this", "low", "high"):
                between.set(key, _folded(between.args[key]))
    for count in tree.find_all(exp.Count):
        if isinstance(count.this, exp.Distinct):
            items = count.this.expressions
            count.this.set("expressions", [_folded(i) if _text(i, scope) else i for i in items])
    _fold_extremes(tree, scope)
    for select in list(tree.find_all(exp.Select)):
        _fold_groups(select, scope)
    return [KEEPS_CASE] if _keeps_case(tree, scope) else []


def _fold_extremes(tree: exp.Expr, scope: Scope) -> None:
    """Take the largest and the smallest text without regard to case."""
    for node in list(tree.find_all(exp.Max, exp.Min)):
        if _text(node.this, scope) and not isinstance(node.parent, exp.Window):
            name = "arg_max" if isinstance(node, exp.Max) else "arg_min"
            made = exp.func(name, node.this.copy(), _folded(node.this), dialect="duckdb")
            made.meta[kinds.KEY] = "text"
            node.replace(made)


def _fold_groups(select: exp.Select, scope: Scope) -> None:
    """Group and sort texts without case; which spelling of a group is shown is any of it."""
    group, order = select.args.get("group"), select.args.get("order")
    aliased = {fold(item.alias): item.this for item in select.expressions if item.alias}
    for key in list(group.expressions) if group else ():
        meant = _meant(key, select, aliased)
        if isinstance(meant, exp.Column) and _text(meant, scope):
            folded = _folded(meant)
            folded.meta[FOLDED] = True
            key.replace(folded)
    for item in order.expressions if order and not select.args.get("distinct") else ():
        meant = _meant(item.this, select, aliased)
        if isinstance(meant, exp.Column) and _text(meant, scope):
            item.set("this", _folded(meant))


def _meant(key: exp.Expr, select: exp.Select, aliased: dict[str, exp.Expr]) -> exp.Expr:
    """What a position or an alias in GROUP BY or ORDER BY stands for."""
    if isinstance(key, exp.Literal) and key.is_int and 0 < int(key.name) <= len(select.expressions):
        meant: exp.Expr = select.expressions[int(key.name) - 1].unalias()
        return meant
    if isinstance(key, exp.Column) and not key.table:
        return aliased.get(fold(key.name), key)
    return key


def _text(node: exp.Expr | None, scope: Scope) -> bool:
    exact = isinstance(node, exp.Paren)
    return node is not None and not exact and scope.kind(node) == "text"


def _folded(node: exp.Expr) -> exp.Expr:
    plain = isinstance(node, exp.Literal) and node.name.isascii()
    inner = node.copy() if plain else exp.Anonymous(this="strip_accents", expressions=[node.copy()])
    if isinstance(node, exp.Literal) and plain:
        return exp.Literal.string(node.name.lower())
    return exp.Lower(this=inner)


def _fold_in(node: exp.In, scope: Scope) -> None:
    query = node.args.get("query")
    inner = query.this if isinstance(query, exp.Subquery) else query
    if inner is not None:
        one = isinstance(inner, exp.Select) and len(inner.expressions) == 1
        if not one or not _text(inner.expressions[0].unalias(), scope):
            return
        inner.set("expressions", [_folded(inner.expressions[0].unalias())])
    node.set("this", _folded(node.this))
    node.set("expressions", [_folded(item) for item in node.expressions])


def _keeps_case(tree: exp.Expr, scope: Scope) -> bool:
    """Whether texts are compared in a place where their case still counts."""
    extremes = tree.find_all(exp.Max, exp.Min)
    lists = [
        select.expressions for select in tree.find_all(exp.Select) if select.args.get("distinct")
    ]
    lists += [
        list(partition)
        for node in tree.find_all(exp.Window)
        if (partition := node.args.get("partition_by"))
    ]
    return any(scope.kind(node.this) == "text" for node in extremes) or any(
        scope.kind(item) == "text" for items in lists for item in items
    )
