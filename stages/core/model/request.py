"""What a stage asks a model, and what comes back from one call: an answer, or a failure that
says whether to try again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol
from urllib.parse import urlsplit, urlunsplit

import orjson

from stages.core.errors import ModelError
from stages.core.jsontypes import JsonMapping, JsonObject, JsonValue

if TYPE_CHECKING:
    from stages.core.model.options import ModelOptions

Mode = Literal["schema", "tool", "json", "text"]
"""How a reply is held to its schema: by the provider, by a forced tool, as any JSON, not at all."""

OF_THE_FORM = re.compile(r"response_format|json_schema|structured.output|tool_choice|tools", re.I)
"""What providers say where no server of theirs takes the form of the call."""

NO_SYSTEM = re.compile(
    r"system role|does not support 'system'|roles? must alternate|developer instruction"
    r"|system[^.]{0,30} not (supported|allowed|enabled)",
    re.I,
)
"""What is said of a system message where the model's template knows none."""
NO_TEMPERATURE = re.compile(
    r"temperature[^.]{0,40}(not support|unsupported|deprecated)|unsupported[^.]{0,30}temperature",
    re.I,
)
"""What reasoning models say of a temperature."""


THOUGHTS = ("reasoning_content", "reasoning", "thinking")
"""Keys of a message under which servers give what the model thought."""
THINKING = re.compile(r"think|reason", re.I)
"""What the types of parts of a message are called that are thoughts."""

TOO_LONG = re.compile(
    r"context.?(length|window|size)|(prompt|input)[^.]{0,30} (is )?too long|too many tokens"
    r"|exceeds? the maximum number of tokens",
    re.I,
)
"""What is said of a request that is longer than the model can read, in whatever form it comes."""


@dataclass(frozen=True)
class ModelAnswer:
    """One answer of a provider.

    Args:
        text: The reply's text; the arguments of the tool where one was called instead.
        finish: The finish reason: ``stop``, ``length``, ``content_filter``…
        tokens_in: Prompt tokens as the provider counts them.
        tokens_out: Reply tokens as the provider counts them.
        usd: Its cost; None where no price is known.
        calls: What tools were called with, beside the text.
        thought: What the model thought, where the provider gives it apart.
    """

    text: str
    finish: str
    tokens_in: int
    tokens_out: int
    usd: float | None
    calls: tuple[str, ...] = ()
    thought: str = ""

    def __post_init__(self) -> None:
        """Replace lone surrogates: they are no text, and nothing can store or send them."""
        object.__setattr__(self, "text", _encodable(self.text))
        object.__setattr__(self, "calls", tuple(map(_encodable, self.calls)))
        object.__setattr__(self, "thought", _encodable(self.thought))


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def said(message: JsonMapping) -> JsonObject:
    """What a message of the chat protocol says: `text`, `calls` and `thought` of an `Answer`.

    Raises:
        AttributeError, KeyError, TypeError: It is no such message.

    >>> said({"content": None, "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]})
    {'text': '{}', 'calls': ('{}',), 'thought': ''}
    """
    functions = [call["function"] for call in message.get("tool_calls") or ()]
    functions += [message["function_call"]] if message.get("function_call") else []
    calls = [_json(function.get("arguments")) for function in functions]
    content, thought = message.get("content") or message.get("refusal") or "", ""
    if not isinstance(content, str):
        parts = [part for part in content if isinstance(part, dict)]
        thoughts = [part for part in parts if THINKING.search(str(part.get("type", "")))]
        calls += [_json(part["input"]) for part in parts if part.get("input")]
        content = "".join(str(part.get("text") or "") for part in parts if part not in thoughts)
        thought = "".join(str(p.get("text") or p.get("thinking") or "") for p in thoughts)
    apart = (message.get(key) for key in THOUGHTS)
    thought = thought or next((found for found in apart if isinstance(found, str) and found), "")
    calls = [call for call in calls if call.strip()]
    return {"text": content or "\n".join(calls), "calls": tuple(calls), "thought": thought}


def _json(arguments: object) -> str:
    """Arguments as text; some servers send them as the value itself."""
    return (
        arguments
        if isinstance(arguments, str)
        else orjson.dumps(arguments or "").decode().strip('"')
    )


class Failure(Exception):
    """A call that brought no answer.

    Args:
        what: What happened, in one line, without keys.
        status: HTTP status; None where there was none.
        passing: Whether the same call may come through later.
        wait: Seconds that the provider asks to wait.
        unconnected: Whether there was nobody to connect to.
    """

    def __init__(
        self,
        what: str,
        *,
        status: int | None = None,
        passing: bool = False,
        wait: float | None = None,
        unconnected: bool = False,
    ) -> None:
        super().__init__(what)
        self.what, self.status, self.passing, self.wait = what, status, passing, wait
        self.unconnected = unconnected

    @property
    def outcome(self) -> str:
        """The failure in one word, for the log."""
        return f"http {self.status}" if self.status else "dropped"

    @property
    def of_the_request(self) -> bool:
        """Whether it speaks against this one request, not against the provider."""
        if self.status in (404, 500, 501):
            return bool(OF_THE_FORM.search(self.what) or NO_SYSTEM.search(self.what))
        return self.status in (400, 413, 422)

    @property
    def too_long(self) -> bool:
        """Whether the request is longer than the model can read, so that no other form will do."""
        return self.status == 413 or (self.status == 400 and bool(TOO_LONG.search(self.what)))

    @property
    def certain(self) -> bool:
        """Whether the same call would be refused again."""
        return self.status is not None and 400 <= self.status < 500 and not self.passing


class Transport(Protocol):
    """What carries one call to a provider."""

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The ways of holding a reply to a schema that it can try, best first."""
        ...

    async def ready(self) -> None:
        """Load what the first call needs; before this, ``modes`` may take seconds."""
        ...

    async def send(
        self,
        messages: list[dict[str, str]],
        settings: Mapping[str, object],
        form: Mapping[str, object],
        timeout: float,
    ) -> ModelAnswer:
        """Send one call.

        Args:
            messages: What is said.
            settings: ``temperature``, ``max_tokens``.
            form: Parameters that hold the reply to its schema (`modes.form`).
            timeout: Seconds after which the caller gives up; the wire's own limits lie above.

        Raises:
            Failure: No answer came.
        """
        ...

    async def close(self) -> None:
        """Give connections back."""
        ...


# Asking several things at once.


async def ask_together(
    model: Model, requests: Iterable[Request], timeout: float | None
) -> list[Reply | ModelError]:
    """One answer for each request, in their order; every call ends before this does.

    Args:
        model: Whom to ask; bounds how many calls run at once.
        requests: What to ask.
        timeout: Seconds for one call.

    Raises:
        Exception: Whatever a call raises that is no `ModelError`, once all have ended.
    """
    import asyncio

    calls = [model.ask(request, timeout=timeout) for request in requests]
    answers: list[Reply | ModelError] = []
    for answer in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(answer, BaseException) and not isinstance(answer, ModelError):
            raise answer
        answers.append(answer)
    return answers


# What a stage asks a model, what it gets back, and the name under which both are kept.

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
    schema: JsonMapping | None = None
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

    data: JsonValue
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


def wire_settings(request: Request, options: ModelOptions) -> dict[str, object]:
    """Everything about a request, beside messages and schema, that shapes its answer."""
    temperature = options.temperature if request.temperature is None else request.temperature
    return {
        "model": options.model,
        "temperature": temperature,
        "max_tokens": request.max_tokens,
        "options": options.public(),
    }


def whole(request: Request, options: ModelOptions) -> JsonObject:
    """The request as the cache keeps it: no key, no header, no URL, no limit of time."""
    return {
        **wire_settings(request, options),
        "name": request.name,
        "sample": request.sample,
        "messages": [dict(message) for message in request.messages],
        "schema": request.schema,
    }


def key_of(kept: Mapping[str, object], base_url: str | None) -> str:
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
