"""What was asked and spent: counts, prices, and the log.

What a model costs by litellm's price list, read as a data file: litellm is not imported.
"""

from __future__ import annotations

import importlib.util
import math
import os
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import orjson

from stages.core.errors import UsageError, os_words
from stages.core.jsontypes import JsonObject
from stages.core.model.request import Reply

PRICE_LIST = "model_prices_and_context_window_backup.json"


@dataclass(frozen=True)
class Price:
    """US dollars for one token in and for one token out."""

    one_in: float
    one_out: float

    def of(self, tokens_in: int, tokens_out: int) -> float:
        """The cost of a call.

        >>> Price(1e-06, 2e-06).of(1000, 500)
        0.002
        """
        return self.one_in * tokens_in + self.one_out * tokens_out


def price(model: str, base_url: str | None = None) -> Price | None:
    """The price of a model; None where the list does not know it.

    ``openai/…`` at a URL of the user's own is whatever that server calls so, and has none.
    """
    if base_url and model.startswith("openai/"):
        return None
    entry = _listed().get(model) or _listed().get(model.partition("/")[2])
    if not isinstance(entry, dict):
        return None
    one_in, one_out = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    if one_in is None or one_out is None or not _same_provider(model, entry):
        return None
    return Price(float(one_in), float(one_out))


def _same_provider(model: str, entry: dict[str, object]) -> bool:
    """Whether an entry found under the bare name is the named provider's."""
    provider, slash, _ = model.partition("/")
    return not slash or model in _listed() or entry.get("litellm_provider") == provider


@lru_cache(maxsize=1)
def _listed() -> JsonObject:
    """The list that the installed litellm ships; empty where there is none."""
    spec = importlib.util.find_spec("litellm")
    path = Path(spec.origin).parent / PRICE_LIST if spec and spec.origin else Path()
    if not path.is_file():
        return {}
    found: JsonObject = orjson.loads(path.read_bytes())
    return found


# ``--log FILE``: one JSON line a call, added as it ends.


@dataclass(frozen=True)
class Caller:
    """Who asks: a task, and the stage that works on it."""

    task: str = ""
    stage: str = ""


class CallLog:
    """The log file; without one, nothing is written.

    Every line is one write to a file opened for adding, so that processes can share it.

    Attributes:
        unwritten: Why the last line that could not be written was not; empty where all were.

    Raises:
        UsageError: The file cannot be written.
    """

    def __init__(self, path: Path | None) -> None:
        self.unwritten = ""
        self._file = None if path is None else _opened(path)

    def write(self, caller: Caller, key: str, **facts: object) -> None:
        """Add a line: ``task``, ``stage``, ``request``, then ``facts`` as they are given."""
        if self._file is not None:
            line = {"task": caller.task, "stage": caller.stage, "request": key, **facts}
            try:
                os.write(self._file, orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
            except OSError as error:  # a full disk must not cost the answers
                self.unwritten = f"the log cannot be written: {os_words(error)}"

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    except OSError as error:
        raise UsageError(f"cannot write the log: {os_words(error)}", place=str(path)) from None


# Counting what was asked and spent: for the records, and for the user.


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

    def meta(self) -> JsonObject:
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
