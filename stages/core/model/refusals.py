"""What a provider has refused for good, so that it is not asked the same again in one run."""

from __future__ import annotations

from stages.core.errors import ModelError
from stages.core.model.request import Request


class Refusals:
    """Requests whose refusal is certain to repeat: refused as they are, and never answered.

    Samples of one request go out as the same call. One that was answered even once, by
    another server behind the same address for example, may be answered again.
    """

    def __init__(self) -> None:
        self._refused: dict[int, ModelError] = {}
        self._answered: set[int] = set()

    def of(self, request: Request) -> ModelError | None:
        """The error that another call would end with; None where it may end otherwise."""
        known = self._refused.get(_sent(request)) if self._refused else None
        return known and known.same()

    def ended(self, request: Request, error: ModelError | None) -> None:
        """A call for the request ended, with an answer where there is no error."""
        sent = _sent(request)
        if error is None:
            self._answered.add(sent)
            self._refused.pop(sent, None)
        elif error.certain and sent not in self._answered:
            self._refused[sent] = error


def _sent(request: Request) -> int:
    """A hash of what goes out; Python keeps that of a text, so that samples cost nothing."""
    said = tuple((part["role"], part["content"]) for part in request.messages)
    return hash((said, request.name, request.temperature, request.max_tokens))
