"""Why a table was kept or left, in words, from its evidence."""

from __future__ import annotations

from stages.core.judge.judgment import Evidence, RankedTable

_EN = {
    "name": "its name or columns match {words}",
    "description": "its description mentions {words}",
    "glossary": "the hints name it for {words}",
    "value": "it holds the value {words}",
    "values": "its values match {words}",
    "key": "it joins {words}",
    "neighbour": "it is keyed to {words}",
    "co-occurrence": "past queries use it with {words}",
    "rule": "a rule adds it for {words}",
    "forbidden": "a rule forbids it for {words}",
    "model": "the model chose it",
    "routing": "its group fits {words}",
    "form": "it has the kind of column that {words} asks for",
}
_ZH = {
    "name": "表名或列名匹配 {words}",
    "description": "描述中提到 {words}",
    "glossary": "提示将 {words} 指向它",
    "value": "其中有值 {words}",
    "values": "其中的值匹配 {words}",
    "key": "它连接 {words}",
    "neighbour": "它与 {words} 有键关联",
    "co-occurrence": "历史查询中与 {words} 同用",
    "rule": "规则因 {words} 加入它",
    "forbidden": "规则因 {words} 排除它",
    "model": "模型选择了它",
    "routing": "所在的库适合 {words}",
    "form": "有 {words} 所问类型的列",
}
#: Reasons named at most; the strongest come first.
_MOST = 3


def reason(table: RankedTable, lang: str = "en") -> str:
    """One sentence that names the evidence.

    Args:
        table: A table of a judgment.
        lang: ``"zh"`` for Chinese, anything else for English.

    >>> reason(RankedTable("hr", 0.9, True, (Evidence("name", ("staff",), 0.5),)))
    'its name or columns match "staff" (0.90)'
    """
    chinese = lang == "zh"
    clauses = [_clause(item, _ZH if chinese else _EN, chinese) for item in table.evidence[:_MOST]]
    if not clauses:
        clauses = [_empty(table.keep, chinese)]
    text = ("；" if chinese else "; ").join(clauses)
    return f"{text} ({table.score:.2f})"


def _clause(item: Evidence, forms: dict[str, str], chinese: bool) -> str:
    """One piece of evidence as a clause."""
    marks = ("“", "”", "、") if chinese else ('"', '"', ", ")
    words = marks[2].join(f"{marks[0]}{word}{marks[1]}" for word in item.words)
    text = forms[_form(item)].format(words=words).strip()
    return f"{text} [{item.note}]" if item.note else text


def _form(item: Evidence) -> str:
    """Which clause says it: words met within values are not yet a value, which names its column."""
    if item.type == "rule" and item.weight < 0:
        return "forbidden"
    return "values" if item.type == "value" and not item.note else item.type


def _empty(keep: bool, chinese: bool) -> str:
    """What is said where nothing matched."""
    if chinese:
        return "没有直接证据，但不确定时保留" if keep else "问题中没有任何内容与它匹配"
    return "nothing matched, kept because unsure" if keep else "nothing in the question matches it"
