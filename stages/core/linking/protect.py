"""Columns that pruning leaves alone whatever is said about them: names, codes, keys.

The seed (004, 3.3) protects what has id, code, name or type in its name or description; a
word counts when it is a whole word of the split name, so that ``width`` and ``valid`` are
not protected for the ``id`` in them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from stages.core.linking.columns import Unit, column_of, units
from stages.core.lookup import fold

if TYPE_CHECKING:
    from stages.core.judge import Edge
    from stages.core.records import Column, Field, Table

WORDS = frozenset(["id", "code", "name", "type"])
"""Words of recognition (seed 004, 3.3)."""

CHINESE = frozenset(["编号", "代码", "编码", "名称", "姓名", "类型"])
"""The same in Chinese."""


_WORD = re.compile(r"(?<![^\W\d_])(?:id|code|name|type)(?![^\W\d_])", re.IGNORECASE)


def is_name_column(name: str, column: Column | Field) -> bool:
    """Whether the column's name or description has one of the words of recognition.

    >>> [is_name_column(n, {"name": n, "type": "T"}) for n in ("CustomerID", "width", "valid")]
    [True, False, False]
    """
    names = (name, str(column.get("nl_name", "")))
    if any(_in_name(text) for text in names if text):
        return True
    texts = (str(column.get("description", "")), str(column.get("comment", "")))
    return any(_WORD.search(text) or _in_chinese(text) for text in texts if text)


def _in_name(text: str) -> bool:
    """Whether a name has such a word; parts that are glued together are told apart."""
    if _WORD.search(text):
        return True
    low = text.lower()
    # Splitting is slow; most names hold none of the words even as a part.
    if any(word in low for word in WORDS):
        from stages.core.judge.words import split

        return not WORDS.isdisjoint(split(text))
    return _in_chinese(text)


def _in_chinese(text: str) -> bool:
    if text.isascii() or not any(word in text for word in CHINESE):
        return False
    from stages.core.judge.words import split

    return not CHINESE.isdisjoint(split(text))


@dataclass(frozen=True)
class Protected:
    """The protected candidate columns of one catalog, each kind made when it is asked for.

    Args:
        judged: The tables that can be deleted.
        tables: All tables of the catalog.
    """

    judged: Sequence[Table]
    tables: Sequence[Table]

    @cached_property
    def names(self) -> frozenset[Unit]:
        """Those with a word of recognition."""
        return frozenset(
            (table["name"], name)
            for table in self.judged
            for name, column in units(table).items()
            if is_name_column(name, column)
        )

    @cached_property
    def keys(self) -> frozenset[Unit]:
        """Those of declared keys."""
        return declared_keys(self.tables)

    @cached_property
    def edges(self) -> Sequence[Edge]:
        """The relations of the key graph, declared or not."""
        from stages.core.judge.keys import key_graph

        return key_graph(self.tables).edges

    @cached_property
    def joining(self) -> frozenset[Unit]:
        """Those that tables are joined by, declared or not."""
        every = {table["name"] for table in self.tables}
        return self.keys | self.beside(every)

    def beside(self, tables: Collection[str]) -> frozenset[Unit]:
        """Those by which others are joined to one of these tables."""
        over: dict[str, set[str]] = {}
        for edge in self.edges:
            if edge.right in tables:
                over.setdefault(edge.left, set()).update(edge.left_columns)
            if edge.left in tables:
                over.setdefault(edge.right, set()).update(edge.right_columns)
        found = (_over(table, over.get(table["name"], set())) for table in self.tables)
        return frozenset[Unit]().union(*found)


def declared_keys(tables: Sequence[Table]) -> frozenset[Unit]:
    """All candidate columns that a declared key runs over, on either side of it."""
    by_name = {fold(table["name"]): table for table in tables}
    found: set[Unit] = set()
    for table in tables:
        own = {column["name"] for column in table["columns"] if column.get("key")}
        own |= set(table.get("primary_key", []))
        for key in table.get("foreign_keys", []):
            own |= set(key["columns"])
            other = by_name.get(fold(key["ref_table"]))
            if other is not None:
                found |= _over(other, set(key["ref_columns"]))
        found |= _over(table, own)
    return frozenset(found)


def _over(table: Table, columns: set[str]) -> set[Unit]:
    """The candidate columns of the table that lie in these columns, in any case."""
    if not columns:
        return set()
    low = set(map(fold, columns))
    return {
        (table["name"], name) for name, column in column_of(table).items() if fold(column) in low
    }
