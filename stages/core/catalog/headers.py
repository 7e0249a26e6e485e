"""Where a table of text begins: title lines, headers of one line or two, a line of units.

What cannot be told for certain is decided for the reading that loses nothing, and said in a
warning.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from stages.core.catalog.bytes import infer
from stages.core.catalog.sources.csv.table import (
    SHAPES,
    Grid,
    Row,
    count_filled,
    distinct,
    has_header,
    mode,
    table,
)

_TITLES = 20  # title lines above a table, at most
_UNIT = re.compile(
    r"[(\[].{1,20}[)\]]|.{0,12}[%‰°µΩ€$£¥²³].{0,12}|[A-Za-z0-9.^*-]{1,10}/[A-Za-z0-9.^*/-]{1,12}"
    r"|[kKmMcdµnGTh]?(?:m|s|g|l|L|A|V|W|Hz|Pa|J|N|eV|B|b|t|mol|cd|K|Wh|bar|cal)(?:\^?-?[0-9])?"
    r"|h|hr|hrs|min|sec|d|days?|hours?|minutes?|seconds?|years?|yr|months?|weeks?|kg|lbs?|oz|ft|in"
    r"|mi|km|mm|cm|USD|EUR|GBP|CNY|RMB|JPY|deg|rad|ppm|ppb|pct|percent|units?|count|pcs|each|mph|kph"
    r"|degC|degF|psi|dB|px|元|万元|亿元|千克|公斤|吨|米|公里|秒|分钟|小时|天|个|人|件|次"
)
_NULL = re.compile(r"[-–—?.]+|n/?a|#n/?a|nan|null|none|nil|unknown|missing|tbd", re.IGNORECASE)


def build(
    head: Sequence[Row], more: Sequence[Row] = (), gap: int = 0, given: bool | None = None
) -> Grid:
    """A table from the first records of a file and whole records from further on.

    Args:
        head: Records from the start of the file on; at least one.
        more: Records from its middle and tail, of which those as wide as the table count.
        given: Whether there is a header, where that is known.
        gap: Records above the first blank line; 0 where there is none near.
    """
    if given is not None:
        return _as_told(head, more, given)
    named = int(len(head) > 1 and head[0][0].strip().lower()[:4] == "sep=")
    skip = named + _titles(head[named:])
    skip += _low_header(head[skip:], gap - skip if gap > skip else 0)
    rows, warnings = list(head[skip:]), []
    width = mode(rows)
    upper = head[skip - 1] if skip > named and skip != gap else []
    first, rows, more, left = _unrepeated(rows, more)
    warnings += left
    units = _units(rows, width)
    grid = table(first, rows[bool(units) :], more, width)
    grid.header, sure = has_header(first, grid)
    above = skip - named
    if grid.header and _is_upper(upper, first):
        warnings.append("two lines of headers are joined into one")
        above, first = above - 1, join_rows(upper, first)
        grid.names = distinct([*first, *[""] * (len(grid.names) - len(first))][: len(grid.names)])
        grid.upper = True
    if above:
        warnings.append(f"lines above the table that are left out: {above}")
    rows = [first, *rows]
    if grid.header and units:
        grid.units = [unit.strip() for unit in units]
        warnings.append(f"the line under the header is of units and no row: {', '.join(units)}")
    if not grid.header:
        grid = table([], list(head[skip:]), more, width)
    elif not units and (odd := _odd_first(rows[1:])):
        warnings.append(
            f"the first row does not fit the ones below, another header or units? {odd}"
        )
    if not sure:
        taken = "for the header" if grid.header else "for data, not for a header,"
        warnings.append(f"all cells are text; the first line is taken {taken} without certainty")
    grid.skip = skip
    warnings += infer.settle(grid.names, grid.types, grid.values)
    grid.warnings[:0] = warnings
    return grid


def _as_told(head: Sequence[Row], more: Sequence[Row], header: bool) -> Grid:
    """The table where it is known whether its first record is a header."""
    first, rows = (head[0], list(head[1:])) if header else ([], list(head))
    grid = table(first, rows, more, mode(head))
    grid.header = header
    grid.warnings += infer.settle(grid.names, grid.types, grid.values)
    return grid


def _titles(rows: Sequence[Row]) -> int:
    """Records of a single cell above a table of several columns."""
    width = mode(rows)
    at = 0
    while width > 1 and at < min(_TITLES, len(rows) - 1) and _is_title(rows[at], width):
        at += 1
    return at if at and len(rows[at]) >= max(2, width - 1) else 0


def _low_header(rows: Sequence[Row], gap: int) -> int:
    """Records above a header that stands lower: titles, or the upper line of a header.

    A record below the first is the header where all its cells are names, what is below it has
    types, and what is above it either lacks cells of these types or stands apart by a blank
    line (``gap``).
    """
    width = mode(rows)
    for at in range(1, min(_TITLES, len(rows) - 1)):
        above = [cell.strip() for cell in rows[at - 1]]
        if _are_names(above, width) and above[0] and len(set(above)) == width:
            return 0  # a header itself
        if width < 2 or not _are_names(rows[at], width):
            continue
        below = table(rows[at], list(rows[at + 1 : at + 1 + SHAPES]), (), width)
        header, sure = has_header(rows[at], below)
        typed = [i for i, kind in enumerate(below.types[:width]) if kind != "VARCHAR"]
        misfit = all(_misfits(row, below.types, typed, width) for row in rows[:at])
        if header and ((sure and typed and misfit) or (at == gap and at < 4)):
            return at
    return 0


def _are_names(row: Row, width: int) -> bool:
    """Whether all cells but the first are filled with text that is no number."""
    cells = [cell.strip() for cell in row]
    if len(cells) != width or not all(cells[1:]) or any(map(_NULL.fullmatch, cells)):
        return False
    return all(any(map(str.isalpha, cell)) for cell in cells if cell) and all(
        not cell or infer.text_type({cell}) == "VARCHAR" for cell in cells
    )


def _misfits(row: Row, types: Sequence[str], typed: Sequence[int], width: int) -> bool:
    """Whether a record above a header cannot be a row: cells are missing, and where there are
    types it has gaps or text."""
    fits = [
        at
        for at in typed
        if at < len(row) and row[at].strip() and infer.text_type({row[at].strip()}) != "VARCHAR"
    ]
    return len(fits) < len(typed) and (count_filled(row) < width or not fits)


def _is_upper(upper: Row, first: Row) -> bool:
    """Whether a record above a header groups its columns: as wide, two cells at least, and gaps
    or repeated names where cells were merged."""
    cells = [cell.strip() for cell in upper]
    filled = [cell for cell in cells if cell]
    if len(cells) != len(first) or len(filled) < 2:
        return False
    return len(filled) < len(cells) or len(set(filled)) < len(filled)


def join_rows(upper: Row, first: Row) -> list[str]:
    """The names of two header lines as one; a group goes on over the gaps after it.

    >>> join_rows(["", "2023", "", "2024"], ["region", "q1", "q2", "q1"])
    ['region', '2023 q1', '2023 q2', '2024 q1']
    """
    group, names = "", []
    for top, name in zip(upper, first, strict=True):
        group = top.strip() or group
        names.append(f"{group} {name.strip()}".strip())
    return names


def _unrepeated(
    rows: Sequence[Row], more: Sequence[Row]
) -> tuple[Row, list[Row], list[Row], list[str]]:
    """The first record, and the others without those that are the first one again, where it
    is no row of data."""
    first, rest = rows[0], list(rows[1:])
    if len(first) < 2 or not _are_names(first, len(first)) or not first[0].strip():
        return first, rest, list(more), []
    kept = [row for row in rest if row != first]
    again = len(rest) - len(kept)
    later = [row for row in more if row != first]
    again += len(more) - len(later)
    if not again:
        return first, rest, list(more), []
    typed = table(first, kept[:SHAPES], (), len(first))
    if not has_header(first, typed)[0] or again * 3 > len(kept) + again + 2:
        return first, rest, list(more), []
    return first, kept, later, [f"lines that are the header again, left out: {again}"]


def _units(rows: Sequence[Row], width: int) -> list[str]:
    """The cells of a first row that holds units of the columns below it; empty where it does
    not."""
    if len(rows) < 3 or len(rows[0]) != width:
        return []
    below = table([], list(rows[1 : 1 + SHAPES]), (), width)
    cells = [cell.strip() for cell in rows[0]]
    typed = [
        at for at, kind in enumerate(below.types[:width]) if kind not in ("VARCHAR", "BOOLEAN")
    ]
    texts = [cells[at] for at in typed if cells[at]]
    if not texts or any(infer.text_type({text}) != "VARCHAR" for text in texts):
        return []
    certain = sum(1 for text in texts if _UNIT.fullmatch(text))
    return cells if certain * 2 >= len(texts) and not any(map(_NULL.fullmatch, texts)) else []


def _odd_first(rows: Sequence[Row]) -> str:
    """The first row where it alone keeps columns from having types; empty where it does not."""
    if len(rows) < 3:
        return ""
    width = len(rows[0])
    below = table([], [row for row in rows[1 : 1 + SHAPES] if len(row) == width], (), width)
    kept = [
        rows[0][at].strip()
        for at, kind in enumerate(below.types[:width])
        if kind != "VARCHAR" and infer.text_type({rows[0][at].strip()}) == "VARCHAR"
    ]
    odd = [cell for cell in kept if cell and not _NULL.fullmatch(cell)]
    return ", ".join(odd[:5])


def _is_title(row: Row, width: int) -> bool:
    """Whether a record has one cell only; a blank one beside it counts in wide tables."""
    return len(row) == 1 or (width > 2 and count_filled(row) <= 1)
