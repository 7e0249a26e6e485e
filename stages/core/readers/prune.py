"""The ``prune`` section: the superset of tables and columns that both sides of pruning leave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from stages.core.counts import many
from stages.core.readers import KeptColumns, Lists, Order, SectionReader, count_of
from stages.core.text import listed

if TYPE_CHECKING:
    from stages.core.records import Prune, Table


def superset(section: Prune) -> dict[str, frozenset[str]]:
    """The tables and columns that survive pruning, from the ``prune`` section."""
    kept: Mapping[str, Iterable[str]] = section.get("kept", {})
    return {table: frozenset(columns) for table, columns in kept.items()}


def _conflicts(section: Prune, tables: Sequence[Table]) -> Iterator[str]:
    gone = {
        *section.get("deleted", {}).get("tables", ()),
        *section.get("cut", {}).get("tables", ()),
    }
    kept = section.get("kept", {})
    odd = [table["name"] for table in tables if (table["name"] in kept) == (table["name"] in gone)]
    if odd and gone:
        yield (
            f"prune: kept and deleted.tables disagree on {listed(odd)}; kept is what counts: "
            "list the table there, or set pin.keep"
        )


def _kept(section: Prune) -> KeptColumns:
    found = superset({**section, "kept": section["kept"]})
    return KeptColumns(frozenset(found), found)


def _summary(section: Prune) -> str:
    columns = (
        f"{section.get('n_kept_columns', '?')} of {count_of(section.get('n_columns'), 'column')}"
    )
    tables = f"{section.get('n_kept_tables', '?')} of {count_of(section.get('n_tables'), 'table')}"
    return f"kept {columns} in {tables}"


def _ranking(section: Prune, order: Order) -> Lists:
    kept = superset(section)
    shown = [f"{name} {many(len(kept[name]), 'column')}" for name in order.ranked(kept)]
    gone = [*section["deleted"]["tables"], *section.get("cut", {}).get("tables", ())]
    return [("kept", shown), ("not kept", order.ranked(gone))]


READER: SectionReader[Prune] = SectionReader(
    _summary,
    kept=_kept,
    names=superset,
    ranking=_ranking,
    conflicts=_conflicts,
)
