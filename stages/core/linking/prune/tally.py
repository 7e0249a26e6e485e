"""From replies to survivors, and from survivors to the ``prune`` section.

The ``prune`` section: survivors, and what went, as sparse as it can be.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, TypeVar, cast

from stages.core.linking.column_refs import ColumnRef, column_refs, every, group_tables, kept_names
from stages.core.linking.prune.replies import PruneReply

if TYPE_CHECKING:
    from stages.core.records import Prune, PruneLost, Table

LISTED = 2_000
"""Deleted columns, and contested votes, that are listed before they are only counted."""

NOTES = 20
"""Notes that are written before they are only counted."""


def superset_section(
    tables: Sequence[Table],
    kept: Mapping[str, frozenset[str]],
    *,
    cut: Mapping[str, frozenset[str]] | None = None,
    contested: Sequence[ContestedColumn] = (),
    batches: int = 0,
    notes: Sequence[str] = (),
    error: str = "",
) -> Prune:
    """The section without ``meta``, the same whatever the order of the table lines.

    Args:
        tables: All tables of the catalog, by name.
        kept: Candidate columns that stay, by table.
        cut: What stayed before the budget cut it, where it did.
        contested: Votes on what stays.
        batches: Batches that a model was asked about.
        notes: What is worth knowing.
        error: Why the answer is only the safe one.
    """
    whole = {table["name"]: tuple(column_refs(table)) for table in tables}
    made: dict[str, object] = {
        "kept": {t["name"]: kept_names(t, kept[t["name"]]) for t in tables if t["name"] in kept},
        "deleted": _lost(whole, whole, kept if cut is None else cut),
    }
    if cut is not None:
        made["cut"] = _lost(whole, cut, kept)
    shown = [table for table in tables if table["name"] in kept]
    several = [group.names for group in group_tables(shown) if len(group.names) > 1]
    made |= {
        "groups": {group[0]: list(group) for group in several},
        "votes": [_vote(item) for item in contested[:LISTED]],
        "n_tables": len(tables),
        "n_columns": sum(map(len, whole.values())),
        "n_kept_tables": len(kept),
        "n_kept_columns": sum(map(len, kept.values())),
        "batches": batches,
        "notes": _few(list(notes), len(contested) - LISTED),
        "error": error,
    }
    return cast("Prune", made)


def _lost(
    whole: Mapping[str, Sequence[str]],
    before: Mapping[str, Collection[str]],
    after: Mapping[str, Collection[str]],
) -> PruneLost:
    """Tables that went as a whole; and columns that went out of others, or their number.

    Args:
        whole: All candidate columns by table, in the order in which they are listed.
        before, after: What there was and what stays.
    """
    columns = {
        name: [unit for unit in own if unit in before[name] and unit not in after[name]]
        for name, own in whole.items()
        if name in before and name in after
    }
    columns = {name: units for name, units in columns.items() if units}
    many = sum(map(len, columns.values())) > LISTED
    return {
        "tables": [name for name in whole if name in before and name not in after],
        "columns": {n: len(c) if many else c for n, c in columns.items()},
    }


def _vote(item: ContestedColumn) -> dict[str, object]:
    column = {"column": item.column} if item.column else {}
    counts = {"irrelevant": item.irrelevant, "relevant": item.relevant}
    return {"table": item.table, **column, **counts, "kept": item.kept}


def _few(notes: list[str], unlisted: int) -> list[str]:
    """The first notes, and how many more there are."""
    if unlisted > 0:
        notes = [*notes, f"{unlisted} more contested votes are not listed"]
    rest = len(notes) - NOTES
    return notes if rest <= 0 else [*notes[: NOTES - 1], f"{rest + 1} more notes are left out"]


# Deletion by intersection, keeping by union, and keeping wins (seed 004, 3.3).

Named = TypeVar("Named", str, ColumnRef)


@dataclass(frozen=True)
class SideVote:
    """What the samples say about one batch.

    Args:
        shown: Candidate columns shown of each table.
        negatives, positives: One for each sample, by number; None where the call failed.
    """

    shown: Mapping[str, Sequence[str]]
    negatives: tuple[PruneReply | None, ...]
    positives: tuple[PruneReply | None, ...]

    @property
    def failed(self) -> bool:
        """Whether a call failed, or none was made."""
        return not self.negatives or None in self.negatives or None in self.positives


@dataclass(frozen=True)
class ContestedColumn:
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
class PruneOutcome:
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
    relevant: frozenset[ColumnRef] = frozenset()
    contested: tuple[ContestedColumn, ...] = ()
    refused: bool = False


@dataclass
class _Tally:
    """All votes, over all batches."""

    failed: set[str] = field(default_factory=set)
    judged: set[str] = field(default_factory=set)
    whole: dict[str, bool] = field(default_factory=dict)
    deleted: set[ColumnRef] = field(default_factory=set)
    positive: set[ColumnRef] = field(default_factory=set)
    relevant: set[str] = field(default_factory=set)
    touched: set[str] = field(default_factory=set)
    against: Counter[ColumnRef] = field(default_factory=Counter)
    favour: Counter[ColumnRef] = field(default_factory=Counter)


def merge(
    tables: Sequence[Table],
    votes: Iterable[SideVote],
    *,
    names: Collection[ColumnRef],
    keys: Collection[ColumnRef],
) -> PruneOutcome:
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
        own = frozenset(column_refs(table))
        left = _left(name, own, tally, names, keys) if name in judged else own
        if left or not own:
            kept[name] = left
    whole = {table["name"]: frozenset(column_refs(table)) for table in tables}
    refused = bool(judged) and not judged & kept.keys()
    contested = _contested(whole if refused else kept, tally, names, keys)
    if refused:
        kept = whole
    relevant = frozenset(unit for unit in every(tables) if _is_relevant(unit, tally))
    return PruneOutcome(kept, frozenset(judged), relevant, contested, refused)


def _tallied(votes: Iterable[SideVote]) -> _Tally:
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


def _is_relevant(unit: ColumnRef, tally: _Tally) -> bool:
    """Named by a positive sample, or of a table that one named as a whole."""
    return unit in tally.positive or unit[0] in tally.relevant


def _left(
    name: str,
    own: frozenset[str],
    tally: _Tally,
    names: Collection[ColumnRef],
    keys: Collection[ColumnRef],
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
    names: Collection[ColumnRef],
    keys: Collection[ColumnRef],
) -> tuple[ContestedColumn, ...]:
    """What was named irrelevant and stays; a table stands for its columns."""
    found: dict[str, list[ContestedColumn]] = defaultdict(list)
    for (table, column), against in sorted(tally.against.items()):
        named_whole = tally.against.get((table, ""), 0)
        if table not in kept or (column and column not in kept[table]):
            continue
        if column and against <= named_whole:
            continue
        why = _why((table, column), tally, names, keys)
        favour = tally.favour.get((table, column), 0)
        found[table].append(ContestedColumn(table, column, against, favour, why))
    return tuple(item for table in sorted(found) for item in found[table])


def _why(
    unit: ColumnRef, tally: _Tally, names: Collection[ColumnRef], keys: Collection[ColumnRef]
) -> str:
    """The first reason why a unit that was named irrelevant stays."""
    table, column = unit
    if table in tally.failed:
        return "failed"
    if table in tally.relevant or unit in tally.positive or (not column and table in tally.touched):
        return "relevant"
    if unit in tally.deleted or (not column and tally.whole.get(table, False)):
        return "name" if unit in names else "key" if unit in keys else "refused"
    return "votes"
