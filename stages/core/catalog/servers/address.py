"""Server addresses, and the passwords that must not be seen.

A password comes from the URL, else from ``WINNOW_DB_PASSWORD``, else from what the driver's
own tools read (``PGPASSWORD`` and ``~/.pgpass``, ``MYSQL_PWD``). It stands in no record, no
message and no log: `Address.safe` is the only form of the URL that leaves this module.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from stages.core.dialects import BY_KIND, BY_SCHEME, SERVERS, Dialect
from stages.core.errors import SourceError, UsageError

if TYPE_CHECKING:
    from sqlalchemy import URL

OWN_PASSWORD = "WINNOW_DB_PASSWORD"
CONNECT_SECONDS = 10
_GIVEN: dict[str, str] = {}
"""Passwords of URLs that let someone in, by the URL without: what is scanned can be queried
then."""
_SECRET_KEY = re.compile(r"pass|secret|token|key", re.IGNORECASE)
_URL = re.compile(r"\s*(?P<scheme>[a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_RAW = frozenset("/?#@ \t\r\n")
"""Characters that a name or password in a URL holds only percent-encoded."""
ENCODING = "percent-encode what the password holds: %40 for @, %2F for /, %23 for #, %3F for ?"


def is_server(place: str) -> bool:
    """Whether a place on the command line is a URL and not a path."""
    return _URL.match(place) is not None


def mask(place: str) -> str:
    """A URL that may not even be one, without what could be a password.

    >>> mask("mysql://me:p@ss/w:rd#1@host/db?x=1"), mask("mysql://host/db")
    ('mysql://…@host/db', 'mysql://host/db')
    """
    scheme, mark, rest = place.strip().partition("://")
    _, at, tail = rest.rpartition("@")
    return f"{scheme}{mark}{'…@' if at else ''}{tail}".partition("?")[0]


@dataclass(frozen=True)
class Address:
    """Where a server is, and how to log in.

    Attributes:
        kind: Kind of the server, as `core.dialects` names it.
        safe: The URL without a password and without options that could hold one.
        url: The whole URL; not shown in a representation.
    """

    kind: str
    safe: str
    url: URL = field(repr=False)

    @property
    def password(self) -> str:
        """The password, where one is known here; empty where the driver finds its own."""
        if self.url.password is not None:
            return str(self.url.password)
        own = os.environ.get(OWN_PASSWORD)
        if own or not self.dialect.password_read:
            return own or ""
        return os.environ.get(self.dialect.password, "")

    @property
    def dialect(self) -> Dialect:
        """The server's dialect."""
        return BY_KIND[self.kind]

    def scrubbed(self, text: str) -> str:
        """A driver's message, with the password taken out should it stand there."""
        secrets = {self.password, *(os.environ.get(each.password, "") for each in SERVERS)}
        secrets |= {str(value) for key, value in self.url.query.items() if _SECRET_KEY.search(key)}
        for secret in sorted(secrets - {""}, key=len, reverse=True):
            if len(secret) < 3 and secret in text:
                return "the server's message is left out, since it could show the password"
            text = text.replace(secret, "…")
        return text


def address(place: str) -> Address:
    """Read a URL.

    Raises:
        UsageError: It is no URL of a known kind of server.
    """
    found = _URL.match(place)
    scheme = found["scheme"].lower().partition("+")[0] if found else ""
    if scheme not in BY_SCHEME:
        raise UsageError(
            f"no server of kind {scheme or '?'}",
            place=mask(place),
            hint=" or ".join(f"{each.schemes[0]}://" for each in SERVERS),
        )
    userinfo = place[found.end() :].rpartition("@")[0] if found else ""
    if _RAW.intersection(userinfo):
        raise UsageError(
            "not a URL that can be read: its password or another part before the last @ holds "
            "one of @ / ? #",
            place=mask(place),
            hint=ENCODING,
        )
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    dialect = BY_SCHEME[scheme]
    kind = dialect.kind
    try:
        url = make_url(place.strip()).set(drivername=dialect.driver)
    except (ArgumentError, ValueError):
        raise UsageError(
            "not a URL that can be read",
            place=mask(place),
            hint=f"write {kind}://user@host:port/database; %40 for @ and %2F for / in a name",
        ) from None
    if dialect.port and url.host and not url.port:
        url = url.set(port=dialect.port)
    public = {key: value for key, value in url.query.items() if not _SECRET_KEY.search(key)}
    bare = url.set(drivername=kind, query=public)._replace(password=None)
    safe = bare.render_as_string(hide_password=False)
    if url.password is None and safe in _GIVEN:
        url = url.set(password=_GIVEN[safe])
    return Address(kind, safe, url)


Connection: TypeAlias = Any
"""A driver's connection: psycopg's or PyMySQL's. The module of a server knows which it is, and
uses what that driver alone has; what they share is too little for a protocol."""

Record: TypeAlias = tuple[Any, ...]
"""A row of a server's own catalog; the query that asked for it says what stands in it."""


def connect(where: Address, seconds: float = CONNECT_SECONDS) -> Connection:
    """A new connection of the driver: psycopg's or PyMySQL's.

    Args:
        where: The server.
        seconds: How long to wait for it.

    Raises:
        SourceError: It cannot be reached, or does not let the user in.
    """
    library = where.url.get_dialect()()
    words, named = library.create_connect_args(where.url)
    password = where.password
    if password:
        named["password"] = password.encode() if where.dialect.password_bytes else password
    named.update(connect_timeout=max(1, int(seconds)), **where.dialect.options)
    driver = library.import_dbapi()
    try:
        con = driver.connect(*words, **named)
    except (driver.Error, OSError, UnicodeError, TypeError) as error:
        lines = [line.strip() for line in str(_words(error)).splitlines() if line.strip()]
        what = where.scrubbed(lines[-1] if lines else type(error).__name__)
        raise SourceError(
            f"cannot connect: {what[:300]}", place=where.safe, hint=_hint(where, what)
        ) from None
    if where.url.password is not None:
        _GIVEN[where.safe] = str(where.url.password)
    return con


def _words(error: Exception) -> object:
    """What the server said; PyMySQL puts a number before it."""
    return error.args[1] if len(error.args) > 1 and isinstance(error.args[1], str) else error


def _hint(where: Address, what: str) -> str:
    if re.search(r"password|denied|authentication", what, re.IGNORECASE):
        return f"give the password in {OWN_PASSWORD} or {where.dialect.password}"
    return "check host, port and database"
