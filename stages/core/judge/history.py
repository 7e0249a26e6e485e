"""What past SQL says: which tables are used together, and which columns of them.

`core.judge.past_sql` counts it. Names are kept in the form of canonical names
(`core.lookup.canonical`), once as the whole dotted name and once as its last part, so that a
table is found under either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from stages.core.lookup import Names, canonical

DOUBT = 2.0
"""Uses without any other table that are imagined for each table, so that one past
statement does not make a certainty."""


@dataclass(frozen=True)
class History:
    """Counts over the statements that were read.

    Attributes:
        statements: Statements that read at least one table.
        skipped: Statements that could not be read.
        tables: Statements by table.
        pairs: By table, statements in which another table stands too.
        columns: By table, statements by its columns.
        digest: Hash of the file's bytes.
    """

    statements: int = 0
    skipped: int = 0
    tables: Mapping[str, int] = field(default_factory=dict)
    pairs: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    columns: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    digest: str = ""

    def __str__(self) -> str:
        return self.digest

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of how the file was read."""
        if not self.skipped:
            return ()
        return (
            f"history: {self.skipped} of {self.skipped + self.statements} statements could not be read",
        )

    def cooccurrence(self, table: str) -> Mapping[str, float]:
        """By other table, the share of the table's statements that use it too.

        Args:
            table: A canonical name, or a dotted one.
        """
        return self._shares(table, self.pairs)

    def column_use(self, table: str) -> Mapping[str, float]:
        """By column (lower case), the share of the table's statements that use it."""
        return self._shares(table, self.columns)

    def knows(self, table: str) -> bool:
        """Whether any statement reads the table."""
        return self._key(table) in self.tables

    def _shares(self, table: str, counts: Mapping[str, Mapping[str, int]]) -> dict[str, float]:
        key = self._key(table)
        whole = self.tables.get(key, 0) + DOUBT
        return {name: n / whole for name, n in counts.get(key, {}).items()}

    def _key(self, table: str) -> str:
        key = canonical(table)
        return key if key in self.tables else canonical(table.rsplit(".", 1)[-1])


@dataclass(frozen=True)
class BoundHistory:
    """A history over one catalog: tables come and go by the catalog's own names."""

    history: History
    names: Names

    def cooccurrence(self, table: str) -> dict[str, float]:
        """By canonical name, the share of the table's statements that use the other too."""
        shares: dict[str, float] = {}
        for name, share in self.history.cooccurrence(self._known(table)).items():
            other = self.names.table(name)
            if other is not None and other != table:
                shares[other] = max(share, shares.get(other, 0.0))
        return shares

    def column_use(self, table: str) -> Mapping[str, float]:
        """See `History.column_use`."""
        return self.history.column_use(self._known(table))

    def _known(self, table: str) -> str:
        """The spelling of a table under which past SQL knows it; its own where none is."""
        spellings = self.names.spellings(table)
        return next((name for name in spellings if self.history.knows(name)), table)
