"""One request from its first call to a reply that fits: mended once, given more room once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stages.core.errors import CallFailed, ModelError, ReplyCut, ReplyInvalid
from stages.core.model import modes, parse
from stages.core.model.answer import NO_SYSTEM, NO_TEMPERATURE, Answer, Failure, Mode
from stages.core.model.check import checker
from stages.core.model.options import ModelOptions
from stages.core.model.request import Reply, Request
from stages.core.model.sender import Asking, Sender, Sent
from stages.core.model.usage import total

GROW = 4
"""How many times more room a reply gets that was cut."""
LIMITS = ("max_tokens", "max_completion_tokens")


@dataclass
class Settled:
    """What the provider takes, learnt by trying.

    Attributes:
        mode: The way of holding replies to their schema to try now.
        proven: Whether a call came through with it.
        system: Whether a system message may be sent.
        temperature: Whether a temperature may be.
    """

    mode: Mode
    proven: bool = False
    system: bool = True
    temperature: bool = True

    def learns(
        self, refusal: str, messages: list[dict[str, str]], settings: dict[str, Any]
    ) -> bool:
        """Whether a refusal speaks of something in the call that the next one leaves out."""
        if NO_SYSTEM.search(refusal) and any(part["role"] == "system" for part in messages):
            self.system = False
            return True
        if NO_TEMPERATURE.search(refusal) and "temperature" in settings:
            self.temperature = False
            return True
        return False


@dataclass
class Conversation:
    """The calls for one request.

    Args:
        sender: Sends them.
        options: How the model is reached.
        settled: What other conversations have learnt, and this one adds to.
        request: What is asked.
        asking: What the calls have in common.
    """

    sender: Sender
    options: ModelOptions
    settled: Settled
    request: Request
    asking: Asking
    answers: list[Answer] = field(default_factory=list)

    async def reply(self) -> Reply:
        """The reply that fits.

        Raises:
            ReplyInvalid: Neither the first reply nor the mended one fits.
            ReplyCut: The reply was cut, with more room too where there was a limit.
            CallFailed: No reply came; also its kin from `Sender.send`.
        """
        try:
            return await self._reply()
        except ModelError as error:
            # What followed an answer says nothing of a request that is asked anew.
            error.certain = error.certain and not self.answers
            raise

    async def _reply(self) -> Reply:
        sent = await self._whole(None)
        try:
            data = self._read(sent)
        except parse.Unreadable as problem:
            self._note(sent, "invalid")
            text = parse.without_thoughts(sent.answer.text)
            said = modes.messages(self.request, self.settled.mode)
            sent = await self._whole(modes.mending(said, text, problem.what, self.request))
            data = self._read_mended(sent)
        self._note(sent, "ok")
        return Reply(
            data=data,
            text=sent.answer.text,
            tokens_in=sum(answer.tokens_in for answer in self.answers),
            tokens_out=sum(answer.tokens_out for answer in self.answers),
            usd=total([answer.usd for answer in self.answers]),
            cached=False,
            calls=len(self.answers),
        )

    def _read(self, sent: Sent) -> Any:
        if self.request.schema is None:
            text = parse.without_thoughts(sent.answer.text)
            if not text:
                raise parse.Unreadable("the reply is empty")
            return text
        return parse.value(sent.answer.text, checker(self.request.schema))

    def _read_mended(self, sent: Sent) -> Any:
        try:
            return self._read(sent)
        except parse.Unreadable as problem:
            self._note(sent, "invalid")
            hint = "try another model; --log FILE shows how its calls end"
            raise ReplyInvalid(
                f"no usable reply, also after it was told why: {problem.what}",
                place=self.options.model, hint=hint,
            ) from None  # fmt: skip

    async def _whole(self, said: list[dict[str, str]] | None) -> Sent:
        """The answer to one call that was not cut; None says what the request itself says."""
        limit = self._limit()
        sent = await self._sent(said, limit)
        if sent.answer.finish == "length" and limit:
            self._note(sent, "cut")
            sent = await self._sent(said, {name: value * GROW for name, value in limit.items()})
        if sent.answer.finish == "length":
            self._note(sent, "cut")
            raise ReplyCut("the reply was cut at its length limit", place=self.options.model,
                           hint="raise it with --option max_tokens=N")  # fmt: skip
        if sent.answer.finish == "content_filter":
            self._note(sent, "filtered")
            raise CallFailed(
                "the provider's content filter stopped the reply", place=self.options.model
            )
        return sent

    def _limit(self) -> dict[str, int]:
        """The limit of the reply under the name that it goes by; empty where there is none."""
        if self.request.max_tokens is not None:
            return {"max_tokens": self.request.max_tokens}
        named = {name: self.options.options.get(name) for name in LIMITS}
        return {name: value for name, value in named.items() if isinstance(value, int)}

    async def _sent(self, said: list[dict[str, str]] | None, limit: Mapping[str, int]) -> Sent:
        """One call, in the firmest form that the provider takes."""
        ways = self.sender.wire.modes if self.request.schema is not None else ("text",)
        at = ways.index(self.settled.mode) if self.request.schema is not None else 0
        while True:
            mode: Mode = ways[at]
            messages = modes.messages(self.request, mode) if said is None else said
            messages = messages if self.settled.system else modes.without_system(messages)
            settings, form = self._settings(limit), modes.form(self.request, mode)
            try:
                sent = await self.sender.send(messages, settings, form, self.asking)
            except Failure as refusal:
                if self.settled.learns(refusal.what, messages, settings):
                    continue
                proven = self.settled.proven and self.settled.mode == mode
                if refusal.too_long or proven or at + 1 >= len(ways):
                    raise self.sender.given_up(refusal) from None
                at += 1
                continue
            if self.request.schema is not None:
                self.settled.mode, self.settled.proven = mode, True
            self.answers.append(sent.answer)
            return sent

    def _settings(self, limit: Mapping[str, int]) -> dict[str, Any]:
        own = self.request.temperature
        temperature = self.options.temperature if own is None else own
        temperature = temperature if self.settled.temperature else None
        return {**limit} if temperature is None else {"temperature": temperature, **limit}

    def _note(self, sent: Sent, outcome: str) -> None:
        answer = sent.answer
        tokens = {"tokens_in": answer.tokens_in, "tokens_out": answer.tokens_out}
        self.sender.note(self.asking, sent.attempt, outcome, sent.seconds, **tokens)
