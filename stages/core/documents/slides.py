"""Slides: their texts, tables and notes, with the number of the slide for each line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import IO, TYPE_CHECKING

from stages.core.documents.content import CellGrid, Reading, ReadLimits

if TYPE_CHECKING:
    from pptx.shapes.base import BaseShape
    from pptx.table import Table


def read_pptx(stream: IO[bytes], limits: ReadLimits) -> Reading:
    """Lines and grids of a PPTX file; notes follow their slide."""
    from pptx import Presentation

    reading = Reading()
    slides = Presentation(stream).slides
    if len(slides) > limits.pages:
        reading.truncated = True
        reading.warnings.append(
            f"read to {limits.pages:,} of {len(slides):,} slides; the rest is left out"
        )
    for number, slide in enumerate(slides, start=1):
        if number > limits.pages:
            break
        heading = slide.shapes.title
        title = " ".join(heading.text_frame.text.split()) if heading is not None else ""
        _add(reading, number, [f"# {title or f'Slide {number}'}"])
        _shapes(reading, number, title, slide.shapes)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            _add(reading, number, slide.notes_slide.notes_text_frame.text.splitlines())
    return reading


def _add(reading: Reading, number: int, lines: Iterable[str]) -> None:
    for line in lines:
        if line.strip():
            reading.lines.append(line.strip())
            reading.pages.append(number)


def _shapes(reading: Reading, number: int, title: str, shapes: Iterable[BaseShape]) -> None:
    """Texts and tables of shapes, those in groups too."""
    stack = list(shapes)[::-1]
    while stack:
        shape = stack.pop()
        stack += list(getattr(shape, "shapes", ()))[::-1]
        table, frame = getattr(shape, "table", None), getattr(shape, "text_frame", None)
        if shape.has_table and table is not None:
            _table(reading, number, title, table)
        elif frame is not None and " ".join(frame.text.split()) != title:
            _add(reading, number, frame.text.splitlines())


def _table(reading: Reading, number: int, title: str, table: Table) -> None:
    rows = [[_text(cell.text_frame.text) for cell in row.cells] for row in table.rows]
    for at, row in enumerate(table.rows):
        for column, cell in enumerate(row.cells):
            if cell.is_merge_origin:
                for down in range(at, min(at + cell.span_height, len(rows))):
                    for right in range(column, min(column + cell.span_width, len(rows[down]))):
                        rows[down][right] = rows[at][column]
    first = len(reading.lines) + 1
    _add(reading, number, ["| " + " | ".join(row) + " |" for row in rows])
    lines = list(range(first, first + len(rows)))
    header = 1 if table.first_row else None
    reading.grids.append(CellGrid(rows, lines, header, [number] * len(rows), title))


def _text(text: str) -> str:
    return " ".join(text.split())
