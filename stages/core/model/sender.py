"""Sending one call until it comes through, is refused, or there is no more hope."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stages.core.errors import CallFailed, CallTimeout, ModelError, Unreachable
from stages.core.model.answer import Answer, Failure, Wire
from stages.core.model.log import Caller, CallLog
from stages.core.model.options import ModelOptions
from stages.core.model.retry import LONGEST_ASKED, Circuit, backoff
from stages.core.model.usage import Usage

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
class Asking:
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

    answer: Answer
    attempt: int
    seconds: float


class Sender:
    """Sends calls, with retries, over one wire."""

    def __init__(
        self, wire: Wire, options: ModelOptions, circuit: Circuit, usage: Usage, log: CallLog
    ) -> None:
        self.wire, self.circuit = wire, circuit
        self._options, self._usage, self._log = options, usage, log
        self._draw = random.Random()
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
        settings: Mapping[str, Any],
        form: Mapping[str, Any],
        asking: Asking,
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
                return await self._once(messages, settings, form, asking, attempt)
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
        settings: Mapping[str, Any],
        form: Mapping[str, Any],
        asking: Asking,
        attempt: int,
    ) -> Sent:
        """One attempt; the time limit is counted from its sending."""
        self._usage.sent += 1
        start = time.monotonic()
        outcome = "cancelled"
        try:
            async with asyncio.timeout(asking.timeout):
                answer = await self.wire.send(messages, settings, form, asking.timeout)
            outcome = ""
        except TimeoutError:
            outcome = "timeout"
            what = f"no answer within {asking.timeout:g} s"
            self.circuit.failed(what, of_the_request=False)
            raise CallTimeout(what, place=self._options.model, hint="raise --timeout") from None
        except Failure as failure:
            outcome = failure.outcome
            raise
        finally:
            if outcome:
                self.note(asking, attempt, outcome, time.monotonic() - start)
        self.circuit.passed()
        self._usage.spent_in += answer.tokens_in
        self._usage.spent_out += answer.tokens_out
        self._usage.spent.append(answer.usd)
        return Sent(answer, attempt, time.monotonic() - start)

    def note(self, asking: Asking, attempt: int, outcome: str, seconds: float, **more: Any) -> None:
        """Add a line to the log."""
        facts = {"sample": asking.sample, "attempt": attempt, "outcome": outcome}
        self._log.write(asking.caller, asking.key, **facts, seconds=round(seconds, 3), **more)
