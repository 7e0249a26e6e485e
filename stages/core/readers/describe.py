"""The ``describe`` section: the text on the tables, and its tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stages.core.readers import SectionReader, nothing

if TYPE_CHECKING:
    from stages.core.records import Describe


def _summary(section: Describe) -> str:
    whole = section.get("tokens_all")
    return f"{section.get('tokens', '?')}{f' of {whole}' if whole is not None else ''} tokens"


READER: SectionReader[Describe] = SectionReader(_summary, why=nothing)
