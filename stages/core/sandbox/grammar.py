"""The parser, with its logging kept off stderr and its errors made short."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError

from stages.core.errors import SqlError, SqlLimit, SqlRefused
from stages.core.sandbox.alarm import Late, limited

logging.getLogger("sqlglot").setLevel(logging.CRITICAL)

DIALECTS = ("duckdb", "mysql", "sqlite", "snowflake", "bigquery", "postgres")
SECONDS = 5.0
"""Time for one step of reading or writing a statement; 9,900 columns take a third of it."""
ONE_QUERY = "write one SELECT"


class Functions(NamedTuple):
    """What may be called: by engine name in expressions and in FROM, and sqlglot classes."""

    scalar: frozenset[str]
    table: frozenset[str]
    syntax: frozenset[str]


@cache
def functions() -> Functions:
    """The allow-list, read from ``functions.toml`` beside this file."""
    import tomllib

    text = resources.files("stages.core.sandbox").joinpath("functions.toml").read_text("utf-8")
    lists = tomllib.loads(text)
    return Functions(*(frozenset(lists[name].split()) for name in Functions._fields))


def parse(sql: str, dialect: str | type[Dialect] = "duckdb") -> exp.Expr:
    """The one statement in the text.

    Raises:
        SqlRefused: None, more than one, or not SQL.
        SqlLimit: Nested too deeply to be read.
    """
    with faults("not SQL that can be read"):
        parsed = sqlglot.parse(sql, read=dialect, error_level=ErrorLevel.IMMEDIATE)
    statements = [tree for tree in parsed if tree is not None and type(tree) is not exp.Semicolon]
    if not statements:
        raise SqlRefused("no statement", hint=ONE_QUERY)
    if len(statements) > 1:
        raise SqlRefused(f"{len(statements)} statements", hint="send one at a time")
    return statements[0]


@contextmanager
def faults(what: str) -> Iterator[None]:
    """Make whatever sqlglot raises, also by mistake on an odd tree, one line that refuses.

    Args:
        what: What the work on the statement came to.

    Raises:
        SqlRefused: It did not end well.
        SqlLimit: The statement is nested too deeply, or is not read in time.
    """
    try:
        with limited(SECONDS):
            yield
    except SqlError:
        raise
    except Late:
        raise SqlLimit(
            f"reading the statement took over {SECONDS:g} s", hint="nest fewer calls in each other"
        ) from None
    except RecursionError:
        raise SqlLimit("nested too deeply", hint="use WITH for the inner parts") from None
    except ParseError as error:
        raise SqlRefused(_where(error), hint="check quotes, commas and brackets") from None
    except SqlglotError as error:
        raise SqlRefused(what, hint=_short(error)) from None
    except Exception:  # a TypeError inside the parser says nothing to whoever wrote the SQL
        raise SqlRefused(what, hint="write the statement differently") from None


@cache
def writer(dialect: str) -> str | type[Dialect]:
    """The dialect in which a statement is written for an engine.

    MariaDB and MySQL before 8 have no ``REGEXP_LIKE``; all of them have the operator.
    """
    if dialect != "mysql":
        return dialect
    base: Any = Dialect.get_or_raise(dialect).__class__

    def regexp(self: Any, node: exp.RegexpLike) -> str:
        if node.args.get("flag"):
            return str(self.function_fallback_sql(node))
        return str(self.binary(node, "REGEXP"))

    changed = {**base.Generator.TRANSFORMS, exp.RegexpLike: regexp}
    generator = type("Generator", (base.Generator,), {"TRANSFORMS": changed})
    return type("WinnowMysqlWriter", (base,), {"Generator": generator})


def _where(error: ParseError) -> str:
    found = error.errors[0] if error.errors else {}
    line, column = found.get("line"), found.get("col")
    place = f" at line {line}, column {column}" if line else ""
    return f"syntax error{place}"


def _short(error: Exception) -> str:
    return str(error).partition("\n")[0][:100]
