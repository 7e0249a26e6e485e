"""Calls through litellm, which is imported here, on the first one, and nowhere else."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import logging
import os
import re
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from stages.core.jsontypes import JsonObject, JsonValue
from stages.core.model.options import ModelOptions, scrub
from stages.core.model.request import Failure, Mode, ModelAnswer, plain_url, said
from stages.core.model.sender import PASSING, retry_after
from stages.core.model.structured import ALL
from stages.core.model.transport.openai import LOOPBACK, NO_KEY

LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")
NOBODY = ("ConnectError", "ClientConnectorError", "ClientConnectorDNSError")
"""Names of the errors of httpx and aiohttp for a refused connection or an unknown host."""
NO_CREDENTIALS = re.compile(r"missing credentials|api_key client option must be set", re.I)
SPARE = 5.0
"""Seconds by which litellm's own time limit lies above the caller's, so that the caller's acts."""


@lru_cache(maxsize=1)
def litellm() -> Any:  # Any: imported by name, so that no type checker loads it
    """The library: its price list local, its noise off stdout, no collector while it loads.

    The import takes two to four seconds; without the collector's passes over its half
    million objects a quarter less.
    """
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    collecting = gc.isenabled()
    gc.disable()
    try:
        with contextlib.redirect_stdout(sys.stderr):
            library: Any = importlib.import_module("litellm")  # Any: as above
    finally:
        if collecting:
            gc.enable()
    library.suppress_debug_info = True
    library.telemetry = False
    # What litellm had begun and a time limit cut off is no news to the user.
    warnings.filterwarnings(
        "ignore", r"coroutine '\w*LLM\w*\.\w+' was never awaited", RuntimeWarning
    )
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return library


async def _loaded() -> None:
    """Wait until a thread that nobody has to wait for has loaded the library."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def tell(error: Exception | None) -> None:
        if not done.done():
            done.set_exception(error) if error else done.set_result(None)

    def load() -> None:
        found: Exception | None = None
        try:
            litellm()
        except Exception as error:
            found = error
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(tell, found)

    threading.Thread(target=load, daemon=True).start()
    await done


class Litellm:
    """Any provider that litellm knows."""

    def __init__(self, options: ModelOptions) -> None:
        self._options = options
        self._modes: tuple[Mode, ...] | None = None
        self._loading: asyncio.Task[None] | None = None

    async def ready(self) -> None:
        """Load the library on a thread: an interrupt is not held up by seconds of import."""
        if not litellm.cache_info().currsize:
            self._loading = self._loading or asyncio.create_task(_loaded())
            await asyncio.shield(self._loading)

    @property
    def modes(self) -> tuple[Mode, ...]:
        """What litellm says the model takes; at a URL of the user's own everything is tried."""
        if self._modes is None:
            self._modes = ALL if self._options.base_url else self._known_modes()
        return self._modes

    def _known_modes(self) -> tuple[Mode, ...]:
        library, model = litellm(), self._options.model
        with contextlib.suppress(Exception):
            provider = library.get_llm_provider(model)[1]
            takes = library.get_supported_openai_params(model, custom_llm_provider=provider) or []
            able: dict[Mode, bool] = {
                "schema": library.supports_response_schema(model),
                "tool": library.supports_function_calling(model) and "tool_choice" in takes,
                "json": "response_format" in takes,
                "text": True,
            }
            return tuple(mode for mode in ALL if able[mode])
        return ("text",)

    async def send(
        self,
        messages: list[dict[str, str]],
        settings: Mapping[str, object],
        form: Mapping[str, object],
        timeout: float,
    ) -> ModelAnswer:
        """Send the call; see `request.Transport`. Retries are the caller's, litellm's are off."""
        library = litellm()
        try:
            response = await library.acompletion(
                **{
                    "drop_params": True,
                    **self._options.options,
                    **self._place(),
                    **settings,
                    **form,
                    "model": self._options.model,
                    "messages": messages,
                    "timeout": timeout + SPARE,
                    "max_retries": 0,
                    "num_retries": 0,
                }
            )
            return _answer(response)
        except Exception as error:
            raise self._failure(error) from None

    def _place(self) -> JsonObject:
        """Where the call goes, with a stand-in for the key that a server on loopback has no use
        for."""
        url = self._options.base_url
        if url is None:
            return {}
        found: JsonObject = {"api_base": url}
        if urlsplit(url).hostname in LOOPBACK and "api_key" not in self._options.options:
            known = litellm().validate_environment(self._options.model)
            if not known.get("keys_in_environment"):
                found["api_key"] = NO_KEY
        return found

    def _failure(self, error: Exception) -> Failure:
        behind = list(_behind(error))
        dropped = any(_is_dropped(cause) for cause in behind)
        status = getattr(error, "status_code", None)
        status = status if isinstance(status, int) and not dropped else None
        what = str(getattr(error, "message", "") or error) or type(error).__name__
        if NO_CREDENTIALS.search(what):  # which litellm calls a failure of the server
            status, dropped = 401, False
        if unconnected := any(type(cause).__name__ in NOBODY for cause in behind):
            what = f"cannot connect to {plain_url(self._options.base_url) or 'the provider'}"
        return Failure(
            scrub(what if status is None else f"HTTP {status}: {what}", self._options.options),
            status=status,
            passing=dropped or status in PASSING,
            wait=retry_after(_headers(error)),
            unconnected=unconnected,
        )

    async def close(self) -> None:
        """Close litellm's sessions, where it was loaded at all."""
        if litellm.cache_info().currsize:
            with contextlib.suppress(Exception):
                await litellm().close_litellm_async_clients()


def _behind(error: BaseException | None) -> Iterator[BaseException]:
    """The error and all that stand behind it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_dropped(error: BaseException) -> bool:
    """Whether it is the connection that failed; litellm calls that a status of 500."""
    import httpx

    return isinstance(error, httpx.TransportError) or type(error).__name__ == "APIConnectionError"


def _headers(error: Exception) -> dict[str, str]:
    """The headers that came with the error, names in lower case."""
    response = getattr(error, "response", None)
    found = getattr(error, "litellm_response_headers", None) or getattr(response, "headers", None)
    return {str(name).lower(): str(value) for name, value in (found or {}).items()}


def _answer(response: JsonValue) -> ModelAnswer:
    choice = response.choices[0]
    usage = getattr(response, "usage", None)
    cost = response._hidden_params.get("response_cost")
    return ModelAnswer(
        **said(choice.message.model_dump()),
        finish=choice.finish_reason or "",
        tokens_in=getattr(usage, "prompt_tokens", 0) or 0,
        tokens_out=getattr(usage, "completion_tokens", 0) or 0,
        # For a model without a price litellm says that it costs nothing.
        usd=cost or None,
    )
