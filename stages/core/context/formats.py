"""The formats of a context description: for each its module and the ending of its files."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

if TYPE_CHECKING:
    from stages.core.context.budget import PageFormat

Form: TypeAlias = Literal["context", "ddl", "json"]
FORMATS: Mapping[Form, tuple[str, str]] = {
    "context": ("text_format", ".md"),
    "ddl": ("ddl_format", ".sql"),
    "json": ("json_format", ".json"),
}
"""For each format its module in `core.context`, and the ending of its files."""


def writer(form: Form) -> PageFormat:
    """The module that writes a format."""
    return cast("PageFormat", import_module(f"stages.core.context.{FORMATS[form][0]}"))
