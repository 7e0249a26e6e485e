"""From what a model wrote to a value that fits the schema of the reply, or to what is wrong
with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import orjson

from stages.core.errors import WinnowError
from stages.core.jsontypes import JsonMapping, JsonValue
from stages.core.model.request import Mode, Request

LONGEST_PROBLEM = 400
"""Characters of a problem that go back to the model; a value in it may be long."""


def checker(schema: Mapping[str, object]) -> Callable[[object], str]:
    """A function that says what is wrong with a value, in one line; empty where it fits.

    >>> wrong = checker({"type": "object", "required": ["a"]})
    >>> wrong({"a": 1}), wrong({})
    ('', "the value: 'a' is a required property")
    """
    return _checker(orjson.dumps(schema, option=orjson.OPT_SORT_KEYS))


@lru_cache(maxsize=256)
def _checker(canonical: bytes) -> Callable[[object], str]:
    import jsonschema_rs

    schema = orjson.loads(canonical)
    fits = jsonschema_rs.Draft202012Validator(schema).is_valid
    return lambda value: "" if fits(value) else _explain(schema, value)


def _explain(schema: Mapping[str, object], value: object) -> str:
    """The error that says most; jsonschema is only imported where there is one."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    error = best_match(Draft202012Validator(schema).iter_errors(value))
    if error is None:  # the two libraries differ: keep the verdict of the one that refused
        return "the value does not fit the schema"
    path = error.json_path.removeprefix("$").lstrip(".") or "the value"
    return f"{path}: {error.message}"[:LONGEST_PROBLEM]


# Holding a reply to its schema, as firmly as the provider can.

ALL: tuple[Mode, ...] = ("schema", "tool", "json", "text")
WRITTEN: tuple[Mode, ...] = ("json", "text")
"""Modes in which the provider does not see the schema, so that it is written into the prompt."""
NOTE = "Answer with one JSON value and nothing else. It has to fit this JSON Schema:\n"
MEND = (
    "That answer cannot be used: {problem}. Answer the same question again, whole, with one "
    "JSON value and nothing else. It has to fit this JSON Schema:\n{schema}"
)
SAY_SOMETHING = "That answer was empty. Answer the question."


def form(request: Request, mode: Mode) -> dict[str, object]:
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
    firm = _strict_schema(orjson.dumps(request.schema))
    wanted = {"name": request.name, "schema": request.schema, "strict": firm}
    return {"response_format": {"type": "json_schema", "json_schema": wanted}}


@lru_cache(maxsize=256)
def _strict_schema(schema: bytes) -> bool:
    return strict(orjson.loads(schema))


def strict(schema: object) -> bool:
    """Whether OpenAI's strict mode takes the schema: closed objects, every property required.

    >>> strict({"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": False})
    True
    >>> strict({"type": "array", "items": {"type": "object", "properties": {"a": {}}}})
    False
    """  # noqa: E501
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
    """  # noqa: E501
    if len(said) < 2 or said[0]["role"] != "system" or said[1]["role"] != "user":
        return [{**part, "role": "user"} if part["role"] == "system" else part for part in said]
    first = {"role": "user", "content": f"{said[0]['content']}\n\n{said[1]['content']}"}
    return [first, *said[2:]]


def ask_again(
    said: list[dict[str, str]], text: str, problem: str, request: Request
) -> list[dict[str, str]]:
    """The conversation that sends a bad reply back with what is wrong with it."""
    if request.schema is None:
        return [*said, {"role": "user", "content": SAY_SOMETHING}]
    wanted = MEND.format(problem=problem, schema=_compact(request.schema))
    # Some providers refuse an empty message, and a dummy text reads as an answer.
    own = [{"role": "assistant", "content": text}] if text.strip() else []
    return [*said, *own, {"role": "user", "content": wanted}]


def _compact(schema: Mapping[str, object]) -> str:
    return orjson.dumps(schema).decode()


# Reading the JSON value out of what a model wrote.

TAG = r"(?:think|thinking|thought|reasoning)>"
THOUGHT = re.compile(f"<{TAG}.*?</{TAG}", re.S | re.I)
# Templates that open the thought themselves leave only its end in the reply.
THOUGHT_END = re.compile(f"^.*</{TAG}", re.S | re.I)
THOUGHT_START = re.compile(f"<{TAG}.*$", re.S | re.I)
FENCE = re.compile(r"```[\w-]*[ \t]*\r?\n(.*?)```", re.S)
OPEN, CLOSE = "{[", "}]"
START = re.compile(r"\{|\[(?=\s*(?:[\[{\]\"'\d]|true|false|null|True|False|None))")
"""Where a value may begin; other square brackets are prose."""
TWICE = re.compile(r"\{\s*\{")
LOOSE = 200_000
"""Characters up to which a loosely written value is mended; longer ones have to be strict JSON."""


class Unreadable(WinnowError):
    """The reply holds no value that fits; the message is worded for the model."""


def without_thoughts(text: str) -> str:
    """The text without what the model thought aloud.

    >>> without_thoughts('<think>{"a": 0}?</think> {"a": 1}')
    '{"a": 1}'
    """
    # Behind the last end no thought has one; to look for it again and again takes minutes.
    last = re.match(THOUGHT_END, text)
    ended = last.end() if last else 0
    kept = THOUGHT_END.sub("", THOUGHT.sub("", text[:ended]))
    return THOUGHT_START.sub("", kept + text[ended:]).strip()


def value(text: str, problem: Callable[[object], str], shape: Shape | None = None) -> JsonValue:
    """The one value in ``text`` that has no problem.

    Args:
        text: The reply.
        problem: Says what is wrong with a value; empty where nothing is.
        shape: The form that a value is brought into where it has another; None leaves it.

    Raises:
        Unreadable: There is none, or there are several that differ.

    >>> value('Sure:\\n```json\\n{"a": 1,}\\n```\\nBye', lambda v: "" if "a" in v else "no a")
    {'a': 1}
    """
    said = _said(text)
    if not said:
        raise Unreadable("the reply is empty")
    first_problem = ""
    spans = _spans(said)
    for candidates in (_strict(said, spans), _loose(spans)):
        values = list(candidates)
        fitting: list[JsonValue] = []
        for candidate in values:
            wrong = _too_deep(candidate) or problem(candidate)
            first_problem = first_problem or wrong
            if not wrong and candidate not in fitting:
                fitting.append(candidate)
        if not fitting and shape is not None:
            sound = [one for one in values if not _too_deep(one)]
            fitting = _shaped(sound, problem, shape, ended=not _opens(said, spans))
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise Unreadable(f"the reply holds {len(fitting)} different answers; give one")
    if said.startswith("[") and not _is_json(said):
        return _past_a_bracket(said, problem, first_problem or _no_json(said))
    raise Unreadable(first_problem or _no_json(said))


def _said(text: str) -> str:
    """The reply without thoughts; a thought that has its end, where there is nothing else."""
    said = text.strip()
    if _is_json(said):  # a tag inside of a string is no thought
        return said
    said = without_thoughts(text)
    if said or re.search(THOUGHT_START, re.sub(THOUGHT, "", text)):
        return said
    return re.sub(f"</?{TAG}", "", text, flags=re.I).strip()


def _past_a_bracket(said: str, problem: Callable[[object], str], why: str) -> object:
    """The whole answer behind one opening bracket too many; an array that was cut has more."""
    try:
        found = orjson.loads(said[1:])
    except orjson.JSONDecodeError:
        raise Unreadable(why) from None
    if not isinstance(found, dict) or _too_deep(found) or problem(found):
        raise Unreadable(why)
    return found


def half_said(text: str) -> bool:
    """Whether a value that has no end stands in the reply.

    >>> half_said('{"a": 1} Why?'), half_said('{"a": 1}, {"a": ')
    (False, True)
    """
    said = _said(text)
    return _opens(said, _spans(said))


def _opens(said: str, spans: Sequence[str]) -> bool:
    """Whether a value begins beside those that have their end."""
    for span in spans:
        said = said.replace(span, "", 1)
    return any(char in said for char in OPEN) and not _is_json(said)


def _shaped(
    values: Sequence[object], problem: Callable[[object], str], shape: Shape, *, ended: bool
) -> list[object]:
    """The answers that the values hold once they are unwrapped and brought into form.

    Calls of a tool, and entries of the one list that an answer consists of, are parts of
    one answer, and are only read where the last of them has its end.
    """
    calls = [one for each in values for one in _calls(each)]
    items = [shape.item(one) for one in values]
    if calls:
        parts = [_unwrapped(one, problem, shape) for one in calls if ended]
        return _join(parts, shape) if parts and all(len(part) == 1 for part in parts) else []
    if items and None not in items:
        whole = shape.of_items(items)
        return [whole] if ended and not problem(whole) else []
    found: list[object] = []
    for one in values:
        found += [each for each in _unwrapped(one, problem, shape) if each not in found]
    return found


def _calls(value: object) -> list[object]:
    """What the calls of tools that are written as text are called with."""
    several = value if isinstance(value, list) else [value]
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        several = value["tool_calls"]
    found = [arguments_of_call(one) for one in several]
    return found if found and None not in found else []


def _join(parts: Sequence[Sequence[object]], shape: Shape) -> list[object]:
    """The one answer of which these are the parts; all of them where they contradict each other."""
    whole = merge([part[0] for part in parts], shape.schema)
    return [whole] if whole is not None else [part[0] for part in parts]


def _unwrapped(value: object, problem: Callable[[object], str], shape: Shape) -> list[object]:
    """The answers at the outermost level of a value that has any: as they are, else in form."""
    for level in levels(value):
        for form in (lambda one: one, shape.fitted):
            found: list[object] = []
            for one in map(form, level):
                if not problem(one) and one not in found:
                    found.append(one)
            if found:
                return found
    return []


def together(texts: Sequence[str], problem: Callable[[object], str], shape: Shape) -> object:
    """The one value that several replies are the parts of, as where a tool was called more
    than once.

    Raises:
        Unreadable: One of them holds no value that fits, or they contradict each other.
    """
    if len(texts) == 1:
        return value(texts[0], problem, shape)
    parts = []
    for text in texts:
        try:
            parts.append(value(text, problem, shape))
        except Unreadable as unreadable:
            if (item := _item(text, shape)) is None:
                raise unreadable from None
            parts.append(shape.of_items([item]))
    whole = merge(parts, shape.schema)
    if whole is None or problem(whole):
        raise Unreadable("the reply holds several answers that differ; give one")
    return whole


def _item(text: str, shape: Shape) -> object:
    try:
        return shape.item(orjson.loads(text))
    except orjson.JSONDecodeError:
        return None


def _is_json(said: str) -> bool:
    try:
        orjson.loads(said)
    except orjson.JSONDecodeError:
        return False
    return True


def _too_deep(candidate: object) -> str:
    """Why a value can be read but not be written again; empty where it can."""
    try:
        orjson.dumps(candidate)
    except TypeError:
        return "the JSON value is nested too deep"
    return ""


def _no_json(said: str) -> str:
    opened = any(char in said for char in OPEN)
    return "the JSON value is broken or has no end" if opened else "the reply holds no JSON value"


def _strict(said: str, spans: Sequence[str]) -> Iterator[object]:
    """The values written as JSON wants it: the whole, what stands in fences, what stands in
    text."""
    try:
        yield orjson.loads(said)
        return
    except orjson.JSONDecodeError:
        pass
    for span in spans:
        try:
            yield orjson.loads(span)
        except orjson.JSONDecodeError:
            continue


def _loose(spans: Sequence[str]) -> Iterator[object]:
    """The same values, written loosely; each has its end."""
    from json_repair import repair_json

    for span in spans:
        if len(span) <= LOOSE:
            # Curly quotes are quotes where there are no straight ones.
            plain = span if '"' in span else re.sub("[“”]", '"', span)
            try:
                mended = repair_json(plain, return_objects=True, skip_json_loads=True)
            except (ValueError, RecursionError):  # nested too deep
                continue
            if isinstance(mended, dict | list):
                yield from _plain_json(mended)


def _plain_json(mended: object) -> Iterator[object]:
    """The value as strict JSON would read it: lone surrogates replaced, nothing beyond JSON in
    it."""
    try:
        yield orjson.loads(json.dumps(mended, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, TypeError):
        return


def _spans(said: str) -> list[str]:
    """The objects and arrays that have their end: in code fences where there are any, else in
    the text."""
    fenced = [span for body in FENCE.findall(said) for span in _balanced(body)]
    return fenced or list(_balanced(said))


def _balanced(text: str) -> Iterator[str]:
    """The outermost spans from an opening bracket to the one that closes it.

    The first that has no end is the last that is looked at: an answer that was cut off must
    not lend its inner parts as answers.
    """
    start = 0
    for opening in START.finditer(text):
        # No value begins with two braces: the first is one too many.
        if opening.start() < start or TWICE.match(text, opening.start()):
            continue
        end = _end(text, opening.start())
        if end is None:
            return
        yield text[opening.start() : end]
        start = end


def _end(text: str, begin: int) -> int | None:
    """Where the value that begins at ``begin`` ends; None where it does not."""
    stack: list[str] = []
    at = begin
    while at < len(text):
        char = text[at]
        if char in "\"'" and (closed := _string_end(text, at)) is not None:
            at = closed
            continue
        if char in OPEN:
            stack.append(CLOSE[OPEN.index(char)])
        elif char in CLOSE:
            if stack.pop() != char:
                return None
            if not stack:
                return at + 1
        at += 1
    return None


def _string_end(text: str, begin: int) -> int | None:
    """Where the string that opens at ``begin`` has ended; None where it is an apostrophe.

    A string opens where a key or a value may stand. It closes at a quote of its kind after
    which a key or a value may end, so that ``'it's'`` is one string.
    """
    quote = text[begin]
    if quote == "'" and not re.search(r"[\[{,:]\s*$", text[max(0, begin - 40) : begin]):
        return None
    at = begin + 1
    while at < len(text):
        if text[at] == "\\":
            at += 2
            continue
        if text[at] == quote and (quote == '"' or re.match(r"\s*[,:\]}]", text[at + 1 : at + 40])):
            return at + 1
        at += 1
    return len(text)


# Bringing a value that says what was asked for into the form that was asked for.

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

Schema = JsonMapping
Known = Callable[[str], bool]
"""Whether a name is one that the model was shown."""


def decode(value: object) -> object:
    """The JSON value that a text holds; any other value as it is.

    >>> decode('"{\\\\"a\\\\": 1}"'), decode("[a")
    ({'a': 1}, '[a')
    """
    while isinstance(value, str) and value.lstrip()[:1] in ("{", "[", '"'):
        try:
            value = orjson.loads(value.strip())
        except orjson.JSONDecodeError:
            break
    return value


def arguments_of_call(value: JsonValue) -> JsonValue:
    """What a call of a tool is called with; None where the value is no call.

    >>> arguments_of_call({"name": "f", "arguments": '{"a": 1}'}), arguments_of_call({"name": "f"})
    ({'a': 1}, None)
    """
    if not isinstance(value, Mapping):
        return None
    if isinstance(value.get("function"), Mapping):
        value = value["function"]
    if not isinstance(value.get("name"), str):
        return None
    return next((decode(value[key]) for key in ARGUMENTS if value.get(key)), None)


def levels(value: object) -> Iterator[list[JsonValue]]:
    """The value, then what stands in it, level by level: an answer may be wrapped."""
    level, seen = [decode(value)], 0
    for _ in range(DEEPEST):
        yield level
        inner: list[JsonValue] = []
        for one in level:
            parts = (
                one.values() if isinstance(one, Mapping) else one if isinstance(one, list) else ()
            )
            inner += [part for part in map(decode, parts) if isinstance(part, Mapping | list)]
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

    def fitted(self, value: object) -> object:
        """The value in the form of the schema, as far as it can be brought there."""
        return self._fit(value, self.schema)

    def item(self, value: object) -> JsonValue:
        """A single entry of the one list that the reply consists of, in its form; None where the
        reply is no such list or the value no entry."""
        key = self._list_of(self.schema)
        if key is None or not isinstance(value, Mapping):
            return None
        entry = self.schema["properties"][key].get("items", {})
        names = {_plain(name) for name in entry.get("properties", {})}
        return self._fit(value, entry) if names & set(map(_plain, value)) else None

    def of_items(self, items: Sequence[object]) -> object:
        """The reply that consists of these entries."""
        return self._fit(list(items), self.schema)

    def _fit(self, value: object, schema: Schema) -> object:
        kind = schema.get("type")
        if kind in ("object", "array"):
            value = decode(value)
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

    def _object(self, value: object, schema: Schema) -> object:
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

    def _filled(self, own: Mapping[str, object], schema: Schema) -> dict[str, object]:
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

    def _array(self, value: object, schema: Schema) -> object:
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

    def _of_map(self, value: Mapping[str, object], entry: Schema) -> list[object]:
        """Entries from a map of names: to what an entry says, or to the one thing that it says."""
        known = entry.get("properties", {})
        naming = [
            key for key in known if _kind(known[key]) == "string" and NAMING & set(_words(key))
        ]
        if not naming:
            return [value]
        made = []
        for name, said in value.items():
            said = decode(said)
            own = dict(said) if isinstance(said, Mapping) else self._alone(said, known, naming[0])
            made.append(self._fit({**own, naming[0]: name}, entry))
        return made

    def _alone(self, said: object, known: Schema, naming: str) -> dict[str, object]:
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


def _renamed(value: Mapping[str, object], known: Schema) -> dict[str, object]:
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


def merge(parts: Sequence[JsonValue], schema: Schema) -> JsonValue:
    """One reply of several that are its parts; None where they contradict each other.

    Lists are put one after the other, what is repeated stands where it stood last; of texts
    the last that says something counts.

    >>> merge([{"a": [1]}, {"a": [1, 2]}], {})
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
