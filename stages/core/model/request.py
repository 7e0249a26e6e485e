"""What a stage asks a model, what it gets back, and the name under which both are kept."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit, urlunsplit

import orjson

if TYPE_CHECKING:
    from stages.core.model.options import ModelOptions

KEY_VERSION = 1
"""Part of every key: raised when a change makes older entries answer something else."""


@dataclass(frozen=True)
class Request:
    """One question to a model.

    Args:
        messages: ``{"role", "content"}`` each, what repeats from call to call first, so that
            providers' prompt caches hit.
        schema: JSON Schema of the reply; None where it is plain text.
        name: A short name of the schema; letters, digits, ``_`` and ``-``.
        temperature: None leaves it to ``--temperature``, and else to the provider.
        sample: Number of the sample. Requests that differ in it alone are asked each for
            itself; it is never sent.
        max_tokens: Limit of the reply; None leaves it to the provider.
    """

    messages: tuple[Mapping[str, str], ...]
    schema: Mapping[str, Any] | None = None
    name: str = "reply"
    temperature: float | None = None
    sample: int = 0
    max_tokens: int | None = None


@dataclass(frozen=True)
class Reply:
    """The answer to a `Request`.

    Args:
        data: What fits the schema; the text itself where there is none.
        text: The text as it came, of the last call.
        tokens_in: Prompt tokens, of all calls that it took.
        tokens_out: Reply tokens, of all calls that it took.
        usd: What the calls cost; None where no price is known.
        cached: Whether it came from the cache.
        calls: Calls that it took (2 where it was mended or asked again with more room);
            the same number when it comes from the cache.
    """

    data: Any
    text: str
    tokens_in: int
    tokens_out: int
    usd: float | None
    cached: bool
    calls: int


class Model(Protocol):
    """Whoever answers: `Client`, `TaskModel`, `DryRun`, `DumpPrompt`, or a test's own."""

    name: str

    async def ask(self, request: Request, *, timeout: float | None = None) -> Reply:
        """The reply to ``request``, which fits its schema.

        Args:
            request: What to ask.
            timeout: Seconds for each call, counted from its sending; time spent waiting
                for the limit on calls at once is not counted.

        Raises:
            ModelError: One of its subclasses, and nothing else.
        """
        ...


def wire_settings(request: Request, options: ModelOptions) -> dict[str, Any]:
    """Everything about a request, beside messages and schema, that shapes its answer."""
    temperature = options.temperature if request.temperature is None else request.temperature
    return {
        "model": options.model,
        "temperature": temperature,
        "max_tokens": request.max_tokens,
        "options": options.public(),
    }


def whole(request: Request, options: ModelOptions) -> dict[str, Any]:
    """The request as the cache keeps it: no key, no header, no URL, no limit of time."""
    return {
        **wire_settings(request, options),
        "name": request.name,
        "sample": request.sample,
        "messages": [dict(message) for message in request.messages],
        "schema": request.schema,
    }


def key_of(kept: Mapping[str, Any], base_url: str | None) -> str:
    """The hash of a request as `whole` gives it, and of the URL that it goes to.

    An exported store is looked up with no URL, so that it serves wherever it came from.

    >>> key_of({"model": "m"}, None) == key_of({"model": "m"}, "http://127.0.0.1:1/v1")
    False
    """
    body = {"v": KEY_VERSION, "base_url": plain_url(base_url), "request": kept}
    return f"sha256:{hashlib.sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).hexdigest()}"


def plain_url(url: str | None) -> str:
    """The URL without user, password, query and closing slash; empty for None.

    >>> plain_url("https://me:secret@host:8000/v1/?key=1")
    'https://host:8000/v1'
    """
    if not url:
        return ""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))
