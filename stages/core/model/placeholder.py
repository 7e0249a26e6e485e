"""A stand-in for a reply that nobody was asked for, so that a dry run goes its whole way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DEEPEST = 40
"""Levels; a schema that refers to itself has no end."""


def placeholder(
    schema: Mapping[str, Any], root: Mapping[str, Any] | None = None, level: int = 0
) -> Any:
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


def _of_type(schema: Mapping[str, Any], root: Mapping[str, Any], level: int) -> Any:
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
    plain: dict[str, Any] = {
        "boolean": True,
        "null": None,
        "string": "x" * int(schema.get("minLength", 1)),
    }
    return plain.get(kind, schema.get("minimum", 0))


def _target(root: Mapping[str, Any], ref: str) -> Mapping[str, Any]:
    """What a local reference (``#/$defs/name``) points at."""
    found: Any = root
    for step in ref.removeprefix("#").strip("/").split("/"):
        found = found.get(step, {}) if step else found
    return found if isinstance(found, Mapping) else {}
