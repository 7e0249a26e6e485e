"""Which of the two languages a task speaks; instructions and reasons follow it."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

Lang: TypeAlias = Literal["zh", "en"]


_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
_KANA = re.compile(r"[\u3040-\u30ff]")
_LATIN_WORD = re.compile(r"[A-Za-z\u00c0-\u024f][\w'’]*", re.ASCII)
_QUOTED = re.compile(r"“[^”]*”|‘[^’]*’|「[^」]*」|『[^』]*』|《[^》]*》|`[^`]*`|\"[^\"]*\"")

_HAN_PER_WORD = 1.5
"""Han characters that weigh as much as one Latin word; Chinese words are one or two long."""


def language(text: str) -> Lang:
    """``zh`` where the text is a Chinese sentence, else ``en``.

    Quoted passages are left out where something else remains: a title or a value says
    nothing about who asks. Names of tables and columns inside a Chinese question do not
    make it English, nor does a Chinese term make an English one Chinese. Text that is
    neither (digits, Japanese, nothing at all) counts as English.

    >>> language("2025 年 revenue 最高的企业是哪一家?")
    'zh'
    >>> language("What was the 净利润 of the largest company?")
    'en'
    """
    bare = _QUOTED.sub(" ", text)
    if not (_HAN.search(bare) or _LATIN_WORD.search(bare)):
        bare = text
    han = len(_HAN.findall(bare))
    if han == 0 or len(_KANA.findall(bare)) * 3 > han:
        return "en"
    return "zh" if han / _HAN_PER_WORD >= len(_LATIN_WORD.findall(bare)) else "en"


def choose(lang: str, question: str) -> Lang:
    """The language that ``--lang`` asks for; ``auto`` and anything else follow the question.

    >>> choose("auto", "哪家公司?"), choose("en", "哪家公司?")
    ('zh', 'en')
    """
    if lang == "zh":
        return "zh"
    return "en" if lang == "en" else language(question)
