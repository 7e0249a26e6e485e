"""Grids to tables: headings, titles, totals, page breaks, types and units."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from stages.core.catalog.bytes import cells as texts
from stages.core.catalog.bytes import infer
from stages.core.documents.content import CellGrid, DocumentColumn, DocumentTable
from stages.core.documents.headings import columns_of, is_unit, table_name

NOTHING = frozenset(
    ["-", "--", "—", "——", "–", "/", "n/a", "na", "null", "none", "nil", "…", "..."]
)
"""What stands in a cell for no value, where all other cells of the column are of one type."""
_TOTAL = re.compile(
    r"(?i)((?:grand |sub-?)?totals?|sum|summe|gesamt|insgesamt|[合总小共]\s*计|总和|汇总)\s*[:：]?"
)
_NUMBER = re.compile(
    r"(?P<open>[(（])?(?P<sign>[-+−])?(?P<before>[$€£¥￥₽₹])?\s*"
    r"(?P<digits>\d{1,3}(?:[,，]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)\s*(?P<after>[^\d\s().,（）][^\d()（）]{0,11})?"
    r"(?P<close>[)）])?"
)
_DAY = re.compile(
    r"(\d{4})\s*年\s*(\d{1,2})\s*月\s*(\d{1,2})\s*日|(\d{4})[./](\d{1,2})[./](\d{1,2})"
)
_PLAIN = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,12})?")
_FOOTNOTE = re.compile(
    r"(?i)\s*(?:[*†‡※]|notes?\b|sources?\b|remarks?\b|[备附]?注|(?:资料|数据)?来源|说明)"
)
_MOST_HEADINGS = 4


def tables_of(grids: Sequence[CellGrid], stem: str) -> list[DocumentTable]:
    """The tables of a document's grids, in their order; those that are none are left out.

    Args:
        grids: As its reader gave them.
        stem: Name of the document without its ending, for tables without a title.
    """
    names: set[str] = set()
    tables = []
    for grid in over_pages([tidy(grid) for grid in grids]):
        table = _table(grid)
        if table:
            table.name = table_name(table.title, stem, names)
            tables.append(table)
    return tables


def tidy(grid: CellGrid) -> CellGrid:
    """The grid without rows and columns that are empty throughout, rows of one length."""
    width = max(map(len, grid.cells), default=0)
    cells = [[text.strip() for text in row] + [""] * (width - len(row)) for row in grid.cells]
    used = [at for at in range(width) if any(row[at] for row in cells)]
    kept = [at for at, row in enumerate(cells) if any(row)]
    header = grid.header
    if header is not None:
        header = sum(at < header for at in kept)
    pages = [grid.pages[at] for at in kept] if grid.pages else []
    return CellGrid(
        [[cells[at][column] for column in used] for at in kept],
        [grid.lines[at] for at in kept],
        header,
        pages,
        grid.title,
    )


def over_pages(grids: Sequence[CellGrid]) -> Iterator[CellGrid]:
    """Grids, where one that goes on on the next page is part of the one before.

    It goes on where it repeats the headings, or has none and its columns are of the same kinds.
    """
    last: CellGrid | None = None
    for grid in grids:
        if last and grid.pages and last.pages and _goes_on(last, grid):
            skipped = _repeated(last, grid)
            last.cells += grid.cells[skipped:]
            last.lines += grid.lines[skipped:]
            last.pages += grid.pages[skipped:]
            continue
        if last:
            yield last
        last = grid
    if last:
        yield last


def _goes_on(last: CellGrid, grid: CellGrid) -> bool:
    if not grid.cells or not last.cells or len(grid.cells[0]) != len(last.cells[0]):
        return False
    if grid.pages[0] != last.pages[-1] + 1:
        return False
    if _repeated(last, grid):
        return True
    return not grid.title and _is_more(grid.cells[0], last.cells[-10:])


def _is_more(row: Sequence[str], above: Sequence[Sequence[str]]) -> bool:
    """Whether a row has values where most rows above have some; an empty cell says nothing."""
    alike = []
    for at, text in enumerate(row):
        kinds = [is_value(cells[at]) for cells in above if cells[at]]
        if text and kinds:
            alike.append(is_value(text) == (2 * sum(kinds) >= len(kinds)))
    return bool(alike) and all(alike) and any(map(is_value, row))


def _repeated(last: CellGrid, grid: CellGrid) -> int:
    """Rows of headings that a grid repeats of the one before."""
    count = 0
    while count < min(len(last.cells), len(grid.cells), _MOST_HEADINGS):
        if last.cells[count] != grid.cells[count]:
            break
        count += 1
    return count


def _kinds(rows: Sequence[Sequence[str]]) -> list[bool]:
    """For each column whether it holds a number or a day in the first of the rows."""
    return [is_value(text) for text in rows[0]]


def is_value(text: str) -> bool:
    """Whether a cell holds a number, an amount or a day rather than words."""
    return bool(text) and (text[-1:].isdigit() or bool(_NUMBER.fullmatch(text)))


def _table(grid: CellGrid) -> DocumentTable | None:
    """The table of one grid; None where it has no row below its headings or one column only."""
    titles, start = _titles(grid)
    header = len(_headings(grid.cells[start:], grid.header))
    first = start + header
    body, lines = grid.cells[first:], grid.lines[first:]
    if len(body) < (1 if header else 2) or len(body[0]) < 2:
        return None
    columns = columns_of(grid.cells[start:first], len(body[0]))
    ends = _footnotes(body)
    totals = _totals(body)
    notes = [body[at][0] for at in sorted(ends)]
    notes += [
        f"line {lines[at]} is a total and left out: {' | '.join(body[at])}" for at in sorted(totals)
    ]
    kept = [at for at in range(len(body)) if at not in totals | ends]
    typed = [column_of(column, [body[at][n] for at in kept]) for n, column in enumerate(columns)]
    return DocumentTable(
        name="",
        columns=[column for column, _ in typed],
        rows=[list(row) for row in zip(*(column for _, column in typed), strict=True)],
        lines=[lines[at] for at in kept],
        pages=[grid.pages[first + at] for at in kept] if grid.pages else [],
        title=grid.title or " ".join(titles),
        notes=([*titles] if grid.title else []) + notes,
    )


def _titles(grid: CellGrid) -> tuple[list[str], int]:
    """Rows above the headings that hold one text alone: a title, a unit for all, a source."""
    titles: list[str] = []
    for row in grid.cells[:_MOST_HEADINGS]:
        values = {text for text in row if text}
        if len(values) != 1 or len(row) < 2 or len(grid.cells) <= len(titles) + 2:
            break
        titles.append(values.pop())
    return titles, len(titles)


def _headings(cells: Sequence[Sequence[str]], said: int | None) -> Sequence[Sequence[str]]:
    """The rows of headings at the top."""
    if said is not None and said != 1:
        return cells[:said]
    count = said or int(not _starts_with_data(cells))
    while 0 < count < min(_MOST_HEADINGS, len(cells) - 1) and _needs_more(cells, count):
        count += 1
    return cells[:count]


def _starts_with_data(cells: Sequence[Sequence[str]]) -> bool:
    """Whether the first row has values where the rows below have some too, so is no heading."""
    if len(cells) < 2:
        return True
    first, second = _kinds(cells[:1]), _kinds(cells[1:2])
    both = sum(a and b for a, b in zip(first, second, strict=True))
    return both > 0 and not all(_is_period(text) for text in cells[0] if is_value(text))


def _needs_more(cells: Sequence[Sequence[str]], count: int) -> bool:
    """Whether a row after the headings is one too: the last one spans columns, and under each
    span it tells them apart by texts that are no values."""
    above, row = cells[count - 1], cells[count]
    spans = [at for at in range(1, len(above)) if above[at] and above[at] == above[at - 1]]
    spans += [at for at, text in enumerate(above) if not text]
    if not spans or any(is_value(text) and not _is_period(text) for text in row):
        return False
    names = [(a, b) for a, b in zip(above, row, strict=True)]
    return len(set(names)) > len(set(above)) and len(set(names)) == len(names)


def _is_period(text: str) -> bool:
    return bool(re.fullmatch(r"(?:19|20)\d\d年?|[QH][1-4]|[1-4]季度", text))


def _totals(body: Sequence[Sequence[str]]) -> set[int]:
    """Rows that sum others up, by their label: at the end, or between groups."""
    found = set()
    for at, row in enumerate(body):
        label = next((text for text in row if text), "")
        if at and _TOTAL.fullmatch(label) and any(map(is_value, row)):
            found.add(at)
    return found if len(found) * 2 <= len(body) else set()


def _footnotes(body: Sequence[Sequence[str]]) -> set[int]:
    """Rows at the end that hold one text alone, in the first cell or across: notes, a source."""
    found: set[int] = set()
    for at in range(len(body) - 1, 0, -1):
        values = {text for text in body[at] if text}
        if len(values) != 1 or not body[at][0] or not _FOOTNOTE.match(body[at][0]):
            break
        found.add(at)
    return found


# Types.


@dataclass(frozen=True)
class _Quantity:
    """A number apart from what stands around it."""

    text: str
    unit: str


def column_of(
    column: DocumentColumn, cells: Sequence[str]
) -> tuple[DocumentColumn, list[str | None]]:
    """The column with its type and unit, and its cells as text of that type.

    Args:
        column: By its heading.
        cells: As they stand; empty ones are no value.
    """
    whole = [text or None for text in cells]
    filled = [None if text is None or text.casefold() in NOTHING else text for text in whole]
    distinct = dict.fromkeys(text for text in filled if text is not None)
    kind = _type(distinct)
    if kind != "VARCHAR":
        return replace(column, type=kind), filled
    for change in (_numbers, _days):
        changed = change(list(distinct))
        if changed:
            made, unit = changed
            kind = _type(dict.fromkeys(made.values()))
            if kind != "VARCHAR" and (not unit or not column.unit or unit == column.unit):
                values = [None if text is None else made[text] for text in filled]
                return replace(column, type=kind, unit=column.unit or unit), values
    return column, whole


def _type(distinct: dict[str, None]) -> str:
    """As `infer.text_type`, and fractions of different lengths are numbers too."""
    kind = infer.text_type(distinct)
    if kind.startswith("DECIMAL"):
        return "DOUBLE"
    if kind in ("VARCHAR", "HUGEINT") and distinct:
        if all(map(_PLAIN.fullmatch, distinct)) and len({float(text) for text in distinct}) == len(
            distinct
        ):
            return "DOUBLE"
        return "VARCHAR"
    return "VARCHAR" if kind == "TIMESTAMP WITH TIME ZONE" else kind


def _numbers(distinct: Sequence[str]) -> tuple[dict[str, str], str] | None:
    """Numbers with thousands, signs and one unit for all, as plain numbers and that unit."""
    found = {text: _number(text) for text in distinct}
    numbers = [number for number in found.values() if number]
    units = {number.unit for number in numbers}
    if not numbers or len(numbers) != len(found) or len(units) != 1:
        return None
    return {text: number.text for text, number in found.items() if number}, units.pop()


def _number(text: str) -> _Quantity | None:
    found = _NUMBER.fullmatch(unicodedata.normalize("NFKC", text).strip())
    if not found or bool(found["open"]) != bool(found["close"]):
        return None
    unit = (found["after"] or "").strip()
    if unit and not is_unit(unit):
        return None
    digits = re.sub("[,，]", "", found["digits"])
    if re.match(r"0\d", digits):
        return None
    minus = "-" if found["open"] or ((found["sign"] or "") in ("-", "−") and found["sign"]) else ""
    return _Quantity(minus + digits, unit or found["before"] or "")


def _days(distinct: Sequence[str]) -> tuple[dict[str, str], str] | None:
    """Days as they are written in Chinese, or with points or slashes, the year first."""
    made = {}
    for text in distinct:
        found = _DAY.fullmatch(text)
        if not found:
            return None
        year, month, day = (part for part in found.groups() if part is not None)
        made[text] = f"{year}-{int(month):02d}-{int(day):02d}"
    return made, ""


def cell_value(kind: str, text: str | None) -> int | float | str | None:
    """A cell as SQLite keeps it: days and times as ISO text, truth values as 0 and 1."""
    if text is None or kind == "VARCHAR":
        return text
    plain = texts.cast(kind, text)
    if kind == "BIGINT":
        return int(plain)
    if kind == "DOUBLE":
        return float(plain)
    return int(plain == "true") if kind == "BOOLEAN" else plain
