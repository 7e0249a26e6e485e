"""Graphs of names joined by edges: parts, unions and shortest ways, in an order that never varies.

A graph is a mapping from a name to its neighbours; one that has none need not stand in it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

Neighbours: TypeAlias = Mapping[str, Collection[str]]


def components(members: Sequence[str], neighbours: Neighbours) -> list[set[str]]:
    """The parts of the members that are joined within, that of the first member first.

    >>> [sorted(part) for part in components(["c", "a", "b"], {"a": ["b"], "b": ["a"]})]
    [['c'], ['a', 'b']]
    """
    left, parts = dict.fromkeys(members), []
    while left:
        reached, queue = set(), [next(iter(left))]
        while queue:
            name = queue.pop()
            if name in left:
                del left[name]
                reached.add(name)
                queue += sorted(neighbours.get(name, ()))
        parts.append(reached)
    return parts


def shortest_tree(start: str, neighbours: Neighbours) -> dict[str, str]:
    """For every name that edges lead to from a start, the one before it; of ways of one length
    that through the names which sort first.

    >>> shortest_tree("a", {"a": ["b"], "b": ["c"]})
    {'a': '', 'b': 'a', 'c': 'b'}
    """
    came = {start: ""}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        for other in sorted(neighbours.get(here, ())):
            if other not in came:
                came[other] = here
                queue.append(other)
    return came


def way(tree: Mapping[str, str], end: str) -> tuple[str, ...]:
    """The way from the start of a `shortest_tree` to a name in it, both included.

    >>> way({"a": "", "b": "a", "c": "b"}, "c")
    ('a', 'b', 'c')
    """
    found = [end]
    while tree[found[-1]]:
        found.append(tree[found[-1]])
    return tuple(reversed(found))


class Union:
    """Which of the members are connected, as edges come in."""

    def __init__(self, members: Iterable[str]) -> None:
        self.members = set(members)
        self._parent = {name: name for name in self.members}

    def root(self, name: str) -> str:
        """The member that stands for all that this one is connected with."""
        while self._parent[name] != name:
            self._parent[name] = self._parent[self._parent[name]]
            name = self._parent[name]
        return name

    def same(self, left: str, right: str) -> bool:
        """Whether two are connected."""
        return self.root(left) == self.root(right)

    def join(self, left: str, right: str) -> bool:
        """Connect two; False where they were."""
        a, b = sorted((self.root(left), self.root(right)))
        self._parent[b] = a
        return a != b

    def parts(self) -> list[list[str]]:
        """The members in connected parts, all in the order of names."""
        found: dict[str, list[str]] = {}
        for name in sorted(self.members):
            found.setdefault(self.root(name), []).append(name)
        return sorted(found.values())
