"""Characters of scanned pages, by RapidOCR and the weights that its wheel brings."""

from __future__ import annotations

import importlib
import unicodedata
from typing import TYPE_CHECKING

from stages.core.documents.layout import Box, NoLibrary

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

_SCALE = 2.5
"""Pixels a point: 180 a inch."""
_SURE = 0.5


def recognised(page: PdfPage) -> list[Box]:
    """Characters of a page that is a picture, each with its share of the line it was found in.

    Raises:
        NoLibrary: The extra is not installed.
    """
    try:
        rapidocr = importlib.import_module("rapidocr")
    except ImportError:
        raise NoLibrary("--ocr needs rapidocr: pip install 'winnow-tables[ocr]'") from None
    picture = page.render(scale=_SCALE, draw_annots=False).to_numpy()
    found = rapidocr.RapidOCR()(picture)
    if found.boxes is None:
        return []
    chars: list[Box] = []
    for corners, text, sure in zip(found.boxes, found.txts, found.scores, strict=True):
        if sure >= _SURE:
            xs = [float(x) / _SCALE for x, _ in corners]
            ys = [float(y) / _SCALE for _, y in corners]
            chars += _chars(text, Box(min(xs), min(ys), max(xs), max(ys)))
    return chars


def _chars(text: str, line: Box) -> list[Box]:
    """The characters of a line, as wide as their kind is."""
    widths = [2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text]
    unit = (line.right - line.left) / max(sum(widths), 1)
    made = []
    at = line.left
    for char, width in zip(text, widths, strict=True):
        if not char.isspace():
            made.append(Box(at, line.top, at + unit * width, line.bottom, char))
        at += unit * width
    return made
