"""What is kept: a cut at a probability, and the tables that join what it keeps.

Where the ranking is cut: never at a fixed k, always at a probability.

Which probability, for which target of strict recall, was measured on held-out databases and
stands with the model (tools/train/fit.py). A threshold on calibrated probabilities left more out at
the same recall than cutting by the summed probability of what is left (bird-train at 99 %:
40 % against 24 % of columns).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stages.core.graph import components
from stages.core.judge.index.keys import KeyGraph
from stages.core.judge.index.postings import Floats, Ints
from stages.core.judge.rank import trees

#: Limits where no model was trained: recall first.
_TABLES, _COLUMNS = 0.02, 0.0
#: Tables needed, all together, that no word of the question speaks for, where one speaks for the
#: best: a chance each that was learnt on hundreds of tables would keep every one of ten thousand.
UNTOLD = 3.0


def select(
    scores: Floats,
    recall: float,
    counts: Floats | None = None,
    told: NDArray[np.bool_] | None = None,
) -> NDArray[np.bool_]:
    """Which tables to keep so that a share ``recall`` of questions keeps all it needs.

    Args:
        scores: Probabilities, float32 [T].
        recall: 0…1; at 1 everything is kept, at 0 the best table and its ties.
        counts: How much each table counts beside all (`Index.counts`); each 1 where None.
        told: Whether a word of the question speaks for a table; each where None.

    Returns:
        bool [T]; ties with the last kept table are kept; at least one table is. Where no word
        speaks for the best, nothing is known of any other that none speaks for: all are kept.
    """
    if not len(scores):
        return np.zeros(0, dtype=bool)
    number = len(scores) if counts is None else max(round(float(counts.sum())), 1)
    limit = 0.0 if recall >= 1.0 else min(table_limit(recall, number), float(scores.max()))
    kept: NDArray[np.bool_] = scores >= limit
    if told is None or recall <= 0 or recall >= 1:
        return kept
    if not told[scores == scores.max()].any():
        return kept | ~told
    others = ~told if counts is None else counts[~told]
    return kept & (told | (UNTOLD / max(float(others.sum()), 1.0) >= limit))


SMALL, LINE = 600.0, 12.0
"""Tokens of a catalog that is never folded, and of the line that is left of a folded table."""


def by_cost(
    scores: Floats,
    loss_tokens: float,
    tokens: Floats,
    counts: Floats,
    told: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Which tables to keep because losing them costs more than they do.

    Args:
        scores: Probabilities, float32 [T].
        loss_tokens: Tokens that a needed table is worth; infinite keeps everything.
        tokens: What each table takes whole, float32 [T].
        counts: How much each table counts beside all (`Index.counts`): parts that are shown
            as one take their tokens once.
        told: Whether a word of the question speaks for a table (`select`).

    Returns:
        bool [T]; the best and its ties are kept.
    """
    shown = tokens * counts
    if float(shown.sum()) <= SMALL or not len(scores):
        return np.ones(len(scores), dtype=bool)
    worth = np.maximum(tokens - LINE, 0.0) * counts
    kept: NDArray[np.bool_] = (scores * np.float64(loss_tokens) >= worth) | (scores == scores.max())
    if not told[scores == scores.max()].any():
        return kept | ~told
    untold = UNTOLD / max(float(counts[~told].sum()), 1.0)
    known: NDArray[np.bool_] = told | (untold * loss_tokens >= worth)
    return kept & known


def by_time(kept: NDArray[np.bool_], when: Floats, family: Ints) -> NDArray[np.bool_]:
    """The kept tables with all parts of a family that hold the time asked for where one is
    kept, and without its parts that hold another.

    Args:
        kept: bool [T].
        when: 1 inside the time, -1 outside, 0 without a time (`match.part_hits`).
        family: int32 [T].
    """
    inside = when > 0
    if not inside.any():
        return kept
    size = int(family.max()) + 1
    held, any_kept = np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
    held[family[inside]] = True
    any_kept[family[inside & kept]] = True
    made: NDArray[np.bool_] = (kept | (inside & any_kept[family])) & ~((when < 0) & held[family])
    return made


def table_limit(recall: float, n_tables: int) -> float:
    """The probability below which tables are left."""
    held = trees.model("tables")
    return held.cut_at(recall, n_tables) if held else _TABLES


def column_limit(recall: float, n_tables: int) -> float:
    """The probability below which columns of kept tables are left."""
    held = trees.model("columns")
    return (held.cut_at(recall, n_tables) if held else _COLUMNS) if recall < 1.0 else 0.0


# Tables that join kept ones: a bridge holds no words of the question, and no answer without it.

MOST_PARTS = 24
"""Parts of the kept tables that are looked at, the best first; a cut that keeps hundreds of
tables keeps their bridges by score."""


def add_join_tables(
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
    parts = components([names[at] for at in best_first], keys.neighbours)[:MOST_PARTS]
    found = kept.copy()
    inside = parts[0] if parts else set()
    for part in parts[1:]:
        bridges = _bridges(inside, part, scores, place, keys)
        if bridges:
            found[[place[name] for name in bridges]] = True
            inside |= part | set(bridges)
    return found


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
