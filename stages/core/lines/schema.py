"""The schemas of lines and sections: found, compiled once, and worded for people.

`jsonschema_rs` checks every line; only where it refuses one is `jsonschema` imported, to
pick the error that explains most.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

import orjson

from stages.core.errors import LineError
from stages.core.jsontypes import JsonMapping, JsonObject
from stages.core.signals import hold

if TYPE_CHECKING:
    import jsonschema_rs

PREFIX = "winnow:"
DEEPEST_VALUE = 60
LINES = ("catalog", "table", "task")
FILES = ("question", "schema-file")
"""Schemas of what users write, which no command prints."""


@cache
def folder() -> Path:
    """Where the schema files lie: beside the package in a wheel, else in the checkout."""
    package = Path(__file__).resolve().parents[2]
    packed = package / "schemas"
    return packed if packed.is_dir() else package.parent / "schemas"


@cache
def exists(name: str) -> bool:
    """Whether there is a schema of that name."""
    return (folder() / f"{name}.schema.json").is_file()


@cache
def sections() -> tuple[str, ...]:
    """Names of the sections that stages add to a task, by their schemas."""
    names = (path.name.partition(".")[0] for path in folder().glob("*.schema.json"))
    return tuple(sorted(set(names) - {*LINES, *FILES, "meta"}))


@cache
def load(name: str) -> JsonObject:
    """The schema document called ``name`` (``vote``, ``table``…), as it is written."""
    return cast("JsonObject", orjson.loads((folder() / f"{name}.schema.json").read_bytes()))


@cache
def reply(name: str) -> JsonObject:
    """The schema of a model's reply, by stage and role: ``vote``, ``explore.first``…

    It is sent as it is written: the order of its keys is the order in which a model writes, so
    that reasons come before decisions (first seed, 3.4), and part of what a kept reply is found by.
    """
    return cast("JsonObject", orjson.loads((folder() / "replies" / f"{name}.json").read_bytes()))


@cache
def input_file(name: str) -> JsonObject:
    """The schema of a file that a user writes, such as ``rules``."""
    return cast("JsonObject", orjson.loads((folder() / "inputs" / f"{name}.json").read_bytes()))


def bundle(name: str) -> dict[str, object]:
    """The schema with the documents that it refers to inlined, fit to stand alone."""
    return cast("JsonObject", _inline(load(name)))


def _inline(node: object) -> object:
    if isinstance(node, list):
        return [_inline(item) for item in node]
    if not isinstance(node, dict):
        return node
    ref = node.get("$ref", "")
    if ref.startswith(PREFIX):
        other = dict(load(ref.removeprefix(PREFIX)))
        for key in ("$schema", "$id"):
            other.pop(key, None)
        return _inline(other)
    return {key: _inline(value) for key, value in node.items()}


def lenient(document: JsonMapping) -> JsonObject:
    """The schema of a section on reading: unknown keys pass, and ``meta`` may be anything.

    So a section written by hand, or by a later version, is still read.
    """
    required = [key for key in document.get("required", ()) if key not in ("meta", "of")]
    properties = {**document.get("properties", {}), "meta": {"type": "object"}}
    return {
        **document,
        "required": required,
        "properties": properties,
        "additionalProperties": True,
    }


@cache
def _validator(name: str, strict: bool) -> jsonschema_rs.Draft202012Validator:
    document = load(name) if strict else lenient(load(name))
    with hold():  # the library takes an interrupt for a fault of its own
        import jsonschema_rs

        return jsonschema_rs.Draft202012Validator(
            document, retriever=lambda uri: load(uri.removeprefix(PREFIX))
        )


def check(
    record: object,
    name: str,
    *,
    place: str = "",
    within: str = "",
    hint: str = "",
    strict: bool = True,
) -> None:
    """Raise `LineError` with the path in the record and the rule, unless it fits.

    Args:
        record: The decoded JSON value.
        name: The schema's name.
        place: The file and line that the error names.
        within: The key of the line that the record stands at; the path begins with it.
        hint: What to do; left out, where the schema is to be seen.
        strict: False on reading a section; see `lenient`.
    """
    if not _validator(name, strict).is_valid(record):
        raise LineError(
            explain(record, name, strict, within), place=place, hint=hint or f"see {seen(name)}"
        )


def fits(record: object, name: str) -> bool:
    """Whether a section is one that its stage could have written, unknown keys aside."""
    return bool(_validator(name, False).is_valid(record))


def is_section(name: str) -> bool:
    """Whether a key of a task line is a section with a schema of its own.

    >>> is_section("vote"), is_section("question"), is_section("pin")
    (True, False, False)
    """
    return name not in (*LINES, *FILES, "meta") and exists(name)


def seen(name: str) -> str:
    """Where a user can read the schema.

    >>> seen("vote"), seen("table")
    ('`winnow vote --schema`', '`winnow scan --schema`')
    """
    if name in FILES:
        return f"schemas/{name}.schema.json"
    return f"`winnow {'scan' if name in LINES else name} --schema`"


def explain(record: object, name: str, strict: bool = True, within: str = "") -> str:
    """The one error that says most, as ``path: rule``; the path of the record itself is its
    name."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    document = bundle(name) if strict else lenient(bundle(name))
    error = best_match(Draft202012Validator(document).iter_errors(record))
    if error is None:  # the two libraries differ: keep the verdict of the one that refused
        return f"does not fit the schema {name}"
    path = (within + error.json_path.removeprefix("$")).lstrip(".") or name
    return f"{path}: {_short(error.message)}"


def _short(message: str) -> str:
    """The message without the whole of a long value in it."""
    if len(message) <= 3 * DEEPEST_VALUE:
        return message
    return f"{message[:DEEPEST_VALUE]}…{message[-2 * DEEPEST_VALUE :]}"
