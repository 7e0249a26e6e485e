"""What a reply on a batch says: its names resolved to what the batch shows, and no more.

What takes away is read strictly, what keeps is read generously: an irrelevant table or
column has to be named exactly as it is shown (or by its short id) and so that nothing else
can be meant; a relevant one may come in another case, with quotes or a schema before it, and
where a name could mean several things, all of them stay. Other names are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from stages.core.jsontypes import JsonMapping
from stages.core.linking.batches import Batch
from stages.core.linking.column_refs import ColumnRef
from stages.core.linking.render import NAME
from stages.core.names import fold
from stages.core.text import visible

IRRELEVANT = ("obviously_irrelevant_tables", "obviously_irrelevant_columns")
RELEVANT = ("relevant_tables", "relevant_columns")
"""The two lists of a reply (seed 004, 3.3)."""


@dataclass(frozen=True)
class PruneReply:
    """What one reply names.

    Args:
        whole: Tables named as a whole.
        columns: Candidate columns, those of whole tables among them as far as shown.
        unknown: Names that mean nothing in the batch, in order.
    """

    whole: frozenset[str] = frozenset()
    columns: frozenset[ColumnRef] = frozenset()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReplyReader:
    """Reads replies on one batch."""

    batch: Batch

    def negative(self, reply: Mapping[str, object]) -> PruneReply:
        """What the reply takes away; data that fits ``schemas/replies/prune.negative.json``."""
        return self._read(reply, *IRRELEVANT, generous=False)

    def positive(self, reply: Mapping[str, object]) -> PruneReply:
        """What the reply keeps; data that fits ``schemas/replies/prune.positive.json``."""
        return self._read(reply, *RELEVANT, generous=True)

    def tables(self, said: str) -> set[str]:
        """The tables that a name or a short id means, read generously."""
        return self._tables(said, generous=True, group=True)

    def _read(self, reply: JsonMapping, tables: str, columns: str, *, generous: bool) -> PruneReply:
        whole: set[str] = set()
        units: set[ColumnRef] = set()
        unknown: list[str] = []
        for said in reply[tables]:
            found = self._tables(said, generous=generous, group=generous)
            whole |= found
            unknown += [] if found else [said]
        for entry in reply[columns]:
            owners = self._tables(entry["table"], generous=generous, group=True)
            unknown += [] if owners else [entry["table"]]
            for said in entry["columns"]:
                names = {(t, c) for t in owners for c in self._columns(t, said, generous)}
                units |= names
                unknown += [] if names or not owners else [f"{entry['table']}.{said}"]
        units |= {(table, name) for table in whole for name in self._shown[table]}
        return PruneReply(frozenset(whole), frozenset(units), tuple(unknown))

    def _tables(self, said: str, *, generous: bool, group: bool) -> set[str]:
        """Tables that the name means; a group's id means all of its tables where that counts."""
        if group and said in self._groups and said not in self._names:
            return set(self._groups[said])
        found = self._names.get(said, set())
        if generous:
            loose, last = self._loose, _fold(said, dotted=True)
            return set(found or loose.get(_fold(said)) or loose.get(last, set()))
        return set(found) if len(found) == 1 else set()

    def _columns(self, table: str, said: str, generous: bool) -> set[str]:
        """Candidate columns of the table that the name means, fields of a nested one too."""
        exact, loose = self._column_names(table)
        found = exact.get(said, set())
        if not generous:
            return found
        return found or loose.get(_fold(said), set()) | loose.get(_fold(said, dotted=True), set())

    @cached_property
    def _shown(self) -> Mapping[str, tuple[str, ...]]:
        return self.batch.columns

    @cached_property
    def _groups(self) -> Mapping[str, Sequence[str]]:
        return self.batch.groups

    @cached_property
    def _names(self) -> dict[str, set[str]]:
        """Names as shown and short ids; a data name that looks like an id means both."""
        found: dict[str, set[str]] = defaultdict(set)
        for name, short in self.batch.ids.items():
            for spelling in (name, visible(name), visible(name, NAME), short):
                found[spelling].add(name)
        return dict(found)

    @cached_property
    def _loose(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for said, names in self._names.items():
            for spelling in (_fold(said), _fold(said, dotted=True)):
                found[spelling] |= names
        return dict(found)

    def _column_names(self, table: str) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
        if table not in self._cached:
            self._cached[table] = _spellings(self._shown[table])
        return self._cached[table]

    @cached_property
    def _cached(self) -> dict[str, tuple[dict[str, set[str]], dict[str, set[str]]]]:
        return {}


def _spellings(columns: Iterable[str]) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Columns by exact and by loose spellings; the outer part of a path means all below it.

    An exact spelling of one column never means another as well, unless it was cut.
    """
    exact: dict[str, set[str]] = defaultdict(set)
    loose: dict[str, set[str]] = defaultdict(set)
    cuts: dict[str, set[str]] = defaultdict(set)
    for name in columns:
        exact[name].add(name)
        exact[visible(name)].add(name)
        cuts[visible(name, NAME)].add(name)
        for spelling in (_fold(name), _fold(name, dotted=True), *_above(name)):
            loose[_fold(spelling)].add(name)
    for said, names in cuts.items():
        if len(names) == 1:
            exact[said] |= names
        loose[_fold(said)] |= names
    for name in columns:
        for outer in _above(name):
            exact.setdefault(outer, set()).add(name)
    return dict(exact), dict(loose)


def _above(path: str) -> list[str]:
    """The outer parts of a dotted path.

    >>> _above("a.b.c")
    ['a', 'a.b']
    """
    return [path[:place] for place, char in enumerate(path) if char == "."]


def _fold(name: str, *, dotted: bool = False) -> str:
    """A name without case, quotes and white space around it; its last part where dotted."""
    bare = fold(name.strip().strip("`\"'[]"))
    return bare.rpartition(".")[2].strip("`\"'[]") if dotted else bare
