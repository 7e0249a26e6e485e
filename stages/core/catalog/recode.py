"""A whole file as text or as UTF-8 bytes, decompressed and decoded while it is read."""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from pathlib import Path

from stages.core.catalog import sampling

_PIECE = 1 << 22  # bytes read at a time


def text_of(path: Path, name: str, errors: str = "strict") -> io.TextIOWrapper:
    """The whole file as text, without a byte order mark.

    Args:
        name: Codec, from the table line's reader.
        errors: What happens to bytes that break it.
    """
    codec = {"utf-8": "utf-8-sig"}.get(name, name)
    file = io.TextIOWrapper(sampling.open_bytes(path), encoding=codec, errors=errors, newline="")
    if name.startswith(("utf-16", "utf-32")) and file.read(1) != "\ufeff":
        file.seek(0)
    return file


def utf8_pieces(path: Path, name: str) -> Iterator[bytes]:
    """The content in UTF-8, without a byte order mark; UTF-8 itself passes unchecked.

    Raises:
        SourceError: The file cannot be opened.
        OSError, EOFError: It cannot be read further on.
    """
    decoder = None if name == "utf-8" else codecs.getincrementaldecoder(name)("replace")
    mark = codecs.BOM_UTF8
    with sampling.open_bytes(path) as file:
        while piece := file.read(_PIECE):
            if decoder:
                piece = decoder.decode(piece).encode("utf-8", "replace")
            yield piece.removeprefix(mark)
            mark = b""
        if decoder:
            yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def is_plain(path: Path, name: str) -> bool:
    """Whether a file is UTF-8 without a byte order mark, as far as its start tells."""
    if name != "utf-8":
        return False
    with sampling.open_bytes(path) as file:
        return file.read(3) != codecs.BOM_UTF8
