"""Model instructions: Markdown files in ``stages/prompts/LANG/STAGE.ROLE.md``, as Jinja2 templates.

An undefined name in a template is an error, never an empty string. Values that are put in
are not looked at as templates, so data cannot add instructions of this kind.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from stages.core.errors import DataError, os_words

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

    def messages(self, names: Sequence[str], **values: object) -> dict[str, str]:
        """The texts of the blocks of these names that a user's own template has, in their order;
        where it has none, its whole text under the last name.

        Values cannot reach out of it: it is rendered in Jinja2's sandbox.

        Raises:
            DataError: It is no template, names a value that there is not, or asks for what the
                sandbox refuses.
        """
        import jinja2

        try:
            template = _environment(sandbox=True).from_string(self.source)
            found = {
                name: "".join(template.blocks[name](template.new_context(values))).strip()
                for name in names
                if name in template.blocks
            }
            return found or {names[-1]: template.render(**values).strip()}
        except jinja2.TemplateSyntaxError as error:
            raise DataError(str(error.message), place=f"{self.name}:{error.lineno}") from None
        except (jinja2.TemplateError, ArithmeticError, LookupError, TypeError) as error:
            raise DataError(str(error), place=self.name) from None


@cache
def load(stage: str, role: str, lang: str) -> Template:
    """The instructions of ``stage`` for ``role`` (``system``, ``user``, …) in ``lang``.

    Raises:
        FileNotFoundError: There are none.
    """
    path = FOLDER / lang / f"{stage}.{role}.md"
    return Template(f"{lang}/{stage}.{role}", path.read_text(encoding="utf-8"))


def read(path: Path) -> Template:
    """A template of the user's own.

    Raises:
        DataError: It cannot be read as UTF-8.
    """
    try:
        return Template(str(path), path.read_text("utf-8"))
    except OSError as error:
        raise DataError(os_words(error), place=str(path)) from None
    except UnicodeDecodeError:
        raise DataError("is not UTF-8", place=str(path), hint="save it as UTF-8") from None


def combined_hash(*templates: Template) -> str:
    """One hash for all instructions of a stage, for ``meta.prompt``."""
    return _sha256("\n".join(template.hash for template in templates))


def _sha256(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


@cache
def _environment(sandbox: bool = False) -> jinja2.Environment:
    import jinja2
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    kind = ImmutableSandboxedEnvironment if sandbox else jinja2.Environment
    return kind(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
    )


@cache
def _compiled(source: str) -> jinja2.Template:
    return _environment().from_string(source)
