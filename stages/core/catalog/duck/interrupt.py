"""Ending what runs on connections: when its time is over, from another thread, or by Ctrl-C."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

LOOKED_AFTER = 0.05
"""Seconds between two looks at whether the time is over."""

_watched: ContextVar[list[duckdb.DuckDBPyConnection] | None] = ContextVar("watched", default=None)


@contextmanager
def watch_time(
    con: duckdb.DuckDBPyConnection, seconds: float, late: threading.Event, stopped: threading.Event
) -> Iterator[None]:
    """Interrupt what runs on the connection, again and again, once it is stopped or late.

    Args:
        con: The connection; those of `also` inside are interrupted with it.
        seconds: How long it may take.
        late: Set once the time is over.
        stopped: Set by whoever wants it to end now.
    """
    done = threading.Event()
    end = time.monotonic() + seconds
    cons = [con]

    def watch() -> None:
        while not done.wait(LOOKED_AFTER):
            if time.monotonic() > end:
                late.set()
            if late.is_set() or stopped.is_set():
                for each in list(cons):
                    with suppress(Exception):  # it may just have been closed
                        each.interrupt()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    token = _watched.set(cons)
    try:
        yield
    finally:
        _watched.reset(token)
        done.set()
        thread.join()


@contextmanager
def also(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Let `watch_time`, where it is in force, interrupt this connection too."""
    cons = _watched.get()
    if cons is None:
        yield
        return
    cons.append(con)
    try:
        yield
    finally:
        cons.remove(con)


def by_hand(error: BaseException) -> bool:
    """Whether an error of the engine stands for Ctrl-C, which it takes for one of its own."""
    return type(error) is RuntimeError and str(error) == "Query interrupted"
