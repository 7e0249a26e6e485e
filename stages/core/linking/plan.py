"""A logical plan without a model: the phrases of a question that filter, group, aggregate…

What `plan` does as ``builtin``: every clause of the question in which such a phrase stands
becomes a step of that kind, in the order of carrying out, English and Chinese alike. It
recognises the common forms and says nothing where there is none; the last step always
repeats what the question asks for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from stages.core.lang import Lang

KINDS: Sequence[str] = ("filter", "group", "aggregate", "compare", "order", "return")
"""Kinds of step in the order of carrying them out."""

WORDS: Mapping[Lang, Mapping[str, str]] = {
    "en": {
        "filter": "Filter by: ", "group": "Group by: ", "aggregate": "Aggregate: ",
        "compare": "Compute or compare: ", "order": "Order and cut: ", "return": "Return: ",
    },
    "zh": {
        "filter": "筛选：", "group": "分组：", "aggregate": "聚合：",
        "compare": "计算或比较：", "order": "排序并截取：", "return": "返回：",
    },
}  # fmt: skip

_EN: Mapping[str, str] = {
    "filter": (
        r"(?:more|less|fewer|greater|higher|lower|older|younger|larger|smaller|longer|shorter|earlier|later) than [^,;.?]+"  # noqa: E501
        r"|(?:at least|at most|no more than|no less than|over|above|below|under|between|before|after|since|until) [^,;.?]*?\d[^,;.?]*"  # noqa: E501
        r"|(?:in|of|during|for|from|on) (?:the year )?(?:1[5-9]|20)\d\d\b"
        r"|(?:(?<=\w )(?:whose|who|where|that|which|with|without|named|called|located in|born in|made by) )[^,;.?]+"  # noqa: E501
        r"|[\"“][^\"”]+[\"”]|(?<!\w)'[^']+'(?!\w)"
    ),
    "group": r"\b(?:for each|of each|in each|each|every|per|grouped by|by each) [\w' -]+?(?=,|;|\.|\?| and | in | with |$)",  # noqa: E501
    "aggregate": (
        r"\b(?:how many|(?:the )?number of|count(?: of)?|average|mean|total|sum of|maximum|minimum"
        r"|percentage of|share of|proportion of)\b[^,;.?]*"
    ),
    "compare": r"\b(?:difference|ratio|times (?:more|as)|compared? (?:to|with)|than the average|growth|change) [^,;.?]*",  # noqa: E501
    "order": (
        r"\b(?:top \d+|first \d+|last \d+|most|least|highest|lowest|largest|smallest|oldest|youngest|longest|shortest"  # noqa: E501
        r"|earliest|latest|biggest|fewest|sorted|ordered|order(?:ed)? by|in (?:ascending|descending|alphabetical) order)\b[^,;.?]*"  # noqa: E501
    ),
}
_ZH: Mapping[str, str] = {
    "filter": (
        r"[^，。；？！、]*(?:超过|大于|小于|不少于|不超过|至少|至多|高于|低于|多于|少于|以上|以下|之间|以前|以后|之前|之后|等于|不是|属于|位于|叫做|名为)[^，。；？！]*"
        r"|(?:1[5-9]|20)\d\d\s*年[^，。；？！]*|[“\"「《][^”\"」》]+[”\"」》]"
    ),
    "group": r"(?:按照?(?![^，。；？！]*(?:排列|排序|高到低|低到高))|每一?[个年月日天家名位种类项次]?|各个?)[^，。；？！的]{1,16}",  # noqa: E501
    "aggregate": r"[^，。；？！]{0,12}(?:多少|几个|数量|总数|人数|个数|次数|平均|总和|合计|总计|总额|占比|比例|百分比)[^，。；？！]*",  # noqa: E501
    "compare": r"[^，。；？！]{0,12}(?:之差|差值|差额|相比|增长率|增长|倍|同比|环比|比率)[^，。；？！]*",  # noqa: E501
    "order": r"[^，。；？！]{0,12}(?:最多|最少|最高|最低|最大|最小|最早|最晚|最新|前\s*\d+|前[一二三四五六七八九十]+|排序|排列|从高到低|从低到高|升序|降序)[^，。；？！]*",  # noqa: E501
}
_PATTERNS: Mapping[Lang, Mapping[str, str]] = {"en": _EN, "zh": _ZH}
PHRASES = 6
"""Phrases named in one step; a question with more is long enough to be read itself."""


def phrases(question: str, lang: Lang) -> dict[str, list[str]]:
    """The phrases of each kind that stand in the question, in their order, each once.

    >>> phrases("How many singers older than 30 per country?", "en")["group"]
    ['per country']
    """
    found: dict[str, list[str]] = {}
    for kind, pattern in _PATTERNS[lang].items():
        hits = (
            " ".join(match.group().split())
            for match in re.finditer(pattern, question, re.IGNORECASE)
        )
        kept = list(dict.fromkeys(hit for hit in hits if hit))
        if kept:
            found[kind] = kept[:PHRASES]
    return found


def steps(question: str, lang: Lang) -> list[str]:
    """The steps of the plan, one sentence each, the last one what is returned.

    >>> steps("How many singers are older than 30?", "en")
    ['Filter by: older than 30', 'Aggregate: How many singers are older than 30', 'Return: How many singers are older than 30?']
    """  # noqa: E501
    named = {**phrases(question, lang), "return": [" ".join(question.split())]}
    comma = "；" if lang == "zh" else "; "
    return [WORDS[lang][kind] + comma.join(named[kind]) for kind in KINDS if kind in named]


def number_steps(found: Sequence[str]) -> str:
    """The steps as one numbered list (seed 004, 3.1).

    >>> number_steps(["Filter.", "Return."])
    '1. Filter.\\n2. Return.'
    """
    return "\n".join(f"{number}. {' '.join(step.split())}" for number, step in enumerate(found, 1))
