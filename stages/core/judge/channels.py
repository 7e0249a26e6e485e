"""The channels of evidence: what each is called, what it says, and how far it is trusted.

This table is the one place that lists them; every other list is derived from it, and the
enum in ``schemas/link.schema.json`` is held to it by a test.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, eq=False, repr=False)
class Channel:
    """One way by which a question reaches a table or a column.

    Args:
        name: Its name on lines, in ``--without`` and in reports.
        en: The clause that says it in English; ``{words}`` are the words that gave it.
        zh: The same in Chinese.
        own: Whether the question itself speaks of what has this evidence; what is borrowed
            comes from its neighbours, its group or past queries.
        sure: Whether the user asked for it, so that nothing narrows it.
        told: Whether pieces of evidence bear its name; other channels only widen what matches.
        switch: Whether ``--without`` can switch it off.
        expected: Whether every needed table could have had it; reports name those missing.
        fields: Fields of the index through which it matches.
        weight: Weight of one whole match of a table, where the match gives none itself.
    """

    name: str
    en: str = ""
    zh: str = ""
    own: bool = False
    sure: bool = False
    told: bool = True
    switch: bool = True
    expected: bool = False
    fields: tuple[str, ...] = ()
    weight: float = 0.5


TABLE = (
    Channel("routing", "its group fits {words}", "所在的库适合 {words}", fields=("dname",)),
    Channel(
        "name",
        "its name or columns match {words}",
        "表名或列名匹配 {words}",
        own=True,
        expected=True,
        fields=("tname", "cname"),
    ),
    Channel(
        "description",
        "its description mentions {words}",
        "描述中提到 {words}",
        own=True,
        expected=True,
        fields=("tdesc", "cdesc"),
    ),
    Channel(
        "glossary",
        "the hints name it for {words}",
        "提示将 {words} 指向它",
        own=True,
        expected=True,
    ),
    Channel(
        "value",
        "it holds the value {words}",
        "其中有值 {words}",
        own=True,
        expected=True,
        fields=("value",),
    ),
    Channel("synonym", own=True, told=False),
    Channel("translation", own=True, told=False),
    Channel("key", "it joins {words}", "它连接 {words}", expected=True, weight=0.3),
    Channel(
        "neighbour", "it is keyed to {words}", "它与 {words} 有键关联", expected=True, weight=0.3
    ),
    Channel("co-occurrence", "past queries use it with {words}", "历史查询中与 {words} 同用"),
    Channel(
        "rule",
        "a rule adds it for {words}",
        "规则因 {words} 加入它",
        own=True,
        sure=True,
        weight=1.0,
    ),
    Channel(
        "form",
        "it has the kind of column that {words} asks for",
        "有 {words} 所问类型的列",
        fields=("kind",),
    ),
    Channel("model", "the model chose it", "模型选择了它", own=True, sure=True, switch=False),
)
"""Every channel, in the order in which ``--without`` lists them."""

BY_NAME = {channel.name: channel for channel in TABLE}
BY_FIELD = {field: channel.name for channel in TABLE for field in channel.fields}
"""The channel through which each field of the index matches."""

SWITCHES = tuple(channel.name for channel in TABLE if channel.switch)
"""Recall channels that ``without`` can switch off, each alone."""

EXPECTED = tuple(channel.name for channel in TABLE if channel.expected)
"""Kinds of evidence that a needed table could have had; the others are the user's own."""

OWN = frozenset(channel.name for channel in TABLE if channel.own)
"""Evidence that a table or column has by itself, by what the question says of it."""

SURE = frozenset(channel.name for channel in TABLE if channel.sure)
"""Evidence that its user asked for; it is never narrowed."""
