"""The ``refine`` section: the focused tables and columns of global refinement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from stages.core.counts import many
from stages.core.readers import KeptColumns, Lists, Order, SectionReader

if TYPE_CHECKING:
    from stages.core.records import Refine

Columns: TypeAlias = Mapping[str, str]
"""Column name to the reason it was selected for; the reason may be empty."""


def refined_columns(section: Refine) -> dict[str, Columns]:
    """The tables and columns of the refined schema, from the ``refine`` section."""
    refined = section.get("refined_schema", {})
    return {
        table: {
            column["column_name"]: column.get("relevance_reason", "")
            for column in chosen.get("relevant_columns", ())
        }
        for table, chosen in refined.items()
    }


def _kept(section: Refine) -> KeptColumns:
    if "refined_schema" not in section:
        raise KeyError("refined_schema")
    found = {table: frozenset(columns) for table, columns in refined_columns(section).items()}
    return KeptColumns(frozenset(found), found)


def _summary(section: Refine) -> str:
    schema = section.get("refined_schema", {})
    columns = sum(len(table.get("relevant_columns", ())) for table in schema.values())
    return f"{many(len(schema), 'table')}, {many(columns, 'column')}"


def _ranking(section: Refine, order: Order) -> Lists:
    kept = refined_columns(section)
    return [("kept", [f"{name} ({', '.join(kept[name])})" for name in order.ranked(kept)])]


READER: SectionReader[Refine] = SectionReader(
    _summary, kept=_kept, names=refined_columns, ranking=_ranking
)
