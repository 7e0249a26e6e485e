"""The options that every stage with a model shares; keys are kept out of messages.

Keeping keys out of messages: what a provider says may repeat the key that it refuses.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import click
import orjson

from stages.core.errors import UsageError
from stages.core.jsontypes import JsonMapping, JsonObject, JsonValue
from stages.core.params import FiniteFloatRange, Options
from stages.core.paths import reply_cache
from stages.core.text import visible

HIDDEN = "[key]"
LONGEST_MESSAGE = 300
SHORTEST_KEY = 8
"""Characters; a shorter value is no key, and may be part of a common word."""
KEY_SHAPED = re.compile(r"\b(?:sk|pk|rk|gsk|xai|key|hf|AIza)[-_][\w*-]{8,}|\bBearer\s+\S+")


def scrub(text: str, options: Mapping[str, object]) -> str:
    """One short line without keys: those in the environment, in the options, and what looks like
    one.

    >>> scrub("Incorrect API key: sk-abc123def456ghi", {})
    'Incorrect API key: [key]'
    """
    for key in sorted(_keys(options), key=len, reverse=True):
        text = text.replace(key, HIDDEN)
    return visible(KEY_SHAPED.sub(HIDDEN, " ".join(text.split())), LONGEST_MESSAGE)


def _keys(options: Mapping[str, object]) -> Iterator[str]:
    values = [*_values(dict(os.environ)), *_values(options)]
    return (value for value in values if isinstance(value, str) and len(value) >= SHORTEST_KEY)


def _values(part: object, *, hidden: bool = False) -> Iterator[object]:
    """What stands under the name of a secret, at any depth."""
    if isinstance(part, Mapping):
        for name, inner in part.items():
            yield from _values(inner, hidden=hidden or secret(name))
    elif isinstance(part, list):
        for inner in part:
            yield from _values(inner, hidden=hidden)
    elif hidden:
        yield part


# The options that every stage with a model shares, and what they come to.

BUILTIN = "builtin"
CONCURRENCY = 16
"""Calls at once in one process."""
RETRIES = 6
"""Times a call is sent again after a failure that may pass. With waits of at most
`sender.LONGEST` seconds each, a provider that is away for half a minute is sat out."""
CIRCUIT = 10
"""Calls given up in a row after which nothing is sent any more."""
WAIT = 0.5
"""Seconds: the wait before a call is sent again is drawn up to this, then up to twice as much
each time."""
TIMEOUT = 600.0
"""Seconds for one call where neither the stage nor the user sets a limit."""

SECRET = re.compile(
    r"(^|[._-])(api)?(key([._-]?id)?|token|secret|password|passwd|headers?|credentials?|auth"
    r"|authorization|bearer|cookie)$",
    re.I,
)
HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
"""Names of options that may hold a key: sent, but never kept, shown or hashed."""


@dataclass(frozen=True)
class ModelOptions:
    """How a model is reached.

    Args:
        model: Any litellm model id.
        base_url: Of an OpenAI-compatible server; None for the provider's own.
        concurrency: Calls at once.
        temperature: For requests that name none; None leaves it to the provider.
        options: Further parameters, handed through as they are.
        cache: A folder, or an exported file (``.jsonl``), which is only read; None for no
            cache.
        offline: Answer from the cache alone.
        retries: Times that a call is sent again after a failure that may pass.
        circuit: Calls given up in a row after which nothing is sent any more.
        wait: Seconds up to which the first wait before sending again is drawn.
        timeout: Seconds for one call where `ask` is given none.
        log: File that gets one JSON line a call.
        rate: Calls that may go out in a minute; None for no limit.
    """

    model: str
    base_url: str | None = None
    concurrency: int = CONCURRENCY
    temperature: float | None = None
    options: JsonMapping = field(default_factory=dict)
    cache: Path | None = None
    offline: bool = False
    retries: int = RETRIES
    circuit: int = CIRCUIT
    wait: float = WAIT
    timeout: float = TIMEOUT
    log: Path | None = None
    rate: float | None = None

    def public(self) -> JsonObject:
        """The further parameters that may be kept and shown."""
        found: JsonObject = without_secrets(self.options)
        return found


def secret(name: str) -> bool:
    """Whether an option of that name may hold a key.

    >>> secret("api_key"), secret("extra_headers"), secret("max_tokens"), secret("top_k")
    (True, True, False, False)
    """
    return bool(SECRET.search(HUMP.sub("_", name)))


def without_secrets(value: object) -> JsonValue:
    """The value without what stands under such names, at any depth.

    >>> without_secrets({"top_p": 1, "extra_body": {"api_key": "k", "seed": 1}})
    {'top_p': 1, 'extra_body': {'seed': 1}}
    """
    if isinstance(value, Mapping):
        return {key: without_secrets(part) for key, part in value.items() if not secret(key)}
    return [without_secrets(part) for part in value] if isinstance(value, list) else value


def parse_options(pairs: Sequence[str]) -> dict[str, object]:
    """``KEY=VALUE`` pairs as a mapping; a value is JSON where it can be, else text.

    Raises:
        UsageError: A pair without ``=`` or without a key.

    >>> parse_options(["top_p=0.9", "reasoning_effort=low", 'stop=["a"]'])
    {'top_p': 0.9, 'reasoning_effort': 'low', 'stop': ['a']}
    """
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            shown = f"{key[:20]}…" if len(pair) > 20 else pair
            raise UsageError(f"--option {shown} is no KEY=VALUE", hint="as in --option top_p=0.9")
        try:
            found[key.strip()] = orjson.loads(value)
        except orjson.JSONDecodeError:
            found[key.strip()] = value
    return found


def model_options(values: Options) -> ModelOptions:
    """The settings from the values of `MODEL_OPTIONS`.

    Raises:
        UsageError: Values that contradict each other, or cannot be.
    """
    if values.get("offline") and values.get("no_cache"):
        raise UsageError(
            "--offline answers from the cache, and --no-cache switches it off",
            hint="leave one of them out",
        )
    cache, model = values.get("cache"), values["model"]
    base_url = values.get("base_url") or _openai_url(model)
    if not model.strip():
        raise UsageError("--model is empty", hint="name a model, or builtin")
    if base_url and not _is_address(base_url):
        raise UsageError(
            "--base-url (or OPENAI_BASE_URL) is no http or https address",
            hint="as in http://127.0.0.1:8000/v1",
        )
    return ModelOptions(
        # A bare name at a URL can only be what that server calls so.
        model=f"openai/{model}" if base_url and "/" not in model else model,
        base_url=base_url or None,
        concurrency=values.get("concurrency") or CONCURRENCY,
        temperature=values.get("temperature"),
        options=parse_options(values.get("option") or ()),
        cache=None if values.get("no_cache") else reply_cache(cache),
        offline=bool(values.get("offline")),
        retries=RETRIES if values.get("retries") is None else values["retries"],
        timeout=values.get("timeout") or TIMEOUT,
        log=Path(values["log"]) if values.get("log") else None,
        rate=values.get("requests_per_minute"),
    )


def _is_address(url: str) -> bool:
    """Whether a call could go there: http or https, a host, and a port that exists."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port out of range, an address in brackets without its end
        return False


def _openai_url(model: str) -> str | None:
    """Where the environment sends the calls of OpenAI's own clients; it belongs into the key."""
    if "/" in model and not model.startswith("openai/"):
        return None
    return os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")


MODEL_OPTIONS: tuple[click.Option, ...] = (
    click.Option(
        ["--model"], default=BUILTIN, show_default=True, envvar="WINNOW_MODEL", metavar="ID",
        help="Any litellm model id, such as openai/gpt-4o-mini or ollama/qwen3; builtin needs no "
        "network.",
    ),
    click.Option(
        ["--base-url"], envvar="WINNOW_BASE_URL", metavar="URL",
        help="An OpenAI-compatible server, such as vLLM or llama.cpp; --model openai/NAME or NAME.",
    ),
    click.Option(
        ["--timeout"], type=FiniteFloatRange(min=0, min_open=True), metavar="SECONDS",
        help="Seconds for one call, from its sending.  [default: the stage's own]",
    ),
    click.Option(
        ["--concurrency"], type=click.IntRange(min=1), default=CONCURRENCY, show_default=True,
        metavar="N", help="Calls at once.",
    ),
    click.Option(
        ["--requests-per-minute"], type=FiniteFloatRange(min=0, min_open=True), metavar="N",
        help="Calls that may go out in a minute, those sent again too.  [default: no limit]",
    ),
    click.Option(
        ["--retries"], type=click.IntRange(min=0), default=RETRIES, show_default=True,
        metavar="N",
        help="Times to send a call again after a failure that may pass; where a reply is wrong, a "
        "stage asks again besides.",
    ),
    click.Option(
        ["--temperature"], type=FiniteFloatRange(min=0), metavar="T",
        help="Temperature of the model.  [default: the stage's own]",
    ),
    click.Option(
        ["--option"], multiple=True, metavar="KEY=VALUE",
        help="Hand a parameter through to the model; VALUE is JSON or text. May be repeated.",
    ),
    click.Option(
        ["--cache"], envvar="WINNOW_CACHE", metavar="DIR",
        help="Folder of kept replies, or a file of `winnow cache export`, which is only read."
        "  [default: winnow in the user's cache folder]",
    ),
    click.Option(["--no-cache"], is_flag=True, help="Neither read nor keep replies."),
    click.Option(["--offline"], is_flag=True, help="Answer from the cache alone."),
    click.Option(
        ["--dry-run"], is_flag=True, help="Say what would be asked and spent, and send nothing."
    ),
    click.Option(
        ["--dump-prompt"], is_flag=True, help="Print what would be sent, and send nothing."
    ),
    click.Option(
        ["--log"], type=click.Path(dir_okay=False), metavar="FILE",
        help="Add one JSON line a call to FILE.",
    ),
    click.Option(
        ["--lang"], type=click.Choice(["auto", "en", "zh"]), default="auto", show_default=True,
        help="Language of the instructions; auto is that of the question.",
    ),
)  # fmt: skip
"""Shared click options of the stages that ask a model."""
