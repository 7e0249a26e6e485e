"""Holding a reply to its schema, as firmly as the provider can."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson

from stages.core.model.answer import Mode
from stages.core.model.request import Request

ALL: tuple[Mode, ...] = ("schema", "tool", "json", "text")
WRITTEN: tuple[Mode, ...] = ("json", "text")
"""Modes in which the provider does not see the schema, so that it is written into the prompt."""
NOTE = "Answer with one JSON value and nothing else. It has to fit this JSON Schema:\n"
MEND = (
    "That answer cannot be used: {problem}. Answer the same question again, whole, with one "
    "JSON value and nothing else. It has to fit this JSON Schema:\n{schema}"
)
SAY_SOMETHING = "That answer was empty. Answer the question."


def form(request: Request, mode: Mode) -> dict[str, Any]:
    """The parameters of the call that hold its reply to the schema."""
    if request.schema is None or mode == "text":
        return {}
    if mode == "json":
        return {"response_format": {"type": "json_object"}}
    if mode == "tool":
        tool = {
            "name": request.name,
            "description": "Give the answer.",
            "parameters": request.schema,
        }
        return {
            "tools": [{"type": "function", "function": tool}],
            "tool_choice": {"type": "function", "function": {"name": request.name}},
        }
    firm = _strict(orjson.dumps(request.schema))
    wanted = {"name": request.name, "schema": request.schema, "strict": firm}
    return {"response_format": {"type": "json_schema", "json_schema": wanted}}


@lru_cache(maxsize=256)
def _strict(schema: bytes) -> bool:
    return strict(orjson.loads(schema))


def strict(schema: Any) -> bool:
    """Whether OpenAI's strict mode takes the schema: closed objects, every property required.

    >>> strict({"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": False})
    True
    >>> strict({"type": "array", "items": {"type": "object", "properties": {"a": {}}}})
    False
    """
    if isinstance(schema, list):
        return all(strict(part) for part in schema)
    if not isinstance(schema, Mapping):
        return True
    if schema.get("type") == "object" or "properties" in schema:
        every = set(schema.get("properties", {})) == set(schema.get("required", ()))
        if not every or schema.get("additionalProperties") is not False:
            return False
    return all(strict(part) for part in schema.values())


def messages(request: Request, mode: Mode) -> list[dict[str, str]]:
    """What is said; the schema is added to the last message where the provider does not see it.

    Calls that want different replies about the same then still share all that comes before.
    """
    said = [dict(message) for message in request.messages]
    if request.schema is not None and mode in WRITTEN and said:
        said[-1]["content"] = f"{said[-1]['content']}\n\n{NOTE}{_compact(request.schema)}"
    return said


def without_system(said: list[dict[str, str]]) -> list[dict[str, str]]:
    """The same for a model that knows no system role: the user says it first.

    >>> without_system([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}])
    [{'role': 'user', 'content': 'Be brief.\\n\\nWhy?'}]
    """
    if len(said) < 2 or said[0]["role"] != "system" or said[1]["role"] != "user":
        return [{**part, "role": "user"} if part["role"] == "system" else part for part in said]
    first = {"role": "user", "content": f"{said[0]['content']}\n\n{said[1]['content']}"}
    return [first, *said[2:]]


def mending(
    said: list[dict[str, str]], text: str, problem: str, request: Request
) -> list[dict[str, str]]:
    """The conversation that sends a bad reply back with what is wrong with it."""
    if request.schema is None:
        return [*said, {"role": "user", "content": SAY_SOMETHING}]
    wanted = MEND.format(problem=problem, schema=_compact(request.schema))
    # Some providers refuse an empty message, and a dummy text reads as an answer.
    own = [{"role": "assistant", "content": text}] if text.strip() else []
    return [*said, *own, {"role": "user", "content": wanted}]


def _compact(schema: Mapping[str, Any]) -> str:
    return orjson.dumps(schema).decode()
