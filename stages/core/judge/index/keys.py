"""Keys between tables: declared, inferred by name, inferred by shared values; and what
follows from them: neighbours and bridges.

Declared keys come first; names and values are looked at only between tables that no declared
key joins (DESIGN 10: "the key guard looks at declared keys and shared values before names").
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stages.core.judge.judgment import Edge
from stages.core.judge.language import tokenize
from stages.core.names import fold
from stages.core.text import parted

if TYPE_CHECKING:
    from stages.core.records import Column, Table

#: A name shared by more tables than this joins nothing by itself (``id``, ``name``, ``year``).
MOST_SHARED = 12
#: Tables that may own a shared key name by having it as their primary key or first column.
MOST_OWNERS = 3
#: Letters of a name's end that may stand for the name, in catalogs of at most so many tables.
LEAST_END, MOST_NAMED = 4, 400
#: Last words of a key's name.
KEY_WORDS = frozenset(
    [
        "id",
        "ids",
        "key",
        "code",
        "no",
        "num",
        "number",
        "fk",
        "pk",
        "uuid",
        "guid",
        "sk",
        "cd",
        "nbr",
        "ref",
        "uid",
    ]
)
#: Single words that are the own key of too many tables to join them.
PLAIN = frozenset(
    [
        "name",
        "year",
        "date",
        "month",
        "day",
        "title",
        "type",
        "index",
        "rank",
        "position",
        "language",
        "lang",
    ]
)
#: Values shared, and the share of the smaller side, before values alone join two columns.
LEAST_VALUES, LEAST_SHARE = 3, 0.6


@dataclass(frozen=True)
class KeyGraph:
    """Relations between the tables of one catalog.

    Args:
        edges: All relations, declared first.
        neighbours: Table name → names of the tables it joins.
    """

    edges: tuple[Edge, ...]
    neighbours: Mapping[str, frozenset[str]]

    def bridges(self, tables: Iterable[str]) -> frozenset[str]:
        """Tables outside the given ones that join at least two of them directly."""
        inside = set(tables)
        near = {name for table in inside for name in self.neighbours.get(table, ())}
        return frozenset(t for t in near - inside if len(self.neighbours[t] & inside) >= 2)

    def between(self, tables: Iterable[str]) -> tuple[Edge, ...]:
        """Relations whose both ends are among the given tables."""
        inside = set(tables)
        return tuple(edge for edge in self.edges if edge.left in inside and edge.right in inside)


def key_graph(tables: Sequence[Table]) -> KeyGraph:
    """All relations of a catalog; the order of the tables changes nothing but the order of
    edges."""
    edges = list(declared(tables))
    joined = {frozenset((edge.left, edge.right)) for edge in edges}
    for edge in by_name(tables):
        pair = frozenset((edge.left, edge.right))
        if pair not in joined:
            joined.add(pair)
            edges.append(edge)
    for edge in by_value(tables, joined):
        joined.add(frozenset((edge.left, edge.right)))
        edges.append(edge)
    return graph_of(edges)


def graph_of(edges: Sequence[Edge]) -> KeyGraph:
    """The graph that these relations make."""
    near: dict[str, set[str]] = defaultdict(set)
    for edge in edges:
        near[edge.left].add(edge.right)
        near[edge.right].add(edge.left)
    return KeyGraph(tuple(edges), {name: frozenset(found) for name, found in near.items()})


def declared(tables: Sequence[Table]) -> Iterator[Edge]:
    """Foreign keys of the table lines whose other table is in the catalog (case-blind)."""
    known = {fold(table["name"]): table["name"] for table in tables}
    for table in tables:
        for key in table.get("foreign_keys", ()):
            other = known.get(fold(key["ref_table"]))
            if other is not None and other != table["name"]:
                yield Edge(
                    table["name"],
                    tuple(key["columns"]),
                    other,
                    tuple(key["ref_columns"]),
                    "declared",
                )


def by_name(tables: Sequence[Table]) -> Iterator[Edge]:
    """Columns of equal name that read like keys, and ``<table>_id`` to the table of that name."""
    holders: dict[str, list[tuple[Table, str]]] = defaultdict(list)
    named = {tokenize.compact(" ".join(tokenize.terms(last_name(t["name"])))): t for t in tables}
    sole = _sole_keys(tables)
    for table in tables:
        # A table that declares no key has one where the whole key of another stands (``sid``).
        more = sole if not table.get("foreign_keys") else frozenset()
        for column in table["columns"]:
            if is_key_name(column["name"], table) or tokenize.compact(column["name"]) in more:
                holders[tokenize.compact(column["name"])].append((table, column["name"]))
    for shared in holders.values():
        if len(shared) > 1:
            yield from _star(shared)
    spelled = {tokenize.compact(last_name(t["name"])): t for t in tables}
    for table in tables:
        yield from _to_named(table, named, spelled)


def _sole_keys(tables: Sequence[Table]) -> frozenset[str]:
    """Names of declared primary keys of one column that say more than ``id``."""
    keys = ((table, list(table.get("primary_key", ()))) for table in tables)
    return frozenset(
        tokenize.compact(key[0])
        for table, key in keys
        if len(key) == 1 and is_key_name(key[0], table)
    )


def last_name(name: str) -> str:
    """A table's own name without database and schema.

    >>> last_name("db.public.users")
    'users'
    """
    return name.rsplit(".", 1)[-1]


def is_key_name(name: str, table: Table) -> bool:
    """Whether equal names say that two columns join: the last word of several, or a part of a
    declared key that is no everyday word (``id`` of one table is not ``id`` of another)."""
    parts = tokenize.split(name)
    if len(parts) == 1 and (parts[0] in KEY_WORDS or parts[0] in PLAIN):
        return False
    return name in table.get("primary_key", ()) or (len(parts) > 1 and parts[-1] in KEY_WORDS)


def _star(shared: Sequence[tuple[Table, str]]) -> Iterator[Edge]:
    """Pairs of tables that share a key name: around the table whose own key it is, else all."""
    owners = [(table, name) for table, name in shared if _own_key(table) == [name]]
    centres = owners if 1 <= len(owners) <= MOST_OWNERS else list(shared)
    if len(centres) > MOST_SHARED:
        return
    seen: set[frozenset[str]] = set()
    for left, left_name in shared:
        for right, right_name in centres:
            pair = frozenset((left["name"], right["name"]))
            if len(pair) == 2 and pair not in seen:
                seen.add(pair)
                yield Edge(left["name"], (left_name,), right["name"], (right_name,), "name")


def _own_key(table: Table) -> list[str]:
    """The declared primary key, else the first column."""
    return list(table.get("primary_key", ())) or [c["name"] for c in table["columns"][:1]]


def _to_named(
    table: Table, named: Mapping[str, Table], spelled: Mapping[str, Table]
) -> Iterator[Edge]:
    """``singer_id`` and ``singer`` lead to the table ``singer`` or ``singers``; where there is
    none, ``home_team_id`` to ``team`` and ``hero_id`` to the one table whose name ends so."""
    for column in table["columns"]:
        parts = tokenize.terms(column["name"])
        if len(parts) > 1 and parts[-1] in KEY_WORDS:
            other = _meant(parts[:-1], table, named) or _ending(column["name"], table, spelled)
        else:
            other = _same_name(column, table, named)
        if other is not None and other["columns"]:
            keys = other.get("primary_key") or [other["columns"][0]["name"]]
            yield Edge(table["name"], (column["name"],), other["name"], (keys[0],), "name")


def _meant(parts: Sequence[str], table: Table, named: Mapping[str, Table]) -> Table | None:
    """The table that a key's words name, from all of them to the last alone."""
    for at in range(len(parts)):
        other = named.get("".join(parts[at:]))
        if other is not None and other["name"] != table["name"]:
            return other
    return None


def _same_name(column: Column, table: Table, named: Mapping[str, Table]) -> Table | None:
    """The other table that is called as a column is, where the types of both ends agree."""
    other = named.get(tokenize.compact(" ".join(tokenize.terms(column["name"]))))
    if other is None or other["name"] == table["name"]:
        return None
    key = (other.get("primary_key") or [""])[0]
    types = [each["type"] for each in other["columns"] if each["name"] == key]
    return other if not key or types == [column["type"]] else None


def _ending(column: str, table: Table, spelled: Mapping[str, Table]) -> Table | None:
    """The one other table whose name ends as a key's words do, and that has no such key itself."""
    end = "".join(tokenize.split(column)[:-1])
    if len(end) < LEAST_END or len(spelled) > MOST_NAMED:
        return None
    ending = [
        other
        for name, other in spelled.items()
        if name.removesuffix("s").endswith(end)
        and other["name"] != table["name"]
        and all(tokenize.compact(c["name"]) != tokenize.compact(column) for c in other["columns"])
    ]
    return ending[0] if len(ending) == 1 else None


def by_value(tables: Sequence[Table], joined: set[frozenset[str]]) -> Iterator[Edge]:
    """Columns of two unjoined tables whose seen values overlap (text that is not a number)."""
    holders: dict[str, list[tuple[int, str, int]]] = defaultdict(list)
    for at, table in enumerate(tables):
        for column in table["columns"]:
            texts = _texts(column)
            if len(texts) >= LEAST_VALUES:
                for value in texts:
                    holders[value].append((at, column["name"], len(texts)))
    counts: dict[tuple[int, str, int, str], int] = defaultdict(int)
    sizes: dict[tuple[int, str], int] = {}
    for found in holders.values():
        if 2 <= len(found) <= MOST_SHARED:
            _count_pairs(found, counts, sizes)
    for (left, left_name, right, right_name), count in sorted(counts.items()):
        names = (tables[left]["name"], tables[right]["name"])
        share = count / min(sizes[left, left_name], sizes[right, right_name])
        if count >= LEAST_VALUES and share >= LEAST_SHARE and frozenset(names) not in joined:
            yield Edge(names[0], (left_name,), names[1], (right_name,), "value")


def _count_pairs(
    found: Sequence[tuple[int, str, int]],
    counts: dict[tuple[int, str, int, str], int],
    sizes: dict[tuple[int, str], int],
) -> None:
    """Add one shared value to every pair of columns that hold it."""
    for i, (left, left_name, left_size) in enumerate(found):
        sizes[left, left_name] = left_size
        for right, right_name, _ in found[i + 1 :]:
            if left != right:
                counts[left, left_name, right, right_name] += 1


def _texts(column: Column) -> frozenset[str]:
    """Seen values that could be codes: three letters or more, not numbers."""
    examples = column.get("examples", ())
    if len(examples) < LEAST_VALUES:
        return frozenset()
    seen = (parted(value)[0] for value in examples)
    return frozenset(value for value in seen if len(value) >= 3 and not value[0].isdigit())
