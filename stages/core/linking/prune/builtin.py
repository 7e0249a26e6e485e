"""Pruning by evidence alone, and the columns that no pruning touches.

Columns that pruning leaves alone whatever is said about them: names, codes, keys.

The seed (004, 3.3) protects what has id, code, name or type in its name or description; a
word counts when it is a whole word of the split name, so that ``width`` and ``valid`` are
not protected for the ``id`` in them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from stages.core.linking.column_refs import ColumnRef, column_of, column_refs
from stages.core.names import fold

if TYPE_CHECKING:
    from stages.core.judge import Edge
    from stages.core.linking.prune.scores import Scores
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
        from stages.core.judge.language.tokenize import split

        return not WORDS.isdisjoint(split(text))
    return _in_chinese(text)


def _in_chinese(text: str) -> bool:
    if text.isascii() or not any(word in text for word in CHINESE):
        return False
    from stages.core.judge.language.tokenize import split

    return not CHINESE.isdisjoint(split(text))


@dataclass(frozen=True)
class ProtectedColumns:
    """The protected candidate columns of one catalog, each kind made when it is asked for.

    Args:
        judged: The tables that can be deleted.
        tables: All tables of the catalog.
    """

    judged: Sequence[Table]
    tables: Sequence[Table]

    @cached_property
    def names(self) -> frozenset[ColumnRef]:
        """Those with a word of recognition."""
        return frozenset(
            (table["name"], name)
            for table in self.judged
            for name, column in column_refs(table).items()
            if is_name_column(name, column)
        )

    @cached_property
    def keys(self) -> frozenset[ColumnRef]:
        """Those of declared keys."""
        return declared_keys(self.tables)

    @cached_property
    def edges(self) -> Sequence[Edge]:
        """The relations of the key graph, declared or not."""
        from stages.core.judge.index.keys import key_graph

        return key_graph(self.tables).edges

    @cached_property
    def joining(self) -> frozenset[ColumnRef]:
        """Those that tables are joined by, declared or not."""
        every = {table["name"] for table in self.tables}
        return self.keys | self.beside(every)

    def beside(self, tables: Collection[str]) -> frozenset[ColumnRef]:
        """Those by which others are joined to one of these tables."""
        over: dict[str, set[str]] = {}
        for edge in self.edges:
            if edge.right in tables:
                over.setdefault(edge.left, set()).update(edge.left_columns)
            if edge.left in tables:
                over.setdefault(edge.right, set()).update(edge.right_columns)
        found = (_over(table, over.get(table["name"], set())) for table in self.tables)
        return frozenset[ColumnRef]().union(*found)


def declared_keys(tables: Sequence[Table]) -> frozenset[ColumnRef]:
    """All candidate columns that a declared key runs over, on either side of it."""
    by_name = {fold(table["name"]): table for table in tables}
    found: set[ColumnRef] = set()
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


def _over(table: Table, columns: set[str]) -> set[ColumnRef]:
    """The candidate columns of the table that lie in these columns, in any case."""
    if not columns:
        return set()
    low = set(map(fold, columns))
    return {
        (table["name"], name) for name, column in column_of(table).items() if fold(column) in low
    }


# Pruning by evidence alone: what the built-in judge lets go, and what a budget cuts.

STRONG = 0.3
"""Table score from which all columns stay: what is asked of it is often not named as it is."""

WEAK = 0.07
"""Table score from which keys, names and columns with any evidence stay."""

OWN = 0.1
"""Column score from which it stays whatever its table has."""

SCORED = 0.5
"""Table score from which the columns stay that join its neighbours to it."""

MAX_COLUMNS = 2_000
"""Candidate columns above which evidence decides (seed 004, 3.3)."""


def by_evidence(
    guarded: ProtectedColumns, scores: Scores, whole: Collection[str] = ()
) -> dict[str, frozenset[str]]:
    """The candidate columns that stay, by table; a table that is missing goes.

    Args:
        guarded: The tables that can be deleted, with their keys and name columns.
        scores: What the judge thinks of them.
        whole: Tables of which all columns stay: a bridge or a measure has no evidence of its own.
    """
    plain = guarded.names | guarded.joining
    beside = guarded.beside({n for n, score in scores.tables.items() if score >= SCORED})
    found = {}
    for table in guarded.judged:
        kept = frozenset(column_of(table))
        if table["name"] not in whole:
            kept = _staying(table, scores, plain, beside)
        if kept or not table["columns"]:
            found[table["name"]] = kept
    return found


def _staying(
    table: Table, scores: Scores, plain: Collection[ColumnRef], beside: Collection[ColumnRef]
) -> frozenset[str]:
    name, columns = table["name"], column_of(table)
    strength = scores.table(name)
    if strength >= STRONG:
        return frozenset(columns)
    return frozenset(
        unit
        for unit, column in columns.items()
        if (name, unit) in beside
        or (score := scores.column((name, unit), column)) >= OWN
        or (strength >= WEAK and (score > 0 or (name, unit) in plain))
    )


def cut(
    tables: Sequence[Table],
    kept: Mapping[str, frozenset[str]],
    scores: Scores,
    *,
    relevant: Collection[ColumnRef],
    plain: Collection[ColumnRef],
    budget: int,
) -> dict[str, frozenset[str]]:
    """What is left of these tables within the budget: what is relevant, then the best.

    Args:
        tables: The tables that can be cut, in an order of their own.
        kept: What stays of them so far.
        scores: What the judge thinks.
        relevant: Columns that stay at any price, and count.
        plain: Keys and name columns; of a table that scores well they come first.
        budget: Columns to keep of these tables; nothing is cut where no more stay.
    """
    staying = [(table, kept[table["name"]]) for table in tables if table["name"] in kept]
    if sum(len(columns) for _, columns in staying) <= budget:
        return {table["name"]: columns for table, columns in staying}
    found: dict[str, set[str]] = {
        table["name"]: {unit for unit in columns if (table["name"], unit) in relevant}
        for table, columns in staying
    }
    room = budget - sum(map(len, found.values()))
    ranked = sorted(
        (-_worth((table["name"], unit), column, scores, plain), place, table["name"], unit)
        for table, columns in staying
        for place, (unit, column) in enumerate(column_of(table).items())
        if unit in columns and unit not in found[table["name"]]
    )
    for _, _, name, unit in ranked[: max(0, room)]:
        found[name].add(unit)
    return {
        table["name"]: frozenset(found[table["name"]])
        for table, columns in staying
        if found[table["name"]] or not columns
    }


def best_of(table: Table, scores: Scores, plain: Collection[ColumnRef]) -> list[ColumnRef]:
    """The column of a table that a budget cuts last; none where it has no columns."""
    name = table["name"]
    ranked = sorted(
        (-_worth((name, unit), column, scores, plain), place, unit)
        for place, (unit, column) in enumerate(column_of(table).items())
    )
    return [(name, unit) for _, _, unit in ranked[:1]]


def _worth(unit: ColumnRef, column: str, scores: Scores, plain: Collection[ColumnRef]) -> float:
    """What a column is ranked by: its own score, or a share of its table's.

    Keys and names take half, since a table that is needed is joined or named by them.
    """
    share = 0.5 if unit in plain else 0.1
    return max(scores.column(unit, column), scores.table(unit[0]) * share)
