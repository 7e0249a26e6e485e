"""Numbers on the command line."""

from __future__ import annotations

import math
from typing import Any

import click


class FiniteFloatRange(click.FloatRange):
    """A range of numbers. What is no number compares with nothing, so it would pass any range."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number.

        >>> FiniteFloatRange(0, 1).convert("0.5", None, None)
        0.5
        """
        found = super().convert(value, param, ctx)
        if math.isnan(found):
            self.fail(f"{value} is no number", param, ctx)
        return found
