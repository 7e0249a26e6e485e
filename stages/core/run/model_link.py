"""A model asked from another process: one process talks to it, the others ask that one.

So there is one cache, one limit on calls at once and one bill, the key stays where it is, and
a process that is killed loses no reply: the call ends where it was sent from, and is kept.
Messages are JSON, one a line.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from dataclasses import asdict

import orjson

from stages.core import errors
from stages.core.errors import CallFailed, ModelError, WinnowError
from stages.core.jsontypes import JsonMapping, JsonObject
from stages.core.model.base import BaseClient
from stages.core.model.options import ModelOptions
from stages.core.model.request import Reply, Request
from stages.core.model.usage import Caller

LONGEST_LINE = 1 << 30
"""Bytes of a message; a task line with a large prompt is one."""


def write_message(writer: asyncio.StreamWriter, message: JsonMapping) -> None:
    """Send a message, as soon as the other side takes it."""
    writer.write(orjson.dumps(message, option=orjson.OPT_APPEND_NEWLINE))


async def read_message(reader: asyncio.StreamReader) -> JsonObject | None:
    """The next message; None where the other side has gone."""
    try:
        line = await reader.readline()
    except ConnectionError:
        return None
    found: JsonObject | None = orjson.loads(line) if line.endswith(b"\n") else None
    return found


class ClientPool:
    """The clients of a run: one for each way of reaching a model, with one limit for all."""

    def __init__(self) -> None:
        self.clients: list[BaseClient] = []
        self._known: dict[str, BaseClient] = {}
        self._limit: asyncio.Semaphore | None = None

    def of(self, options: ModelOptions) -> BaseClient:
        """The client, made when it is first asked for.

        Raises:
            UsageError, DataError: See `model.client.Client`.
        """
        from stages.core.model.client import Client

        key = repr(options)
        if key not in self._known:
            self._limit = self._limit or asyncio.Semaphore(options.concurrency)
            self._known[key] = Client(options, limit=self._limit)
            self.clients.append(self._known[key])
        return self._known[key]

    async def answer(self, message: JsonMapping) -> JsonObject:
        """The answer to an ``ask`` of `RemoteClient`."""
        request = Request(
            **{**message["request"], "messages": tuple(message["request"]["messages"])}
        )
        client = self.clients[message["client"]]
        client.begun += 1
        try:
            reply = await client.ask_for(
                request, timeout=message["timeout"], caller=Caller(**message["caller"])
            )
        except ModelError as error:
            return {"reply": message["ask"], "error": _dumped(error)}
        finally:
            client.ended += 1
        return {"reply": message["ask"], "data": asdict(reply)}

    async def close(self) -> None:
        """Give back what is open."""
        for client in self.clients:
            await client.close()


def _dumped(error: ModelError) -> JsonObject:
    flags = {name: getattr(error, name) for name in ("certain", "in_vain", "sat_out")}
    words = {"what": error.what, "place": error.place, "hint": error.hint}
    return {"kind": type(error).__name__, **words, "flags": flags}


def _raised(dumped: JsonMapping) -> ModelError:
    kind = getattr(errors, dumped["kind"], CallFailed)
    error: ModelError = kind(dumped["what"], place=dumped["place"], hint=dumped["hint"])
    for name, value in dumped["flags"].items():
        setattr(error, name, value)
    return error


class RemoteClient(BaseClient):
    """A client whose calls another process makes.

    Args:
        options: How the model is reached; here only its name counts.
        number: Which of the other process's clients it is.
        link: Where messages go.
    """

    def __init__(self, options: ModelOptions, number: int, link: ModelLink) -> None:
        super().__init__(options.model)
        self._number, self._link = number, link

    async def ask_for(self, request: Request, *, timeout: float | None, caller: Caller) -> Reply:
        """See `BaseClient`."""
        said = {"client": self._number, "request": asdict(request), "timeout": timeout}
        reply = await self._link.ask({**said, "caller": asdict(caller)})
        self.usage.count(reply)
        return reply

    def report(self) -> str:
        """See `BaseClient`; the process that asks reports."""
        return ""


class ModelLink:
    """The asking side: numbers its questions, and gives each its answer when it comes."""

    def __init__(self, send: Callable[[JsonMapping], object]) -> None:
        self._send = send
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        self._known: dict[str, RemoteClient] = {}

    def client(self, options: ModelOptions) -> RemoteClient:
        """The client for one way of reaching a model; numbered as `ClientPool` does."""
        key = repr(options)
        if key not in self._known:
            self._known[key] = RemoteClient(options, len(self._known), self)
        return self._known[key]

    async def ask(self, question: JsonMapping) -> Reply:
        """The reply to a question.

        Raises:
            ModelError: What the other process met.
        """
        number = next(self._numbers)
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            self._send({"ask": number, **question})
            return await future
        finally:
            del self._waiting[number]

    def take(self, message: JsonMapping) -> None:
        """Hand an answer to whoever waits for it."""
        future = self._waiting.get(message["reply"])
        if future is None or future.done():
            return
        if "error" in message:
            future.set_exception(_raised(message["error"]))
        else:
            future.set_result(Reply(**message["data"]))

    def lost(self, why: WinnowError) -> None:
        """The other process has gone: nothing that is asked will be answered."""
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(CallFailed(why.what, hint=why.hint))
