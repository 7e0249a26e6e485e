"""Several databases over one catalog, so that statements run side by side.

A `Database` runs one statement at a time in one child process, and a statement over a table
that the child does not have costs the start of another. A pool hands each statement to the
free database that has its tables already, else to the one that has fewest.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stages.core.sandbox.database import Database
    from stages.core.sandbox.limits import Answer

MOST = 4
"""Databases of a pool at most: each may take the memory of a statement's limit."""


def size_for(concurrency: int) -> int:
    """Databases for so many conversations at once: no more than cores, or than `MOST`."""
    return max(1, min(concurrency, os.cpu_count() or 1, MOST))


@dataclass
class Member:
    """One database, and the names of the tables that it has run statements over."""

    database: Database
    held: set[str] = field(default_factory=set)


class Pool:
    """Databases that are made when they are first needed; safe to share between threads.

    Args:
        make: Makes one more database. A child comes with the first tables that are loaded, so
            the tables named to it are to stand first.
        size: How many there may be.
        ahead: Names the tables that will be wanted next, given some that are wanted now and
            that no free database has; none where that is not known.
    """

    def __init__(
        self,
        make: Callable[[Sequence[str]], Database],
        size: int,
        ahead: Callable[[Collection[str]], Sequence[str]] | None = None,
    ) -> None:
        self._make, self._ahead = make, ahead
        self._left = max(1, size)
        self._members: list[Member] = []
        self._free: list[Member] = []
        self._change = threading.Condition()
        self._stopped = False

    def query(
        self,
        sql: str,
        *,
        dialect: str | None = None,
        rows: int | None = None,
        near: Collection[str] = (),
    ) -> Answer:
        """As `Database.query`; ``near`` names the tables of the statement.

        Raises:
            CancelledError: It was stopped by `stop`.
        """
        with self._member(near) as member:
            self._look_ahead(member, set(near) - member.held)
            if self._stopped:
                raise CancelledError
            member.held.update(near)
            return member.database.query(sql, dialect=dialect, rows=rows)

    def _look_ahead(self, member: Member, missing: set[str]) -> None:
        """Start the database anew with the tables that come next, rather than once for each."""
        coming = self._ahead(missing) if self._ahead is not None and missing else ()
        if coming:
            member.database.close()
            member.database = self._make(coming)
            member.held = set(coming)

    def stop(self) -> None:
        """End all statements that run now, from any thread; no other runs after them."""
        self._stopped = True
        with self._change:
            members = list(self._members)
        for member in members:
            member.database.stop()

    def close(self) -> None:
        """End all child processes; a statement that comes later starts one again."""
        with self._change:
            members = list(self._members)
        for member in members:
            member.database.close()
            member.held.clear()

    @contextmanager
    def _member(self, near: Collection[str]) -> Iterator[Member]:
        member = self._borrowed(set(near))
        try:
            yield member
        finally:
            with self._change:
                self._free.append(member)
                self._change.notify()

    def _borrowed(self, near: set[str]) -> Member:
        with self._change:
            while True:
                fitting = [member for member in self._free if near <= member.held]
                if not fitting and self._left:
                    self._left -= 1
                    member = Member(self._make(()))
                    self._members.append(member)
                    return member
                if self._free:
                    chosen = (fitting or sorted(self._free, key=lambda m: len(m.held)))[0]
                    self._free.remove(chosen)
                    return chosen
                self._change.wait()
