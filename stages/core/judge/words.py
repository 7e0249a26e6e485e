"""From names and sentences to terms: the smallest units that are matched.

A name is split at camel humps, underscores, digits and scripts; a part without separators
(``LISTEDSECURITY``) by a unigram model (`segment`); Chinese by dictionary (`chinese`).
Terms are lower-case Snowball stems; Chinese terms stand as they are.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from stages.core.judge import chinese, segment

_PARTS = re.compile(
    r"[\u3400-\u9fff\uf900-\ufaff]+"  # Han
    r"|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]"  # humps
    r"|\d+"
    r"|[^\W\d_A-Za-z\u3400-\u9fff\uf900-\ufaff]+"  # letters of other scripts
)
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?|\d+(?:[.,]\d+)*|[^\W\d_A-Za-z]+")

#: Words that say nothing about which table is meant.
STOP = frozenset(
    ["a", "an", "the", "of", "in", "on", "at", "to", "for", "from", "by", "with", "without", "within", "into", "onto", "over", "under", "and", "or", "not", "no", "nor", "is", "are", "was", "were", "be", "been", "being", "am", "do", "does", "did", "done", "has", "have", "had", "having", "will", "would", "can", "could", "shall", "should", "may", "might", "must", "it", "its", "they", "them", "their", "theirs", "he", "she", "his", "her", "him", "hers", "we", "our", "us", "you", "your", "i", "me", "my", "this", "that", "these", "those", "there", "here", "then", "than", "so", "as", "if", "else", "while", "when", "where", "which", "who", "whom", "whose", "what", "how", "why", "whether", "each", "every", "any", "all", "both", "some", "either", "neither", "such", "same", "other", "another", "more", "most", "less", "least", "very", "only", "just", "also", "too", "still", "yet", "ever", "never", "up", "down", "out", "off", "again", "please", "list", "show", "find", "give", "tell", "get", "return", "display", "provide", "state", "identify", "determine", "calculate", "compute", "retrieve", "me", "let's", "let", "many", "much", "few", "want", "know", "using", "use", "used", "based", "per", "among", "between", "across", "including", "include", "includes", "following", "given", "via", "s", "t", "d", "ll", "re", "ve", "refer", "refers", "referring", "represent", "represents", "mean", "means", "respectively", "along", "together", "about", "against", "during", "before", "after", "above", "below", "until", "since", "through"]
)
#: Chinese function words and the verbs of asking.
STOP_ZH = frozenset(
    ["的", "了", "和", "与", "及", "或", "在", "是", "有", "哪些", "哪个", "哪", "什么", "多少", "几", "几个", "所有", "每个", "每", "请", "列出", "显示", "查找", "找出", "给出", "给", "我", "我们", "其", "他们", "它们", "它", "他", "她", "这", "那", "这些", "那些", "以及", "并", "并且", "对", "对于", "从", "到", "由", "被", "把", "将", "个", "中", "里", "上", "下", "为", "于", "之", "也", "都", "不", "没有", "没", "按", "按照", "根据", "至少", "最", "最多", "最少", "更", "大于", "小于", "等于", "超过", "如何", "怎么", "吗", "呢", "谁", "任何", "其中", "各", "各个", "分别", "用", "使用", "者", "们", "查询", "返回", "告诉", "一", "一个", "两", "两个", "不同", "同时", "但", "但是", "而", "而且", "则", "该", "此", "且", "若", "如果", "时", "后", "前", "内", "外"]
)


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("english")


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """The Snowball stem of a lower-case word; words with digits or other scripts stay.

    >>> stem("countries") == stem("country")
    True
    """
    if len(word) < 3 or not word.isascii() or not word.isalpha():
        return word
    return str(_stemmer().stemWord(word))


@lru_cache(maxsize=200_000)
def split(name: str) -> tuple[str, ...]:
    """The lower-case words of a name, in order.

    >>> split("cust_addr"), split("shipToAddress2")
    (('cust', 'addr'), ('ship', 'to', 'address', '2'))
    """
    words: list[str] = []
    for part in _PARTS.findall(_HUMP.sub(" ", name)):
        words.extend(_pieces(part))
    return tuple(words)


def _pieces(part: str) -> tuple[str, ...]:
    """A part between separators as words."""
    if chinese.is_han(part):
        return chinese.cut(part)
    low = part.lower()
    if len(low) >= segment.SHORTEST and low.isascii() and low.isalpha():
        return segment.cut(low)
    return (low,)


@lru_cache(maxsize=200_000)
def terms(name: str) -> tuple[str, ...]:
    """The terms of a name, in order.

    >>> terms("Ship_Addresses")
    ('ship', 'address')
    """
    return tuple(stem(word) for word in split(name))


def sentence(text: str, limit: int = 100_000) -> list[tuple[str, int, int]]:
    """The words of a text with their places: ``(spelling, start, end)``.

    Identifiers are split as names are; Chinese runs are cut by dictionary.
    """
    found: list[tuple[str, int, int]] = []
    for match in _WORD.finditer(text[:limit]):
        spelling, start = match.group(), match.start()
        if chinese.is_han(spelling):
            for word in chinese.cut(spelling):
                found.append((word, start, start + len(word)))
                start += len(word)
        elif spelling[0].isdigit():
            found.append((spelling, start, match.end()))
        else:
            for hump in _HUMP.sub(" ", spelling.split("'")[0]).split():
                found.append((hump, start, start + len(hump)))
                start += len(hump)
    return found


def compact(name: str) -> str:
    """A name without separators and case: what ``ship_to`` and ``ShipTo`` share.

    >>> compact("Ship_To"), compact("ship to")
    ('shipto', 'shipto')
    """
    return re.sub(r"[\W_]+", "", name).lower()
