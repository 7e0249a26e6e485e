"""The ``prompt`` section: the messages for the solver, and their tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stages.core.counts import many
from stages.core.readers import SectionReader, count_of, nothing

if TYPE_CHECKING:
    from stages.core.records import Prompt


def _summary(section: Prompt) -> str:
    messages = many(len(section.get("messages", ())), "message")
    return f"{messages}, {count_of(section.get('tokens'), 'token')}"


READER: SectionReader[Prompt] = SectionReader(_summary, why=nothing)
