"""The form of a question: quoted strings, numbers, years, and the words that ask for a
grouping, an average, a place, a person or a time."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from stages.core.judge.language.tokenize import STOP

_QUOTED = re.compile(
    r"\"([^\"\n]{1,120})\"|“([^”\n]{1,120})”|‘([^’\n]{1,120})’|(?<!\w)'([^'\n]{1,120})'(?!\w)"
    r"|`([^`\n]{1,120})`|「([^」\n]{1,120})」|《([^》\n]{1,120})》"
)
_KINDS = {
    "count": r"\bhow many\b|\bnumber of\b|\bcount\b|多少|几个|数量|人数|个数|总数",
    "average": r"\baverage\b|\bmean\b|平均",
    "total": r"\btotal\b|\bsum\b|总和|总共|合计",
    "most": r"\bmost\b|\blargest\b|\bhighest\b|\bmaximum\b|\btop\b|\bbiggest\b|最多|最大|最高",
    "least": r"\bleast\b|\blowest\b|\bminimum\b|\bsmallest\b|\bfewest\b|最少|最小|最低",
    "group": r"\beach\b|\bper\b|\bby\b|\bevery\b|每|各",
    "year": r"\b(1[5-9]|20)\d\d\b|\byears?\b|年",
    "date": r"\bwhen\b|\bdates?\b|\bmonths?\b|\bdays?\b|日期|月|时间|何时",
    "person": r"\bwho\b|\bwhose\b|谁",
    "place": r"\bwhere\b|\bcity\b|\bcountry\b|哪里|何处|城市|国家",
    "number": r"\d",
}


def quoted(text: str) -> dict[str, str]:
    """Strings in quotation marks of any kind: lower case → as written.

    >>> quoted('in "Los Angeles" or ‘NY’')
    {'los angeles': 'Los Angeles', 'ny': 'NY'}
    """
    found = (next(part for part in match.groups() if part) for match in _QUOTED.finditer(text))
    return {part.lower().strip(): part for part in found if part.strip()}


@lru_cache(maxsize=16)
def kinds(question: str) -> frozenset[str]:
    """What the question's form asks for.

    >>> sorted(kinds("What is the average age per city?"))
    ['average', 'group', 'place']
    """
    low = question.lower()
    return frozenset(name for name, pattern in _KINDS.items() if re.search(pattern, low))


def said(question: str, *names: str) -> str:
    """The first words of a question that show one of these forms, as written; else empty.

    >>> said("Which shops opened in 1998?", "date", "year"), said("Whose is it?", "person")
    ('1998', 'Whose')
    """
    found = (re.search(_KINDS[name], question, re.IGNORECASE) for name in names)
    return next((match.group() for match in found if match), "")


_NAMED = re.compile(
    r"(?<=[a-z,'\"] )(?:[A-Z][\w.'-]*)(?: (?:(?:of|the|and|de|van|von) )?[A-Z][\w.'-]*)*"
)


def named(question: str) -> tuple[str, ...]:
    """Runs of capitalised words that do not begin the sentence.

    >>> named("How many departments has David Bradley been in?")
    ('David Bradley',)
    """
    return tuple(_NAMED.findall(question))


_COMPARED = re.compile(
    r"(?<![\w.])((?:[A-Za-z_][\w.]*[ ]){0,3}[A-Za-z_][\w.]*)[`\"\]]?\s*"
    r"(?:[=<>!]=?|(?i:\b(?:like|between|in\s*\(|is (?:not )?null)))"
)
_COMPUTED = re.compile(
    r"(?i:\b(?:max|min|count|sum|avg|divide|subtract|multiply|cast|strftime|distinct|order by|group by)\b)"  # noqa: E501
    r"\s*\(?\s*(?i:distinct\s+)?([A-Za-z_][\w.]*(?:[ ][A-Za-z_][\w.]*){0,2})"
)

_REFERRED = re.compile(r"\brefers? to\s+([^;=<>!(]{1,120})")
_BETWEEN = re.compile(r",|\+|\band\b|\bor\b|&")


def hinted(hint: str) -> tuple[tuple[str, ...], ...]:
    """Names that a hint compares, computes with or refers to, as runs of words, the longest first.

    >>> hinted("Paper Size > 5; MAX(Score); wins refers to W, name")
    (('Paper Size', 'Size'), ('Score',), ('W',), ('name',))
    """
    found: dict[tuple[str, ...], None] = {}
    for match in _COMPARED.finditer(hint):
        parts = match[1].split(" ")
        found[tuple(" ".join(parts[at:]) for at in range(len(parts)))] = None
    for match in _COMPUTED.finditer(hint):
        parts = match[1].split(" ")
        found[tuple(" ".join(parts[:size]) for size in range(len(parts), 0, -1))] = None
    for match in _REFERRED.finditer(hint):
        for part in _BETWEEN.split(match[1]):
            parts = part.strip(" \"`'.").split(" ")[:3]
            if parts[0]:
                found[tuple(" ".join(parts[:size]) for size in range(len(parts), 0, -1))] = None
    return tuple(found)


_PLAIN = re.compile(r"[a-z]+")


def is_spelled(name: str, text: str, quoted: Collection[str] = ()) -> bool:
    """Whether a text has a name in it that stands by itself.

    A name of one ASCII letter and one that is an everyday word has to be quoted, or spelled with
    a capital, digit or sign that everyday words do not have.

    >>> is_spelled("t_user", "查询t_user的人数"), is_spelled("age", "by page")
    (True, False)
    >>> is_spelled("🍎", "how many 🍎?"), is_spelled("in", "in May"), is_spelled("a", "a b")
    (True, False, False)
    """
    if name.lower() in quoted:
        return True
    if len(name) == 1 and name.isascii():
        return False
    if _PLAIN.fullmatch(name.lower()) and (name.lower() in STOP or len(name) < 3):
        return False
    flags = 0 if len(name) < 3 else re.IGNORECASE
    before, after = (r"(?<![A-Za-z0-9_])" * _is_ascii(name[0])), _is_ascii(name[-1])
    pattern = before + re.escape(name) + r"(?![A-Za-z0-9_])" * after
    return re.search(pattern, text, flags) is not None


def _is_ascii(letter: str) -> bool:
    """Whether it is an ASCII letter, digit or underscore."""
    return letter.isascii() and (letter.isalnum() or letter == "_")
