"""The ``vote`` section: verdicts over rounds, with a tally and a reason for each table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from stages.core.counts import many
from stages.core.readers import (
    KeptColumns,
    Lists,
    Order,
    SectionReader,
    count_of,
    key_conflict,
)
from stages.core.text import listed

if TYPE_CHECKING:
    from stages.core.records import Table, Vote


def voted_tables(section: Vote, tables: Iterable[str]) -> set[str]:
    """The tables that vote keeps: all that it does not skip.

    A table that no verdict is about is kept, and so are all where no round succeeded. Where
    the places of a verdict contradict each other, the table is kept; see `_conflicts`.

    Args:
        section: The ``vote`` section.
        tables: Canonical names of the catalog.
    """
    if section.get("error") and not section.get("n_rounds_ok"):
        return set(tables)
    said = _verdicts(section)
    always = section.get("always_keep", ())
    return {name for name in tables if name in always or said.get(name) != {False}}


def _verdicts(section: Vote) -> dict[str, set[bool]]:
    """What the places of a ``vote`` section say of each table; both where they contradict."""
    relevant, skipped = section.get("relevant_tables"), section.get("skipped_tables")
    said: dict[str, set[bool]] = {name: set() for name in _names(section)}
    for name, verdict in section.get("per_table", {}).items():
        said[name].add(verdict)
    whole = relevant is not None and skipped is not None
    for listing, meaning in ((relevant, True), (skipped, False)):
        inside = frozenset(listing or ())
        for name, found in said.items():
            if name in inside:
                found.add(meaning)
            elif whole:
                found.add(not meaning)
    return said


def _names(section: Vote) -> list[str]:
    return [
        *section.get("all_tables", ()),
        *section.get("relevant_tables", ()),
        *section.get("skipped_tables", ()),
        *section.get("always_keep", ()),
        *section.get("per_table", ()),
    ]


def _conflicts(section: Vote, tables: Sequence[Table]) -> Iterator[str]:
    odd = [name for name, said in _verdicts(section).items() if len(said) > 1]
    if odd:
        yield (
            f"vote: per_table, relevant_tables and skipped_tables disagree on {listed(odd)}; "
            "kept, unless all three say otherwise: set pin.fold or pin.keep instead"
        )
    elif "skipped_describe_keys" in section:
        where = "skipped_describe_keys and skipped_tables"
        keys, skipped = section["skipped_describe_keys"], section.get("skipped_tables", ())
        yield from key_conflict("vote", where, keys, skipped, tables)


def _kept(section: Vote) -> KeptColumns:
    if "relevant_tables" not in section:
        raise KeyError("relevant_tables")
    tables = voted_tables(section, _names(section))
    return KeptColumns(frozenset(tables), evidence=section.get("reasons", {}))


def _summary(section: Vote) -> str:
    kept, all_tables = len(section.get("relevant_tables", ())), len(section.get("all_tables", ()))
    total = all_tables + len(section.get("always_keep", ()))
    rounds = count_of(section.get("n_rounds_ok"), "round")
    return f"kept {kept} of {many(total, 'table')} in {rounds}"


def _ranking(section: Vote, order: Order) -> Lists:
    names = list(dict.fromkeys(_names(section)))
    kept, always = voted_tables(section, names), section.get("always_keep", ())
    tallies = section.get("vote_tally", {})

    def said(name: str) -> str:
        return f"{name} {'always' if name in always else tallies.get(name, '?')}"

    ranked = order.ranked(names)
    return [
        ("kept", [said(name) for name in ranked if name in kept]),
        ("not kept", [said(name) for name in ranked if name not in kept]),
    ]


def _why(section: Vote, table: Table) -> Iterator[str]:
    name = table["name"]
    if name in section.get("always_keep", ()):
        yield "not voted on: always keep"
    if name in section.get("per_table", {}):
        verdict = "relevant" if section["per_table"][name] else "not relevant"
        yield f"{verdict}, {section.get('vote_tally', {}).get(name, '?')} votes"
    if name in section.get("reasons", {}):
        yield f"reason: {section['reasons'][name]}"


def _diff(before: Vote, after: Vote) -> Iterator[str]:
    old, new = before.get("per_table", {}), after.get("per_table", {})
    for table, kept in new.items():
        if table in old and old[table] != kept:
            was, now = (vote.get("vote_tally", {}).get(table) for vote in (before, after))
            reason = after.get("reasons", {}).get(table, "")
            yield f"{table}: {'kept' if kept else 'folded'} now, {was} -> {now}; {reason}"
        elif before.get("reasons", {}).get(table) != after.get("reasons", {}).get(table):
            yield f"{table}: another reason: {after.get('reasons', {}).get(table, '')}"


READER: SectionReader[Vote] = SectionReader(
    _summary, _why, _diff, kept=_kept, names=_names, ranking=_ranking, conflicts=_conflicts
)
