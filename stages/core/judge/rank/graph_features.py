"""The second look: what the first scores say about a table through its neighbours, its
database, and the tables that already explain the question's words."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from stages.core.judge.index.index import Index
from stages.core.judge.index.postings import MOST_JOINS, Distances, Floats, Ints
from stages.core.judge.match.match import Match
from stages.core.judge.rank.table_features import rank_of

NOWHERE = np.zeros(0, dtype=np.int32)


@dataclass(frozen=True)
class CandidateGraph:
    """What stands beside each of K candidates.

    Args:
        near: Numbers, among the candidates, of each one's neighbours.
        group: int [K], databases, numbered from 0.
        gain: float16 [U, K], likeness of units times their share of all weight.
        tables: The candidates by number; ``distances`` tells joins between tables.
        alike: float32 [K, K], how much of their names' terms two tables share (Jaccard).
        into, out: Numbers, among the candidates, of those that point to each one by a key, and
            of those that it points to.
        kin: int [K], same for tables of one cryptic root (``ORCT``, ``RCT1``, ``ARCT``).
    """

    near: tuple[Ints, ...]
    group: Ints
    gain: Floats
    tables: Ints
    distances: Distances
    alike: Floats
    kin: Ints
    into: tuple[Ints, ...]
    out: tuple[Ints, ...]


def candidate_graph(match: Match, keys: bool = True) -> CandidateGraph:
    """Renumber neighbours and databases to the candidates; without ``keys`` no table has any."""
    index, tables = match.index, match.candidates
    standing = index.remember(
        f"beside {keys}", tables, lambda: _candidate_graph(index, tables, keys)
    )
    return replace(standing, gain=weighted_similarity(match, tables).astype(np.float16))


def _candidate_graph(index: Index, tables: Ints, keys: bool) -> CandidateGraph:
    """What stands beside each table whatever is asked: everything but the gain."""
    local = np.full(len(index.names), -1, dtype=np.int32)
    local[tables] = np.arange(len(tables), dtype=np.int32)
    return CandidateGraph(
        tuple(found[(found >= 0) & keys] for found in (local[index.near[at]] for at in tables)),
        np.unique(index.group[tables], return_inverse=True)[1],
        np.zeros((0, len(tables)), dtype=np.float16),
        tables,
        index.distances if keys else Distances((NOWHERE,) * len(index.names)),
        name_jaccard(index, tables),
        np.unique(index.kin[tables], return_inverse=True)[1],
        *(_renumbered(held, tables, local, keys) for held in index.pointed),
    )


def _renumbered(held: tuple[Ints, ...], tables: Ints, local: Ints, keys: bool) -> tuple[Ints, ...]:
    """Lists of tables for each candidate, as places among the candidates."""
    return tuple(found[(found >= 0) & keys] for found in (local[held[at]] for at in tables))


def graph_features(first: Floats, around: CandidateGraph) -> dict[str, Floats]:
    """Features of the candidates from their first probabilities, each float32 [K]."""
    n = len(first)
    best, second, bridge = np.zeros(n), np.zeros(n), np.zeros(n)
    top = first == first.max(initial=0.0)
    to_top = np.zeros(n)
    for at, near in enumerate(around.near):
        if near.size:
            order = near[np.argsort(-first[near], kind="stable")]
            best[at] = first[order[0]]
            if near.size > 1:
                second[at] = first[order[1]]
                bridge[at] = _bridged(order[:4], first, around)
            to_top[at] = float(top[near].any())
    return (
        {
            "p": first,
            "p_rel": first / max(float(first.max(initial=0.0)), 1e-9),
            "p_rank": rank_of(first),
            "p_sum": np.full(n, first.sum()),
            "p_second": np.full(n, np.sort(first)[-2] if n > 1 else 0.0),
            "near_best": best,
            "near_second": second,
            "bridge": bridge,
            "to_top": to_top,
            "new_cover": _new_cover(first, around.gain),
        }
        | _pointed(first, around)
        | _akin(first, around)
        | _on_paths(first, around)
        | _in_group(first, around.group)
    )


def _pointed(first: Floats, around: CandidateGraph) -> dict[str, Floats]:
    """The best scores of the tables that point to each one, as facts to their dictionary, and
    of those that it points to."""
    return {
        name: np.array([first[near].max(initial=0.0) for near in held])
        for name, held in (("into_best", around.into), ("out_best", around.out))
    }


def weighted_similarity(match: Match, tables: Ints) -> Floats:
    """Likeness of each unit with each table times the unit's share of all weight, [U, tables]."""
    made: Floats = match.best[:, tables] * match.idf[:, None] / (float(match.idf.sum()) or 1.0)
    return made


def name_jaccard(index: Index, tables: Ints) -> Floats:
    """Shares of terms in common between the names of tables (Jaccard), 0 on the diagonal."""
    return index.remember("alike", tables, lambda: _name_jaccard(index, tables))


def _name_jaccard(index: Index, tables: Ints) -> Floats:
    """See `alike`."""
    names = index.table_terms
    sizes, n = names.sizes()[tables], len(tables)
    owner = np.repeat(np.arange(n), sizes)
    terms = np.concatenate([names.row(at) for at in tables])
    order = np.argsort(terms, kind="stable")
    owner, terms = owner[order], terms[order]
    begin = np.searchsorted(terms, terms, side="left")
    holders = np.searchsorted(terms, terms, side="right") - begin
    other = np.arange(int(holders.sum())) + np.repeat(begin - np.cumsum(holders) + holders, holders)
    pairs = np.repeat(owner, holders) * n + owner[other]
    both = np.bincount(pairs, minlength=n * n).reshape(n, n).astype(np.float32)
    made: Floats = both / np.maximum(sizes[:, None] + sizes[None, :] - both, 1.0)
    np.fill_diagonal(made, 0.0)
    return made.astype(np.float32)


def _akin(first: Floats, around: CandidateGraph) -> dict[str, Floats]:
    """Scores of tables with like names: heads and their lines, copies, parts."""
    n = len(first)
    groups = int(around.kin.max(initial=-1)) + 1
    best, second = np.zeros(groups), np.zeros(groups)
    np.maximum.at(best, around.kin, first)
    others = np.where(first < best[around.kin], first, 0.0)
    np.maximum.at(second, around.kin, others)
    sizes = np.bincount(around.kin, minlength=groups)[around.kin]
    is_best = first == best[around.kin]
    return {
        "alike_best": (around.alike * first).max(axis=1, initial=0.0),
        "alike_most": around.alike.max(axis=1, initial=0.0) if n else np.zeros(0),
        "kin_best": np.where(
            sizes > 1, np.where(is_best, second[around.kin], best[around.kin]), 0.0
        ),
        "kin_size": np.log(np.maximum(sizes, 1)),
    }


#: Strong tables between which join paths are looked for, and what makes one strong.
MOST_ENDS, LEAST_END = 6, 0.1


def _on_paths(first: Floats, around: CandidateGraph) -> dict[str, Floats]:
    """Whether a table lies on a shortest join path between two strong ones."""
    n = len(first)
    on, total = np.zeros(n), np.zeros(n)
    order = np.argsort(-first, kind="stable")
    ends = [
        int(at) for rank, at in enumerate(order[:MOST_ENDS]) if first[at] >= LEAST_END or rank < 2
    ]
    if n > len(ends) and ends and first[order[len(ends)]] == first[ends[-1]]:
        ends = [
            at for at in ends if first[at] > first[ends[-1]]
        ]  # ties count together or not at all
    away = {end: around.distances.between(int(around.tables[end]), around.tables) for end in ends}
    for i, left in enumerate(ends):
        for right in ends[:i]:
            joins = away[left][right]
            if 2 <= joins <= MOST_JOINS:
                inside = away[left] + away[right] == joins
                inside[[left, right]] = False
                weight = first[left] * first[right] / (joins - 1) / max(inside.sum() - joins + 2, 1)
                on[inside] = np.maximum(on[inside], weight)
                total[inside] += weight
    far = np.full(n, 9.0)
    return {
        "on_path": on,
        "on_paths": total,
        "to_first": away[ends[0]].clip(max=6) if ends else far,
        "to_second": away[ends[1]].clip(max=6) if len(ends) > 1 else far,
    }


def _bridged(order: Ints, first: Floats, around: CandidateGraph) -> float:
    """The strongest pair of neighbours that are not keyed to each other: the weaker's score."""
    for i in range(1, len(order)):
        for j in range(i):
            if not (around.near[order[j]] == order[i]).any():
                return float(first[order[i]])
    return 0.0


def _new_cover(first: Floats, gain: Floats) -> Floats:
    """What a table explains of the question that no strictly better table does."""
    order = np.argsort(-first, kind="stable")
    ranked = gain[:, order].astype(np.float32)
    made = np.zeros(len(first), dtype=np.float32)
    if ranked.shape[0]:
        best = np.maximum.accumulate(ranked, axis=1)
        best = np.concatenate([np.zeros_like(best[:, :1]), best], axis=1)
        better = np.searchsorted(-first[order], -first[order], side="left")
        made[order] = np.maximum(ranked - best[:, better], 0.0).sum(axis=0)
    return made


def _in_group(first: Floats, group: Ints) -> dict[str, Floats]:
    """How strong a table's database is by its best table and by all of them."""
    n_groups = int(group.max(initial=-1)) + 1
    best, total = np.zeros(n_groups), np.zeros(n_groups)
    np.maximum.at(best, group, first)
    np.add.at(total, group, first)
    return {
        "group_best": best[group],
        "group_sum": total[group],
        "group_best_rank": rank_of(best)[group],
        "group_sum_rank": rank_of(total)[group],
    }
