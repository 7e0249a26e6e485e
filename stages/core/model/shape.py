"""Bringing a value that says what was asked for into the form that was asked for.

Models give the list without its object, a map in the place of a list, ``"true"`` for true,
a field more, or leave out a reason. Nothing is made up: a truth value that is missing stays
missing, a name is never changed, and a list that is missing is only empty beside another
that names something.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

TRUTH: Mapping[str, bool] = {
    "true": True, "yes": True, "是": True, "false": False, "no": False, "否": False,
}  # fmt: skip
"""What is said for true and false."""
NAMING = frozenset(("table", "column", "name", "path"))
"""Words in the name of the property that says what an entry is about."""
ARGUMENTS = ("arguments", "parameters", "args", "input")
"""Where the call of a tool that is written as text has what it is called with."""
DEEPEST, MOST = 6, 400
"""Levels down which an answer is looked for in its wrapping, and values looked at."""

Schema = Mapping[str, Any]
Known = Callable[[str], bool]
"""Whether a name is one that the model was shown."""


def decoded(value: Any) -> Any:
    """The JSON value that a text holds; any other value as it is.

    >>> decoded('"{\\\\"a\\\\": 1}"'), decoded("[a")
    ({'a': 1}, '[a')
    """
    while isinstance(value, str) and value.lstrip()[:1] in ("{", "[", '"'):
        try:
            value = orjson.loads(value.strip())
        except orjson.JSONDecodeError:
            break
    return value


def called(value: Any) -> Any:
    """What a call of a tool is called with; None where the value is no call.

    >>> called({"name": "f", "arguments": '{"a": 1}'}), called({"name": "f"})
    ({'a': 1}, None)
    """
    if not isinstance(value, Mapping):
        return None
    if isinstance(value.get("function"), Mapping):
        value = value["function"]
    if not isinstance(value.get("name"), str):
        return None
    return next((decoded(value[key]) for key in ARGUMENTS if value.get(key)), None)


def levels(value: Any) -> Iterator[list[Any]]:
    """The value, then what stands in it, level by level: an answer may be wrapped."""
    level, seen = [decoded(value)], 0
    for _ in range(DEEPEST):
        yield level
        inner: list[Any] = []
        for one in level:
            parts = (
                one.values() if isinstance(one, Mapping) else one if isinstance(one, list) else ()
            )
            inner += [part for part in map(decoded, parts) if isinstance(part, Mapping | list)]
        seen += len(inner)
        if not inner or seen > MOST:
            return
        level = inner


@dataclass(frozen=True)
class Shape:
    """The form that a reply is to have.

    Args:
        schema: JSON Schema of the reply.
        known: Whether a name is one that the model was shown; only such are read as keys.
    """

    schema: Schema
    known: Known = lambda name: True

    def fitted(self, value: Any) -> Any:
        """The value in the form of the schema, as far as it can be brought there."""
        return self._fit(value, self.schema)

    def item(self, value: Any) -> Any:
        """A single entry of the one list that the reply consists of, in its form; None where the
        reply is no such list or the value no entry."""
        key = self._list_of(self.schema)
        if key is None or not isinstance(value, Mapping):
            return None
        entry = self.schema["properties"][key].get("items", {})
        names = {_plain(name) for name in entry.get("properties", {})}
        return self._fit(value, entry) if names & set(map(_plain, value)) else None

    def of_items(self, items: Sequence[Any]) -> Any:
        """The reply that consists of these entries."""
        return self._fit(list(items), self.schema)

    def _fit(self, value: Any, schema: Schema) -> Any:
        kind = schema.get("type")
        if kind in ("object", "array"):
            value = decoded(value)
            return self._object(value, schema) if kind == "object" else self._array(value, schema)
        if kind == "boolean":
            return TRUTH.get(value.strip().casefold(), value) if isinstance(value, str) else value
        if kind == "string" and isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if isinstance(value, str) and value not in schema.get("enum", (value,)):
            same = [
                one for one in schema["enum"] if str(one).casefold() == value.strip().casefold()
            ]
            return same[0] if same else value
        return value

    def _object(self, value: Any, schema: Schema) -> Any:
        known = schema.get("properties", {})
        if isinstance(value, list):
            key = self._list_of(schema)
            return value if key is None else self._filled({key: value}, schema)
        if (
            isinstance(value, str)
            and known
            and all(_kind(part) == "string" for part in known.values())
        ):
            return self._filled({next(iter(known)): value}, schema)
        if not isinstance(value, Mapping):
            return value
        own = _renamed(value, known)
        if known and not own and (key := self._list_of(schema)) is not None:
            return self._filled({key: value}, schema)
        if schema.get("additionalProperties") is not False:
            own = {**{key: part for key, part in value.items() if key not in own}, **own}
        return self._filled(own, schema)

    def _filled(self, own: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
        """The object with its parts fitted, and what says nothing by being missing filled in."""
        known = schema.get("properties", {})
        made = {key: self._fit(part, known.get(key, {})) for key, part in own.items()}
        says = any(_kind(known.get(key, {})) != "string" for key in made)
        names = any(isinstance(part, list) and part for part in made.values())
        told = says or bool(made and all(_kind(part) == "string" for part in known.values()))
        for key in schema.get("required", ()):
            if made.get(key) is not None:
                continue
            named = schema is not self.schema and bool(NAMING & set(_words(key)))
            if _kind(known.get(key, {})) == "string" and told and not named:
                made[key] = ""
            elif _kind(known.get(key, {})) == "array" and names:
                made[key] = []
        return {**{key: made[key] for key in known if key in made}, **made}

    def _array(self, value: Any, schema: Schema) -> Any:
        entry = schema.get("items", {})
        if isinstance(value, list):
            return [self._fit(one, entry) for one in value]
        if isinstance(value, str) and value.strip() and _kind(entry) == "string":
            return [value]
        if not isinstance(value, Mapping) or _kind(entry) != "object":
            return value
        if _renamed(value, entry.get("properties", {})):
            return [self._fit(value, entry)]
        return self._of_map(value, entry) if value and all(map(self.known, value)) else value

    def _of_map(self, value: Mapping[str, Any], entry: Schema) -> list[Any]:
        """Entries from a map of names: to what an entry says, or to the one thing that it says."""
        known = entry.get("properties", {})
        naming = [
            key for key in known if _kind(known[key]) == "string" and NAMING & set(_words(key))
        ]
        if not naming:
            return [value]
        made = []
        for name, said in value.items():
            said = decoded(said)
            own = dict(said) if isinstance(said, Mapping) else self._alone(said, known, naming[0])
            made.append(self._fit({**own, naming[0]: name}, entry))
        return made

    def _alone(self, said: Any, known: Schema, naming: str) -> dict[str, Any]:
        """The one property that a bare value can be."""
        truth = isinstance(said, bool) or (
            isinstance(said, str) and said.strip().casefold() in TRUTH
        )
        kind = "boolean" if truth else "array" if isinstance(said, list) else "string"
        found = [key for key in known if key != naming and _kind(known[key]) == kind]
        return {found[0]: said} if len(found) == 1 or (found and kind == "string") else {}

    def _list_of(self, schema: Schema) -> str | None:
        """The list that an object consists of: the only one it has to have, beside texts."""
        known = schema.get("properties", {})
        lists = [key for key in schema.get("required", ()) if _kind(known.get(key, {})) == "array"]
        rest = [_kind(known.get(key, {})) for key in schema.get("required", ()) if key not in lists]
        return lists[0] if len(lists) == 1 and set(rest) <= {"string"} else None


def _renamed(value: Mapping[str, Any], known: Schema) -> dict[str, Any]:
    """The properties of the schema that stand in the value, also in another spelling.

    ``tableName`` and ``Table name`` are ``table_name``; so is ``table`` where nothing else
    can be, since a text may be called by a part of its name. A truth value never is.
    """
    plain = {_plain(str(key)): key for key in reversed(list(value))}
    found = {
        key: value[key if key in value else plain[_plain(key)]]
        for key in known
        if key in value or _plain(key) in plain
    }
    free = [key for key in value if _plain(str(key)) not in set(map(_plain, known))]
    for key in known:
        if key in found or _kind(known[key]) != "string":
            continue
        parts = [
            k for k in free if set(_words(str(k))) < set(_words(key)) and isinstance(value[k], str)
        ]
        if len(parts) == 1 and NAMING & set(_words(key)):
            found[key] = value[parts[0]]
    return {key: found[key] for key in known if key in found}


def merged(parts: Sequence[Any], schema: Schema) -> Any:
    """One reply of several that are its parts; None where they contradict each other.

    Lists are put one after the other, what is repeated stands where it stood last; of texts
    the last that says something counts.

    >>> merged([{"a": [1]}, {"a": [1, 2]}], {})
    {'a': [1, 2]}
    """
    first, *rest = parts
    if not all(isinstance(part, Mapping) for part in parts):
        return first if all(part == first for part in rest) else None
    made = dict(first)
    for part in rest:
        for key, said in part.items():
            before = made.get(key, said)
            if isinstance(before, list) and isinstance(said, list):
                made[key] = [one for one in before if one not in said] + said
            elif isinstance(before, str) and isinstance(said, str):
                made[key] = said if said.strip() else before
            elif before != said:
                return None
            else:
                made[key] = said
    return made


def _kind(schema: Schema) -> str:
    kind = schema.get("type", "")
    return kind if isinstance(kind, str) else ""


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).casefold())


def _plain(name: str) -> str:
    return "".join(_words(name)) or name
