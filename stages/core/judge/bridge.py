"""Tables that join kept ones: a bridge holds no words of the question, and no answer without it.

Where two kept tables are not connected by the keys among the kept tables, and one table or two
join them, these are kept too, whatever their scores.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stages.core.judge.keys import KeyGraph
from stages.core.judge.postings import Floats

MOST_PARTS = 24
"""Parts of the kept tables that are looked at, the best first; a cut that keeps hundreds of
tables keeps their bridges by score."""


def joined(
    kept: NDArray[np.bool_], scores: Floats, names: Sequence[str], keys: KeyGraph
) -> NDArray[np.bool_]:
    """The kept tables and the bridges between their parts.

    Args:
        kept: bool [T].
        scores: Probabilities, float32 [T]; the part of the best table is joined to first.
        names: Canonical names [T].
        keys: Relations between the tables.

    Returns:
        bool [T]; nothing that was kept is left out.
    """
    place = {name: at for at, name in enumerate(names)}
    best_first = [int(at) for at in np.argsort(-scores, kind="stable") if kept[at]]
    parts = _parts([names[at] for at in best_first], keys)[:MOST_PARTS]
    found = kept.copy()
    inside = parts[0] if parts else set()
    for part in parts[1:]:
        bridges = _bridges(inside, part, scores, place, keys)
        if bridges:
            found[[place[name] for name in bridges]] = True
            inside |= part | set(bridges)
    return found


def _parts(ranked: Sequence[str], keys: KeyGraph) -> list[set[str]]:
    """The connected parts of the kept tables, that of the best table first."""
    left, parts = dict.fromkeys(ranked), []
    while left:
        reached, queue = set(), [next(iter(left))]
        while queue:
            name = queue.pop()
            if name in left:
                del left[name]
                reached.add(name)
                queue += sorted(keys.neighbours.get(name, ()))
        parts.append(reached)
    return parts


def _bridges(
    inside: set[str], part: set[str], scores: Floats, place: dict[str, int], keys: KeyGraph
) -> tuple[str, ...]:
    """The table that joins both sides, else the two; the best by score, then by name."""
    ours, theirs = (
        {near for name in side for near in keys.neighbours.get(name, ())} - inside - part
        for side in (inside, part)
    )
    ways: list[tuple[str, ...]] = [(name,) for name in ours & theirs]
    ways = ways or [
        (near, far) for near in ours for far in keys.neighbours.get(near, frozenset()) & theirs
    ]
    ranked = sorted(ways, key=lambda way: (-sum(scores[place[name]] for name in way), way))
    return ranked[0] if ranked else ()
