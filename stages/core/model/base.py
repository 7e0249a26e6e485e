"""A model as one task sees it, which counts what the task asked."""

from __future__ import annotations

from abc import ABC, abstractmethod

from stages.core.errors import ModelError
from stages.core.jsontypes import JsonObject
from stages.core.model.request import Reply, Request
from stages.core.model.usage import Caller, Usage


class BaseClient(ABC):
    """What `Client`, `DryRun` and `DumpPrompt` have in common.

    Attributes:
        name: The model's id.
        usage: What was asked in all.
        begun, ended: Requests that were begun, and those that came to an end.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.usage = Usage()
        self.begun = self.ended = 0

    async def ask(self, request: Request, *, timeout: float | None = None) -> Reply:
        """See `request.Model`."""
        return await self.ask_for(request, timeout=timeout, caller=Caller())

    def for_task(self, task_id: str, stage: str) -> TaskModel:
        """The same model, counting for one task and stage."""
        return TaskModel(self, Caller(task_id, stage))

    @abstractmethod
    async def ask_for(self, request: Request, *, timeout: float | None, caller: Caller) -> Reply:
        """`ask`, with the name of who asks."""

    @abstractmethod
    def report(self) -> str:
        """What asking came to, for stderr."""

    async def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Give back what is open."""


class TaskModel:
    """A model that counts for one task; see `request.Model` for `ask`.

    Attributes:
        name: The model's id.
        usage: What this task asked.
    """

    def __init__(self, owner: BaseClient, caller: Caller) -> None:
        self.name = owner.name
        self.usage = Usage()
        self._owner, self._caller = owner, caller

    async def ask(self, request: Request, *, timeout: float | None = None) -> Reply:
        """The reply to ``request``."""
        self._owner.begun += 1
        try:
            reply = await self._owner.ask_for(request, timeout=timeout, caller=self._caller)
        except ModelError:
            self.usage.failed += 1
            raise
        finally:
            self._owner.ended += 1
        self.usage.count(reply)
        return reply

    @property
    def calls(self) -> int:
        """Calls behind the replies."""
        return self.usage.calls

    @property
    def tokens_in(self) -> int:
        """Prompt tokens of those calls."""
        return self.usage.tokens_in

    @property
    def tokens_out(self) -> int:
        """Reply tokens of those calls."""
        return self.usage.tokens_out

    @property
    def usd(self) -> float | None:
        """Their cost; None where a price is not known."""
        return self.usage.usd

    @property
    def reached(self) -> int:
        """Requests that were answered."""
        return self.usage.reached

    @property
    def failed(self) -> int:
        """Requests that were not."""
        return self.usage.failed

    def meta(self) -> JsonObject:
        """For a section's ``meta``: the model, calls, tokens and cost, the same on a replay."""
        return {"model": self.name, **self.usage.meta()}
