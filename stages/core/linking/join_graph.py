"""Whether chosen tables are joined by keys, and the shortest join paths where they are not.

Paths lead through the whole catalog, so that a table which pruning let go comes back where it
joins two that are needed (DESIGN 10). The path between two tables depends on the catalog
alone; which pairs are joined follows a minimum spanning tree over the chosen tables (Kou,
Markowsky and Berman 1981: at most twice the joins of the best tree).
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from stages.core.graph import Union, shortest_tree, way
from stages.core.linking.column_refs import group_tables
from stages.core.linking.explore.judgments import ColumnNames

if TYPE_CHECKING:
    from stages.core.judge.index.keys import KeyGraph
    from stages.core.judge.judgment import Edge
    from stages.core.records import Table

_RANK = {"declared": 0, "value": 1, "name": 2}
"""Which of several relations between two tables stands first."""


@dataclass(frozen=True)
class JoinPath:
    """A shortest join path.

    Args:
        tables: Canonical names, both ends included.
        joins: The relations along it; two tables may have several.
    """

    tables: tuple[str, ...]
    joins: tuple[Edge, ...]

    @property
    def ends(self) -> tuple[str, str]:
        """The tables that it connects."""
        return self.tables[0], self.tables[-1]


class Relations:
    """The keys of one catalog, and the groups of tables that are alike.

    Tables with the same set of column names whose names differ in digits alone hold parts of
    one thing: they are stacked, not joined, and count as connected.

    Args:
        tables: All tables; their order changes nothing.
    """

    def __init__(self, tables: Sequence[Table]) -> None:
        from stages.core.judge.index.keys import key_graph

        ordered = sorted(tables, key=lambda table: table["name"])
        self.graph: KeyGraph = key_graph(ordered)
        self.tables: Mapping[str, Table] = {table["name"]: table for table in ordered}
        self._group = {
            name: (number, _without_digits(name))
            for number, found in enumerate(group_tables(ordered))
            for name in found.names
        }
        self._real: dict[str, ColumnNames] = {}

    @cached_property
    def by_pair(self) -> Mapping[frozenset[str], list[Edge]]:
        """All relations of two tables, declared ones first."""
        found: dict[frozenset[str], list[Edge]] = {}
        for edge in sorted(self.graph.edges, key=_order):
            found.setdefault(frozenset((edge.left, edge.right)), []).append(edge)
        return found

    def are_parts_of_one(self, left: str, right: str) -> bool:
        """Whether two tables are parts of one: the same columns, and names alike but for digits."""
        return self._group[left] == self._group[right]

    def column(self, table: str, name: str) -> str | None:
        """A key's column as the table line spells it."""
        if table not in self._real:
            self._real[table] = ColumnNames(self.tables[table])
        return self._real[table].find(name)

    def components(self, chosen: Iterable[str]) -> list[list[str]]:
        """The chosen tables in parts that are joined within, by name."""
        union = Union(chosen)
        self._unite(union)
        return union.parts()

    def _unite(self, union: Union) -> None:
        for edge in self.graph.between(union.members):
            union.join(edge.left, edge.right)
        first: dict[tuple[int, str], str] = {}
        for name in sorted(union.members):
            union.join(first.setdefault(self._group[name], name), name)

    def paths(self, chosen: Collection[str], *, every: bool = False) -> list[JoinPath]:
        """The shortest join paths that connect the chosen tables.

        Args:
            chosen: Canonical names.
            every: A path for every two chosen tables, but for those that lead through
                chosen tables alone. It is a superset of what any choice among the chosen
                tables would need.

        Returns:
            Shortest first; fewer than connect all tables where no key leads on.
        """
        terminals = sorted(chosen)
        if every:
            return list(self._every(terminals))
        union = Union(terminals)
        self._unite(union)
        if len(union.parts()) < 2:
            return []
        came = {name: shortest_tree(name, self.graph.neighbours) for name in terminals}
        pairs = sorted(
            (len(way(came[left], right)), left, right)
            for at, left in enumerate(terminals)
            for right in terminals[at + 1 :]
            if right in came[left] and not union.same(left, right)
        )
        return [self._path(came[a], b) for _, a, b in pairs if union.join(a, b)]

    def _every(self, terminals: Sequence[str]) -> Iterator[JoinPath]:
        inside = set(terminals)
        for at, left in enumerate(terminals):
            came = shortest_tree(left, self.graph.neighbours)
            for right in terminals[at + 1 :]:
                if right in came and not inside.issuperset(way(came, right)):
                    yield self._path(came, right)

    def _path(self, came: Mapping[str, str], end: str) -> JoinPath:
        tables = way(came, end)
        pairs = itertools.pairwise(tables)
        return JoinPath(tables, tuple(e for pair in pairs for e in self.by_pair[frozenset(pair)]))


def _without_digits(name: str) -> str:
    return "".join(char for char in name if not char.isdigit())


def _order(edge: Edge) -> tuple[int, str, tuple[str, ...], str, tuple[str, ...]]:
    return _RANK[edge.how], edge.left, edge.left_columns, edge.right, edge.right_columns


_memo: list[tuple[Sequence[Table], Relations]] = []


def relations_of(tables: Sequence[Table]) -> Relations:
    """The relations of a catalog, found once for the tasks that follow each other on it."""
    if not _memo or _memo[0][0] is not tables:
        _memo[:] = [(tables, Relations(tables))]
    return _memo[0][1]
