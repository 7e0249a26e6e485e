"""What every linking prompt says of a task before the tables: question, plan, and evidence of
every kind (seed 004, 1): the asker's hint, knowledge, video, passages of documents.

It stands first and is the same in all prompts of a task, so that providers' prompt caches
hit. It has a budget of tokens: what is over it is cut, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stages.core.excerpts import Excerpts
from stages.core.lang import Lang
from stages.core.sections import section
from stages.core.text import block, safe_lines

if TYPE_CHECKING:
    from stages.core.records import Task

TEXTS = ("question", "plan", "evidence", "knowledge", "video", "passages")
"""The texts, in the order in which they stand."""

EXCERPTS = Excerpts()

FEWEST = 250
"""Characters below which a text is not cut further."""


@dataclass(frozen=True)
class Brief:
    """Data blocks of the texts; empty where the task has none.

    Args:
        lang: Language of the instructions.
        question, plan, evidence, knowledge, video, passages: Blocks, safe to be put into a
            prompt.
        cut: What was cut to fit, for a note.
    """

    lang: Lang
    question: str
    plan: str = ""
    evidence: str = ""
    knowledge: str = ""
    video: str = ""
    passages: str = ""
    cut: tuple[str, ...] = ()

    @property
    def blocks(self) -> dict[str, str]:
        """The blocks by their names, as templates take them."""
        return {name: getattr(self, name) for name in TEXTS}


def brief(task: Task, lang: Lang, *, tokens: int, excerpts: Excerpts = EXCERPTS) -> Brief:
    """The brief of a task within about so many tokens.

    The plan is that of the ``plan`` section; passages are those of a ``prepare`` section.
    Of knowledge and video no more is shown than ``excerpts`` says.
    """
    from stages.core.tokens import total

    texts = {
        "question": task.get("question", ""),
        "plan": str((section(task, "plan") or {}).get("logical_plan", "")),
        "evidence": task.get("evidence", ""),
        "knowledge": task.get("knowledge", ""),
        "video": task.get("video", ""),
        "passages": passages(task),
    }
    limits = {name: excerpts.limit(name) or len(said) for name, said in texts.items()}
    limit = max(limits.values())
    blocks = _blocks(texts, limits, limit)
    while limit > FEWEST and total(blocks.values()) > tokens:
        limit = min(limit, max(map(len, blocks.values()))) * 3 // 4
        blocks = _blocks(texts, limits, limit)
    cut = (name for name, said in texts.items() if min(len(said), limits[name]) > limit)
    return Brief(lang, **blocks, cut=tuple(cut))


def _blocks(texts: Mapping[str, str], limits: Mapping[str, int], limit: int) -> dict[str, str]:
    return {name: _shown(name, said, min(limit, limits[name])) for name, said in texts.items()}


def passages(task: Task) -> str:
    """The passages of documents that `prepare` found for the task, one after the other."""
    found = (section(task, "prepare") or {}).get("passages", [])
    return "\n\n".join(filter(None, map(_passage, found))) if isinstance(found, list) else ""


def _passage(found: Any) -> str:
    """One passage: a string, or an object with its text and where it stands."""
    if isinstance(found, str):
        return found
    if not isinstance(found, Mapping):
        return ""
    where = next((str(found[key]) for key in ("source", "path", "document") if found.get(key)), "")
    said = str(found.get("text", ""))
    return f"{where}:\n{said}" if where and said else said


def _shown(name: str, said: str, limit: int) -> str:
    return block(name, safe_lines(said, limit)) if said.strip() else ""
