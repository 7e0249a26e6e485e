"""What a server has, before names are canonical: the shape that each kind of server fills."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Protocol

from stages.core.catalog.source_table import ScanOptions, SourceTable
from stages.core.names import fold
from stages.core.records import Skipped

SAMPLE_ROWS = 100
SAMPLE_CELLS = 5000
SAMPLE_SECONDS = 2.0
"""For the first rows of one table; a view may compute for hours."""

Row = tuple[str | None, ...]


@dataclass(frozen=True)
class ServerOptions:
    """Which tables of a server are taken.

    Args:
        schemas: Patterns of the only schemas (databases of MySQL); empty takes all but the
            server's own, or the one database that a MySQL URL names.
        include: Patterns of the only tables, matched with ``table`` and ``schema.table``.
        exclude: Patterns of tables to leave out.
        sample: Whether rows are looked at.
    """

    schemas: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    sample: bool = True

    def takes_schema(self, schema: str) -> bool:
        """Whether tables of the schema are taken."""
        return not self.schemas or _matches([schema], self.schemas)

    def takes(self, schema: str, table: str) -> bool:
        """Whether the table of a taken schema is taken."""
        names = [table, f"{schema}.{table}"]
        if _matches(names, self.exclude):
            return False
        return not self.include or _matches(names, self.include)


def _matches(names: Sequence[str], patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(fold(name), fold(p)) for name in names for p in patterns)


@dataclass
class ServerTable:
    """One table that may be read: where it is, and what the server says of it.

    Attributes:
        schema: Its schema, or its database.
        raw: The table, as far as the server's own tables tell.
        texts: Expression of each column that gives its cell as text, capped; in order.
    """

    schema: str
    raw: SourceTable
    texts: list[str] = field(default_factory=list)


@dataclass
class Inventory:
    """All that a scan needs to know of a server.

    Attributes:
        name: The database.
        tables: In the order of schema and name.
        skipped: Tables that are not taken, and why.
        warnings: What the role may do that it should not.
    """

    name: str
    tables: list[ServerTable] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def skip(self, path: str, reason: str) -> None:
        """List a table as not taken."""
        self.skipped.append({"path": path, "reason": reason})


class ServerReader(Protocol):
    """What the module of a kind of server has."""

    inventory: Callable[[object, ServerOptions, ScanOptions], Inventory]
    """Everything but rows, in a constant number of statements."""
    rows: Callable[[object, ServerTable, int], list[Row]]
    """The first rows of a table as text."""
    count: Callable[[object, ServerTable], int]
    """All rows of a table."""
    too_late: Callable[[Exception], bool]
    """Whether an error means that the time was over."""
    beyond_reading: Callable[[object], list[str]]
    """What the role can do that a reader cannot, each with what it can do it on. A queried role
    should have SELECT and nothing else: then the server itself holds what the gate holds."""


LEFT_OUT = "left out by --schemas, --include or --exclude"
FORBIDDEN = "the role may not read it"
WRITES = (
    "the role can {what}; queries run read-only all the same, but a role with SELECT only is safer"
)

NAMED = 3
"""Places that are named, of all that a role can write to."""


def some(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
