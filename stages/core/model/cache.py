"""Kept replies: a SQLite file for all processes of a user, or an exported file to read from.

SQLite, and not a file a reply, because a run keeps thousands of small replies: one file in
write-ahead mode takes a reply in well under a millisecond, is never seen half-written
whenever a process is killed, and is shared by processes that run at once. Requests and
replies stand in it as JSON text, readable with ``winnow cache show`` or any SQLite tool.
Of two replies to one request the first stays, and both askers get that one, so that a
replay repeats what every run has said.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import orjson

from stages.core.errors import DataError, UsageError, os_words
from stages.core.jsontypes import JsonMapping
from stages.core.keyvalue import KeyValueFile, KeyValueTable, unusable
from stages.core.model.request import Reply, key_of
from stages.core.paths import CACHES, is_export

FILE = CACHES["replies"]
PREFIX = "sha256:"
REPLIES = KeyValueTable(
    "replies",
    """
    key TEXT PRIMARY KEY,      -- sha256 of the request and the base URL
    created REAL NOT NULL,     -- seconds since 1970
    request TEXT NOT NULL,     -- JSON: model, options, messages, schema, sample
    reply TEXT NOT NULL        -- JSON: data, text, tokens, cost, calls
    """,
    precious=True,  # they cost money
    checkpoint=10_000,
)


@dataclass(frozen=True)
class CacheEntry:
    """One kept reply.

    Args:
        key: Hash of the request and the URL.
        created: Seconds since 1970; 0 in an exported file.
        request: As `request.whole` gives it.
        reply: ``data``, ``text``, ``tokens_in``, ``tokens_out``, ``usd``, ``calls``.
    """

    key: str
    created: float
    request: JsonMapping
    reply: JsonMapping

    def exported(self) -> bytes:
        """One line for an exported file, under the key that it has without a URL."""
        line = {
            "key": key_of(self.request, None),
            "request": self.request,
            "reply": self.reply,
        }
        return orjson.dumps(line, option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


class ReplyStore(Protocol):
    """Where replies are kept."""

    shared: bool

    def get(self, key: str) -> Reply | None:
        """The kept reply; None where there is none."""
        ...

    def put(self, key: str, request: Mapping[str, object], reply: Reply) -> Reply:
        """Keep a reply, unless there is one; the one that is kept."""
        ...

    def close(self) -> None:
        """Close what is open."""
        ...


def _packed(reply: Reply) -> dict[str, object]:
    names = ("data", "text", "tokens_in", "tokens_out", "usd", "calls")
    return {name: getattr(reply, name) for name in names}


def _unpacked(reply: JsonMapping) -> Reply | None:
    try:
        return Reply(cached=True, **reply)
    except TypeError:  # written by another version, or by hand
        return None


class Cache:
    """The SQLite file in a folder, made when it is first needed.

    Raises:
        UsageError: The folder or the file in it cannot be used.
    """

    shared = True

    def __init__(self, folder: Path) -> None:
        self.file = KeyValueFile(folder / FILE, REPLIES)
        self.path = self.file.path
        try:
            self._db = self.file.connection()
        except (OSError, sqlite3.Error) as error:
            raise unusable(self.path, error) from None

    def get(self, key: str) -> Reply | None:
        """The kept reply; None where there is none that can be read."""
        try:
            row = self.file.row("SELECT reply FROM replies WHERE key = ?", (key,))
            return None if row is None else _unpacked(orjson.loads(str(row[0])))
        except (sqlite3.Error, orjson.JSONDecodeError):
            return None

    def put(self, key: str, request: Mapping[str, object], reply: Reply) -> Reply:
        """Keep a reply; where another process was quicker, its reply is given back.

        Raises:
            DataError: The disk is full or the file cannot be written.
        """
        values = (key, time.time(), _text(request), _text(_packed(reply)))
        try:
            done = self._db.execute(
                "INSERT INTO replies VALUES (?, ?, ?, ?) ON CONFLICT (key) DO NOTHING", values
            )
            if done.rowcount:
                return reply
            kept = self.get(key)
            if kept is None:
                self._db.execute("REPLACE INTO replies VALUES (?, ?, ?, ?)", values)
        except sqlite3.Error as error:
            raise DataError(f"a reply cannot be kept: {error}", place=str(self.path)) from None
        return kept or reply

    def entries(self, prefix: str = "") -> Iterator[CacheEntry]:
        """All kept replies whose key begins so, in the order of their keys."""
        start = whole_prefix(prefix)
        with self._damage():
            rows = self._db.execute(
                "SELECT key, created, request, reply FROM replies WHERE key >= ? AND key < ? "
                "ORDER BY key",
                (start, f"{start}\x7f"),
            )
            for key, created, request, reply in rows:
                yield CacheEntry(key, created, orjson.loads(request), orjson.loads(reply))

    def mean_out(self, name: str) -> int | None:
        """Reply tokens that replies to schema ``name`` have on average; None where none is kept."""
        asked = "SELECT avg(reply ->> '$.tokens_out') FROM replies WHERE request ->> '$.name' = ?"
        try:
            row = self._db.execute(asked, (name,)).fetchone()
        except sqlite3.Error:
            return None
        return None if row[0] is None else round(row[0])

    def remove(self, keys: list[str]) -> int:
        """Forget these replies; how many there were."""
        with self._damage():
            with self.file.transaction() as con:
                gone = [
                    con.execute("DELETE FROM replies WHERE key = ?", (k,)).rowcount for k in keys
                ]
            self.file.shrink()
        return sum(gone)

    @contextmanager
    def _damage(self) -> Iterator[None]:
        """An error of the file as one line for the user."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise DataError(
                f"the cache cannot be changed: {error}",
                place=str(self.path),
                hint="check its permissions, and make room",
            ) from None
        except (sqlite3.Error, orjson.JSONDecodeError) as error:
            raise DataError(
                f"the cache is damaged: {error}",
                place=str(self.path),
                hint="delete the file; replies are asked again",
            ) from None

    def close(self) -> None:
        """Close the file."""
        self.file.close()


class ExportedReplies:
    """A file that ``winnow cache export`` wrote: only read, and the same for every URL.

    Raises:
        UsageError: The file cannot be read.
        DataError: A line of it is no such entry.
    """

    shared = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self._entries: dict[str, CacheEntry] = {}
        self._replies: dict[str, Reply] = {}
        try:
            lines = path.read_bytes().splitlines()
        except OSError as error:
            raise UsageError(
                f"the cache cannot be read: {os_words(error)}", place=str(path)
            ) from None
        for number, line in enumerate(lines, 1):
            if line.strip():
                self._read(line, f"{path}:{number}")

    def _read(self, line: bytes, place: str) -> None:
        try:
            found = orjson.loads(line)
            reply = _unpacked(found["reply"])
            # The key is made from the request as it stands, so that a line may be mended by hand.
            entry = CacheEntry(
                key_of(found["request"], None), 0.0, found["request"], found["reply"]
            )
        except (orjson.JSONDecodeError, TypeError, KeyError):
            reply = None
        if reply is None:
            raise DataError(
                "no entry of an exported cache",
                place=place,
                hint="`winnow cache export` writes such files",
            )
        self._replies.setdefault(entry.key, reply)
        self._entries.setdefault(entry.key, entry)

    def entries(self, prefix: str = "") -> Iterator[CacheEntry]:
        """All entries whose key begins so, in the order of their keys."""
        start = whole_prefix(prefix)
        return (entry for key, entry in sorted(self._entries.items()) if key.startswith(start))

    def get(self, key: str) -> Reply | None:
        """The kept reply; None where there is none."""
        return self._replies.get(key)

    def put(self, key: str, request: Mapping[str, object], reply: Reply) -> Reply:
        """Nothing is written; a second asker in the same process gets the same reply."""
        return self._replies.setdefault(key, reply)

    def close(self) -> None:
        """Nothing is open."""


def whole_prefix(prefix: str) -> str:
    """The beginning of keys that a user means, with or without ``sha256:``."""
    return prefix if prefix.startswith(PREFIX) else f"{PREFIX}{prefix}"


def open_store(where: Path | None) -> Cache | ExportedReplies | None:
    """The store at a path: a folder, or an exported file; None for None."""
    if where is None:
        return None
    return ExportedReplies(where) if is_export(where) else Cache(where)


def _text(value: object) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
