"""The first layer: only one query, over tables of the catalog, calling only what is listed.

The statement that runs is written anew from the tree that was checked here, never the text
that came in, so that nothing depends on two parsers reading a text alike. The child checks
what it is given once more with the engine's own parser (`core.sandbox.engine.child.verify`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from stages.core.dialects import WRITTEN_IN
from stages.core.errors import SqlLimit, SqlRefused, UsageError
from stages.core.records import Table
from stages.core.sandbox.forms.reading import reader
from stages.core.sandbox.gate import clock, grammar, normal, repair, translate, vocabulary
from stages.core.sandbox.gate.qualify import TableResolver, mend_columns
from stages.core.sandbox.limits import Limits
from stages.core.sandbox.names import TableNames, nearest, shown

_WORDS = {"Into": "SELECT INTO", "Transaction": "BEGIN", "TruncateTable": "TRUNCATE"}
"""Statements that sqlglot calls otherwise than SQL does."""

_REFUSED = (
    *(exp.DML, exp.DDL, exp.Drop, exp.Alter, exp.TruncateTable, exp.Comment, exp.Command, exp.Copy),
    *(exp.Attach, exp.Detach, exp.Install, exp.Set, exp.Pragma, exp.Use, exp.Into, exp.Describe),
    *(exp.Show, exp.Summarize, exp.Analyze, exp.Transaction, exp.Commit, exp.Rollback, exp.Kill),
)
FUNCTIONS_ONLY = "only functions that work on values, the same way every time, may be called"
READING_ONLY = "only a query may run here: SELECT, WITH … SELECT, VALUES"
PIVOTING = "put it into FROM, its values named: SELECT … FROM t PIVOT (sum(x) FOR y IN ('a'))"
_COPY = re.compile(r"\(\s*COPY\b", re.IGNORECASE)


@dataclass(frozen=True)
class CheckedQuery:
    """A query that passed.

    Args:
        tree: The query; every table in it is ``main."canonical name"``.
        tables: The tables it reads, each once, in the order of first mention.
        notes: What was repaired or frozen, for the reader of the answer.
    """

    tree: exp.Query
    tables: tuple[Table, ...]
    notes: tuple[str, ...]


def refuse_long(sql: str, limits: Limits) -> None:
    """Refuse a statement that is longer than a person or a model writes.

    Raises:
        SqlLimit: It is.
    """
    if len(sql) > limits.sql:
        raise SqlLimit(
            f"the statement has {len(sql)} characters, the limit is {limits.sql}",
            hint="write a shorter one",
        )


def read(
    sql: str, names: TableNames, limits: Limits, source: str | None = None
) -> tuple[exp.Expr, list[str]]:
    """The statement as a DuckDB tree, whatever kind it is, and what was repaired.

    Args:
        sql: The text as it came.
        names: The tables of the catalog.
        limits: For the length.
        source: The dialect it is written in; None is DuckDB with the usual repairs.

    Raises:
        SqlRefused: Not one statement, or not SQL.
        SqlLimit: Too long, or nested too deeply.
    """
    refuse_long(sql, limits)
    if source not in (None, "duckdb"):
        tree, notes = _translated(sql, str(source), names)
        tree = normal.normal_form(tree, sql, str(source), "duckdb")
        return tree, [f"rewritten from {source}", *notes]
    text, notes = repair.quotes(sql, names)
    try:
        return stable(grammar.parse(text), text, "duckdb", "duckdb"), notes
    except SqlRefused:
        if _COPY.search(text):  # which the parser does not know in this place
            raise SqlRefused("COPY inside a query refused", hint=READING_ONLY) from None
        raise


def _translated(sql: str, source: str, names: TableNames) -> tuple[exp.Expr, list[str]]:
    """The statement of another dialect as a DuckDB tree; what a translation would drop is
    refused."""
    if source not in WRITTEN_IN:
        raise UsageError(f"no dialect {source}", hint=f"one of {', '.join(WRITTEN_IN)}")
    tree = grammar.parse(sql, reader(source))
    refuse_unsaid(tree)
    return translate.to_duckdb(tree, source, names)


def stable(tree: exp.Expr, sql: str, source: str, target: str) -> exp.Expr:
    """The statement in its normal form, after what could not be said of it any more is refused.

    Raises:
        SqlRefused: As `refuse_unsaid` and `normal.normal_form`.
    """
    refuse_unsaid(tree)
    return normal.normal_form(tree, sql, source, target)


def refuse_unsaid(tree: exp.Expr) -> None:
    """Refuse what writing would drop or change: statements, locks, samples, odd units.

    Raises:
        SqlRefused: With what to write instead.
    """
    if isinstance(tree, exp.Query):
        refuse_statements(tree)
        refuse_syntax(tree)
        vocabulary.refuse_raw(tree)


def check(tree: exp.Expr, names: TableNames, limits: Limits, notes: list[str]) -> CheckedQuery:
    """Let the query through, its tables resolved, columns mended and clock stopped.

    Raises:
        SqlRefused: Anything that is not a harmless query over the catalog's tables.
        SqlLimit: Too many table references.
    """
    with grammar.faults("not a query that can be checked"):
        checked = _check(tree, names, limits, notes)
        normal.write(checked.tree, "duckdb")
        return checked


def _check(tree: exp.Expr, names: TableNames, limits: Limits, notes: list[str]) -> CheckedQuery:
    query = query_of(tree)
    refuse_statements(query)
    refuse_syntax(query)
    holder = exp.Subquery(this=query)
    frozen = clock.freeze(holder, limits.clock)
    resolver = TableResolver(names)
    resolver.resolve(query)
    if resolver.references > limits.tables:
        raise SqlLimit(
            f"{resolver.references} table references, the limit is {limits.tables}",
            hint="ask in smaller steps",
        )
    mended = mend_columns(query, resolver)
    _refuse_functions(query)
    _refuse_quoted_clock(query, names)
    told = dict.fromkeys([*notes, *resolver.notes, *mended, *frozen])
    return CheckedQuery(query, tuple(resolver.tables.values()), tuple(told))


def query_of(tree: exp.Expr) -> exp.Query:
    """The query that a statement is, without brackets around the whole.

    Raises:
        SqlRefused: It is no query.
    """
    if isinstance(tree, exp.Values):
        return exp.select("*").from_(tree)
    if isinstance(tree, exp.Subquery) and not any(
        tree.args.get(key) for key in ("limit", "offset", "order", "alias", "joins", "with_")
    ):
        return query_of(tree.this)
    if not isinstance(tree, exp.Query):
        hint = PIVOTING if isinstance(tree, exp.Pivot) else READING_ONLY
        raise SqlRefused(f"{_kind(tree)} refused", hint=hint)
    return tree


def _kind(node: exp.Expr) -> str:
    """What the statement is called: its first word, or the class of the node."""
    if isinstance(node, exp.Pivot):
        return "PIVOT or UNPIVOT as a statement"
    if isinstance(node, exp.Command):
        return str(node.this).upper().split()[0]
    if not isinstance(node, _REFUSED):
        return "something that is no query"
    name = type(node).__name__
    return _WORDS.get(name, name.upper())


def refuse_statements(query: exp.Query) -> None:
    """Refuse a query that holds a statement which is no query.

    Raises:
        SqlRefused: With the name of the statement.
    """
    for node in query.walk():
        if isinstance(node, _REFUSED):
            raise SqlRefused(f"{_kind(node)} inside a query refused", hint=READING_ONLY)
        if isinstance(node, exp.CTE) and not isinstance(node.this, exp.Query | exp.Values):
            raise SqlRefused(f"{_kind(node.this)} in WITH refused", hint=READING_ONLY)


def refuse_syntax(query: exp.Query) -> None:
    """Refuse locks, samples, parameters and other versions of a table.

    Raises:
        SqlRefused: With what to write instead.
    """
    for node in query.walk():
        if isinstance(node, exp.Lock):
            raise SqlRefused("a locking read (FOR UPDATE, FOR SHARE) refused", hint="leave it out")
        if isinstance(node, exp.TableSample):
            raise SqlRefused("a sample is not repeatable", hint="use ORDER BY hash(…) LIMIT n")
        if isinstance(node, exp.Placeholder | exp.Parameter | exp.SessionParameter):
            raise SqlRefused("a parameter has no value here", hint="write the value itself")
        if isinstance(node, exp.Version):
            raise SqlRefused("a table has only its present version", hint="leave out AT")


def _refuse_functions(query: exp.Query) -> None:
    """Refuse what the allow-list does not name.

    Raises:
        SqlRefused: With the nearest names that may be called.
    """
    allowed = grammar.functions()
    for node in query.find_all(exp.Func):
        in_from = isinstance(node.parent, exp.Table)
        words = names_of_call(node)
        listed = allowed.table if in_from and isinstance(node, exp.Anonymous) else allowed.scalar
        if any(name in listed for name in words):
            continue
        if type(node).__name__ in allowed.syntax or (in_from and words[0] in allowed.table):
            continue
        raise refusal(node, "duckdb", listed | {name.lower() for name in allowed.syntax}, close=75)


_MOVING = frozenset({"rand", "random", "uuid", "gen_random_uuid", "setseed", "randn"})
EACH_TIME = "it answers differently each time; use ORDER BY hash(…) LIMIT n"


def refusal(node: exp.Func, dialect: str, known: Iterable[str], close: int) -> SqlRefused:
    """The refusal of a function, by the name that the dialect has for it.

    Args:
        node: The call.
        dialect: Of the engine.
        known: Names to suggest.
        close: Likeness in percent of a suggestion.
    """
    with grammar.faults("a function refused"):
        word = node.sql(dialect=dialect).partition("(")[0].lower()
    names = names_of_call(node)
    name = word if word in names or (word.isidentifier() and len(names) > 1) else names[0]
    near = nearest(name, set(known) - {name}, close=close)
    hint = f"did you mean {near}?" if near else FUNCTIONS_ONLY
    hint = EACH_TIME if _MOVING & {name, *names} else hint
    return SqlRefused(f"function {shown(name)} refused", hint=hint)


def names_of_call(node: exp.Func) -> list[str]:
    """The names a function node may stand for, in lower case."""
    if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc):
        return [node.name.lower()]
    return [name.lower() for name in type(node).sql_names()]


def _refuse_quoted_clock(query: exp.Query, names: TableNames) -> None:
    """Refuse ``"current_date"`` in quotes, which the engine reads as the clock as well."""
    for column in query.find_all(exp.Column):
        word = column.name.casefold()
        if word in clock.WORDS and not column.table and word not in names.known_columns:
            raise SqlRefused(f"{shown(word)} in quotes refused", hint="write it without quotes")
