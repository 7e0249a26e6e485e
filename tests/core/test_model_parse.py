"""Reading a value out of what models write."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.core.model.structured import Unreadable, checker, value, without_thoughts

SCHEMA = {
    "type": "object",
    "required": ["a"],
    "properties": {"a": {}, "note": {"type": "string"}},
    "additionalProperties": False,
}
WANTED = {"a": 1}
WRONG = checker(SCHEMA)

READABLE = {
    "bare": '{"a": 1}',
    "fenced": '```json\n{"a": 1}\n```',
    "fenced without language": '```\n{"a": 1}\n```',
    "text around": 'Here you are: {"a": 1}. Good luck!',
    "text with brackets around": 'See [1] and [the list]: {"a": 1} (as in [2])',
    "apostrophes around": "It's what you're after: {\"a\": 1}, isn't it?",
    "trailing comma": '{"a": 1,}',
    "single quotes": "{'a': 1}",
    "python words": "{'a': 1,}",
    "thought before": '<think>Is it {"a": 2}?</think>{"a": 1}',
    "thought whose start is in the template": 'Perhaps {"a": 2}.</think>\n{"a": 1}',
    "thought and fence": '<think>hm</think>\nSo:\n```json\n{"a": 1}\n```\nDone.',
    "other object beside": 'The format is {"b": 0}. The answer is {"a": 1}.',
    "the same twice": '{"a": 1}\nAgain: {"a": 1}',
    "fence wins over text": 'Not {"a": 2} but\n```json\n{"a": 1}\n```',
    "comment inside": '{"a": 1 /* sure */}',
    "windows line ends": '```json\r\n{"a": 1}\r\n```\r\n',
    "only a thought": '<think>So it is {"a": 1}</think>',
    "two braces": '{{"a": 1}',
    "two braces on both sides": '{{"a": 1}}',
    "a brace more at the end": '{"a": 1}}',
    "a bracket more": '[{"a": 1}',
    "byte order mark": '\ufeff{"a": 1}',
}


@pytest.mark.parametrize("text", READABLE.values(), ids=READABLE.keys())
def test_a_value_is_found_in_its_wrapping(text: str) -> None:
    assert value(text, WRONG) == WANTED


UNREADABLE = {
    "nothing": ("", "empty"),
    "only a thought, in two minds": ('<think>{"a": 1} or {"a": 2}</think>', "2 different"),
    "a thought without end": ('<think>It may be {"a": 1}', "empty"),
    "prose": ("I cannot answer that.", "no JSON value"),
    "cut in a string": ('{"a": 1, "note": "the ta', "no end"),
    "cut after a value": ('{"a": 1', "no end"),
    "cut in a fence": ('```json\n{"a": 1', "no end"),
    "cut in an array of answers": ('[{"a": 1}, {"a": 2', "no end"),
    "cut outer, whole inner": ('{"x": {"a": 1}, "y": ', "no end"),
    "wrong schema": ('{"note": "x"}', "'a' is a required property"),
    "two that differ": ('{"a": 1} or {"a": 2}', "2 different answers"),
    "a string": ('"a"', "not of type 'object'"),
}


@pytest.mark.parametrize(("text", "why"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_is_not_whole_or_not_clear_is_refused_with_a_reason(text: str, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        value(text, WRONG)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(inner=JSON, data=st.data())
def test_no_beginning_of_an_answer_is_taken_for_the_answer(
    inner: object, data: st.DataObject
) -> None:
    text = json.dumps({"a": inner}, ensure_ascii=data.draw(st.booleans()))
    assert value(text, WRONG) == {"a": inner}
    short = text[: data.draw(st.integers(0, len(text) - 1))]
    with pytest.raises(Unreadable):
        value(short, WRONG)


@given(inner=JSON)
def test_strict_json_in_prose_is_read_as_it_stands(inner: object) -> None:
    text = json.dumps({"a": inner})
    assert value(f"The answer:\n\n{text}\n\nThat's all.", WRONG) == {"a": inner}


@given(st.text(alphabet="[{}]\"', a:1\n`<think>/", max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = value(text, WRONG)
    except Unreadable:
        return
    assert not WRONG(found)


def test_a_long_reply_of_brackets_takes_no_time() -> None:
    with pytest.raises(Unreadable):
        value("[a " * 30_000, WRONG)
    with pytest.raises(Unreadable):
        value('{"a": ' * 20_000, WRONG)


def test_thoughts_are_taken_out_and_nothing_else() -> None:
    assert without_thoughts("  <THINK>x</THINK>a < b and <thinking>y</thinking>c ") == "a < b and c"


def test_lone_surrogates_are_replaced_in_text_and_data() -> None:
    from stages.core.model.request import ModelAnswer

    found = value('{"a": "x\\ud800y"}', lambda v: "")
    assert found == {"a": "x?y"}
    assert ModelAnswer("x\ud800y", "stop", 0, 0, None).text == "x?y"
