"""Every reply that holds what was asked for counts, in whatever form it comes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from stages.core.errors import ReplyInvalid
from stages.core.lines.schema import reply
from stages.core.model import Request
from tests.helpers.llm_server import Say
from tests.helpers.model_asking import ask, asking

VERDICTS = reply("vote")
SAID: dict[str, tuple[Any, Any]] = {
    "vote": (VERDICTS, {"verdicts": [
        {"table_name": "orders", "reason": "holds them", "relevant": True},
        {"table_name": "staff", "reason": "no step", "relevant": False},
    ]}),
    "link": (reply("link"), {"tables": [{"reason": "holds them", "table_name": "orders", "columns": ["id"]}]}),
    "plan": (reply("plan"), {"steps": ["Filter.", "Return."]}),
    "negative": (reply("prune.negative"), {
        "obviously_irrelevant_tables": ["staff"],
        "obviously_irrelevant_columns": [{"table": "orders", "columns": ["id"]}],
    }),
    "positive": (reply("prune.positive"), {
        "relevant_tables": ["orders"], "relevant_columns": [{"table": "staff", "columns": ["id"]}],
    }),
    "summarize": (reply("summarize"), {
        "query_specific_content_analysis": "One table.",
        "table_functions": [{"table": "orders", "function": "holds them", "roles": ["target"]}],
    }),
    "explore": (reply("explore.round"), {"queries": ["SELECT 1"], "status": "[CONTINUE]"}),
    "judgment": (reply("explore.judgment"), {
        "table_full_name": "orders", "table_summary": "orders", "relevant": True,
        "relevant_columns": [{"column_name": "id", "relevance_reason": "key", "observations": "1"}],
    }),
    "refine": (reply("refine.paths"), {
        "refined_schema": [{"table": "orders", "relevant_columns": [
            {"column_name": "id", "relevance_reason": "key"}]}],
        "exploration_queries": ["SELECT 1"], "declined_paths": [{"path": "p1", "reason": "no"}],
        "status": "[CONFIRM]",
    }),
}  # fmt: skip
PROMPT = ({"role": "user", "content": "Tables: orders, staff. Columns: id."},)


def message(**parts: Any) -> Say:
    """An answer whose message is just this."""
    finish = parts.pop("finish", "stop")
    choice = {"index": 0, "message": {"role": "assistant", **parts}, "finish_reason": finish}
    return Say(raw=json.dumps({"choices": [choice]}).encode())


def calls(*arguments: Any, name: str = "reply") -> list[dict[str, Any]]:
    """Calls of a tool."""
    return [
        {"id": str(n), "type": "function", "function": {"name": name, "arguments": said}}
        for n, said in enumerate(arguments)
    ]


def text(say: Callable[[Any], str]) -> Callable[[Any], Say]:
    """An answer whose text is made of the data."""
    return lambda data: message(content=say(data))


FORMS: dict[str, Callable[[Any], Say]] = {
    "in the thought alone": lambda d: message(content=None, reasoning_content=f"So:\n{json.dumps(d)}"),
    "in another thought": lambda d: message(content="", reasoning=json.dumps(d)),
    "in the thought, with a word": lambda d: message(content="Done.", reasoning_content=json.dumps(d)),
    "thought aloud": text(lambda d: f"<think>So {json.dumps(d)}</think>"),
    "beside an empty call": lambda d: message(content=json.dumps(d), tool_calls=calls("")),
    "beside the call of something else": lambda d: message(content=json.dumps(d), tool_calls=calls('{"x": 1}')),
    "in a call": lambda d: message(content=None, tool_calls=calls(json.dumps(d))),
    "in a call, with a word": lambda d: message(content="Here:", tool_calls=calls(json.dumps(d))),
    "in a call, as it is": lambda d: message(content=None, tool_calls=calls(d)),
    "in a call of old": lambda d: message(content=None, function_call={"name": "f", "arguments": json.dumps(d)}),
    "in a part that is a call": lambda d: message(content=[{"type": "tool_use", "name": "f", "input": d}]),
    "in a part beside a thought": lambda d: message(
        content=[{"type": "thinking", "text": '{"x": 1}'}, {"type": "text", "text": json.dumps(d)}]
    ),
    "a call as text": text(lambda d: json.dumps({"name": "reply", "arguments": d})),
    "a call as text of text": text(lambda d: json.dumps({"name": "f", "parameters": json.dumps(d)})),
    "a call in tags": text(lambda d: f"<tool_call>\n{json.dumps({'name': 'f', 'arguments': d})}\n</tool_call>"),
    "a list of calls": text(lambda d: json.dumps({"tool_calls": calls(json.dumps(d))})),
    "wrapped": text(lambda d: json.dumps({"response": d})),
    "wrapped with a word": text(lambda d: json.dumps({"thoughts": "hm", "final": {"answer": d}})),
    "in a list": text(lambda d: json.dumps([d])),
    "in the schema": text(lambda d: json.dumps({"type": "object", "properties": d})),
    "as text": text(lambda d: json.dumps(json.dumps(d))),
    "wrapped as text": text(lambda d: json.dumps({"output": json.dumps(d)})),
    "a field more": text(lambda d: json.dumps({**d, "confidence": 0.9, "note": ["x"]})),
    "camel case": text(lambda d: json.dumps({_camel(key): part for key, part in d.items()})),
    "a brace more": text(lambda d: "{" + json.dumps(d)),
    "two braces": text(lambda d: "{" + json.dumps(d) + "}"),
    "a bracket more": text(lambda d: "[" + json.dumps(d)),
    "a brace more behind": text(lambda d: json.dumps(d) + "}"),
    "a fence without end": text(lambda d: f"```json\n{json.dumps(d)}"),
    "curly quotes": text(lambda d: json.dumps(d).replace('"', "“")),
    "whole and cut": lambda d: message(content=json.dumps(d) + "\n" * 99, finish="length"),
    "whole and filtered": lambda d: message(content=json.dumps(d), finish="content_filter"),
    "a call that is whole and cut": lambda d: message(tool_calls=calls(json.dumps(d)), finish="length"),
    "a stream": lambda d: Say(raw=b"".join(
        b"data: " + json.dumps({"choices": [{"delta": {"content": part}}]}).encode() + b"\n\n"
        for part in (json.dumps(d)[:9], json.dumps(d)[9:])
    ) + b"data: [DONE]\n\n"),
}  # fmt: skip


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def asked(schema: Any, say: Say) -> Any:
    """The data of the one call that it took."""
    with asking([say]) as (server, options):
        reply = ask(options, Request(PROMPT, schema, "reply"))
    assert len(server.requests) == 1
    return reply.data


@pytest.mark.parametrize("form", FORMS)
def test_every_stage_reads_what_it_asked_for_in_any_wrapping(form: str) -> None:
    for stage, (schema, data) in SAID.items():
        assert asked(schema, FORMS[form](data)) == data, stage


ITEMS = SAID["vote"][1]["verdicts"]
VOTES: dict[str, Callable[[], Say]] = {
    "a call for each table": lambda: message(tool_calls=calls(*(json.dumps({"verdicts": [v]}) for v in ITEMS))),
    "a call for each verdict": lambda: message(tool_calls=calls(*map(json.dumps, ITEMS))),
    "calls as text": lambda: message(content="\n".join(
        f"<tool_call>{json.dumps({'name': 'f', 'arguments': {'verdicts': [v]}})}</tool_call>" for v in ITEMS
    )),
    "the bare list": lambda: message(content=json.dumps(ITEMS)),
    "one verdict a line": lambda: message(content="\n".join(map(json.dumps, ITEMS))),
    "verdicts as text": lambda: message(content=json.dumps({"verdicts": [json.dumps(v) for v in ITEMS]})),
    "text for truth": lambda: message(content=json.dumps(SAID["vote"][1]).replace("true", '"true"').replace("false", '"No"')),
    "another name of the field": lambda: message(content=json.dumps(SAID["vote"][1]).replace("table_name", "table")),
    "a field more in each": lambda: message(content=json.dumps({"verdicts": [{**v, "confidence": 1} for v in ITEMS]})),
}  # fmt: skip


@pytest.mark.parametrize("form", VOTES)
def test_verdicts_count_in_whatever_form(form: str) -> None:
    assert asked(VERDICTS, VOTES[form]()) == SAID["vote"][1]


WITHOUT: dict[str, Any] = {
    "reasons missing": {"verdicts": [{k: v for k, v in one.items() if k != "reason"} for one in ITEMS]},
    "reasons null": {"verdicts": [{**one, "reason": None} for one in ITEMS]},
    "a map of names": {"orders": True, "staff": False},
    "a map of names inside": {"verdicts": {"orders": {"relevant": True}, "staff": {"relevant": "false"}}},
}  # fmt: skip


@pytest.mark.parametrize("form", WITHOUT)
def test_a_verdict_without_a_reason_is_one(form: str) -> None:
    found = asked(VERDICTS, message(content=json.dumps(WITHOUT[form])))["verdicts"]
    assert found == [{**one, "reason": ""} for one in ITEMS]


def test_a_schema_as_the_seed_writes_it_is_read() -> None:
    said = {"refined_schema": {"orders": {"relevant_columns": ["id"]}}, "status": "[CONFIRM]"}
    assert asked(reply("refine"), message(content=json.dumps(said))) == {
        "refined_schema": [
            {"table": "orders", "relevant_columns": [{"column_name": "id", "relevance_reason": ""}]}
        ],
        "exploration_queries": [],
        "status": "[CONFIRM]",
    }


NO_VERDICTS: dict[str, Say] = {
    "something else": message(content='{"something_else_entirely": 1}'),
    "an error": message(content='{"error": true}'),
    "the schema": message(content=json.dumps(VERDICTS)),
    "no truth value": message(content='{"verdicts": [{"table_name": "orders", "reason": "x"}]}'),
    "a truth value that is none": message(content='{"orders": null, "staff": null}'),
    "the opposite": message(content='{"verdicts": [{"table_name": "orders", "irrelevant": true}]}'),
    "no name": message(content='{"verdicts": [{"reason": "x", "relevant": false}]}'),
    "nothing": message(content='{"verdicts": null}'),
    "two minds": message(content=json.dumps({"draft": SAID["vote"][1], "final": {"verdicts": []}})),
    "two minds in calls": message(tool_calls=calls('{"verdicts": []}', '{"x": ')),
    "a list that is cut": message(content=json.dumps(ITEMS)[:-30]),
    "lines that are cut": message(content="\n".join(map(json.dumps, ITEMS))[:-9]),
    "a refusal": message(content=None, refusal="I cannot."),
    "a thought that is cut": message(content="", reasoning_content=json.dumps(ITEMS)[:-9]),
}  # fmt: skip


@pytest.mark.parametrize("form", NO_VERDICTS)
def test_what_holds_no_verdicts_is_told_so(form: str) -> None:
    with asking([NO_VERDICTS[form]]) as (server, options), pytest.raises(ReplyInvalid):
        ask(options, Request(PROMPT, VERDICTS, "reply"))
    assert len(server.requests) == 2


def test_names_are_never_changed() -> None:
    said = {"verdicts": [{**one, "table_name": f" `{one['table_name'].upper()}`"} for one in ITEMS]}
    assert asked(VERDICTS, message(content=json.dumps({"response": said}))) == said


@pytest.mark.parametrize("keep", [True, False])
def test_what_a_call_says_wins_over_the_text_beside_it(keep: bool) -> None:
    other = {"verdicts": [{**one, "relevant": not keep} for one in ITEMS]}
    data = {"verdicts": [{**one, "relevant": keep} for one in ITEMS]}
    assert (
        asked(VERDICTS, message(content=json.dumps(other), tool_calls=calls(json.dumps(data))))
        == data
    )
