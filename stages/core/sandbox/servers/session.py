"""What both kinds of server share: one connection, kept between statements, and its faults."""

from __future__ import annotations

import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress

from stages.core.catalog.servers.address import Address, Connection, address, connect
from stages.core.errors import (
    SourceError,
    SqlError,
    SqlFailed,
    SqlLimit,
    SqlUnavailable,
    UsageError,
)
from stages.core.sandbox.engine.worker import EngineError
from stages.core.sandbox.limits import GRACE, Limits
from stages.core.sandbox.servers.admission import admit
from stages.core.text import visible

_NO_COLUMN = re.compile(
    r"column (?:\"(?P<a>[^\"]+)\"|(?P<b>\S+)) does not exist|Unknown column '(?P<c>[^']+)'"
)

PATIENCE = 0.5
"""Seconds after killing a statement at which the line to a server that does not stop is cut."""
IDLE = 30.0
"""Seconds without a statement after which a server may have closed the line."""
_STOPPED = frozenset({"57014", 1969, 3024, 1317})
"""Errors of a statement that was stopped: PostgreSQL's, MariaDB's, MySQL's, and both after KILL."""

_LIMITS = frozenset({"53200", "53400", 1038, 1041, 1114, 3170, 4017})
"""Errors of a statement that passed a limit of the server: PostgreSQL's memory and settings;
MySQL's and MariaDB's memory, sorting, temporary tables and depth."""

_STATES = ("08", "53100", "53300", "57P", "58")
"""SQLSTATE of PostgreSQL: connection, full disk, no place left, shutdown, the system's errors."""
_NUMBERS = frozenset(
    {3, 14, 23, 28, 29}  # files and disk of the server's machine
    | {1021, 1040, 1053, 1077, 1129, 1152, 1158, 1159, 1160, 1161, 1203, 1226}
    | {1927, 2002, 2003, 2006, 2013, 2014, 2055, 4031}
)
"""The same as numbers of MySQL and MariaDB, the client's among them."""


class Session:
    """A connection that is made on first use, and again after it broke.

    Args:
        url: The server, without a password.
        limits: For the time of a statement.
        begin: Sets a new connection up, read-only.
        kill: Stops what runs on the connection, from another thread.
    """

    def __init__(
        self,
        url: str,
        limits: Limits,
        begin: Callable[[object], None],
        kill: Callable[[Address, object], None],
    ) -> None:
        self.where = address(url)
        self.limits = limits
        self._begin, self._kill = begin, kill
        self._con: Connection = None
        self._used = time.monotonic()
        self._stopped = False

    def connection(self) -> Connection:
        """The open connection.

        Raises:
            SqlUnavailable: The server cannot be reached.
            UsageError: The role can do more than read, and nobody allowed that.
        """
        if time.monotonic() - self._used > IDLE and not _answers(self._con):
            self.drop()
        if self._con is None:
            try:
                self._con = connect(self.where)
                self._begin(self._con)
                admit(self._con, self.where, privileged=self.limits.privileged)
            except SourceError as error:
                raise SqlUnavailable(f"{self.where.safe}: {error.what}", hint=error.hint) from None
            except UsageError:
                self.drop()
                raise
            except Exception as error:
                self.drop()
                raise self._unavailable(error) from None
        return self._con

    def stop(self) -> None:
        """End what runs now, from any thread: the statement, and then the line to the server."""
        self._stopped, con = True, self._con
        if con is not None:
            with suppress(Exception):
                self._kill(self.where, con)
            with suppress(Exception):
                _cut(con)

    def drop(self) -> None:
        """Close the connection; the next statement opens another."""
        con, self._con = self._con, None
        if con is not None:
            with suppress(Exception):
                con.close()

    @contextmanager
    def watched(self) -> Iterator[Connection]:
        """The connection, with a client that kills what the server's own limit did not stop."""
        con = self.connection()
        if self._stopped:
            raise SqlFailed("stopped", hint="ask again")
        late, done = threading.Event(), threading.Event()

        def stop() -> None:
            late.set()
            with suppress(Exception):
                self._kill(self.where, con)
            if not done.wait(PATIENCE):
                with suppress(Exception):
                    _cut(con)

        timer = threading.Timer(self.limits.seconds + GRACE, stop)
        timer.daemon = True
        timer.start()
        try:
            yield con
        except Exception as error:
            lost = _lost(error, con)
            self.drop()
            if late.is_set():
                raise self.too_slow() from None
            if isinstance(error, SqlError):
                raise
            if lost:
                raise self._unavailable(error) from None
            raise self.failure(error, "") from None
        finally:
            self._used = time.monotonic()
            done.set()
            timer.cancel()

    def too_slow(self) -> SqlLimit:
        """The statement passed its time."""
        return SqlLimit(
            f"stopped after {self.limits.seconds:g} s", hint="ask for less, or for fewer joins"
        )

    def too_large(self, words: str) -> SqlLimit:
        """The statement passed a limit of the server, which says which."""
        told = visible(self.where.scrubbed(words), 200)
        return SqlLimit(f"passed a limit of the server: {told}", hint="ask for less")

    def _unavailable(self, error: Exception) -> SqlUnavailable:
        words = visible(self.where.scrubbed(_words(error)), 300)
        return SqlUnavailable(f"{self.where.safe}: {words}", hint="is the server well? run again")

    def failure(self, error: Exception, message: str) -> Exception:
        """What a driver says, without the statement and without a password."""
        codes = {getattr(error, "sqlstate", None), *error.args[:1]}
        if codes & _STOPPED:
            return self.too_slow()
        words = message or _words(error)
        if codes & _LIMITS:
            return self.too_large(words)
        found = _NO_COLUMN.search(words)
        if found:
            name = (found["a"] or found["b"] or found["c"]).rpartition(".")[2]
            return EngineError("failed", f'Referenced column "{name}" not found')
        return EngineError("failed", self.where.scrubbed(words))


class ServerEngine:
    """What the engines of all servers share; each runs checked queries on one server.

    Args:
        url: The server, without a password.
        limits: Time, cells, bytes.
    """

    def __init__(self, url: str, limits: Limits) -> None:
        self.limits = limits
        self._session = Session(url, limits, self._begin, self._kill)

    def _begin(self, con: Connection) -> None:
        """Set a new connection up, read-only."""
        raise NotImplementedError

    def _kill(self, where: Address, con: Connection) -> None:
        """Stop what runs on a connection, from another thread."""
        raise NotImplementedError

    def stop(self) -> None:
        """End what runs now, from any thread."""
        self._session.stop()

    def close(self) -> None:
        """Close the connection."""
        self._session.drop()


def _answers(con: Connection) -> bool:
    """Whether the connection is still there."""
    try:
        if hasattr(con, "ping"):
            con.ping(reconnect=False)
        else:
            con.execute(b"SELECT 1")
    except Exception:
        return False
    return True


def _lost(error: Exception, con: object) -> bool:
    """Whether the server, and not the statement, is at fault."""
    state = getattr(error, "sqlstate", None)
    if isinstance(state, str):
        return state.startswith(_STATES)
    if bool(getattr(con, "closed", False)) or isinstance(error, OSError):
        return True
    return type(error).__name__ == "InterfaceError" or bool(_NUMBERS.intersection(error.args[:1]))


def _cut(con: Connection) -> None:
    """End the connection under the thread that waits on it; the server stops when it can."""
    number = con.fileno() if hasattr(con, "fileno") else con._sock.fileno()
    with closing(socket.socket(fileno=os.dup(number))) as line:
        line.shutdown(socket.SHUT_RDWR)


def _words(error: Exception) -> str:
    diagnosis = getattr(error, "diag", None)
    if diagnosis is not None and diagnosis.message_primary:
        return str(diagnosis.message_primary)
    if len(error.args) > 1 and isinstance(error.args[1], str):
        return _unquoted(error.args[1])
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _unquoted(text: str) -> str:
    """MySQL's message without the piece of the statement that it quotes."""
    return re.sub(r" near '.*", "", text, flags=re.DOTALL)
