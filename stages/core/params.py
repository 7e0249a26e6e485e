"""Numbers and files on the command line, and the options of a command together."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import click

from stages.core.errors import DataError

Options: TypeAlias = Mapping[str, Any]
"""Options by name, as click hands them over: each of the type that its declaration converts to."""

Function = TypeVar("Function", bound=Callable[..., object])


class FiniteFloatRange(click.FloatRange):
    """A range of numbers. What is no number compares with nothing, so it would pass any range."""

    def convert(
        self,
        value: Any,  # Any: click hands over what was typed, or a default of any type
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """The number.

        >>> FiniteFloatRange(0, 1).convert("0.5", None, None)
        0.5
        """
        found = super().convert(value, param, ctx)
        if math.isnan(found):
            self.fail(f"{value} is no number", param, ctx)
        return found


class FileContent(click.ParamType[object]):
    """A file that is read while the command line is; what is wrong in it is a usage error."""

    name = "file"

    def __init__(self, read: Callable[[Path], object]) -> None:
        self.read = read

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        """The file's content."""
        if not isinstance(value, str):
            return value
        try:
            return self.read(Path(value))
        except DataError as error:
            return self.fail(str(error), param, ctx)


def count_option(
    name: str, default: int, help: str, *, least: int = 1, unit: str = "N"
) -> click.Option:
    """An option that takes a number of things, and says its default in the help.

    Args:
        name: With its dashes.
        default: Where it is not given.
        help: The whole sentence.
        least: The smallest number.
        unit: What is counted, as the help shows it.
    """
    return click.Option(
        [name],
        type=click.IntRange(min=least),
        default=default,
        metavar=unit,
        show_default=True,
        help=help,
    )


catalog_option = click.option(
    "--catalog", metavar="NAME", help="Which catalog, where SOURCE holds several."
)
"""``--catalog`` of commands that look into one SOURCE."""

hide_option = click.option(
    "--hide-values",
    "hide",
    multiple=True,
    metavar="PATTERN",
    help="Columns that cannot be read, where SOURCE is scanned now.",
)
"""``--hide-values`` of commands that look into one SOURCE."""


def format_option(forms: Sequence[str]) -> Callable[[Function], Function]:
    """``--format`` of commands that print rows; without it the place of the output decides."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(forms),
        help="table on a terminal, csv elsewhere, unless given.",
    )


output_option = click.option(
    "-o",
    "--output",
    "path",
    metavar="FILE",
    type=click.Path(allow_dash=True),
    help="Write to FILE, renamed into place at the end.",
)
"""``-o`` of commands that are no stages."""
