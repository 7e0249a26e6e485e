"""Edits by hand that nothing would follow: keys that no stage reads, with the nearest one that is.

Lines and sections may hold keys of a user's own, or of a later version, which pass in silence.
Told is a key that looks like one of ours, and every unknown key where only ours can mean
anything. What the sections themselves contradict is told by `core.readers.conflicts`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from stages.core.errors import LineError
from stages.core.jsontypes import JsonMapping
from stages.core.lines import schema

CLOSED = ("pin", "shown")
"""Objects in which a key of a user's own has no meaning; their keys are looked for from above."""
SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "fold": ("drop", "hide", "remove", "exclude", "skip", "ignore", "delete", "collapse", "line"),
    "keep": ("include", "full", "show", "force", "always", "need", "want"),
    "description": ("doc", "docs", "about", "explanation"),
    "evidence": ("hint", "hints"),
    "pin": ("pinned", "pinning"),
}
NEAR = 0.8
"""Share of letters in common (`difflib`) from which a key is taken for another, misspelt."""
SHORTEST = 4
"""Letters from which the beginning of a key is taken for the key."""

Shape = JsonMapping
"""Known keys of an object to the shape of the value: of its items for a list, empty for a text."""


def tell(record: Mapping[str, object], kind: str, place: str) -> None:
    """Warn of the keys of a line that were meant for us and that nothing reads.

    Args:
        record, kind: As for `strange_keys`.
        place: ``file:number`` of the line.
    """
    for path, hint in strange_keys(record, kind):
        from stages.core import diagnostics

        what = f"{path} is a key that nothing reads"
        diagnostics.warn(LineError(what, place=place, hint=hint))


def strange_keys(record: JsonMapping, kind: str) -> Iterator[tuple[str, str]]:
    """The path of each key of a line that no stage reads, and what to do about it.

    Args:
        record: A line that fits the schema of its kind.
        kind: ``catalog``, ``table`` or ``task``.
    """
    if kind != "task":
        yield from _strange(record, _shape(kind), "", deep=True)
        return
    yield from _strange(record, _task_shape(), "", deep=False)
    for name in schema.sections():
        if isinstance(record.get(name), dict):
            yield from _strange(record[name], _shape(name), f"{name}.", deep=False)


def nearest(key: str, known: Shape) -> str:
    """The known key that the other one is likely to mean, with its path; empty where none is.

    >>> nearest("pins", {"pin": {"keep": {}, "fold": {}}}), nearest("desc", {"description": {}})
    ('pin', 'description')
    >>> nearest("drop", {"pin": {"keep": {}, "fold": {}}}), nearest("tags", {"type": {}})
    ('pin.fold', '')
    """
    found = _nearest_key(key, known)
    if found:
        return found
    for name in CLOSED:
        if inner := _nearest_key(key, known.get(name, {})):
            return f"{name}.{inner}"
    return ""


def _nearest_key(key: str, known: Shape) -> str:
    plain = _plain(key)
    for name in known:
        if plain == _plain(name) or plain in SYNONYMS.get(name, ()):
            return name
    for name in known:
        if len(plain) >= SHORTEST and _plain(name).startswith(plain):
            return name
    from difflib import get_close_matches

    names = {_plain(name): name for name in known}
    return next((names[near] for near in get_close_matches(plain, names, 1, NEAR)), "")


def _plain(key: str) -> str:
    return "".join(filter(str.isalnum, key.casefold()))


def _strange(
    record: Mapping[str, object], shape: Shape, path: str, *, deep: bool
) -> Iterator[tuple[str, str]]:
    """Strange keys of an object and of what it holds; of lists only where ``deep``."""
    if not record.keys() <= shape.keys():
        for key in record.keys() - shape.keys():
            right = nearest(key, shape)
            if right:
                yield f"{path}{key}", f"did you mean {path}{right}?"
            elif path.rstrip(".").endswith(CLOSED):
                yield f"{path}{key}", f"{path.rstrip('.')} has {' and '.join(shape)}"
    for key, inner in shape.items():
        if not inner or key not in record:
            continue
        value = record[key]
        if isinstance(value, dict):
            yield from _strange(value, inner, f"{path}{key}.", deep=deep)
        elif deep and isinstance(value, list):
            for place, item in enumerate(value):
                if isinstance(item, dict) and not item.keys() <= inner.keys():
                    yield from _strange(item, inner, f"{path}{key}[{place}].", deep=deep)


@cache
def _task_shape() -> Shape:
    """Keys of a task line, the sections among them as if they held nothing."""
    return {**_shape("task"), **{name: {} for name in schema.sections()}}


@cache
def _shape(name: str) -> Shape:
    document = schema.load(name)
    return _of(document, document)


def _of(node: JsonMapping, document: JsonMapping) -> Shape:
    """The shape that a schema gives; what it does not settle has none."""
    ref = node.get("$ref", "")
    if ref.startswith(schema.PREFIX):
        return _shape(ref.removeprefix(schema.PREFIX))
    if ref.startswith("#/$defs/"):
        return _of(document["$defs"][ref.removeprefix("#/$defs/")], document)
    if "items" in node:
        return _of(node["items"], document)
    return {key: _of(value, document) for key, value in node.get("properties", {}).items()}
