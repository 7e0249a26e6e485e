"""The ``explore`` section: one judgment a table, from queries on its data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stages.core.counts import many
from stages.core.readers import Lists, Order, SectionReader

if TYPE_CHECKING:
    from stages.core.records import Explore


def _summary(section: Explore) -> str:
    judgments = section.get("table_judgments", {})
    relevant = sum(bool(one.get("relevant")) for one in judgments.values())
    return f"{relevant} of {many(len(judgments), 'table')} relevant"


def _ranking(section: Explore, order: Order) -> Lists:
    judged = section["table_judgments"]
    ranked = order.ranked(judged)
    return [
        ("relevant", [name for name in ranked if judged[name]["relevant"]]),
        ("not relevant", [name for name in ranked if not judged[name]["relevant"]]),
    ]


READER: SectionReader[Explore] = SectionReader(_summary, ranking=_ranking)
