"""``--dry-run`` and ``--dump-prompt``: everything is asked, nothing is sent.

A stand-in for a reply that nobody was asked for, so that a dry run goes its whole way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import orjson

from stages.core.errors import NotSent
from stages.core.jsontypes import JsonMapping, JsonObject, JsonValue
from stages.core.model.base import BaseClient
from stages.core.model.cache import Cache, ExportedReplies, ReplyStore, open_store
from stages.core.model.options import ModelOptions
from stages.core.model.request import Reply, Request, key_of, whole
from stages.core.model.structured import checker
from stages.core.model.usage import Caller, many, price
from stages.core.tokens import count

DEEPEST = 40
"""Levels; a schema that refers to itself has no end."""


def placeholder(schema: JsonMapping, root: JsonMapping | None = None, level: int = 0) -> JsonValue:
    """The smallest value that fits the common keywords of ``schema``.

    It knows types, properties, items, lengths, enum, const, anyOf and local references; a
    schema that asks for more may get a value that does not fit.

    >>> placeholder({"type": "object", "required": ["a"], "properties": {"a": {"type": "boolean"}}})
    {'a': True}
    """
    root = schema if root is None else root
    if level > DEEPEST:
        return None
    if "$ref" in schema:
        return placeholder(_target(root, str(schema["$ref"])), root, level + 1)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    for word in ("anyOf", "oneOf", "allOf"):
        if word in schema:
            return placeholder(schema[word][0], root, level + 1)
    return _of_type(schema, root, level)


def _of_type(schema: JsonMapping, root: JsonMapping, level: int) -> JsonValue:
    kind = schema.get("type", "object")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        known = schema.get("properties", {})
        rest = schema.get("additionalProperties", {})
        rest = rest if isinstance(rest, Mapping) else {}
        return {
            name: placeholder(known.get(name, rest), root, level + 1)
            for name in schema.get("required", ())
        }
    if kind == "array":
        before = [placeholder(part, root, level + 1) for part in schema.get("prefixItems", ())]
        more = max(0, int(schema.get("minItems", 0)) - len(before))
        return before + [placeholder(schema.get("items", {}), root, level + 1) for _ in range(more)]
    plain: JsonObject = {
        "boolean": True,
        "null": None,
        "string": "x" * int(schema.get("minLength", 1)),
    }
    return plain.get(kind, schema.get("minimum", 0))


def _target(root: Mapping[str, object], ref: str) -> JsonMapping:
    """What a local reference (``#/$defs/name``) points at."""
    found: JsonValue = root
    for step in ref.removeprefix("#").strip("/").split("/"):
        found = found.get(step, {}) if step else found
    return found if isinstance(found, Mapping) else {}


# ``--dry-run`` and ``--dump-prompt``: everything is asked, nothing is sent.

PER_MESSAGE = 4
"""Tokens that chat templates put around a message (OpenAI's cookbook, "counting tokens")."""
TEXT_OUT = 300
"""Reply tokens expected where a reply is plain text and none like it is kept."""
FULLNESS = 4
"""How many times the tokens of the smallest reply that fits a real one is expected to have."""
SHARE_OUT = 1 / 12
"""Reply tokens expected for a prompt token, where that is more: judging tables takes about
a sentence for each."""


def tokens_in(request: Request) -> int:
    """Prompt tokens of the request, its schema included."""
    said = sum(count(message["content"]) + PER_MESSAGE for message in request.messages)
    return said + (count(orjson.dumps(request.schema).decode()) if request.schema else 0)


class Dry(BaseClient):
    """Answers from the cache, else with placeholders."""

    def __init__(self, options: ModelOptions) -> None:
        super().__init__(options.model)
        self.options = options
        self.store = _existing(options)

    async def ask_for(self, request: Request, *, timeout: float | None, caller: Caller) -> Reply:
        """A kept reply, or a placeholder.

        Raises:
            NotSent: No placeholder fits the schema.
        """
        kept = whole(request, self.options)
        url = None if isinstance(self.store, ExportedReplies) else self.options.base_url
        reply = self.store.get(key_of(kept, url)) if self.store else None
        self.record(request, caller, cached=reply is not None)
        if reply is None:
            reply = _placeheld(request)
        self.usage.count(reply)
        return reply

    def record(self, request: Request, caller: Caller, *, cached: bool) -> None:
        """Take note of a request."""
        raise NotImplementedError

    async def close(self) -> None:
        """Close the cache."""
        if self.store is not None:
            self.store.close()


def _existing(options: ModelOptions) -> ReplyStore | None:
    """The store where there is one: a dry run makes no folder."""
    return open_store(options.cache) if options.cache and options.cache.exists() else None


def _placeheld(request: Request) -> Reply:
    data: object = "x"
    if request.schema is not None:
        data = placeholder(request.schema)
        problem = checker(request.schema)(data)
        if problem:
            raise NotSent(
                f"nothing was sent, and no placeholder fits the schema {request.name}",
                hint="later calls of the task are not counted",
            )
    return Reply(data, "", 0, 0, None, cached=False, calls=1)


@dataclass
class CallTally:
    """What a stage would ask."""

    calls: int = 0
    cached: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tasks: set[str] = field(default_factory=set)


class DryRun(Dry):
    """Counts calls, tokens and cost."""

    def __init__(self, options: ModelOptions) -> None:
        super().__init__(options)
        self._tallies: dict[str, CallTally] = defaultdict(CallTally)
        self._lengths: dict[str, int | None] = {}
        self._prompts: dict[tuple[object, ...], int] = {}

    def record(self, request: Request, caller: Caller, *, cached: bool) -> None:
        """Count a request."""
        tally = self._tallies[caller.stage]
        tally.tasks.add(caller.task)
        if cached:
            tally.cached += 1
            return
        tally.calls += 1
        sent = self._tokens_in(request)
        tally.tokens_in += sent
        tally.tokens_out += self._tokens_out(request, sent)

    def _tokens_in(self, request: Request) -> int:
        """Rounds of a task say the same, so that each prompt is counted once."""
        key = (request.name, *(message["content"] for message in request.messages))
        found = self._prompts.get(key)
        if found is None:
            self._prompts.clear()
            found = self._prompts[key] = tokens_in(request)
        return found

    def _tokens_out(self, request: Request, sent: int) -> int:
        """What replies of this kind had on average in the cache, else a guess."""
        if request.name not in self._lengths:
            known = self.store.mean_out(request.name) if isinstance(self.store, Cache) else None
            self._lengths[request.name] = known
        return self._lengths[request.name] or max(_guess(request), round(sent * SHARE_OUT))

    def totals(self) -> CallTally:
        """The sum over all stages."""
        found = CallTally()
        for tally in self._tallies.values():
            found = CallTally(
                found.calls + tally.calls,
                found.cached + tally.cached,
                found.tokens_in + tally.tokens_in,
                found.tokens_out + tally.tokens_out,
                found.tasks | tally.tasks,
            )
        return found

    def report(self) -> str:
        """One line: calls, tokens, cost."""
        all_of_it = self.totals()
        known = price(self.options.model, self.options.base_url)
        cost = known.of(all_of_it.tokens_in, all_of_it.tokens_out) if known else None
        return (
            f"{many(len(all_of_it.tasks), 'task')} would ask {self.name} "
            f"{many(all_of_it.calls, 'time')} ({all_of_it.cached:,} more are cached): about "
            f"{all_of_it.tokens_in:,} tokens in, "
            f"about {all_of_it.tokens_out:,} out, "
            + ("price unknown" if cost is None else f"about ${cost:,.4f}")
        )


def _guess(request: Request) -> int:
    if request.schema is None:
        return request.max_tokens or TEXT_OUT
    return FULLNESS * count(orjson.dumps(placeholder(request.schema)).decode())


# ``--dump-prompt``: what would be sent, as readable text.


class DumpPrompt(Dry):
    """Prints each request as it is asked.

    Args:
        options: How the model would be reached.
        write: Takes the text, piece by piece.
    """

    def __init__(self, options: ModelOptions, write: Callable[[str], object]) -> None:
        super().__init__(options)
        self._write = write
        self._calls = 0
        self._shown: dict[bytes, int] = {}

    def record(self, request: Request, caller: Caller, *, cached: bool) -> None:
        """Print a request; rounds say the same, so what was printed is not printed again."""
        self._calls += 1
        who = [
            f"task {caller.task}" if caller.task else "",
            caller.stage,
            f"sample {request.sample}",
        ]
        head = f"=== call {self._calls}: {', '.join(part for part in who if part)}"
        head += " (its reply is kept)" if cached else ""
        kept = {**whole(request, self.options), "sample": 0}
        first = self._shown.setdefault(orjson.dumps(kept, option=orjson.OPT_SORT_KEYS), self._calls)
        again = first != self._calls
        self._write(f"{head}: as call {first}\n\n" if again else f"{head}\n{self._body(request)}\n")

    def _body(self, request: Request) -> str:
        """The messages, the settings and the schema."""
        kept = whole(request, self.options)
        parts = [f"--- {message['role']}\n{message['content']}\n" for message in request.messages]
        sent = {
            "temperature": kept["temperature"],
            "max_tokens": kept["max_tokens"],
            **kept["options"],
        }
        settings = [f"{key}={_json(value)}" for key, value in sent.items() if value is not None]
        parts.append(f"--- settings\n{' '.join([f'model={self.name}', *settings])}\n")
        if request.schema is not None:
            parts.append(f"--- the reply has to fit: {request.name}\n{_json(request.schema)}\n")
        return "".join(parts)

    def report(self) -> str:
        """One line: how many calls were shown."""
        stand_ins = self.usage.cached < self._calls
        note = "; replies that later calls repeat are stand-ins" if stand_ins else ""
        return f"{many(self._calls, 'call')} shown, none sent{note}"


def _json(value: object) -> str:
    return orjson.dumps(value).decode()
