"""Kept replies as text for reading by eye."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping

import orjson

from stages.core.jsontypes import JsonMapping
from stages.core.model.cache import PREFIX, CacheEntry
from stages.core.model.usage import Usage
from stages.core.text import safe_lines, visible

SHORT = 12
"""Hex digits of a key in a list; enough to name one of a million with."""
WORDS = 60
"""Characters of a question in a list."""
_QUESTION = re.compile(
    r"<<<question (?P<mark>\w+)\n(?P<text>.*?)\nquestion (?P=mark)>>>", re.DOTALL
)
AGES = ((86400.0, "d"), (3600.0, "h"), (60.0, "m"))


def short(key: str) -> str:
    """The beginning of a key, enough to name it.

    >>> short("sha256:0123456789abcdef")
    '0123456789ab'
    """
    return key.removeprefix(PREFIX)[:SHORT]


def age(created: float, now: float) -> str:
    """How long ago, in the largest unit that fits; ``-`` where it is not known.

    >>> age(1000.0, 1000.0 + 7300), age(1000.0, 1010.0), age(0.0, 5.0)
    ('2h', '10s', '-')
    """
    if not created:
        return "-"
    seconds = max(0.0, now - created)
    for size, unit in AGES:
        if seconds >= size:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds:.0f}s"


def row(entry: CacheEntry, now: float) -> str:
    """One line of ``ls``: key, age, tokens, model, schema, sample, the task's question."""
    request, reply = entry.request, entry.reply
    tokens = f"{reply['tokens_in']}+{reply['tokens_out']}"
    name = f"{request['name']}#{request['sample']}"
    head = f"{short(entry.key)}  {age(entry.created, now):>4}  {tokens:>11}"
    said = visible(" ".join(_question(request["messages"]).split()), WORDS)
    return f"{head}  {visible(request['model'], 40)}  {visible(name, 40)}  {said}\n"


def _question(messages: Iterable[Mapping[str, object]]) -> str:
    """The question in a prompt, between its boundaries; without one, what the user side began
    with."""
    spoken = [str(m["content"]) for m in messages if m["role"] == "user"]
    found = next(filter(None, map(_QUESTION.search, spoken)), None)
    return found["text"] if found else next(iter(spoken), "")


def whole_text(entry: CacheEntry) -> str:
    """One entry in full: what was asked, the settings, what came back."""
    request, reply = entry.request, entry.reply
    parts = [f"=== {entry.key}\n"]
    if entry.created:
        parts.append(f"kept {time.strftime('%Y-%m-%d %H:%M:%S UTC', time.gmtime(entry.created))}\n")
    parts += [
        f"--- {visible(m['role'])}\n{safe_lines(m['content'])}\n" for m in request["messages"]
    ]
    parts.append(f"--- settings\n{_settings(request)}\n")
    if request["schema"] is not None:
        parts.append(
            f"--- the reply has to fit: {visible(request['name'])}\n{_json(request['schema'])}\n"
        )
    calls = "1 call" if reply["calls"] == 1 else f"{reply['calls']} calls"
    cost = "cost unknown" if reply["usd"] is None else f"${reply['usd']:.6f}"
    spent = f"{calls}, {reply['tokens_in']} tokens in, {reply['tokens_out']} out, {cost}"
    parts.append(f"--- reply ({spent})\n{safe_lines(reply['text'])}\n")
    if reply["data"] != reply["text"]:
        parts.append(f"--- as data\n{_json(reply['data'])}\n")
    return "".join(parts)


def statistics(entries: Iterable[CacheEntry], size: int) -> str:
    """How much is kept: one line a model, and one for all."""
    models: dict[str, Usage] = defaultdict(Usage)
    for entry in entries:
        usage = models[entry.request["model"]]
        usage.reached += 1
        usage.calls += entry.reply["calls"]
        usage.tokens_in += entry.reply["tokens_in"]
        usage.tokens_out += entry.reply["tokens_out"]
        usage.costs.append(entry.reply["usd"])
    lines = [f"{_sum(usage)}  {visible(model, 60)}\n" for model, usage in sorted(models.items())]
    replies = sum(usage.reached for usage in models.values())
    return "".join([*lines, f"{replies:,} replies in {size:,} bytes\n"])


def _sum(usage: Usage) -> str:
    cost = "cost unknown" if usage.usd is None else f"${usage.usd:,.4f}"
    counts = f"{usage.reached:,} replies, {usage.calls:,} calls"
    return f"{counts}, {usage.tokens_in:,} tokens in, {usage.tokens_out:,} out, {cost}"


def _settings(request: JsonMapping) -> str:
    named = {name: request[name] for name in ("model", "temperature", "max_tokens", "sample")}
    pairs = {**named, **request["options"]}.items()
    return visible(" ".join(f"{key}={_json(value)}" for key, value in pairs if value is not None))


def _json(value: object) -> str:
    return (
        safe_lines(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())
        if isinstance(value, dict | list)
        else orjson.dumps(value).decode()
    )
