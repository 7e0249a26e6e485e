"""Reading the JSON value out of what a model wrote.

Models wrap their answer in code fences, thoughts and good wishes, and write it with
trailing commas or single quotes, with the wrong wrapping or in several parts. All that is
read. What is not read is a value without its end: to close it would be to make up the rest.
Nor is a choice made between several answers that differ.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import orjson

from stages.core.errors import WinnowError
from stages.core.model.shape import Shape, called, levels, merged

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


def value(text: str, problem: Callable[[Any], str], shape: Shape | None = None) -> Any:
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
        fitting: list[Any] = []
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


def _past_a_bracket(said: str, problem: Callable[[Any], str], why: str) -> Any:
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
    values: Sequence[Any], problem: Callable[[Any], str], shape: Shape, *, ended: bool
) -> list[Any]:
    """The answers that the values hold once they are unwrapped and brought into form.

    Calls of a tool, and entries of the one list that an answer consists of, are parts of
    one answer, and are only read where the last of them has its end.
    """
    calls = [one for each in values for one in _calls(each)]
    items = [shape.item(one) for one in values]
    if calls:
        parts = [_unwrapped(one, problem, shape) for one in calls if ended]
        return _joined(parts, shape) if parts and all(len(part) == 1 for part in parts) else []
    if items and None not in items:
        whole = shape.of_items(items)
        return [whole] if ended and not problem(whole) else []
    found: list[Any] = []
    for one in values:
        found += [each for each in _unwrapped(one, problem, shape) if each not in found]
    return found


def _calls(value: Any) -> list[Any]:
    """What the calls of tools that are written as text are called with."""
    several = value if isinstance(value, list) else [value]
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        several = value["tool_calls"]
    found = [called(one) for one in several]
    return found if found and None not in found else []


def _joined(parts: Sequence[Sequence[Any]], shape: Shape) -> list[Any]:
    """The one answer of which these are the parts; all of them where they contradict each other."""
    whole = merged([part[0] for part in parts], shape.schema)
    return [whole] if whole is not None else [part[0] for part in parts]


def _unwrapped(value: Any, problem: Callable[[Any], str], shape: Shape) -> list[Any]:
    """The answers at the outermost level of a value that has any: as they are, else in form."""
    for level in levels(value):
        for form in (lambda one: one, shape.fitted):
            found: list[Any] = []
            for one in map(form, level):
                if not problem(one) and one not in found:
                    found.append(one)
            if found:
                return found
    return []


def together(texts: Sequence[str], problem: Callable[[Any], str], shape: Shape) -> Any:
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
    whole = merged(parts, shape.schema)
    if whole is None or problem(whole):
        raise Unreadable("the reply holds several answers that differ; give one")
    return whole


def _item(text: str, shape: Shape) -> Any:
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


def _too_deep(candidate: Any) -> str:
    """Why a value can be read but not be written again; empty where it can."""
    try:
        orjson.dumps(candidate)
    except TypeError:
        return "the JSON value is nested too deep"
    return ""


def _no_json(said: str) -> str:
    opened = any(char in said for char in OPEN)
    return "the JSON value is broken or has no end" if opened else "the reply holds no JSON value"


def _strict(said: str, spans: Sequence[str]) -> Iterator[Any]:
    """The values written as JSON wants it: the whole, what stands in fences, what stands in text."""
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


def _loose(spans: Sequence[str]) -> Iterator[Any]:
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


def _plain_json(mended: Any) -> Iterator[Any]:
    """The value as strict JSON would read it: lone surrogates replaced, nothing beyond JSON in it."""
    try:
        yield orjson.loads(json.dumps(mended, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, TypeError):
        return


def _spans(said: str) -> list[str]:
    """The objects and arrays that have their end: in code fences where there are any, else in the text."""
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
