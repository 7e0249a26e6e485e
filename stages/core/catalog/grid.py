"""Records of text cells made into a table: title lines, header, width, types.

What cannot be told for certain is decided for the reading that loses nothing, and said in
a warning.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from stages.core.catalog import infer, separators

Row = Sequence[str]
_SHAPES = 50  # distinct values that a first cell is compared with
_TITLES = 20  # title lines above a table, at most
_SHAPE = str.maketrans(
    {
        **dict.fromkeys("0123456789", "9"),
        **{chr(c): "A" for c in range(65, 91)},
        **{chr(c): "a" for c in range(97, 123)},
    }
)
_UNIT = re.compile(
    r"[(\[].{1,20}[)\]]|.{0,12}[%‰°µΩ€$£¥²³].{0,12}|[A-Za-z0-9.^*-]{1,10}/[A-Za-z0-9.^*/-]{1,12}"
    r"|[kKmMcdµnGTh]?(?:m|s|g|l|L|A|V|W|Hz|Pa|J|N|eV|B|b|t|mol|cd|K|Wh|bar|cal)(?:\^?-?[0-9])?"
    r"|h|hr|hrs|min|sec|d|days?|hours?|minutes?|seconds?|years?|yr|months?|weeks?|kg|lbs?|oz|ft|in"
    r"|mi|km|mm|cm|USD|EUR|GBP|CNY|RMB|JPY|deg|rad|ppm|ppb|pct|percent|units?|count|pcs|each|mph|kph"
    r"|degC|degF|psi|dB|px|元|万元|亿元|千克|公斤|吨|米|公里|秒|分钟|小时|天|个|人|件|次"
)
_NULL = re.compile(r"[-–—?.]+|n/?a|#n/?a|nan|null|none|nil|unknown|missing|tbd", re.IGNORECASE)
_NAME_LIKE = re.compile(
    r"_|^(?-i:[a-z]+[A-Z])|\b(?:id|name|type|date|code|key|status|title|value|no|num|count|description|"
    r"category|city|country|address|email|phone|year|month|day|time|notes?|text)\b|"
    r"名|号|编码|代码|日期|类型|时间|名称|类别|状态",
    re.IGNORECASE,
)


@dataclass
class Grid:
    """A table of text cells, every row as wide as the names.

    Args:
        names: Column names, distinct without regard to case.
        body: Rows without header and titles; an empty cell is null.
        types: DuckDB types, one per name.
        nulls: Whether a cell of the column is null.
        values: Distinct non-empty texts of each column, in the order they came in.
        header: Whether the names stood in the file.
        skip: Records above the header, or above the first row, that are no part of the table.
        ragged: Whether rows had to be padded or cut, or the header is narrower than they are.
        estimate: Rows of the whole file, where the sample is not all of it.
        upper: Whether the last of the records above is the upper line of the header.
        units: What the line under the header says, which is no row; empty without one.
        mark: `header_mark` of the header; empty where there is none.
        warnings: What was decided without certainty.
    """

    names: list[str]
    body: list[Row]
    header: bool
    skip: int
    ragged: bool = False
    estimate: int = 0
    upper: bool = False
    units: list[str] = field(default_factory=list)
    mark: str = ""
    types: list[str] = field(default_factory=list)
    nulls: list[bool] = field(default_factory=list)
    values: list[dict[str, None]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def build(head: Sequence[Row], more: Sequence[Row] = (), gap: int = 0) -> Grid:
    """A table from the first records of a file and whole records from further on.

    Args:
        head: Records from the start of the file on; at least one.
        more: Records from its middle and tail, of which those as wide as the table count.
        gap: Records above the first blank line; 0 where there is none near.
    """
    named = int(len(head) > 1 and head[0][0].strip().lower()[:4] == "sep=")
    skip = named + _titles(head[named:])
    skip += _low_header(head[skip:], gap - skip if gap > skip else 0)
    rows, warnings = list(head[skip:]), []
    width = _mode(rows)
    upper = head[skip - 1] if skip > named and skip != gap else []
    first, rows, more, left = _unrepeated(rows, more)
    warnings += left
    units = _units(rows, width)
    grid = _table(first, rows[bool(units) :], more, width)
    grid.header, sure = _has_header(first, grid)
    above = skip - named
    if grid.header and _is_upper(upper, first):
        warnings.append("two lines of headers are joined into one")
        above, first = above - 1, joined(upper, first)
        grid.names = distinct([*first, *[""] * (len(grid.names) - len(first))][: len(grid.names)])
        grid.upper = True
    if above:
        warnings.append(f"lines above the table that are left out: {above}")
    rows = [first, *rows]
    if grid.header and units:
        grid.units = [unit.strip() for unit in units]
        warnings.append(f"the line under the header is of units and no row: {', '.join(units)}")
    if not grid.header:
        grid = _table([], list(head[skip:]), more, width)
    elif not units and (odd := _odd_first(rows[1:])):
        warnings.append(
            f"the first row does not fit the ones below, another header or units? {odd}"
        )
    if not sure:
        taken = "for the header" if grid.header else "for data, not for a header,"
        warnings.append(f"all cells are text; the first line is taken {taken} without certainty")
    grid.skip = skip
    warnings += separators.settle(grid.names, grid.types, grid.values)
    grid.warnings[:0] = warnings
    return grid


def _table(first: Row, body: list[Row], more: Sequence[Row], width: int) -> Grid:
    """The table under a header, which is empty where there is none."""
    warnings: list[str] = []
    body, wide, ragged = _squared(body, first, width, warnings)
    body += [row for row in more if len(row) == wide]
    if first and len(first) < wide and not ragged and body:
        first = ["", *first] if len(first) == wide - 1 else first
        warnings.append("the header has fewer cells than the rows; the first column has no name")
        ragged = True
    names = distinct([*first, *[""] * (wide - len(first))][:wide])
    grid = Grid(names, body, bool(first), 0, ragged, warnings=warnings)
    _typed(grid)
    return grid


def _titles(rows: Sequence[Row]) -> int:
    """Records of a single cell above a table of several columns."""
    width = _mode(rows)
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
    width = _mode(rows)
    for at in range(1, min(_TITLES, len(rows) - 1)):
        above = [cell.strip() for cell in rows[at - 1]]
        if _are_names(above, width) and above[0] and len(set(above)) == width:
            return 0  # a header itself
        if width < 2 or not _are_names(rows[at], width):
            continue
        below = _table(rows[at], list(rows[at + 1 : at + 1 + _SHAPES]), (), width)
        header, sure = _has_header(rows[at], below)
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
    return len(fits) < len(typed) and (_filled(row) < width or not fits)


def _is_upper(upper: Row, first: Row) -> bool:
    """Whether a record above a header groups its columns: as wide, two cells at least, and gaps
    or repeated names where cells were merged."""
    cells = [cell.strip() for cell in upper]
    filled = [cell for cell in cells if cell]
    if len(cells) != len(first) or len(filled) < 2:
        return False
    return len(filled) < len(cells) or len(set(filled)) < len(filled)


def joined(upper: Row, first: Row) -> list[str]:
    """The names of two header lines as one; a group goes on over the gaps after it.

    >>> joined(["", "2023", "", "2024"], ["region", "q1", "q2", "q1"])
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
    typed = _table(first, kept[:_SHAPES], (), len(first))
    if not _has_header(first, typed)[0] or again * 3 > len(kept) + again + 2:
        return first, rest, list(more), []
    return first, kept, later, [f"lines that are the header again, left out: {again}"]


def _units(rows: Sequence[Row], width: int) -> list[str]:
    """The cells of a first row that holds units of the columns below it; empty where it does
    not."""
    if len(rows) < 3 or len(rows[0]) != width:
        return []
    below = _table([], list(rows[1 : 1 + _SHAPES]), (), width)
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
    below = _table([], [row for row in rows[1 : 1 + _SHAPES] if len(row) == width], (), width)
    kept = [
        rows[0][at].strip()
        for at, kind in enumerate(below.types[:width])
        if kind != "VARCHAR" and infer.text_type({rows[0][at].strip()}) == "VARCHAR"
    ]
    odd = [cell for cell in kept if cell and not _NULL.fullmatch(cell)]
    return ", ".join(odd[:5])


def _is_title(row: Row, width: int) -> bool:
    """Whether a record has one cell only; a blank one beside it counts in wide tables."""
    return len(row) == 1 or (width > 2 and _filled(row) <= 1)


def _filled(row: Row) -> int:
    return sum(1 for cell in row if cell.strip())


def _mode(rows: Sequence[Row]) -> int:
    """The commonest number of cells; the header's own where it is as common."""
    widths = Counter(map(len, rows))
    return max(widths, key=lambda width: (widths[width], width == len(rows[0]), width))


def _squared(
    body: list[Row], first: Row, width: int, warnings: list[str]
) -> tuple[list[Row], int, bool]:
    """Rows of one width: missing cells are null, surplus cells get columns of their own."""
    wide = max(width, _used(first))
    widths = Counter(map(len, body))
    if first and wide > len(first) and all(_used(row) <= len(first) for row in body):
        return [_fit(row, len(first)) for row in body], len(first), True
    if set(widths) <= {wide}:
        return body, wide, False
    most = max([wide, *(_used(row) for row in body if len(row) > wide)])
    long = sum(1 for row in body if _used(row) > wide)
    if long == len(body) and most == wide + 1:
        return [row[:most] for row in body], most, False
    short = sum(count for size, count in widths.items() if size < wide)
    if short:
        warnings.append(
            f"rows with fewer cells than columns: {short} of {len(body)} sampled; the missing cells are null"
        )
    if long:
        warnings.append(
            f"rows with more cells than columns: {long} of {len(body)} sampled; the surplus stands in columns without a name"
        )
    return [_fit(row, most) for row in body], most, bool(short or long) or most != wide


def _used(row: Row) -> int:
    """Cells of a row without empty ones at its end."""
    size = len(row)
    while size and not row[size - 1].strip():
        size -= 1
    return size


def _fit(row: Row, width: int) -> Row:
    return [*row[:width], *[""] * (width - len(row))]


def distinct(names: Sequence[str]) -> list[str]:
    """Usable column names: trimmed, ``columnN`` where empty, ``_1`` added where taken.

    >>> distinct(["a", "A", "", "a"])
    ['a', 'A_1', 'column2', 'a_2']
    """
    taken: set[str] = set()
    plain = {name.strip().casefold() for name in names}
    result = []
    for at, name in enumerate(names):
        base = name.strip() or f"column{at}"
        made, number = base, 0
        while made.casefold() in taken or (number and made.casefold() in plain):
            number += 1
            made = f"{base}_{number}"
        taken.add(made.casefold())
        result.append(made)
    return result


def header_mark(first: Row, wide: int) -> str:
    """A short hash of the names in a header, by which a loader knows the file it was told of."""
    names = distinct([*first, *[""] * (wide - len(first))][:wide])
    return hashlib.sha256("\0".join(names).encode("utf-8", "replace")).hexdigest()[:12]


def _typed(grid: Grid) -> None:
    """Fill in distinct values, nulls and types, column by column."""
    columns = zip(*grid.body, strict=True) if grid.body else [()] * len(grid.names)
    for column in columns:
        values = dict.fromkeys(column)
        grid.nulls.append("" in values)
        values.pop("", None)
        grid.values.append(values)
        grid.types.append(infer.text_type(values))


def _has_header(first: Row, grid: Grid) -> tuple[bool, bool]:
    """Whether the first record holds names, and whether that is certain.

    Args:
        first: The first record.
        grid: The table of the records below it.
    """
    cells = [cell.strip() for cell in first]
    if _years(cells, grid.body):
        return True, True
    kinds = [infer.text_type({cell}) if cell else "" for cell in cells]
    named = fits = False
    for kind, typed, null in zip(kinds, grid.types, grid.nulls, strict=False):
        if not kind and typed != "VARCHAR":
            named = named or not null
        elif typed != "VARCHAR":
            same = kind != "VARCHAR" and infer.wider(kind, typed) != "VARCHAR"
            named, fits = named or not same, fits or same
    numbers = [at for at, kind in enumerate(grid.types[: len(cells)]) if kind == "VARCHAR"]
    for at in numbers:
        if kinds[at] == "VARCHAR" and separators.are_numbers(grid.values[at]):
            same = separators.are_numbers({cells[at]: None})
            named, fits = named or not same, fits or same
    if named or fits:
        return named, True
    if any(kind not in ("", "VARCHAR") for kind in kinds):
        return False, True  # a number or a day is no name
    return _text_header(cells, grid.values)


def _years(cells: Sequence[str], body: Sequence[Row]) -> bool:
    """Whether the first record counts years upwards as no other record does."""
    years = [int(cell) for cell in cells if re.fullmatch("(?:19|20)[0-9]{2}", cell)]
    rising = len(years) >= 3 and years == list(range(years[0], years[0] + len(years)))
    return (
        rising
        and len(years) >= len(cells) - 3
        and not any(str(years[0]) in row and str(years[-1]) in row for row in body)
    )


def _text_header(cells: Sequence[str], columns: Sequence[Mapping[str, None]]) -> tuple[bool, bool]:
    """The same where every column is text: names do not come again below, are not shaped
    like what stands below, and are all there and different."""
    if not any(columns):
        return True, True
    again = alike = unlike = 0
    for cell, column in zip(cells, columns, strict=False):
        again += cell in column
        shapes = {text.translate(_SHAPE) for text in islice(column, _SHAPES)}
        if (
            cell
            and len(column) >= 5
            and len(shapes) <= 3
            and any(char in "9-/@:." for char in "".join(shapes))
        ):
            alike += cell.translate(_SHAPE) in shapes
            unlike += cell.translate(_SHAPE) not in shapes
    repeated = len(set(cells)) < len(cells)
    if alike or (again and not unlike and not any(map(_NAME_LIKE.search, cells))):
        return False, not again or alike > 0
    named = sum(1 for cell in cells if _NAME_LIKE.search(cell))
    return True, bool(unlike or named) and not again and not repeated
