"""Headings of columns: their units, and names out of several rows of headings."""

from __future__ import annotations

import re
from collections.abc import Sequence

from stages.core.documents.content import DocumentColumn

_SCALES = r"(?:[kKMmGTBbnµμcd]|thousands?|millions?|billions?|mn|bn|千|万|十万|百万|千万|亿|百|兆)?"
_ONES = (
    r"%|‰|percent|pct|bps|pp|[$€£¥￥₽₹]|元|人民币|美元|欧元|港元|港币|日元|英镑|角|分|"
    r"[A-Z]{3}|RMB|yuan|dollars?|euros?|"
    r"g|kg|t|tons?|tonnes?|lbs?|oz|克|公斤|千克|斤|吨|"
    r"m|km|mm|cm|nm|mi|miles?|ft|feet|in|inch(?:es)?|yd|米|公里|千米|厘米|毫米|里|海里|"
    r"m²|m2|km²|km2|ha|acres?|㎡|平方米|平方公里|公顷|亩|m³|m3|立方米|L|l|ml|mL|升|毫升|gal|bbl|桶|"
    r"s|sec|seconds?|ms|min|mins|minutes?|h|hr|hrs|hours?|d|days?|weeks?|months?|years?|yrs?|"
    r"秒|毫秒|分钟|小时|时|天|日|周|月|个月|年|岁|"
    r"°C|°F|℃|℉|K|°|度|Pa|kPa|MPa|bar|atm|mmHg|psi|V|kV|mV|A|mA|W|kW|MW|Wh|kWh|MWh|J|kJ|kcal|cal|"
    r"Hz|kHz|MHz|GHz|B|KB|MB|GB|TB|Mbps|dB|mol|mmol|mg|μg|µg|ug|ppm|ppb|rpm|N|lx|"
    r"人|人次|户|家|个|件|台|套|辆|次|条|张|项|只|头|棵|株|本|份|批|箱|瓶|页|倍|"
    r"people|persons?|units?|pcs|pieces?|items?"
)
_UNIT = rf"{_SCALES}\s*(?:{_ONES})(?:\s*[/·]\s*{_SCALES}(?:{_ONES}|{_SCALES}))*"
_UNIT_ALONE = re.compile(rf"(?:in\s+|单位[:：]?\s*)?({_UNIT}|{_SCALES.rstrip('?')})")
_BRACKETED = re.compile(r"(.+?)[\s_]*[（(\[【]\s*([^（(\[【）)\]】]{1,20})\s*[）)\]】]")
_TRAILING = re.compile(r"(.*[\u4e00-\u9fff])\s*[/／]\s*(.{1,8})|(.+?)\s*,\s*(.{1,12})")
_BREAK = re.compile(r"\s+")
_WORD = re.compile(r"\W+")


def is_unit(text: str) -> bool:
    """Whether a text is a unit and nothing else.

    >>> is_unit("万元"), is_unit("kg/m²"), is_unit("million USD"), is_unit("net")
    (True, True, True, False)
    """
    return bool(_UNIT_ALONE.fullmatch(text.strip()))


def parted_heading(text: str) -> tuple[str, str]:
    """A heading without its unit, and the unit; empty where it has none that is known.

    >>> parted_heading("营业收入（万元）"), parted_heading("Sum (net)")
    (('营业收入', '万元'), ('Sum (net)', ''))
    """
    for pattern in (_BRACKETED, _TRAILING):
        if found := pattern.fullmatch(text):
            name, unit = (part for part in found.groups() if part is not None)
            known = _UNIT_ALONE.fullmatch(unit.strip())
            if known:
                return name.strip(" _"), known[1]
    return text, ""


def columns_of(header: Sequence[Sequence[str]], width: int) -> list[DocumentColumn]:
    """Columns by their headings; those of several rows are joined by ``_``.

    Args:
        header: Rows of headings, spans repeated; none where the table has none.
        width: Number of columns.
    """
    whole = [_heading([row[at] for row in header]) for at in range(width)]
    parted = [parted_heading(text) for text in whole]
    short = [name.casefold() for name, _ in parted]
    columns: list[DocumentColumn] = []
    names: set[str] = set()
    for at, (text, (name, unit)) in enumerate(zip(whole, parted, strict=True)):
        if short.count(name.casefold()) > 1:
            name = text
        name = unique_name(name or f"column_{at + 1}", names)
        columns.append(DocumentColumn(name, description=text if text != name else "", unit=unit))
    return columns


def _heading(parts: Sequence[str]) -> str:
    """Headings above each other as one; a repeated one stands once."""
    seen = dict.fromkeys(_BREAK.sub(" ", part).strip() for part in parts)
    return "_".join(part for part in seen if part)


def unique_name(name: str, names: set[str]) -> str:
    """The name, numbered where it is there already; the result is added to ``names``."""
    number, made = 1, name
    while made.casefold() in names:
        number += 1
        made = f"{name}_{number}"
    names.add(made.casefold())
    return made


def table_name(title: str, stem: str, names: set[str]) -> str:
    """A name of words for a table, by its title or else its document; added to ``names``."""
    words = _WORD.sub("_", title).strip("_")[:60].strip("_")
    return unique_name(words or _WORD.sub("_", stem).strip("_") or "table", names)
