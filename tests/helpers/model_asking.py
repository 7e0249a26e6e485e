"""Asking one request of a server that answers as it is told; shared by the tests of the model layer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from stages.core.model import Client, ModelOptions, Reply, Request
from tests.helpers.llm_server import LlmServer, Say

SCHEMA = {
    "type": "object",
    "required": ["a"],
    "properties": {"a": {"type": "integer"}},
    "additionalProperties": False,
}
REQUEST = Request(
    ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "How many?"}),
    SCHEMA,
    "number",
)
FINE = Say(data={"a": 1}, tokens=(10, 3))
Answers = Callable[[dict[str, Any], int], Any]


@contextmanager
def asking(answers: list[Any] | Answers) -> Iterator[tuple[LlmServer, ModelOptions]]:
    """A server that gives these answers in turn, the last one again and again."""

    def answer(request: dict[str, Any], n: int) -> Any:
        return answers(request, n) if callable(answers) else answers[min(n, len(answers) - 1)]

    with LlmServer(answer) as server:
        yield server, ModelOptions("openai/test", server.base_url, retries=4, wait=0.005)


async def ask_all(
    options: ModelOptions, *requests: Request, timeout: float | None = None
) -> list[Any]:
    client = Client(options)
    try:
        calls = [client.ask(request, timeout=timeout) for request in requests]
        return await asyncio.gather(*calls, return_exceptions=True)
    finally:
        await client.close()


def ask(options: ModelOptions, request: Request = REQUEST, timeout: float | None = None) -> Reply:
    """The reply to one request, by a client of its own."""
    [found] = asyncio.run(ask_all(options, request, timeout=timeout))
    if isinstance(found, BaseException):
        raise found
    assert isinstance(found, Reply)
    return found
