"""Model instructions: Markdown files in ``stages/prompts/LANG/STAGE.ROLE.md``, as Jinja2 templates.

An undefined name in a template is an error, never an empty string. Values that are put in
are not looked at as templates, so data cannot add instructions of this kind.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jinja2

FOLDER = Path(__file__).resolve().parent.parent / "prompts"


@dataclass(frozen=True)
class Template:
    """One file of instructions.

    Args:
        name: ``LANG/STAGE.ROLE``.
        source: The file's text.
    """

    name: str
    source: str

    @property
    def hash(self) -> str:
        """``sha256:`` and the hash of the file's text as UTF-8."""
        return _sha256(self.source)

    def render(self, **values: object) -> str:
        """The text with the values in it, without white space at either end.

        Raises:
            jinja2.UndefinedError: The template names a value that was not given.
        """
        return _compiled(self.source).render(**values).strip()


@cache
def load(stage: str, role: str, lang: str) -> Template:
    """The instructions of ``stage`` for ``role`` (``system``, ``user``, …) in ``lang``.

    Raises:
        FileNotFoundError: There are none.
    """
    path = FOLDER / lang / f"{stage}.{role}.md"
    return Template(f"{lang}/{stage}.{role}", path.read_text(encoding="utf-8"))


def combined_hash(*templates: Template) -> str:
    """One hash for all instructions of a stage, for ``meta.prompt``."""
    return _sha256("\n".join(template.hash for template in templates))


def _sha256(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


@cache
def _environment() -> jinja2.Environment:
    import jinja2

    return jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
    )


@cache
def _compiled(source: str) -> jinja2.Template:
    return _environment().from_string(source)
