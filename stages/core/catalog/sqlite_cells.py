"""Stored values of SQLite as text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from stages.core.catalog.sqlite_file import text_of

_NOT_PLAIN = re.compile(rb"[^\x20-\x7e]|[\\'\"]")


def first_distinct(values: Iterable[Any], kind: str, limit: int) -> list[str]:
    """The first distinct values that are not null, as text."""
    found: dict[str, None] = {}
    for value in values:
        if len(found) >= limit:
            break
        text = cell_text(value, kind)
        if text is not None:
            found[text] = None
    return list(found)


def cell_text(value: Any, kind: str) -> str | None:
    """A stored value as the text that DuckDB casts it to, once it is of type ``kind``."""
    if value is None:
        return None
    if isinstance(value, bytes):
        return blob_text(value) if kind == "BLOB" else str(text_of(value))
    return repr(float(value)) if kind == "DOUBLE" or isinstance(value, float) else str(value)


def blob_text(value: bytes) -> str:
    r"""DuckDB's way of casting a blob: what is no plain ASCII, and quotes, as ``\xHH``.

    >>> print(blob_text(b"a\x00'"))
    a\x00\x27
    """
    return _NOT_PLAIN.sub(lambda match: b"\\x%02X" % match[0][0], value).decode("ascii")
