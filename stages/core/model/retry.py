"""When to send a call again, how long to wait before, and when to stop altogether."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from stages.core.model.options import RETRIES

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
