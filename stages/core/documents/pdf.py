"""PDF with a text layer: lines, headings and tables by where the characters stand."""

from __future__ import annotations

import ctypes
import math
import re
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stages.core.documents.content import CellGrid, Reading, ReadLimits
from stages.core.documents.layout import (
    Box,
    NoLibrary,
    PageTable,
    joined_text,
    lines_of,
    page_layout,
)

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage

_EDGE = 0.08
"""Share of a page's height from its edges within which running heads stand."""
_HEAD_CHARS = 30
_HEADING = 1.15
"""Times the usual height of a line from which on it is a heading."""
_FEW_CHARS = 5
"""Characters below which a page that holds a picture is a scan."""
_NUMBER = re.compile(
    r"[-–—\s]*(?:(?i:page)\s*|第\s*)?\d{1,4}(?:\s*(?:/|of|页|共)\s*\d{0,4}\s*页?)?[-–—\s]*"
)


_ENDS = (".", "!", "?", ":", ";", "。", "！", "？", "：", "；", "”", '"')


@dataclass
class _PdfPage:
    """One page: what stands on it, and whether it is a picture of text."""

    number: int
    height: float
    parts: list[Box | PageTable] = field(default_factory=list)
    scanned: bool = False


def read_pdf(data: bytes, limits: ReadLimits, *, ocr: bool = False) -> Reading:
    """Lines and grids of a PDF, with the page of each.

    Args:
        data: The file.
        limits: Of pages, time and cells; what is beyond is left out and told.
        ocr: Whether scanned pages are read by character recognition.

    Raises:
        NoLibrary: An extra is not installed.
        ValueError: It is encrypted or broken; the message says which.
    """
    try:
        import pypdfium2
    except ImportError:
        raise NoLibrary("needs pypdfium2: pip install 'winnow-tables[pdf]'") from None
    reading = Reading()
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        locked = "password" in str(error).lower()
        raise ValueError(
            "is encrypted" if locked else "is broken: no PDF that can be read"
        ) from None
    pages = list(_pages(document, limits, reading, ocr=ocr))
    _drop_running_heads(pages)
    _write(pages, reading, limits)
    scanned = [page.number for page in pages if page.scanned]
    if scanned:
        reading.warnings.append(
            f"{_ranges(scanned)} of {len(document):,} are pictures without text and not read"
        )
    return reading


def _pages(
    document: PdfDocument, limits: ReadLimits, reading: Reading, *, ocr: bool
) -> Iterator[_PdfPage]:
    """Pages within the limits of number and time."""
    count, end = len(document), time.monotonic() + 0.7 * limits.seconds
    for at in range(count):
        if at >= limits.pages or time.monotonic() > end:
            reading.truncated = True
            reading.warnings.append(f"read to page {at:,} of {count:,}; the rest is left out")
            return
        page = document[at]
        try:
            yield _page(page, at + 1, reading, ocr=ocr)
        except (ValueError, RuntimeError):
            reading.warnings.append(f"page {at + 1:,} is broken and left out")
        finally:
            page.close()


def _page(page: PdfPage, number: int, reading: Reading, *, ocr: bool) -> _PdfPage:
    text = page.get_textpage()
    turn = _Turn(page, _direction(text))
    chars = list(_chars(text, turn))
    if len(chars) >= _FEW_CHARS or not _has_picture(page):
        return _PdfPage(number, turn.height, page_layout(chars, list(_rules(page, turn))).parts)
    if not ocr:
        return _PdfPage(number, turn.height, scanned=True)
    from stages.core.documents.recognition import recognised

    lines = lines_of(recognised(page))
    reading.warnings.append(
        f"page {number:,} is read by character recognition, its tables as text only"
    )
    return _PdfPage(number, turn.height, [line.box for line in lines], not lines)


def _direction(text: PdfTextPage) -> int:
    """How many degrees most of the text has to be turned to the right to be upright."""
    from pypdfium2 import raw

    angles = Counter(
        round(-math.degrees(raw.FPDFText_GetCharAngle(text, at)) / 90) * 90 % 360
        for at in range(min(text.count_chars(), 500))
    )
    return angles.most_common(1)[0][0] if angles else 0


class _Turn:
    """From the coordinates of a page, y up, to those in which its text is upright, y down."""

    def __init__(self, page: PdfPage, rotation: int) -> None:
        self.rotation = rotation
        left, bottom, right, top = page.get_cropbox()
        self.origin = (left, bottom)
        self.size = (right - left, top - bottom)
        self.height = self.size[self.rotation % 180 == 0]

    def box(self, left: float, bottom: float, right: float, top: float, text: str = "") -> Box:
        """A box as it is seen."""
        one = self._point(left, bottom)
        other = self._point(right, top)
        xs, ys = sorted((one[0], other[0])), sorted((one[1], other[1]))
        return Box(xs[0], ys[0], xs[1], ys[1], text)

    def _point(self, x: float, y: float) -> tuple[float, float]:
        x, y = x - self.origin[0], y - self.origin[1]
        width, height = self.size
        if self.rotation == 90:
            return y, x
        if self.rotation == 180:
            return width - x, y
        if self.rotation == 270:
            return height - y, width - x
        return x, height - y


def _chars(text: PdfTextPage, turn: _Turn) -> Iterator[Box]:
    """Characters with the room that the font gives them; blanks and hidden ones left out."""
    from pypdfium2 import raw

    rect = raw.FS_RECTF()
    seen: set[tuple[str, int, int]] = set()
    blank = ""
    for at in range(text.count_chars()):
        char = chr(raw.FPDFText_GetUnicode(text, at) or 32)
        if char.isspace() or not char.isprintable() or raw.FPDFText_IsGenerated(text, at) == 1:
            blank = " "
            continue
        if not raw.FPDFText_GetLooseCharBox(text, at, ctypes.byref(rect)):
            continue
        place = (char, round(rect.left), round(rect.bottom))
        if rect.right > rect.left and place not in seen:
            seen.add(place)
            yield turn.box(rect.left, rect.bottom, rect.right, rect.top, blank + char)
            blank = ""


def _has_picture(page: PdfPage) -> bool:
    from pypdfium2 import raw

    return any(True for _ in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE]))


def _rules(page: PdfPage, turn: _Turn) -> Iterator[Box]:
    """Straight lines across or down, and filled boxes that are thin."""
    from pypdfium2 import raw

    for path in page.get_objects(filter=[raw.FPDF_PAGEOBJ_PATH]):
        for left, bottom, right, top in _segments(path):
            box = turn.box(left, bottom, right, top)
            if min(box.right - box.left, box.height) < 2.5 < max(box.right - box.left, box.height):
                yield box


def _segments(path: object) -> Iterator[tuple[float, float, float, float]]:
    """The straight parts of a path; a filled one that is thin as a whole."""
    from pypdfium2 import raw

    fill, stroke = ctypes.c_int(), ctypes.c_int()
    raw.FPDFPath_GetDrawMode(path, ctypes.byref(fill), ctypes.byref(stroke))
    if not stroke.value:
        if fill.value:
            yield path.get_bounds()  # type: ignore[attr-defined]
        return
    matrix = path.get_matrix()  # type: ignore[attr-defined]
    x, y = ctypes.c_float(), ctypes.c_float()
    start = last = None
    for at in range(min(raw.FPDFPath_CountSegments(path), 10_000)):
        segment = raw.FPDFPath_GetPathSegment(path, at)
        raw.FPDFPathSegment_GetPoint(segment, ctypes.byref(x), ctypes.byref(y))
        point = matrix.on_point(x.value, y.value)
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            start = point
        elif kind == raw.FPDF_SEGMENT_LINETO and last:
            yield (*last, *point)
        if raw.FPDFPathSegment_GetClose(segment) and start:
            yield (*point, *start)
        last = point


# Pages to lines.


def _drop_running_heads(pages: Sequence[_PdfPage]) -> None:
    """Leave out what stands at the edge of many pages, and page numbers."""
    counts = Counter(text for page in pages for text in {part.text for part in _at_edge(page)})
    many = max(3, len(pages) / 2)
    for page in pages:
        dropped = [
            part
            for part in _at_edge(page)
            if counts[part.text] >= many or _NUMBER.fullmatch(part.text)
        ]
        page.parts = [part for part in page.parts if part not in dropped]


def _at_edge(page: _PdfPage) -> list[Box]:
    edge = _EDGE * page.height
    return [
        part
        for part in page.parts
        if isinstance(part, Box)
        and len(part.text) <= _HEAD_CHARS
        and (part.bottom < edge or part.top > page.height - edge)
    ]


def _write(pages: Sequence[_PdfPage], reading: Reading, limits: ReadLimits) -> None:
    """Lines and grids in order; lines that a paragraph was broken into are one."""
    heights = [part.height for page in pages for part in page.parts if isinstance(part, Box)]
    usual = statistics.median(heights) if heights else 1.0
    title, left = "", limits.cells
    last: Box | None = None
    for page in pages:
        texts = [part for part in page.parts if isinstance(part, Box)]
        for part in page.parts:
            if isinstance(part, PageTable):
                left -= sum(map(len, part.cells))
                if left < 0:
                    reading.truncated = True
                    reading.warnings.append(f"tables from page {page.number:,} on are left out")
                    return
                _table(reading, part, page.number, title)
                last, title = None, ""
                continue
            heading = part.height > _HEADING * usual and len(part.text) < 120
            if last and not heading and _goes_on(last, part, texts):
                reading.lines[-1] = joined_text(reading.lines[-1], part.text)
            else:
                reading.lines.append(f"# {part.text}" if heading else part.text)
                reading.pages.append(page.number)
            title = part.text if heading else title
            last = None if heading else part


def _goes_on(last: Box, part: Box, texts: Sequence[Box]) -> bool:
    """Whether a line goes on with the paragraph above: that one was full, and it is near.

    At the top of a page or a column it does where the line before ends no sentence.
    """
    if "  " in last.text or "  " in part.text:  # in columns
        return False
    if part.top <= last.top:
        return not last.text.endswith(_ENDS)
    margin = max((box.right for box in texts if abs(box.left - last.left) < 40), default=0)
    word = part.text.split(" ", 1)[0][:20]
    width = (part.right - part.left) * len(word) / max(len(part.text), 1)
    if ord(part.text[0]) > 0x2E80:
        width = part.height
    near = part.top - last.bottom < 0.6 * last.height
    return near and margin - last.right < width + 0.3 * part.height


def _table(reading: Reading, table: PageTable, number: int, title: str) -> None:
    first = len(reading.lines) + 1
    reading.lines += ["| " + " | ".join(row) + " |" for row in table.cells]
    pages = [number] * len(table.cells)
    reading.pages += pages
    lines = list(range(first, first + len(table.cells)))
    reading.grids.append(CellGrid(table.cells, lines, table.header, pages, title))


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers of pages in words: ``pages 1-3, 7``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    words = ", ".join("-".join(map(str, run)) for run in runs[:20])
    return f"pages {words}{' and others' if len(runs) > 20 else ''}"
