"""Counting what was asked and spent: for the records, and for the user."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from stages.core.model.request import Reply


@dataclass
class Usage:
    """What asking came to.

    ``calls``, tokens and ``usd`` are those of the replies that were used, from wherever they
    came, so that a rerun from the cache counts the same. The rest tells runs apart.

    Attributes:
        calls: Calls behind the replies; a mended reply took two.
        tokens_in: Prompt tokens of those calls.
        tokens_out: Reply tokens of those calls.
        reached: Requests that were answered.
        failed: Requests that were not.
        cached: Requests answered from the cache.
        sent: Calls that went out now, the failed ones too.
        retries: How many of those were sent again after a failure.
        spent_in: Prompt tokens of the answers that came in now, unused ones too.
        spent_out: Reply tokens of the same.
    """

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    reached: int = 0
    failed: int = 0
    cached: int = 0
    sent: int = 0
    retries: int = 0
    spent_in: int = 0
    spent_out: int = 0
    costs: list[float | None] = field(default_factory=list, repr=False)
    spent: list[float | None] = field(default_factory=list, repr=False)

    @property
    def usd(self) -> float | None:
        """What the calls cost; None where a price is not known."""
        return total(self.costs)

    def count(self, reply: Reply) -> None:
        """Add a reply that is used."""
        self.calls += reply.calls
        self.tokens_in += reply.tokens_in
        self.tokens_out += reply.tokens_out
        self.reached += 1
        self.cached += reply.cached
        self.costs.append(reply.usd)

    def meta(self) -> dict[str, Any]:
        """What goes into a section's ``meta``: nothing that a replay would not repeat."""
        return {
            "calls": self.calls,
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "usd": self.usd,
        }

    def line(self, seconds: float) -> str:
        """The whole in one line for stderr.

        >>> Usage(calls=6, reached=5, cached=1, sent=5).line(1.25)
        '5 replies, 1 cached, 5 calls, 0 retries, 0 tokens in, 0 out, $0.0000, 1.2 s'
        """
        cost = total(self.spent)
        parts = [
            many(self.reached, "reply", "replies"),
            *([f"{self.failed:,} failed"] if self.failed else []),
            f"{self.cached:,} cached",
            many(self.sent, "call"),
            many(self.retries, "retry", "retries"),
            f"{self.spent_in:,} tokens in",
            f"{self.spent_out:,} out",
            "cost unknown" if cost is None else f"${cost:,.4f}",
            f"{seconds:,.1f} s",
        ]
        return ", ".join(parts)


def total(costs: list[float | None]) -> float | None:
    """The exact sum, the same in whatever order the costs came; None where one is not known.

    >>> total([0.1, 0.2, 0.3]) == total([0.3, 0.2, 0.1]) == 0.6
    True
    """
    known = [cost for cost in costs if cost is not None]
    return math.fsum(known) if len(known) == len(costs) else None


def many(number: int, one: str, more: str = "") -> str:
    """A number and its noun.

    >>> many(1, "call"), many(1200, "reply", "replies")
    ('1 call', '1,200 replies')
    """
    return f"{number:,} {one if number == 1 else more or one + 's'}"
