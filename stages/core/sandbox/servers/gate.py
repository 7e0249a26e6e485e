"""The gate for statements that run on a server, in the server's dialect.

The rules are those of `core.sandbox.gate`; what differs is the list of functions, how a
table is named, and some syntax that only servers have. Everything holds for a superuser as
well: nothing here relies on what the role may do.
"""

from __future__ import annotations

import re

from sqlglot import exp

from stages.core.dialects import BY_SQL
from stages.core.errors import SqlLimit, SqlRefused
from stages.core.records import Table
from stages.core.sandbox.forms.reading import reader
from stages.core.sandbox.gate import clock, gate, grammar, normal
from stages.core.sandbox.gate.gate import CheckedQuery
from stages.core.sandbox.gate.qualify import TableResolver, mend_columns
from stages.core.sandbox.limits import Limits
from stages.core.sandbox.names import TableNames, fold, hidden, seen, shown
from stages.core.sandbox.servers import postgres_traps, sizes

_ESCAPED = (exp.ByteString, exp.UnicodeString, exp.RawString, exp.Introducer, exp.National)
"""Strings with escapes of their own, which two readers may take apart differently."""
_SHOW = re.compile(r"\s*SHOW\s+(?:ALL\s+)?TABLES\s*;?\s*", re.IGNORECASE)
_OBJECT = re.compile(r"(?:^|\.)\W*reg", re.IGNORECASE)
"""Types such as regclass, whose values are looked up in the server's own tables."""
_IN_FROM = frozenset({"Unnest", "ExplodingGenerateSeries", "GenerateSeries"})
"""Classes that stand in FROM beside what the lists name; any function there is called so."""
_NEEDS_ARGUMENTS = {"unix_timestamp": 1, "age": 2}
"""Functions that read the clock when they are given less."""


def read(
    sql: str, names: TableNames, limits: Limits, dialect: str, source: str | None = None
) -> tuple[exp.Expr, list[str]]:
    """The statement as a tree of the server's dialect.

    Args:
        sql: The text as it came.
        names: The tables of the catalog.
        limits: For the length.
        dialect: The server's dialect.
        source: What the statement is written in; None is the server's dialect.

    Raises:
        SqlRefused: Not one statement, or not SQL.
        SqlLimit: Too long, or nested too deeply.
    """
    gate.refuse_long(sql, limits)
    if _SHOW.fullmatch(sql):
        return grammar.parse(sql), []
    written = source or dialect
    if written != dialect:
        _refuse_unlike(grammar.parse(sql, reader(written)), written, dialect)
    tree = gate.stable(grammar.parse(sql, written), sql, written, dialect)
    return tree, [] if written == dialect else [f"rewritten from {source}"]


_ALIKE = frozenset(
    {"count", "sum", "min", "max", "avg", "coalesce", "nullif", "lower", "upper", "abs", "row_number", "rank",  # noqa: E501
     "dense_rank", "lag", "lead", "first_value", "last_value", "ntile"}
)  # fmt: skip
"""Functions that mean the same on every server, whatever dialect names them."""
_ALIKE_SYNTAX = (exp.Case, exp.If, exp.And, exp.Or, exp.Exists, exp.Anonymous, exp.CurrentDate,
                 exp.CurrentTimestamp)  # fmt: skip
_UNLIKE = (
    exp.Div,
    exp.IntDiv,
    exp.Like,
    exp.ILike,
    exp.RegexpLike,
    exp.Interval,
    exp.DPipe,
    exp.SimilarTo,
)


def _refuse_unlike(tree: exp.Expr, source: str, dialect: str) -> None:
    """Refuse what two dialects may understand otherwise: no server is asked what it would mean.

    Raises:
        SqlRefused: With the name of the function or the operator.
    """
    for node in tree.walk():
        called = isinstance(node, exp.Func) and not isinstance(node, _ALIKE_SYNTAX)
        named = isinstance(node, exp.Anonymous) and fold(node.name) not in _ALIKE
        if called or named or isinstance(node, _UNLIKE):
            name = node.name if named else type(node).__name__.lower()
            raise SqlRefused(
                f"{shown(fold(name))} of {source} on a {dialect} server refused",
                hint=f"write {dialect} SQL, without --dialect",
            )


def check(
    tree: exp.Expr, names: TableNames, limits: Limits, notes: list[str], dialect: str
) -> CheckedQuery:
    """Let the query through, its tables named as the server names them.

    Raises:
        SqlRefused: Anything that is not a harmless query over the catalog's tables.
        SqlLimit: Too many table references.
    """
    with grammar.faults("not a query that can be checked"):
        checked = _check(tree, names, limits, notes, dialect)
        normal.write(checked.tree, dialect)
        return checked


def _check(
    tree: exp.Expr, names: TableNames, limits: Limits, notes: list[str], dialect: str
) -> CheckedQuery:
    query = gate.query_of(tree)
    gate.refuse_statements(query)
    gate.refuse_syntax(query)
    _refuse_syntax(query)
    holder = exp.Subquery(this=query)
    frozen = clock.freeze(holder, limits.clock, dialect)
    if BY_SQL[dialect].traps:
        postgres_traps.refuse_clock_texts(query)
    _adapt(query, dialect)
    _refuse_functions(query, dialect)
    sizes.refuse_large(query)
    resolver = _Resolver(names, dialect)
    resolver.resolve(query)
    if resolver.references > limits.tables:
        raise SqlLimit(
            f"{resolver.references} table references, the limit is {limits.tables}",
            hint="ask in smaller steps",
        )
    mended = [*mend_columns(query, resolver), *_cased(query, resolver, dialect)]
    postgres_traps.settle_words(query, resolver)
    if BY_SQL[dialect].traps:
        postgres_traps.refuse(query)
    told = dict.fromkeys([*notes, *resolver.notes, *mended, *frozen])
    return CheckedQuery(query, tuple(resolver.tables.values()), tuple(told))


def _adapt(query: exp.Query, dialect: str) -> None:
    """Syntax of winnow's own making that the server would not take."""
    if not BY_SQL[dialect].zoned:
        for cast in query.find_all(exp.Cast):
            text = cast.this
            if cast.is_type("timestamptz") and isinstance(text, exp.Literal):
                text.set("this", text.name.removesuffix("+00"))
                cast.set("to", exp.DataType.build("datetime"))
        _without_dual(query)
    for values in query.find_all(exp.Values):
        if isinstance(values.parent, exp.From | exp.Join) and not values.alias:
            values.set("alias", exp.TableAlias(this=exp.to_identifier("given")))


def _without_dual(query: exp.Query) -> None:
    """Leave out ``FROM DUAL``, which is no table but a way to write none."""
    for select in query.find_all(exp.Select):
        source = select.args.get("from_")
        table = source.this if source is not None else None
        alone = not any(select.args.get(key) for key in ("joins", "where", "group"))
        if isinstance(table, exp.Table) and not table.db and fold(table.name) == "dual" and alone:
            select.set("from_", None)


def _refuse_syntax(query: exp.Query) -> None:
    """What DuckDB does not have, or not as a way around the list of functions."""
    for node in query.walk():
        if isinstance(node, exp.Dot):
            raise SqlRefused(
                "a field or function after a dot refused",
                hint="PostgreSQL would call any function that way; use a function from the list",
            )
        if isinstance(node, exp.Operator):
            raise SqlRefused("OPERATOR() refused", hint="write the operator itself")
        if isinstance(node, exp.Hint | exp.IndexTableHint | exp.WithTableHint):
            raise SqlRefused("a hint to the optimizer refused", hint="leave it out")
        if isinstance(node, exp.PropertyEQ):
            raise SqlRefused("an assignment refused", hint="use WITH for what is needed twice")
        if isinstance(node, _ESCAPED):
            raise SqlRefused("a string with a prefix refused", hint="write a plain string in '…'")
        if isinstance(node, exp.DataType) and _OBJECT.search(node.sql()):
            raise SqlRefused("a cast to an object identifier refused", hint="cast to text")


def _refuse_functions(query: exp.Query, dialect: str) -> None:
    """Refuse what neither the list of the dialect nor that of all dialects names.

    Raises:
        SqlRefused: With the nearest names that may be called.
    """
    shared, own = grammar.functions(), grammar.server_functions(dialect)
    for node in query.find_all(exp.Func):
        called = gate.names_of_call(node)
        in_from = isinstance(node.parent, exp.Table | exp.Lateral | exp.TableFromRows)
        if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc):
            fits = called[0] in (own.table if in_from else own.scalar)
            fits = fits and len(node.expressions) >= _NEEDS_ARGUMENTS.get(called[0], 0)
        else:
            known = own.table if in_from else own.scalar | shared.scalar
            kind = type(node).__name__
            syntax = own.syntax | (_IN_FROM if in_from else shared.syntax)
            fits = kind in syntax or any(name in known for name in called)
        if not fits:
            raise gate.refusal(node, dialect, own.scalar, close=80)


class _Resolver(TableResolver):
    """Names tables as ``schema.table`` of the server, hidden columns left out."""

    def __init__(self, names: TableNames, dialect: str) -> None:
        super().__init__(names)
        self.dialect = dialect

    def same(self, one: exp.Identifier, other: exp.Identifier) -> bool:
        """PostgreSQL takes ``"X"`` and ``x`` for two names, and ``X`` for ``x``."""
        if not BY_SQL[self.dialect].folds_case:
            return super().same(one, other)
        return _in_postgres(one) == _in_postgres(other)

    def find(self, node: exp.Table) -> tuple[Table | None, str]:
        """The table of exactly this name on the server, before any that is spelt nearly so."""
        words = [self._word(part) for part in node.parts]
        if len(words) == 1:
            canonical = next((t for t in self.names.tables if t["name"] == words[0]), None)
            if canonical is not None:
                return canonical, ""
        same = [table for table in self.names.tables if _place(table)[-len(words) :] == words]
        if len(same) == 1:
            return same[0], ""
        return super().find(node)

    def _word(self, part: exp.Expr) -> str:
        if BY_SQL[self.dialect].folds_case and isinstance(part, exp.Identifier):
            return _in_postgres(part)
        return part.name

    def _rewrite(self, node: exp.Table, table: Table, parts: list[str]) -> None:
        parts = [self._word(part) for part in node.parts]
        super()._rewrite(node, table, parts)
        reader = table.get("source", {}).get("reader", {})
        if "name" not in reader or "schema" not in reader:
            raise SqlRefused(
                f"{shown(table['name'])} is on no server that can be asked", hint="scan it again"
            )
        node.set("this", exp.to_identifier(reader["name"], quoted=True))
        node.set("db", exp.to_identifier(reader["schema"], quoted=True))
        if hidden(table):
            _narrow(node, table)


def _place(table: Table) -> list[str]:
    """Schema and name of a table on its server."""
    reader = table.get("source", {}).get("reader", {})
    return [str(reader.get("schema", "")), str(reader.get("name", ""))]


def _in_postgres(word: exp.Identifier) -> str:
    """The name that the server looks for: an unquoted one is in lower case."""
    return word.name if word.args.get("quoted") else word.name.lower()


def _narrow(node: exp.Table, table: Table) -> None:
    """Put a query of the columns that may be seen in the place of the table."""
    alias = node.args["alias"]
    bare = exp.Table(this=node.this.copy(), db=node.args["db"].copy())
    columns = [exp.column(exp.to_identifier(name, quoted=True)) for name in seen(table)]
    inner = exp.select(*columns).from_(bare) if columns else exp.select("1").from_(bare)
    joins = node.args.get("joins")
    node.replace(exp.Subquery(this=inner, alias=alias.copy(), joins=joins))


def _cased(query: exp.Query, resolver: TableResolver, dialect: str) -> list[str]:
    """Quote a column that PostgreSQL would look for in lower case, where only one is meant."""
    if not BY_SQL[dialect].folds_case:
        return []
    real = {name for table in resolver.tables.values() for name in seen(table)}
    given = {fold(alias.alias) for alias in query.find_all(exp.Alias)}
    notes = []
    for column in query.find_all(exp.Column):
        word = column.this
        if not isinstance(word, exp.Identifier) or word.name.lower() in real | given:
            continue
        same = [name for name in real if fold(name) == fold(word.name)]
        if len(same) == 1 and (not word.quoted or word.name != same[0]):
            column.set("this", exp.to_identifier(same[0], quoted=True))
            notes.append(f"column {shown(word.name)} read as {shown(same[0])}")
    return notes
