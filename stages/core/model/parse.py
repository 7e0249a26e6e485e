"""Reading the JSON value out of what a model wrote.

Models wrap their answer in code fences, thoughts and good wishes, and write it with
trailing commas or single quotes. All that is read. What is not read is a value without
its end: to close it would be to make up the rest. Nor is a choice made between several
answers that differ.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import orjson

from stages.core.errors import WinnowError

TAG = r"(?:think|thinking|thought|reasoning)>"
THOUGHT = re.compile(f"<{TAG}.*?</{TAG}", re.S | re.I)
# Templates that open the thought themselves leave only its end in the reply.
THOUGHT_END = re.compile(f"^.*</{TAG}", re.S | re.I)
THOUGHT_START = re.compile(f"<{TAG}.*$", re.S | re.I)
FENCE = re.compile(r"```[\w-]*[ \t]*\r?\n(.*?)```", re.S)
OPEN, CLOSE = "{[", "}]"
START = re.compile(r"\{|\[(?=\s*(?:[\[{\]\"'\d]|true|false|null|True|False|None))")
"""Where a value may begin; other square brackets are prose."""
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


def value(text: str, problem: Callable[[Any], str]) -> Any:
    """The one value in ``text`` that has no problem.

    Args:
        text: The reply.
        problem: Says what is wrong with a value; empty where nothing is.

    Raises:
        Unreadable: There is none, or there are several that differ.

    >>> value('Sure:\\n```json\\n{"a": 1,}\\n```\\nBye', lambda v: "" if "a" in v else "no a")
    {'a': 1}
    """
    said = text.strip()
    if not _is_json(said):  # a tag inside of a string is no thought
        said = without_thoughts(text)
    if not said:
        raise Unreadable("the reply is empty")
    first_problem = ""
    spans = _spans(said)
    for candidates in (_strict(said, spans), _loose(spans)):
        fitting: list[Any] = []
        for candidate in candidates:
            wrong = _too_deep(candidate) or problem(candidate)
            first_problem = first_problem or wrong
            if not wrong and candidate not in fitting:
                fitting.append(candidate)
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise Unreadable(f"the reply holds {len(fitting)} different answers; give one")
    raise Unreadable(first_problem or _no_json(said))


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
            try:
                mended = repair_json(span, return_objects=True, skip_json_loads=True)
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
        if opening.start() < start:
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
