"""Deletion by intersection, keeping by union, and keeping wins (seed 004, 3.3).

Everything here is pure. For every batch there are the samples that say what is irrelevant
and those that say what is relevant; None stands for a call that failed. A batch with a
failed call says nothing: what it shows stays, so that faults only ever enlarge the result.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, TypeVar

from stages.core.linking.columns import Unit, every, units
from stages.core.linking.replies import Said

if TYPE_CHECKING:
    from stages.core.records import Table

Named = TypeVar("Named", str, Unit)


@dataclass(frozen=True)
class Voted:
    """What the samples say about one batch.

    Args:
        shown: Candidate columns shown of each table.
        negatives, positives: One for each sample, by number; None where the call failed.
    """

    shown: Mapping[str, Sequence[str]]
    negatives: tuple[Said | None, ...]
    positives: tuple[Said | None, ...]

    @property
    def failed(self) -> bool:
        """Whether a call failed, or none was made."""
        return not self.negatives or None in self.negatives or None in self.positives


@dataclass(frozen=True)
class Contested:
    """A table (column empty) or column that was named irrelevant and stays.

    Args:
        irrelevant, relevant: Samples that named it so.
        kept: Why it stays: ``relevant``, ``name``, ``key``, ``failed``, or ``votes`` where
            not every sample named it.
    """

    table: str
    column: str
    irrelevant: int
    relevant: int
    kept: str


@dataclass(frozen=True)
class Outcome:
    """What pruning leaves.

    Args:
        kept: Candidate columns that stay, by table; a table that is missing is deleted.
        judged: Tables that all samples of all their batches judged; a budget cuts no others.
        relevant: Candidate columns that a positive sample named; no budget cuts them.
        contested: By table and column.
        refused: Whether everything would have been deleted, so that everything stays.
    """

    kept: Mapping[str, frozenset[str]]
    judged: frozenset[str] = frozenset()
    relevant: frozenset[Unit] = frozenset()
    contested: tuple[Contested, ...] = ()
    refused: bool = False


@dataclass
class _Tally:
    """All votes, over all batches."""

    failed: set[str] = field(default_factory=set)
    judged: set[str] = field(default_factory=set)
    whole: dict[str, bool] = field(default_factory=dict)
    deleted: set[Unit] = field(default_factory=set)
    positive: set[Unit] = field(default_factory=set)
    relevant: set[str] = field(default_factory=set)
    touched: set[str] = field(default_factory=set)
    against: Counter[Unit] = field(default_factory=Counter)
    favour: Counter[Unit] = field(default_factory=Counter)


def merged(
    tables: Sequence[Table],
    votes: Iterable[Voted],
    *,
    names: Collection[Unit],
    keys: Collection[Unit],
) -> Outcome:
    """What stays of the tables.

    Args:
        tables: All tables that can be deleted; those that no batch shows stay.
        votes: One for each batch, in order.
        names, keys: Candidate columns that stay as long as their table does: names of
            recognition and declared keys.
    """
    tally = _tallied(votes)
    judged = tally.judged - tally.failed
    kept: dict[str, frozenset[str]] = {}
    for table in tables:
        name = table["name"]
        own = frozenset(units(table))
        left = _left(name, own, tally, names, keys) if name in judged else own
        if left or not own:
            kept[name] = left
    whole = {table["name"]: frozenset(units(table)) for table in tables}
    refused = bool(judged) and not judged & kept.keys()
    contested = _contested(whole if refused else kept, tally, names, keys)
    if refused:
        kept = whole
    relevant = frozenset(unit for unit in every(tables) if _is_relevant(unit, tally))
    return Outcome(kept, frozenset(judged), relevant, contested, refused)


def _tallied(votes: Iterable[Voted]) -> _Tally:
    tally = _Tally()
    for batch in votes:
        tally.judged |= batch.shown.keys()
        came = [[said for said in side if said] for side in (batch.negatives, batch.positives)]
        for side, counter in zip(came, (tally.against, tally.favour), strict=True):
            for said in side:
                counter.update(said.columns)
                counter.update((name, "") for name in said.whole)
        if batch.failed:
            tally.failed |= batch.shown.keys()
            continue
        everywhere = _all(said.whole for said in came[0])
        for name in batch.shown:
            tally.whole[name] = tally.whole.get(name, True) and name in everywhere
        tally.deleted |= _all(said.columns for said in came[0])
        for said in came[1]:
            tally.positive |= said.columns
            tally.relevant |= said.whole
            tally.touched |= {table for table, _ in said.columns}
    return tally


def _all(sets: Iterable[frozenset[Named]]) -> frozenset[Named]:
    """What is in every one of the sets, of which there is one at least."""
    return reduce(frozenset.intersection, sets)


def _is_relevant(unit: Unit, tally: _Tally) -> bool:
    """Named by a positive sample, or of a table that one named as a whole."""
    return unit in tally.positive or unit[0] in tally.relevant


def _left(
    name: str,
    own: frozenset[str],
    tally: _Tally,
    names: Collection[Unit],
    keys: Collection[Unit],
) -> frozenset[str]:
    """The columns that stay of one table; none where the table goes.

    A table goes as a whole, its names and keys with it, where every negative sample named
    it in every batch that shows it, and no positive sample named anything of it.
    """
    wanted = {column for column in own if _is_relevant((name, column), tally)}
    if tally.whole.get(name, False) and not wanted and name not in tally.relevant:
        return frozenset()
    return frozenset(
        column
        for column in own
        if column in wanted
        or (name, column) not in tally.deleted
        or (name, column) in names
        or (name, column) in keys
    )


def _contested(
    kept: Mapping[str, frozenset[str]],
    tally: _Tally,
    names: Collection[Unit],
    keys: Collection[Unit],
) -> tuple[Contested, ...]:
    """What was named irrelevant and stays; a table stands for its columns."""
    found: dict[str, list[Contested]] = defaultdict(list)
    for (table, column), against in sorted(tally.against.items()):
        named_whole = tally.against.get((table, ""), 0)
        if table not in kept or (column and column not in kept[table]):
            continue
        if column and against <= named_whole:
            continue
        why = _why((table, column), tally, names, keys)
        favour = tally.favour.get((table, column), 0)
        found[table].append(Contested(table, column, against, favour, why))
    return tuple(item for table in sorted(found) for item in found[table])


def _why(unit: Unit, tally: _Tally, names: Collection[Unit], keys: Collection[Unit]) -> str:
    """The first reason why a unit that was named irrelevant stays."""
    table, column = unit
    if table in tally.failed:
        return "failed"
    if table in tally.relevant or unit in tally.positive or (not column and table in tally.touched):
        return "relevant"
    if unit in tally.deleted or (not column and tally.whole.get(table, False)):
        return "name" if unit in names else "key" if unit in keys else "refused"
    return "votes"
