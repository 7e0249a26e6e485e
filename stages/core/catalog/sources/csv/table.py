"""Records of text cells made into a table: width, names, types, and whether one is a header."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from stages.core.catalog.bytes import infer

Row = Sequence[str]
SHAPES = 50  # distinct values that a first cell is compared with
_SHAPE = str.maketrans(
    {
        **dict.fromkeys("0123456789", "9"),
        **{chr(c): "A" for c in range(65, 91)},
        **{chr(c): "a" for c in range(97, 123)},
    }
)

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


def table(first: Row, body: list[Row], more: Sequence[Row], width: int) -> Grid:
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


def count_filled(row: Row) -> int:
    """Cells of a record that are not blank."""
    return sum(1 for cell in row if cell.strip())


def mode(rows: Sequence[Row]) -> int:
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
            f"rows with fewer cells than columns: {short} of {len(body)} sampled; the missing "
            "cells are null"
        )
    if long:
        warnings.append(
            f"rows with more cells than columns: {long} of {len(body)} sampled; the surplus "
            "stands in columns without a name"
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


def has_header(first: Row, grid: Grid) -> tuple[bool, bool]:
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
        if kinds[at] == "VARCHAR" and infer.are_numbers(grid.values[at]):
            same = infer.are_numbers({cells[at]: None})
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
        shapes = {text.translate(_SHAPE) for text in islice(column, SHAPES)}
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
