"""Word documents, by way of HTML: merged cells become spans there."""

from __future__ import annotations

import io
from typing import IO

from stages.core.documents.content import Reading, ReadLimits
from stages.core.documents.html import read_html


def read_docx(stream: IO[bytes], limits: ReadLimits) -> Reading:
    """Lines and grids of a DOCX file; pictures are left out."""
    import mammoth

    picture = mammoth.images.img_element(lambda _: {"src": ""})
    html = mammoth.convert_to_html(io.BytesIO(stream.read()), convert_image=picture).value
    return read_html(f"<html><body>{html}</body></html>", limits.cells)
