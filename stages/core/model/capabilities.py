"""What the conversations of one run have learnt about a model, and share."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import NamedTuple

from stages.core.model.request import NO_SYSTEM, NO_TEMPERATURE, Mode

FEWEST_FORMS = 4
"""Times that another form of a call may be tried, however little was asked: one for
each mode after the first, and one without a system message."""


class CallForm(NamedTuple):
    """How a call is made: how its reply is held to the schema, and what goes with it."""

    mode: Mode
    system: bool
    temperature: bool


@dataclass
class Capabilities:
    """What the provider takes, learnt by trying.

    While nothing the model said has been of use, calls beyond the first of each request are
    rationed: what one request learnt holds for the others, and a model without hope costs
    at most twice what a dry run says.

    Attributes:
        mode: The way of holding replies to their schema to try now.
        proven: Whether a call came through with it.
        system: Whether a system message may be sent.
        temperature: Whether a temperature may be.
        unsure: Whether a form was refused, and none has come through since.
        useful: Whether any reply was ever of use.
        begun: Requests that were begun.
        repeats: Calls beyond the first of a request, while no reply was of use.
        trying: Held by the one request that tries the next form.
    """

    mode: Mode
    proven: bool = False
    system: bool = True
    temperature: bool = True
    unsure: bool = False
    useful: bool = False
    begun: int = 0
    repeats: int = 0
    trying: asyncio.Lock = field(default_factory=asyncio.Lock)

    def searching(self) -> bool:
        """Whether a form was refused, and none has come through since."""
        return self.unsure

    @property
    def form(self) -> CallForm:
        """How a call is to be made now."""
        return CallForm(self.mode, self.system, self.temperature)

    def takes(self, form: CallForm, *, held: bool) -> None:
        """A call in this form came through; one that is ``held`` to a schema proves its mode."""
        self.unsure = False
        if held:
            self.mode, self.proven = form.mode, True

    def repeat(self, *, least: int = 0) -> bool:
        """Whether a request may have a further call, which is then counted.

        Args:
            least: Further calls that may be made in any case.
        """
        if self.useful:
            return True
        allowed = self.repeats < max(self.begun, least)
        self.repeats += allowed
        return allowed

    def learns(
        self, refusal: str, messages: list[dict[str, str]], settings: dict[str, object]
    ) -> bool:
        """Whether a refusal speaks of something in the call that the next one leaves out."""
        if NO_SYSTEM.search(refusal) and any(part["role"] == "system" for part in messages):
            self.system, self.unsure = False, True
            return True
        if NO_TEMPERATURE.search(refusal) and "temperature" in settings:
            self.temperature, self.unsure = False, True
            return True
        return False
