"""One request from its first call to a reply that fits: mended once, given more room once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from stages.core.errors import ModelError, ReplyCut, ReplyFiltered, ReplyInvalid
from stages.core.jsontypes import JsonObject, JsonValue
from stages.core.model import structured
from stages.core.model.capabilities import FEWEST_FORMS, CallForm, Capabilities
from stages.core.model.options import ModelOptions
from stages.core.model.request import Failure, Mode, ModelAnswer, Reply, Request
from stages.core.model.sender import CallContext, Sender, Sent
from stages.core.model.structured import Shape, checker
from stages.core.model.usage import total

GROW = 4
"""How many times more room a reply gets that was cut."""
LIMITS = ("max_tokens", "max_completion_tokens")

Read: TypeAlias = tuple[Sent, JsonValue, structured.Unreadable | None]
"""An answer, what it holds, and why it cannot be read; None where it can."""


def read(answer: ModelAnswer, request: Request) -> JsonValue:
    """What an answer holds, wherever it stands: in calls of tools, the text, the thought.

    A thought counts where the text has no value at all, and was not cut.

    Raises:
        Unreadable: Nothing that fits stands anywhere.
    """
    if request.schema is None:
        text = structured.without_thoughts(answer.text)
        if not text or answer.finish == "length":
            raise structured.Unreadable("the reply is empty")
        return text
    places = [answer.calls] if answer.calls else []
    places += [(answer.text,)] if answer.text != "\n".join(answer.calls) or not places else []
    if answer.finish != "length" and answer.thought and not structured.START.search(answer.text):
        places.append((answer.thought,))
    prompt = "\n".join(message["content"] for message in request.messages)
    shape, problem = Shape(request.schema, lambda name: name in prompt), checker(request.schema)
    problems = []
    for texts in places:
        try:
            if answer.finish == "length" and any(map(structured.half_said, texts)):
                raise structured.Unreadable("the reply was cut")
            return structured.together(texts, problem, shape)
        except structured.Unreadable as unreadable:
            problems.append(unreadable)
    raise problems[0]


@dataclass
class Conversation:
    """The calls for one request.

    Args:
        sender: Sends them.
        options: How the model is reached.
        settled: What other conversations have learnt, and this one adds to.
        request: What is asked.
        context: What the calls have in common.
        check: Raises the error that a call would end with, where that is known before.
    """

    sender: Sender
    options: ModelOptions
    settled: Capabilities
    request: Request
    context: CallContext
    check: Callable[[], None]
    refused: dict[CallForm, Failure] = field(default_factory=dict)
    answers: list[ModelAnswer] = field(default_factory=list)

    async def reply(self) -> Reply:
        """The reply that fits.

        Raises:
            ReplyInvalid: Neither the first reply nor the mended one fits.
            ReplyCut: The reply was cut, with more room too where there was a limit.
            ReplyFiltered: The provider's content filter stopped it.
            CallFailed: No reply came; also its kin from `Sender.send`.
        """
        self.settled.begun += 1
        try:
            made = await self._reply()
        except ModelError as error:
            # What followed an answer says nothing of a request that is asked anew.
            error.certain = error.certain and not self.answers
            raise
        self.settled.useful = True
        return made

    async def _reply(self) -> Reply:
        sent, data, problem = await self._whole(None)
        if problem is not None:
            self._note(sent, "invalid")
            if not self.settled.repeat():
                raise self._unusable("no usable reply", problem)
            text = structured.without_thoughts(sent.answer.text)
            said = structured.messages(self.request, self.settled.mode)
            said = structured.ask_again(said, text, problem.what, self.request)
            sent, data, problem = await self._whole(said)
            if problem is not None:
                self._note(sent, "invalid")
                raise self._unusable("no usable reply, also after it was told why", problem)
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

    def _unusable(self, what: str, problem: structured.Unreadable) -> ReplyInvalid:
        hint = "try another model; --log FILE shows how its calls end"
        return ReplyInvalid(f"{what}: {problem.what}", place=self.options.model, hint=hint)

    async def _whole(self, said: list[dict[str, str]] | None) -> Read:
        """The answer to one call, what it holds, and why it cannot be read where it cannot.

        An answer that was cut or stopped counts where it is whole for all that. None says
        what the request itself says.
        """
        limit = self._limit()
        sent = await self._sent(said, limit)
        found = self._read(sent)
        if sent.answer.finish == "length" and found[2] and limit and self.settled.repeat():
            self._note(sent, "cut")
            sent = await self._sent(said, {name: value * GROW for name, value in limit.items()})
            found = self._read(sent)
        if sent.answer.finish == "length" and found[2]:
            self._note(sent, "cut")
            raise ReplyCut(
                "the reply was cut at its length limit",
                place=self.options.model,
                hint="raise it with --option max_tokens=N",
            )
        if sent.answer.finish == "content_filter" and found[2]:
            self._note(sent, "filtered")
            raise ReplyFiltered(
                "the provider's content filter stopped the reply", place=self.options.model
            )
        return found

    def _read(self, sent: Sent) -> Read:
        try:
            return sent, read(sent.answer, self.request), None
        except structured.Unreadable as problem:
            return sent, None, problem

    def _limit(self) -> dict[str, int]:
        """The limit of the reply under the name that it goes by; empty where there is none."""
        if self.request.max_tokens is not None:
            return {"max_tokens": self.request.max_tokens}
        named = {name: self.options.options.get(name) for name in LIMITS}
        return {name: value for name, value in named.items() if isinstance(value, int)}

    async def _sent(self, said: list[dict[str, str]] | None, limit: Mapping[str, int]) -> Sent:
        """One call, in the firmest form that the provider takes.

        Once a form was refused, one request at a time tries the next one, and the others
        wait for what it learns.
        """
        settled = self.settled
        while True:
            if not settled.searching():
                sent = await self._try(said, limit)
            else:
                async with settled.trying:
                    if not settled.searching():
                        continue
                    self.check()
                    sent = await self._try(said, limit)
            if sent is not None:
                return sent

    async def _try(
        self, said: list[dict[str, str]] | None, limit: Mapping[str, int]
    ) -> Sent | None:
        """One call in the form that is settled now; None where another is to be tried."""
        form = self.settled.form
        if form not in self.refused:
            if self.refused and not self.settled.repeat(least=FEWEST_FORMS):
                raise self.sender.given_up(list(self.refused.values())[-1])
            try:
                sent = await self.sender.send(*self._call(form, said, limit), self.context)
            except Failure as refusal:
                self.refused[form] = refusal
            else:
                self.settled.takes(form, held=self.request.schema is not None)
                self.answers.append(sent.answer)
                return sent
        self._turn(form, *self._call(form, said, limit)[:2])
        return None

    def _call(
        self, form: CallForm, said: list[dict[str, str]] | None, limit: Mapping[str, int]
    ) -> tuple[list[dict[str, str]], JsonObject, JsonObject]:
        """Messages, settings, and parameters that hold the reply to its schema."""
        mode: Mode = form.mode if self.request.schema is not None else "text"
        messages = structured.messages(self.request, mode) if said is None else said
        messages = messages if form.system else structured.without_system(messages)
        own = self.request.temperature
        heat = self.options.temperature if own is None else own
        settings = (
            {**limit} if heat is None or not form.temperature else {"temperature": heat, **limit}
        )
        return messages, settings, structured.form(self.request, mode)

    def _turn(
        self, form: CallForm, messages: list[dict[str, str]], settings: dict[str, object]
    ) -> None:
        """Settle the form that comes after a refused one, unless another request has.

        Raises:
            ModelError: There is none.
        """
        settled, refusal = self.settled, self.refused[form]
        if form != settled.form or settled.learns(refusal.what, messages, settings):
            return
        ways = self.sender.wire.modes
        if self.request.schema is None or refusal.too_long or settled.proven:
            raise self.sender.given_up(refusal)
        last = form.mode == ways[-1]
        settled.mode = ways[0 if last else ways.index(form.mode) + 1]
        settled.unsure = not last
        if last:
            raise self.sender.given_up(refusal)

    def _note(self, sent: Sent, outcome: str) -> None:
        answer = sent.answer
        tokens = {"tokens_in": answer.tokens_in, "tokens_out": answer.tokens_out}
        self.sender.note(self.context, sent.attempt, outcome, sent.seconds, **tokens)
