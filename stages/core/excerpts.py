"""How much of a task's knowledge and video a model is shown: one pair of options for all stages."""

from __future__ import annotations

from dataclasses import dataclass

import click

KNOWLEDGE_CHARS = 8_000
"""Characters of knowledge shown (seed 000, 2.1)."""

VIDEO_CHARS = 6_000
"""Characters of video text shown (seed 000, 2.1)."""

OPTIONS: tuple[click.Option, ...] = (
    click.Option(
        ["--knowledge-chars"],
        type=click.IntRange(min=0),
        default=KNOWLEDGE_CHARS,
        metavar="CHARS",
        show_default=True,
        help="Characters of knowledge shown to the model; 0 is all.",
    ),
    click.Option(
        ["--video-chars"],
        type=click.IntRange(min=0),
        default=VIDEO_CHARS,
        metavar="CHARS",
        show_default=True,
        help="Characters of video text shown to the model; 0 is all.",
    ),
)
"""The options as every stage with a model has them."""


@dataclass(frozen=True)
class Excerpts:
    """Characters shown of knowledge and of the video's text; 0 shows all."""

    knowledge_chars: int = KNOWLEDGE_CHARS
    video_chars: int = VIDEO_CHARS

    def limit(self, name: str) -> int | None:
        """Characters shown of a text of the task; None where there is no limit.

        >>> Excerpts(5, 0).limit("knowledge"), Excerpts(5, 0).limit("video")
        (5, None)
        """
        limits = {"knowledge": self.knowledge_chars, "video": self.video_chars}
        return limits.get(name) or None

    @property
    def differing(self) -> dict[str, int]:
        """What is not at its default, for ``meta.options``."""
        given = {
            "knowledge_chars": (self.knowledge_chars, KNOWLEDGE_CHARS),
            "video_chars": (self.video_chars, VIDEO_CHARS),
        }
        return {name: value for name, (value, default) in given.items() if value != default}
