"""What a prompt says of a task before the tables, in voting and in linking.

What one round of voting is shown: the user input of the first seed, 3.3, and its batches.

What repeats stands first. The rounds of a task share their whole input; the batches of a
task share the instructions and everything up to the list of candidate tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stages.core import prompts
from stages.core.excerpts import KNOWLEDGE_CHARS, VIDEO_CHARS, Excerpts
from stages.core.lang import Lang
from stages.core.lines.sections import or_empty, section
from stages.core.records import Task
from stages.core.text import block, safe_lines

if TYPE_CHECKING:
    from stages.core.records import Task


@dataclass(frozen=True, eq=False, repr=False)
class Excerpt:
    """How much of a text is shown: ``shown`` of ``total`` characters."""

    shown: int
    total: int


@dataclass(frozen=True, eq=False, repr=False)
class VotePrompt:
    """All that a task gives a round, apart from the tables.

    Args:
        lang: Language of the instructions.
        question, evidence, knowledge, video: Data blocks; empty where the task has none.
        knowledge_cut, video_cut: Set where only the beginning is shown.
    """

    lang: Lang
    question: str
    evidence: str = ""
    knowledge: str = ""
    video: str = ""
    knowledge_cut: Excerpt | None = None
    video_cut: Excerpt | None = None

    @property
    def instructions(self) -> str:
        """The system message."""
        return prompts.load("vote", "system", self.lang).render()

    @property
    def prompt_hash(self) -> str:
        """Hash of the instructions and of the form of the user input."""
        return prompts.combined_hash(
            prompts.load("vote", "system", self.lang), prompts.load("vote", "user", self.lang)
        )

    def user_input(self, previews: Sequence[str], stage: str = "vote") -> str:
        """The user message of a stage over these table blocks, in their order."""
        return prompts.load(stage, "user", self.lang).render(
            question=self.question,
            evidence=self.evidence,
            knowledge=self.knowledge,
            knowledge_cut=self.knowledge_cut,
            video=self.video,
            video_cut=self.video_cut,
            n_tables=len(previews),
            tables=block("tables", "\n\n".join(previews)),
        )


def write_vote_prompt(
    task: Task,
    lang: Lang,
    *,
    knowledge_chars: int = KNOWLEDGE_CHARS,
    video_chars: int = VIDEO_CHARS,
) -> VotePrompt:
    """The ballot of a task; texts are cut to so many characters, 0 showing them whole.

    Texts of white space alone count as missing.
    """
    knowledge, knowledge_cut = _cut_text("knowledge", task.get("knowledge", ""), knowledge_chars)
    video, video_cut = _cut_text("video", task.get("video", ""), video_chars)
    return VotePrompt(
        lang=lang,
        question=_cut_text("question", task.get("question", ""), 0)[0],
        evidence=_cut_text("evidence", task.get("evidence", ""), 0)[0],
        knowledge=knowledge,
        knowledge_cut=knowledge_cut,
        video=video,
        video_cut=video_cut,
    )


def _cut_text(kind: str, text: str, limit: int) -> tuple[str, Excerpt | None]:
    """The text, or its beginning, as a data block."""
    whole = text.strip()
    if not whole:
        return "", None
    cut = Excerpt(limit, len(whole)) if 0 < limit < len(whole) else None
    return block(kind, safe_lines(whole[:limit] if cut else whole)), cut


# What every linking prompt says of a task before the tables: question, plan, and evidence of

TEXTS = ("question", "plan", "evidence", "knowledge", "video", "passages")
"""The texts, in the order in which they stand."""

EXCERPTS = Excerpts()

FEWEST = 250
"""Characters below which a text is not cut further."""


@dataclass(frozen=True, eq=False, repr=False)
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


def write_brief(task: Task, lang: Lang, *, tokens: int, excerpts: Excerpts = EXCERPTS) -> Brief:
    """The brief of a task within about so many tokens.

    The plan is that of the ``plan`` section; passages are those of a ``prepare`` section.
    Of knowledge and video no more is shown than ``excerpts`` says.
    """
    from stages.core.tokens import total

    texts = {
        "question": task.get("question", ""),
        "plan": str(or_empty(section(task, "plan")).get("logical_plan", "")),
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
    found = or_empty(section(task, "prepare")).get("passages", [])
    return "\n\n".join(filter(None, map(_passage, found))) if isinstance(found, list) else ""


def _passage(found: object) -> str:
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
