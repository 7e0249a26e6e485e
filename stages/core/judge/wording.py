"""Why a table was kept or left, in words, from its evidence."""

from __future__ import annotations

from stages.core.judge.channels import BY_NAME
from stages.core.judge.judgment import EvidencePiece, RankedTable

_SPECIAL = {
    "values": ("its values match {words}", "其中的值匹配 {words}"),
    "forbidden": ("a rule forbids it for {words}", "规则因 {words} 排除它"),
}
"""Clauses of a channel that says two things, in English and in Chinese."""
#: Reasons named at most; the strongest come first.
_MOST = 3


def reason(table: RankedTable, lang: str = "en") -> str:
    """One sentence that names the evidence.

    Args:
        table: A table of a judgment.
        lang: ``"zh"`` for Chinese, anything else for English.

    >>> reason(RankedTable("hr", 0.9, True, (EvidencePiece("name", ("staff",), 0.5),)))
    'its name or columns match "staff" (0.90)'
    """
    chinese = lang == "zh"
    clauses = [_clause(item, chinese) for item in table.evidence[:_MOST]]
    if not clauses:
        clauses = [_empty(table.keep, chinese)]
    text = ("；" if chinese else "; ").join(clauses)
    return f"{text} ({table.score:.2f})"


def _clause(item: EvidencePiece, chinese: bool) -> str:
    """One piece of evidence as a clause."""
    marks = ("“", "”", "、") if chinese else ('"', '"', ", ")
    words = marks[2].join(f"{marks[0]}{word}{marks[1]}" for word in item.words)
    text = _form(item)[chinese].format(words=words).strip()
    return f"{text} [{item.note}]" if item.note else text


def _form(item: EvidencePiece) -> tuple[str, str]:
    """Which clause says it: words met within values are not yet a value, which names its column."""
    if item.type == "rule" and item.weight < 0:
        return _SPECIAL["forbidden"]
    if item.type == "value" and not item.note:
        return _SPECIAL["values"]
    channel = BY_NAME[item.type]
    return channel.en, channel.zh


def _empty(keep: bool, chinese: bool) -> str:
    """What is said where nothing matched."""
    if chinese:
        return "没有直接证据，但不确定时保留" if keep else "问题中没有任何内容与它匹配"
    return "nothing matched, kept because unsure" if keep else "nothing in the question matches it"
