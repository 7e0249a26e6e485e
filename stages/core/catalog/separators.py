"""Numbers that are written in more than one way: points and commas for fractions or thousands.

``1.000`` is one or a thousand. Beside a column of decimal commas it is a thousand, so it stays
text; by itself it is read as it stands, and said. Nothing is turned into another number here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from stages.core.catalog import infer

_DOTTED = re.compile(r"-?[1-9][0-9]{0,2}(?:\.[0-9]{3})+|-?[0-9]{1,3}")
_COMMA = re.compile(r"[-+]?(?:[0-9]{1,3}(?:[.' \u00a0\u202f][0-9]{3})+|[0-9]+)(?:,[0-9]+)?")
_FRACTION = re.compile(r",(?![0-9]{3}(?![0-9]))[0-9]+$")
_ENGLISH = re.compile(r"[-+]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[-+]?[0-9]+(?:\.[0-9]+)?")
_NAMED = 10
_NO: set[int] = set()

Values = Sequence[Mapping[str, None]]


def settle(names: Sequence[str], types: list[str], values: Values) -> list[str]:
    """Make columns text whose numbers would be read wrongly, in place, and say what is doubtful.

    Args:
        names: Column names.
        types: Their types, changed where a point is one of thousands.
        values: Distinct texts of each column.

    Returns:
        Warnings.
    """
    texts = [[text.strip() for text in column] for column in values]
    grouped = {at for at, kind in enumerate(types) if _is_grouped(kind, texts[at])}
    commas = {at for at, kind in enumerate(types) if kind == "VARCHAR" and _has_commas(texts[at])}
    european = any(_FRACTION.search(text) for at in commas for text in texts[at])
    if european:
        for at in grouped:
            types[at] = "VARCHAR"
    odd = {
        at
        for at, kind in enumerate(types)
        if kind == "VARCHAR" and at not in grouped | commas and infer.looks_real(values[at])
    }
    groups: dict[str, set[int]] = {
        "numbers with commas in them, kept as text": commas,
        "points are of thousands beside decimal commas, kept as text": grouped
        if european
        else set(),
        "every fraction has three digits, so the points may be of thousands; "
        "read as fractions, a guess": _NO if european else grouped - _texts(types, grouped),
        "every fraction has three digits, so the points may be of thousands; kept as text": _NO
        if european
        else _texts(types, grouped),
        "numbers that would not come back as they are written (1.10, 1E5, too many digits), "
        "kept as text": odd,
    }
    return [f"{what}: {_listed(names, columns)}" for what, columns in groups.items() if columns]


def are_numbers(values: Mapping[str, None]) -> bool:
    """Whether texts are numbers all the same, spelt in a way that no type takes."""
    first = next(iter(values), "").strip()
    if not first[-1:].isdigit():
        return False
    texts = [text.strip() for text in values]
    return _is_grouped("VARCHAR", texts) or _has_commas(texts) or infer.looks_real(values)


def _texts(types: Sequence[str], columns: set[int]) -> set[int]:
    return {at for at in columns if types[at] == "VARCHAR"}


def _listed(names: Sequence[str], columns: set[int]) -> str:
    shown = [names[at] for at in sorted(columns)]
    return ", ".join(shown[:_NAMED]) + (f" and {len(shown) - _NAMED} more" * (len(shown) > _NAMED))


def _is_grouped(kind: str, texts: Sequence[str]) -> bool:
    """Whether all points may be of thousands."""
    if kind not in ("DOUBLE", "VARCHAR") and not kind.startswith("DECIMAL"):
        return False
    return any("." in text for text in texts) and all(map(_DOTTED.fullmatch, texts))


def _has_commas(texts: Sequence[str]) -> bool:
    """Whether all texts are numbers, some with commas."""
    if not any("," in text for text in texts):
        return False
    return all(map(_COMMA.fullmatch, texts)) or all(map(_ENGLISH.fullmatch, texts))
