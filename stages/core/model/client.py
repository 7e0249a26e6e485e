"""The real thing: asks a model, through the cache, within the limits."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from stages.core.errors import DataError, ModelError, NotCached
from stages.core.model.base import BaseClient
from stages.core.model.cache import ReplyStore, open_store
from stages.core.model.capabilities import Capabilities
from stages.core.model.conversation import Conversation
from stages.core.model.options import ModelOptions
from stages.core.model.request import Reply, Request, Transport, key_of, whole
from stages.core.model.sender import CallContext, Circuit, NegativeCache, Sender
from stages.core.model.structured import checker
from stages.core.model.transport import litellm, openai
from stages.core.model.usage import Caller, CallLog, price


class SingleFlight:
    """Lets one at a time ask the same thing; the next finds the answer in the cache."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._waiting: Counter[str] = Counter()

    @asynccontextmanager
    async def of(self, key: str) -> AsyncIterator[None]:
        """The turn of one asker."""
        self._waiting[key] += 1
        try:
            async with self._locks.setdefault(key, asyncio.Lock()):
                yield
        finally:
            self._waiting[key] -= 1
            if not self._waiting[key]:
                del self._waiting[key], self._locks[key]


class Client(BaseClient):
    """A model behind its cache, its limit on calls at once, its retries and its circuit.

    Args:
        options: How the model is reached.
        wire: What carries the calls; None chooses by ``options``.
        limit: A limit on calls at once to share with other clients of the process.

    Attributes:
        circuit: Open where calls failed too often in a row.
        unkept: Why the last reply that could not be kept was not; empty where all were.
        missing: Hashes of the requests that had no kept reply, offline.

    Raises:
        UsageError: The cache or the log cannot be opened.
        DataError: An exported cache has a line that is no entry.
    """

    def __init__(
        self,
        options: ModelOptions,
        *,
        wire: Transport | None = None,
        limit: asyncio.Semaphore | None = None,
    ) -> None:
        super().__init__(options.model)
        self.options = options
        # Calls in flight together fail together, of one cause: that is no row yet.
        self.circuit = Circuit(max(options.circuit, options.concurrency))
        self._store: ReplyStore | None = open_store(options.cache)
        self._limit = limit or asyncio.Semaphore(options.concurrency)
        self._turns = SingleFlight()
        self._log = CallLog(options.log)
        carrier = wire or (
            openai.Direct(options) if openai.serves(options) else litellm.Litellm(options)
        )
        self._sender = Sender(carrier, options, self.circuit, self.usage, self._log)
        self._settled: Capabilities | None = None
        self._began = time.monotonic()
        self.unkept = ""
        self.missing: list[str] = []
        self._failed: set[str] = set()
        self._refusals = NegativeCache()

    async def ask_for(self, request: Request, *, timeout: float | None, caller: Caller) -> Reply:
        """The reply to a request: the kept one, else a new one, which is kept as it comes."""
        kept = whole(request, self.options)
        key = key_of(kept, None if self._read_only() else self.options.base_url)
        context = CallContext(caller, key, request.sample, timeout or self.options.timeout)
        try:
            if self._store is None:
                reply = await self._ask(request, context)
            else:
                reply = await self._through(self._store, request, kept, context)
        except ModelError as error:
            self._failed.add(key)
            self._refusals.ended(request, error)
            raise
        else:
            self._failed.discard(key)
            self._refusals.ended(request, None)
            self.usage.count(reply)
        finally:  # a request that a stage asks again is still one request
            self.usage.failed = len(self._failed)
        return reply

    def _read_only(self) -> bool:
        return self._store is not None and not self._store.shared

    async def _through(
        self, store: ReplyStore, request: Request, kept: dict[str, object], context: CallContext
    ) -> Reply:
        """The kept reply, or a new one, which is kept before anything else is waited for."""
        found = self._found(store, request, context)
        if found is not None:
            return found
        if self.options.offline:
            self.missing.append(context.key)
            self._sender.note(context, 0, "missing", 0.0)
            raise NotCached(
                f"no kept reply to request {context.key}",
                place=self.options.model,
                hint="run once without --offline",
            )
        async with self._turns.of(context.key):
            found = self._found(store, request, context)
            if found is not None:
                return found
            reply = await self._ask(request, context)
            try:
                return replace(store.put(context.key, kept, reply), cached=False)
            except DataError as problem:  # a full disk costs the next run, not this one
                self.unkept = str(problem)
                return reply

    def _found(self, store: ReplyStore, request: Request, context: CallContext) -> Reply | None:
        """The kept reply, where it still fits its schema: a file may have been edited."""
        reply = store.get(context.key)
        if reply is None or (request.schema is not None and checker(request.schema)(reply.data)):
            return None
        self._sender.note(context, 0, "cached", 0.0)
        return reply

    async def _ask(self, request: Request, context: CallContext) -> Reply:
        """A new reply. The place is held to the end, so that a half-done request never waits
        behind those that have not begun."""
        self._check(request, context)
        async with self._limit:
            self._check(request, context)
            await self._sender.wire.ready()
            if self._settled is None:
                self._settled = Capabilities(self._sender.wire.modes[0])
            conversation = Conversation(
                self._sender,
                self.options,
                self._settled,
                request,
                context,
                check=lambda: self._check(request, context),
            )
            return self._priced(await conversation.reply())

    def _check(self, request: Request, context: CallContext) -> None:
        """Raise the error that a call would end with, where that is known before."""
        if known := self._refusals.of(request):
            self._sender.note(context, 0, "refused before", 0.0)
            raise known
        self._sender.check()

    def _priced(self, reply: Reply) -> Reply:
        """The reply with its cost by the list, where the provider's side named none."""
        known = price(self.options.model, self.options.base_url) if reply.usd is None else None
        if known is None:
            return reply
        return replace(reply, usd=known.of(reply.tokens_in, reply.tokens_out))

    @property
    def unreached(self) -> bool:
        """Whether requests failed, and not one call or kept reply ever came through."""
        return bool(self.usage.failed) and not self.usage.reached and not self.circuit.reached

    def report(self) -> str:
        """What asking came to, in one line for stderr."""
        line = self.usage.line(time.monotonic() - self._began)
        return "; ".join(part for part in (line, self.unkept, self._log.unwritten) if part)

    async def close(self) -> None:
        """Give back connections and files."""
        await self._sender.wire.close()
        if self._store is not None:
            self._store.close()
        self._log.close()
