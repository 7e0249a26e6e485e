"""The ``plan`` section: the logical plan of the question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stages.core.counts import many
from stages.core.readers import SectionReader

if TYPE_CHECKING:
    from stages.core.records import Plan


def _summary(section: Plan) -> str:
    return many(str(section.get("logical_plan", "")).count("\n") + 1, "step")


READER: SectionReader[Plan] = SectionReader(_summary)
