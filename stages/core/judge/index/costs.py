"""What tables take in a prompt, by the length of their texts: no vocabulary of tokens is loaded.

Four bytes of UTF-8 are about one token of o200k, in English names and in Chinese descriptions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from stages.core.judge.index.postings import Floats
from stages.core.text import parted

if TYPE_CHECKING:
    from stages.core.records import Column, Table

BYTES = 4.0
#: Examples of a column that are shown, and letters of one.
SHOWN, LETTERS = 3, 80


def costs_of(tables: Sequence[Table]) -> Floats:
    """Tokens of each table with its columns, about; float32 [tables]."""
    made = [
        _size(table["name"], table.get("nl_name"), table.get("description"), table.get("comment"))
        + sum(map(_column, table["columns"]))
        for table in tables
    ]
    return (np.array(made, dtype=np.float32) / BYTES).astype(np.float32)


def _column(column: Column) -> int:
    """Bytes of the line that stands for a column."""
    seen = (parted(value)[0][:LETTERS] for value in column.get("examples", ())[:SHOWN])
    told = (column.get("description"), column.get("comment"))
    return _size(column["name"], column["type"], *told, *seen)


def _size(*parts: str | None) -> int:
    """Bytes of some texts and what stands between them."""
    return sum(len(part.encode("utf-8", "replace")) + 1 for part in parts if part)
