"""The OpenAI chat protocol, spoken straight to a server of the user's own.

`--base-url` with ``openai/NAME`` needs no translation between providers, and litellm costs
three seconds of import and five milliseconds of processor time a call, which holds one event
loop to 200 calls a second; this way costs half a millisecond (``tools/bench/model.py``
measures both). Parameters outside the protocol's own go through litellm, which knows what
to make of them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson

from stages.core.jsontypes import JsonMapping
from stages.core.model.options import ModelOptions, scrub
from stages.core.model.request import Failure, Mode, ModelAnswer, said
from stages.core.model.sender import PASSING, retry_after
from stages.core.model.structured import ALL

if TYPE_CHECKING:
    import aiohttp

PREFIX = "openai/"
PARAMETERS = frozenset((
    "api_key", "chat_template_kwargs", "dry_multiplier", "frequency_penalty", "logit_bias",
    "logprobs", "max_completion_tokens", "max_tokens", "metadata", "min_p", "n",
    "parallel_tool_calls", "presence_penalty", "prompt_cache_key", "reasoning_effort",
    "repeat_penalty", "repetition_penalty", "seed", "service_tier", "stop", "store", "top_k",
    "top_logprobs", "top_p", "user", "verbosity",
))  # fmt: skip
"""Options that go into the body as they are; the protocol's, and what vLLM and llama.cpp add."""
CONNECT = 30.0
"""Seconds to open a connection."""
LOOPBACK = ("localhost", "127.0.0.1", "::1")
NO_KEY = "none"
"""Sent where there is no key: servers on loopback want none, but some want the header."""


def serves(options: ModelOptions) -> bool:
    """Whether the direct way serves for these settings."""
    to_own_server = options.base_url is not None and options.model.startswith(PREFIX)
    return to_own_server and set(options.options) <= PARAMETERS


def api_key(options: ModelOptions) -> str:
    """The key: of ``--option api_key=``, else ``OPENAI_API_KEY``, else a placeholder."""
    return str(options.options.get("api_key") or os.environ.get("OPENAI_API_KEY") or NO_KEY)


class Direct:
    """One kept-alive session to one server."""

    modes: tuple[Mode, ...] = ALL

    def __init__(self, options: ModelOptions) -> None:
        self._options = options
        self._url = f"{(options.base_url or '').rstrip('/')}/chat/completions"
        self._session: aiohttp.ClientSession | None = None

    def _opened(self) -> aiohttp.ClientSession:
        import aiohttp

        if self._session is None:
            # The limit on calls at once is the client's; a proxy is no way to one's own machine.
            url = urlsplit(self._url)
            key = {"Authorization": f"Bearer {api_key(self._options)}"}
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT),
                trust_env=url.hostname not in LOOPBACK,
                # A user and password in the URL go out in the place of a key.
                headers={"Content-Type": "application/json", **({} if url.username else key)},
            )
        return self._session

    async def ready(self) -> None:
        """aiohttp is loaded in no time."""

    async def send(
        self,
        messages: list[dict[str, str]],
        settings: Mapping[str, object],
        form: Mapping[str, object],
        timeout: float,
    ) -> ModelAnswer:
        """Post the call; see `request.Transport`."""
        import aiohttp

        own = {key: value for key, value in self._options.options.items() if key != "api_key"}
        body = {"model": self._options.model.removeprefix(PREFIX), "messages": messages}
        data = orjson.dumps({**body, **own, **settings, **form})
        try:
            # A redirect would carry the key to another host.
            async with self._opened().post(self._url, data=data, allow_redirects=False) as response:
                raw = await response.read()
                headers = {name.lower(): value for name, value in response.headers.items()}
                status = response.status
        except aiohttp.ClientConnectorError as error:
            what = f"cannot connect to {error.host}:{error.port}: {error.strerror or 'no answer'}"
            raise self._failure(what, passing=True, unconnected=True) from None
        except (aiohttp.InvalidURL, ValueError):
            raise self._failure("no such address can be", unconnected=True) from None
        except (aiohttp.ClientError, OSError) as error:
            raise self._failure(f"{type(error).__name__}: {error}", passing=True) from None
        return self._read(status, headers, raw)

    def _read(self, status: int, headers: Mapping[str, str], raw: bytes) -> ModelAnswer:
        try:
            body = orjson.loads(raw)
        except orjson.JSONDecodeError:
            body = _streamed(raw)
        body = body if isinstance(body, dict) else {}
        if status == 200 and body.get("choices"):
            with contextlib.suppress(AttributeError, KeyError, IndexError, TypeError, ValueError):
                return _answer(body)
        error = body.get("error")
        what = (
            error.get("message", "")
            if isinstance(error, dict)
            else error or raw[:500].decode(errors="replace")
        )
        # Some gateways answer 200 with an error inside; an answer without either is broken.
        code = error.get("code") if status == 200 and isinstance(error, dict) else status
        code = code if isinstance(code, int) else None
        status = code if status == 200 and code else status
        wait = retry_after(headers)
        passing = status in PASSING or (status == 200 and not error)
        raise self._failure(f"HTTP {status}: {what}", status=status, passing=passing, wait=wait)

    def _failure(
        self,
        what: str,
        **facts: Any,  # Any: the keywords of `Failure`
    ) -> Failure:
        return Failure(scrub(what, self._options.options), **facts)

    async def close(self) -> None:
        """Close the session."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def _streamed(raw: bytes) -> dict[str, object] | None:
    """A chat completion that came in pieces, as server-sent events; None where it is no such."""
    if not raw.lstrip().startswith(b"data:"):
        return None
    text = {"content": "", "reasoning_content": ""}
    finish, usage = None, None
    with contextlib.suppress(AttributeError, KeyError, IndexError, TypeError, ValueError):
        for line in raw.splitlines():
            if not line.startswith(b"data:") or line[5:].strip() == b"[DONE]":
                continue
            piece = orjson.loads(line[5:])
            usage = piece.get("usage") or usage
            for choice in piece["choices"][:1]:
                finish = choice.get("finish_reason") or finish
                for key in text:
                    text[key] += choice.get("delta", {}).get(key) or ""
        return {"choices": [{"message": text, "finish_reason": finish}], "usage": usage}
    return None


def _answer(body: JsonMapping) -> ModelAnswer:
    choice = body["choices"][0]
    usage = body.get("usage") or {}
    return ModelAnswer(
        **said(choice.get("message") or {}),
        finish=str(choice.get("finish_reason") or ""),
        tokens_in=int(usage.get("prompt_tokens") or 0),
        tokens_out=int(usage.get("completion_tokens") or 0),
        usd=None,
    )
