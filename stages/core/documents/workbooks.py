"""Sheets of workbooks as grids: merged ranges repeated, parted where rows are blank."""

from __future__ import annotations

import datetime
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import IO, TYPE_CHECKING

from stages.core.documents.content import CellGrid, Reading, ReadLimits
from stages.core.documents.grids import is_value

if TYPE_CHECKING:
    from lxml import etree
    from python_calamine import CalamineSheet

    Value = int | float | str | bool | datetime.time | datetime.date | datetime.timedelta

_ODS = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_EMPTY_FORMULA = re.compile(rb"<f\b[^<>]*(?:/>|>[^<]*</f>)\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>")


@dataclass(frozen=True)
class SheetBlock:
    """Cells of a sheet between blank rows.

    Args:
        sheet: Number of the sheet, from 1, hidden ones counted.
        title: Its name, or the text that stands alone above the block; that is a block too.
        cells: Rows of texts; a merged range is repeated in each of its cells.
        rows: For each row its number in the sheet, from 1.
    """

    sheet: int
    title: str
    cells: list[list[str]]
    rows: list[int]


def read_workbook(stream: IO[bytes], limits: ReadLimits) -> Reading:
    """Lines and grids of XLSX, XLS and ODS, with the number of its sheet for each line."""
    reading = Reading()
    for block in sheet_blocks(stream, limits, reading):
        first = len(reading.lines) + 1
        reading.lines += ["| " + " | ".join(row) + " |" for row in block.cells]
        pages = [block.sheet] * len(block.cells)
        reading.pages += pages
        lines = list(range(first, first + len(block.cells)))
        reading.grids.append(CellGrid(block.cells, lines, None, pages, block.title))
    reading.warnings += _without_values(stream)
    return reading


def sheet_blocks(stream: IO[bytes], limits: ReadLimits, reading: Reading) -> Iterator[SheetBlock]:
    """The blocks of all sheets, in order; hidden sheets too, which is told.

    Args:
        stream: The file, seekable.
        limits: Of sheets and cells.
        reading: Gets the warnings.
    """
    from python_calamine import CalamineWorkbook

    left = limits.cells
    with CalamineWorkbook.from_filelike(stream) as book:
        if len(book.sheet_names) > limits.pages:
            reading.truncated = True
            reading.warnings.append(
                f"read to {limits.pages:,} of {len(book.sheet_names):,} sheets; "
                "the rest is left out"
            )
        spans = _spans_of_ods(stream)
        for at, meta in enumerate(book.sheets_metadata[: limits.pages]):
            if not str(meta.typ).endswith("WorkSheet"):
                continue
            if not str(meta.visible).endswith(".Visible"):
                reading.warnings.append(f"sheet {meta.name} is hidden")
            sheet = book.get_sheet_by_index(at)
            cells = _cells(sheet, left)
            for first, last in spans.get(meta.name, ()):
                _repeat(cells, first, last)
            left -= sum(map(len, cells))
            if len(cells) < sheet.total_height:
                reading.truncated = True
                reading.warnings.append(
                    f"sheet {meta.name} is read to row {len(cells):,} of {sheet.total_height:,}"
                )
            yield from _blocks(at + 1, meta.name, cells)


def _cells(sheet: CalamineSheet, most: int) -> list[list[str]]:
    """Texts of a sheet from its first row and column, within a number of cells."""
    rows = most // max(sheet.total_width, 1)
    cells = [[_text(value) for value in row] for row in islice(sheet.iter_rows(), rows)]
    for first, last in sheet.merged_cell_ranges or ():
        _repeat(cells, first, last)
    return cells


def _spans_of_ods(stream: IO[bytes]) -> dict[str, list[tuple[tuple[int, int], tuple[int, int]]]]:
    """Merged ranges of OpenDocument by sheet, first and last cell from 0; calamine gives none."""
    from lxml import etree

    stream.seek(0)
    if not zipfile.is_zipfile(stream):
        return {}
    spans: dict[str, list[tuple[tuple[int, int], tuple[int, int]]]] = {}
    found: list[tuple[tuple[int, int], tuple[int, int]]] = []
    with zipfile.ZipFile(stream) as archive:
        if "content.xml" not in archive.namelist():
            return {}
        tags, row = (f"{_ODS}table", f"{_ODS}table-row"), 0
        with archive.open("content.xml") as part:
            for _, element in etree.iterparse(part, tag=tags, resolve_entities=False):
                if element.tag == tags[0]:
                    spans[element.get(f"{_ODS}name") or ""] = found
                    found, row = [], 0
                else:
                    found += _spans_of_row(element, row)
                    row += int(element.get(f"{_ODS}number-rows-repeated") or 1)
                element.clear()
    return spans


def _spans_of_row(
    row: etree._Element, number: int
) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    column = 0
    for cell in row:
        down = int(cell.get(f"{_ODS}number-rows-spanned") or 1)
        right = int(cell.get(f"{_ODS}number-columns-spanned") or 1)
        if down > 1 or right > 1:
            yield (number, column), (number + down - 1, column + right - 1)
        column += int(cell.get(f"{_ODS}number-columns-repeated") or 1)


def _repeat(cells: list[list[str]], first: tuple[int, int], last: tuple[int, int]) -> None:
    """Write the text of a range's first cell into all of it."""
    if not 0 <= first[0] < len(cells) or not 0 <= first[1] < len(cells[first[0]]):
        return
    text = cells[first[0]][first[1]]
    for row in cells[first[0] : last[0] + 1]:
        for at in range(first[1], min(last[1] + 1, len(row))):
            row[at] = text


def _text(value: Value) -> str:
    """A value as text: whole numbers without a fraction, midnight without a time."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, datetime.datetime):
        whole = (value.hour, value.minute, value.second, value.microsecond) == (0, 0, 0, 0)
        return value.date().isoformat() if whole else value.isoformat(" ")
    return " ".join(str(value).split())


def _blocks(sheet: int, name: str, cells: Sequence[list[str]]) -> Iterator[SheetBlock]:
    """Runs of rows that are not blank; one that goes on below a blank row is not parted."""
    runs: list[list[int]] = []
    blank = True
    for at, row in enumerate(cells):
        if any(row):
            if blank and not (runs and _goes_on(cells[runs[-1][-1]], row)):
                runs.append([])
            runs[-1].append(at)
        blank = not any(row)
    title = name
    for run in runs:
        rows = [cells[at] for at in run]
        yield SheetBlock(sheet, title, rows, [at + 1 for at in run])
        alone = {text for row in rows for text in row if text}
        title = alone.pop() if len(alone) == len(run) == 1 else name


def _goes_on(above: Sequence[str], row: Sequence[str]) -> bool:
    """Whether a row fills the same columns as the one above, with values where it has some."""
    if [bool(text) for text in above] != [bool(text) for text in row]:
        return False
    kinds = [is_value(text) for text in above]
    return any(kinds) and kinds == [is_value(text) for text in row]


def _without_values(stream: IO[bytes]) -> list[str]:
    """A warning of formulas whose values were never saved: they read as empty."""
    stream.seek(0)
    if not zipfile.is_zipfile(stream):
        return []
    count = 0
    with zipfile.ZipFile(stream) as archive:
        for name in archive.namelist():
            if name.startswith("xl/worksheets/") and name.endswith(".xml"):
                count += len(_EMPTY_FORMULA.findall(archive.read(name)))
    if not count:
        return []
    what = f"{count:,} formulas have no saved value and read as empty"
    return [f"{what}; save the file in a spreadsheet program"]
