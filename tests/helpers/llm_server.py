"""A real HTTP server on loopback that speaks the OpenAI chat protocol, and fails on demand.

    def answer(request: dict, n: int) -> Say:        # n: number of arrival, from 0
        return Say(data={"relevant": True})

    with LlmServer(answer) as server:
        ...  # model "openai/test", base URL server.base_url
        assert len(server.requests) == 1             # the bodies, in order of arrival

An answer may also be a plain string (the reply's text) or any JSON value (its data).
`faulty` wraps an answer so that a share of the calls fails in given ways; which call
fails how depends on the seed, the body and how often that body came, so it is the same
whatever the order of arrival. `minimal` makes the smallest value that fits a schema, and
`obliging` is an answer that does just that with the schema of the request.

Run as a program it serves `obliging` until it is killed, and prints its base URL:

    python tests/helpers/llm_server.py --delay 0.2 --fault-rate 0.3 --seed 7
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

#: Every way to fail that `faulty` knows; statuses stand as text.
FAULTS = (
    "408", "409", "429", "500", "503", "drop", "torn", "hang", "slow",
    "broken", "wrong", "cut", "empty", "fenced", "think", "prose",
)  # fmt: skip
#: The faults after which a client has to send the call again.
TRANSPORT_FAULTS = ("408", "409", "429", "500", "503", "drop", "torn")
#: The faults that leave a usable reply.
HARMLESS = ("slow", "fenced", "think", "prose")


@dataclass(frozen=True)
class Say:
    """One answer of the server.

    Args:
        text: The reply's text; left out, it is ``data`` as JSON.
        data: The reply's data; not looked at where ``text`` stands.
        status: HTTP status; any but 200 sends an error object with ``text`` as message.
        headers: Further HTTP headers, such as ``Retry-After``.
        delay: Seconds before the answer.
        cut: Say ``finish_reason: length``.
        hang: Never answer; the connection stays open.
        drop: Close the connection without a word.
        torn: Close the connection after half of the answer.
        tokens: (prompt, completion) to report; None counts four characters a token.
        raw: The HTTP body as it is, instead of a chat completion.
        extra: Further keys of the reply's message, such as ``reasoning_content``.
    """

    text: str | None = None
    data: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: bool = False
    hang: bool = False
    drop: bool = False
    torn: bool = False
    tokens: tuple[int, int] | None = None
    raw: bytes | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The text of the reply."""
        return json.dumps(self.data, ensure_ascii=False) if self.text is None else self.text


Answer = Callable[[dict[str, Any], int], Any]


def minimal(schema: Mapping[str, Any], defs: Mapping[str, Any] | None = None) -> Any:
    """The smallest value that fits the common keywords of ``schema``."""
    defs = schema.get("$defs", {}) if defs is None else defs
    if "$ref" in schema:
        return minimal(defs[schema["$ref"].rsplit("/", 1)[-1]], defs)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    for word in ("anyOf", "oneOf", "allOf"):
        if word in schema:
            return minimal(schema[word][0], defs)
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        properties = schema.get("properties", {})
        return {key: minimal(properties.get(key, {}), defs) for key in schema.get("required", [])}
    if kind == "array":
        return [minimal(schema.get("items", {}), defs)] * int(schema.get("minItems", 0))
    plain: dict[str, Any] = {
        "boolean": True,
        "null": None,
        "string": "x" * int(schema.get("minLength", 1)),
    }
    return plain.get(kind, schema.get("minimum", 0))


def schema_of(request: Mapping[str, Any]) -> dict[str, Any]:
    """The schema that the request wants its reply to fit; empty where it names none."""
    tools = request.get("tools") or [{"function": {}}]
    wanted = request.get("response_format", {}).get("json_schema", {}).get("schema")
    return dict(wanted or tools[0]["function"].get("parameters", {}))


def obliging(request: dict[str, Any], n: int) -> Say:
    """Answer with the smallest value that fits the schema of the request."""
    return Say(data=minimal(schema_of(request)))


def _as_say(value: Any) -> Say:
    if isinstance(value, Say):
        return value
    return Say(text=value) if isinstance(value, str) else Say(data=value)


def _spoil(say: Say, kind: str, retry_after: str, slow: float) -> Say:
    """``say`` after it met a fault of that kind."""
    half = say.words[: max(1, len(say.words) // 2)]
    if kind.isdigit():
        headers = {"Retry-After": retry_after} if kind == "429" else {}
        return Say(status=int(kind), text=f"made to fail with {kind}", headers=headers)
    spoiled = {
        "drop": replace(say, drop=True),
        "torn": replace(say, torn=True),
        "hang": replace(say, hang=True),
        "slow": replace(say, delay=say.delay + slow),
        "broken": replace(say, text=half),
        "wrong": replace(say, text='{"something_else_entirely": 1}'),
        "cut": replace(say, text=half, cut=True),
        "empty": replace(say, text=""),
        "fenced": replace(say, text=f"```json\n{say.words}\n```"),
        "think": replace(say, text=f'<think>Is it {{"a": 1}}? No.</think>\n{say.words}'),
        "prose": replace(say, text=f"Here is the answer:\n{say.words}\nI hope that helps."),
    }
    return spoiled[kind]


def faulty(
    answer: Answer,
    rate: float,
    *,
    seed: int = 0,
    kinds: Sequence[str] = FAULTS,
    retry_after: str = "0.05",
    slow: float = 0.2,
) -> Answer:
    """``answer``, with a share ``rate`` of its calls failing in one of ``kinds``."""
    seen: Counter[str] = Counter()

    def spoiled(request: dict[str, Any], n: int) -> Say:
        say = _as_say(answer(request, n))
        body = hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
        draw = random.Random(f"{seed}:{body}:{seen[body]}")
        seen[body] += 1
        if draw.random() >= rate:
            return say
        return _spoil(say, draw.choice(list(kinds)), retry_after, slow)

    return spoiled


def _completion(request: Mapping[str, Any], say: Say, n: int) -> bytes:
    """A chat completion as JSON; a forced tool is called with the text as its arguments."""
    text, message = say.words, {"role": "assistant", **say.extra}
    asked = sum(len(str(m.get("content", ""))) for m in request.get("messages", []))
    tokens_in, tokens_out = say.tokens or (asked // 4 + 1, len(text) // 4 + 1)
    if request.get("tools"):
        called = {"name": request["tools"][0]["function"]["name"], "arguments": text}
        message |= {"content": None}
        message["tool_calls"] = [{"id": f"call_{n}", "type": "function", "function": called}]
    else:
        message["content"] = text
    reason = "length" if say.cut else "tool_calls" if request.get("tools") else "stop"
    return json.dumps(
        {
            "id": f"chatcmpl-{n}",
            "object": "chat.completion",
            "created": 1700000000,
            "model": request.get("model", "test"),
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {
                "prompt_tokens": tokens_in,
                "completion_tokens": tokens_out,
                "total_tokens": tokens_in + tokens_out,
            },
        }
    ).encode()


class LlmServer:
    """The server, in a thread of its own, between ``with`` and its end.

    Attributes:
        base_url: ``http://127.0.0.1:PORT/v1``.
        requests: The bodies of the chat calls, in order of arrival.
        headers: The HTTP headers of the same calls, names in lower case.
        active: Calls that wait for their answer now.
        peak: The most calls that ever waited at once.
        given_up: Calls whose client went away before the answer.
    """

    def __init__(self, answer: Answer = obliging, *, port: int = 0) -> None:
        self._answer, self._port = answer, port
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="llm-server", daemon=True)
        self._writers: set[asyncio.StreamWriter] = set()
        self.base_url = ""
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.active = self.peak = self.given_up = 0

    def __enter__(self) -> LlmServer:
        self._thread.start()
        self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        start = asyncio.start_server(self._talk, "127.0.0.1", self._port, backlog=1024)
        server = self._loop.run_until_complete(start)
        self.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        self._ready.set()
        self._loop.run_forever()
        server.close()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        for writer in self._writers:
            writer.transport.abort()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, kept alive over as many requests as come."""
        self._writers.add(writer)
        try:
            while await self._one(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; False when the connection is to be closed."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *rest = head.strip().split("\r\n")
        headers = {k.strip().lower(): v.strip() for k, _, v in (h.partition(":") for h in rest)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        if not first.startswith("POST"):
            listed = {"object": "list", "data": [{"id": "test", "object": "model"}]}
            return await self._send(writer, 200, {}, json.dumps(listed).encode())
        request, n = json.loads(body), len(self.requests)
        self.requests.append(request)
        self.headers.append(headers)
        say = _as_say(self._answer(request, n))
        if not await self._waited(reader, say):
            self.given_up += 1
            return False
        return await self._reply(writer, request, say, n)

    async def _waited(self, reader: asyncio.StreamReader, say: Say) -> bool:
        """Wait as long as ``say`` wants; False when the client went away first."""
        self.active += 1
        self.peak = max(self.peak, self.active)
        try:
            if not (say.delay or say.hang):
                return True
            gone = asyncio.ensure_future(reader.read(1))
            done, _ = await asyncio.wait({gone}, timeout=None if say.hang else say.delay)
            gone.cancel()
            await asyncio.gather(gone, return_exceptions=True)
            return not done
        finally:
            self.active -= 1

    async def _reply(
        self, writer: asyncio.StreamWriter, request: Mapping[str, Any], say: Say, n: int
    ) -> bool:
        if say.drop:
            writer.transport.abort()
            return False
        body = _completion(request, say, n) if say.raw is None else say.raw
        if say.status != 200 and say.raw is None:
            error = {"message": say.words, "type": "made_to_fail", "code": say.status}
            body = json.dumps({"error": error}).encode()
        return await self._send(writer, say.status, say.headers, body, torn=say.torn)

    async def _send(
        self,
        writer: asyncio.StreamWriter,
        status: int,
        headers: Mapping[str, str],
        body: bytes,
        *,
        torn: bool = False,
    ) -> bool:
        """Write one HTTP answer, half of it where it is to be torn."""
        lines = [f"HTTP/1.1 {status} Answer", "Content-Type: application/json"]
        lines += [f"Content-Length: {len(body)}", *(f"{k}: {v}" for k, v in headers.items())]
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        writer.write(head + (body[: len(body) // 2] if torn else body))
        await writer.drain()
        return not torn


def main() -> None:
    """Serve `obliging` until killed."""
    import argparse
    import time

    parser = argparse.ArgumentParser(description="An OpenAI-protocol server that fails on demand.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before every answer")
    parser.add_argument("--fault-rate", type=float, default=0.0)
    parser.add_argument("--faults", default=",".join(FAULTS), help="comma-separated kinds")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    delayed: Answer = lambda request, n: replace(obliging(request, n), delay=args.delay)  # noqa: E731
    answer = faulty(delayed, args.fault_rate, seed=args.seed, kinds=args.faults.split(","))
    with LlmServer(answer, port=args.port) as server:
        print(server.base_url, flush=True)
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    main()
