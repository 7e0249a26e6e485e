"""The parser, quiet, with short errors, and ended when it would go on for ever.

An end to work in Python that would go on: reading some short statements takes forever.

sqlglot tries ``date(`` as a type and then as a function, and writes some arguments twice, so
that thirty brackets cost a day. Nothing in it can be told to stop; an exception can be raised
in its thread.
"""

from __future__ import annotations

import ctypes
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError

from stages.core.dialects import BY_SQL
from stages.core.errors import SqlError, SqlLimit, SqlRefused

AGAIN = 0.1
"""Seconds after which an alarm that was not heard rings again."""
_state = threading.local()
_raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc


class Late(BaseException):
    """The time is over; no handler for errors may take it for one."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `Late` in the block when its time is over; within another such block, nothing.

    Args:
        seconds: Time for the block, where it runs in Python.

    Raises:
        Late: It took longer.
    """
    if getattr(_state, "armed", False):
        yield
        return
    alarm = _Alarm(threading.get_ident(), seconds)
    _state.armed = True
    try:
        alarm.start()
        yield
    finally:
        _state.armed = False
        while not alarm.over.is_set():
            with suppress(Late):
                alarm.settle()


class _Alarm(threading.Thread):
    """Rings in one thread until it is settled, and never after.

    Once is not enough: what is raised inside a callback of the garbage collector is lost.
    """

    def __init__(self, thread: int, seconds: float) -> None:
        super().__init__(daemon=True)
        self._thread, self._seconds = ctypes.c_ulong(thread), seconds
        self._lock = threading.Lock()
        self.over = threading.Event()

    def run(self) -> None:
        """Wait, and ring."""
        wait = self._seconds
        while not self.over.wait(wait):
            with self._lock:
                if not self.over.is_set():
                    _raise_in(self._thread, ctypes.py_object(Late))
            wait = AGAIN

    def settle(self) -> None:
        """Ring no more; what has rung and not been heard is taken back."""
        with self._lock:
            self.over.set()
            _raise_in(self._thread, None)


# The parser, with its logging kept off stderr and its errors made short.

logging.getLogger("sqlglot").setLevel(logging.CRITICAL)

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
    """The allow-list of the engine, from ``functions.toml`` of the sandbox."""
    return _allowed("functions.toml")


@cache
def server_functions(dialect: str) -> Functions:
    """What may be called beside it by a server's own names, from ``servers/functions.toml``."""
    return _allowed("servers/functions.toml", dialect)


def _allowed(file: str, part: str = "") -> Functions:
    import tomllib

    text = resources.files("stages.core.sandbox").joinpath(file).read_text("utf-8")
    lists = tomllib.loads(text)
    lists = lists[part] if part else lists
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
        with time_limit(SECONDS):
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
    """The dialect in which a statement is written for an engine."""
    if dialect not in BY_SQL or BY_SQL[dialect].regexp_like:
        return dialect
    # Any: sqlglot makes the parser and generator of a dialect at run time
    base: Any = Dialect.get_or_raise(dialect).__class__

    def regexp(self: Any, node: exp.RegexpLike) -> str:  # Any: the generator made below
        if node.args.get("flag"):
            return str(self.function_fallback_sql(node))
        return str(self.binary(node, "REGEXP"))

    changed = {**base.Generator.TRANSFORMS, exp.RegexpLike: regexp}
    generator = type("Generator", (base.Generator,), {"TRANSFORMS": changed})
    return type("WinnowWriter", (base,), {"Generator": generator})


def _where(error: ParseError) -> str:
    found = error.errors[0] if error.errors else {}
    line, column = found.get("line"), found.get("col")
    place = f" at line {line}, column {column}" if line else ""
    return f"syntax error{place}"


def _short(error: Exception) -> str:
    return str(error).partition("\n")[0][:100]
