"""Sending one call until it comes through, is refused, or there is no more hope.

What a provider has refused for good, so that it is not asked the same again in one run.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from stages.core.errors import CallFailed, CallTimeout, ModelError, Unreachable
from stages.core.model.options import RETRIES, ModelOptions
from stages.core.model.request import Failure, ModelAnswer, Request, Transport
from stages.core.model.usage import Caller, CallLog, Usage


class NegativeCache:
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


# When to send a call again, how long to wait before, and when to stop altogether.

PASSING = frozenset({408, 409, 429}) | frozenset(range(500, 600))
"""Statuses after which the same call may come through."""
ATTEMPTS = RETRIES + 1
"""Attempts that a call has, unless told otherwise."""
LONGEST = 20.0
"""Seconds of the longest wait before sending again."""
LONGEST_ASKED = 300.0
"""Seconds: a provider that asks for a longer wait has in truth refused."""


def backoff(attempt: int, first: float, draw: random.Random) -> float:
    """Seconds to wait after failure number ``attempt`` (from 1).

    The first wait is drawn up to ``first`` seconds, then up to twice as much each time, and
    never more than `LONGEST`. Drawing the whole wait ("full jitter") keeps calls that failed
    together from coming back together.

    >>> all(0 <= backoff(3, 0.5, random.Random(n)) <= 2.0 for n in range(99))
    True
    """
    return draw.uniform(0, min(LONGEST, first * 2 ** min(attempt - 1, 30)))


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds that ``Retry-After`` (or OpenAI's ``retry-after-ms``) asks to wait; None without one.

    Args:
        headers: Names in lower case.
        now: The time in seconds since 1970; None is now.

    >>> retry_after({"retry-after": "7"}), retry_after({"retry-after": "soon"})
    (7.0, None)
    >>> retry_after({"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}, now=70)
    30.0
    """
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        return max(0.0, seconds) if seconds < float("inf") else None
    try:
        due = parsedate_to_datetime(headers.get("retry-after", "")).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, due - (time.time() if now is None else now))


class Circuit:
    """Opens for good after ``limit`` calls given up in a row; a call that comes through resets it.

    Attributes:
        reached: Whether any call ever came through.
        reason: What the last call that opened it met; empty while it is closed.
        row: Calls given up in a row, while it is closed.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.reached = False
        self.reason = ""
        self.row = 0
        self._weight = 0.0

    def passed(self) -> None:
        """A call came through."""
        self.reached = True
        self.row, self._weight = 0, 0.0

    def failed(self, what: str, *, of_the_request: bool, once: bool = False) -> None:
        """A call was given up.

        What speaks against one request alone counts only while nothing has ever come
        through: then it may be a setting that is wrong for all of them. What may pass, and
        was met ``once``, counts as one of the attempts that a call has by default.
        """
        if (of_the_request and self.reached) or self.reason:
            return
        self.row += 1
        self._weight += 1 / ATTEMPTS if once else 1.0
        if self._weight >= self.limit:
            self.reason = what


# Sending one call until it comes through, is refused, or there is no more hope.

NOBODY_RETRIES = 2
"""Times a call is sent again where no connection could be made, and none ever could."""
TOO_LONG_HINT = "ask for less at once with --max-tokens, or take a model that reads more"
HINTS = {
    401: "set the provider's key in the environment",
    403: "set a key in the environment that may use this model",
    404: "check --model and --base-url",
    408: "raise --timeout, or lower --concurrency",
    413: TOO_LONG_HINT,
    429: "lower --concurrency, or wait",
}


@dataclass(frozen=True)
class CallContext:
    """What stays the same over the calls of one request.

    Args:
        caller: The task and stage that ask.
        key: Hash of the request.
        sample: Number of the sample.
        timeout: Seconds for one call.
    """

    caller: Caller
    key: str
    sample: int
    timeout: float


@dataclass(frozen=True)
class Sent:
    """An answer, and how it came.

    Args:
        answer: The answer.
        attempt: Which attempt brought it, from 1.
        seconds: From sending to answer.
    """

    answer: ModelAnswer
    attempt: int
    seconds: float


class Pace:
    """Spreads calls evenly, so that no more than ``rate`` of them go out in a minute.

    Args:
        rate: Calls a minute; None for no limit.
    """

    def __init__(self, rate: float | None) -> None:
        self._gap = 60 / rate if rate else 0.0
        self._next = 0.0

    async def turn(self) -> None:
        """Wait until the next call may go out."""
        now = time.monotonic()
        due = max(now, self._next)
        self._next = due + self._gap
        if due > now:
            await asyncio.sleep(due - now)


class Sender:
    """Sends calls, with retries, over one wire."""

    def __init__(
        self, wire: Transport, options: ModelOptions, circuit: Circuit, usage: Usage, log: CallLog
    ) -> None:
        self.wire, self.circuit = wire, circuit
        self._options, self._usage, self._log = options, usage, log
        self._draw = random.Random()
        self._pace = Pace(options.rate)
        self._mending = ""

    def check(self) -> None:
        """Raise the error that stands for all calls once the circuit is open.

        Raises:
            Unreachable: Nothing ever came through.
            CallFailed: Something did, before.
        """
        if self.circuit.reason:
            error = self._error(
                f"stopped after {self.circuit.row} calls in a row failed: {self.circuit.reason}",
                hint=self._mending
                or "mend what is wrong there and run again; what was answered is kept",
            )
            error.sat_out = True
            raise error

    async def send(
        self,
        messages: list[dict[str, str]],
        settings: Mapping[str, object],
        form: Mapping[str, object],
        context: CallContext,
    ) -> Sent:
        """The answer to one call.

        Raises:
            Failure: The provider refused this request; another form may do.
            CallTimeout: One attempt took longer than its time.
            CallFailed: All attempts failed.
            Unreachable: They did, and no call ever came through.
        """
        for attempt in range(1, self._options.retries + 2):
            self.check()
            try:
                return await self._once(messages, settings, form, context, attempt)
            except Failure as failure:
                last = failure
            if last.of_the_request:
                raise last
            asked = last.wait or 0.0
            last.passing = last.passing and asked <= LONGEST_ASKED
            if not last.passing or attempt > self._retries(last):
                break
            self._usage.retries += 1
            await asyncio.sleep(max(asked, backoff(attempt, self._options.wait, self._draw)))
        raise self.given_up(last, attempt)

    def _retries(self, failure: Failure) -> int:
        """Times to send again: few where nobody has ever been there, as with a wrong address."""
        nobody = failure.unconnected and not self.circuit.reached
        return min(NOBODY_RETRIES, self._options.retries) if nobody else self._options.retries

    def given_up(self, failure: Failure, attempts: int = 1) -> ModelError:
        """The error for the user, after the last attempt."""
        once = failure.passing and attempts == 1
        self.circuit.failed(failure.what, of_the_request=failure.of_the_request, once=once)
        self._mending = self._hint(failure)
        error = self._error(failure.what, hint=self._mending, of_the_request=failure.of_the_request)
        error.certain, error.sat_out = failure.certain, attempts > 1 or not failure.passing
        return error

    def _error(self, what: str, *, hint: str, of_the_request: bool = False) -> ModelError:
        nothing = not self.circuit.reached and not of_the_request
        return (Unreachable if nothing else CallFailed)(what, place=self._options.model, hint=hint)

    def _hint(self, failure: Failure) -> str:
        if failure.status is None and self._options.base_url:
            return "is the server at --base-url running?"
        if "Provider NOT provided" in failure.what:
            return "write PROVIDER/NAME as litellm does; at --base-url it is openai/NAME"
        return TOO_LONG_HINT if failure.too_long else HINTS.get(failure.status or 0, "")

    async def _once(
        self,
        messages: list[dict[str, str]],
        settings: Mapping[str, object],
        form: Mapping[str, object],
        context: CallContext,
        attempt: int,
    ) -> Sent:
        """One attempt; the time limit is counted from its sending."""
        await self._pace.turn()
        self._usage.sent += 1
        start = time.monotonic()
        outcome = "cancelled"
        try:
            async with asyncio.timeout(context.timeout):
                answer = await self.wire.send(messages, settings, form, context.timeout)
            outcome = ""
        except TimeoutError:
            outcome = "timeout"
            what = f"no answer within {context.timeout:g} s"
            self.circuit.failed(what, of_the_request=False)
            raise CallTimeout(what, place=self._options.model, hint="raise --timeout") from None
        except Failure as failure:
            outcome = failure.outcome
            raise
        finally:
            if outcome:
                self.note(context, attempt, outcome, time.monotonic() - start)
        self.circuit.passed()
        self._usage.spent_in += answer.tokens_in
        self._usage.spent_out += answer.tokens_out
        self._usage.spent.append(answer.usd)
        return Sent(answer, attempt, time.monotonic() - start)

    def note(
        self, context: CallContext, attempt: int, outcome: str, seconds: float, **more: object
    ) -> None:
        """Add a line to the log."""
        facts = {"sample": context.sample, "attempt": attempt, "outcome": outcome}
        self._log.write(context.caller, context.key, **facts, seconds=round(seconds, 3), **more)
