"""Fusion: from features to calibrated probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from stages.core.judge.match import Match
from stages.core.judge.postings import Floats
from stages.core.judge.types import History

#: Weights of the first look, set by hand.
WEIGHTS = {
    "tname_cover": 3.0,
    "name_complete": 1.5,
    "cname_cover": 2.0,
    "column_best": 1.0,
    "cdesc_cover": 1.0,
    "tdesc_cover": 1.5,
    "value_cover": 1.0,
    "share": 2.0,
    "first_share": 2.0,
    "group_rel": 1.0,
    "spelled_share": 2.0,
    "value_whole": 0.5,
}


def first_look(features: Mapping[str, Floats]) -> Floats:
    """Scores from 0 to 1 by hand-set weights: what the look along the keys starts from."""
    raw = np.sum([features[name] * weight for name, weight in WEIGHTS.items()], axis=0)
    made: Floats = (1.0 / (1.0 + np.exp(4.0 - raw))).astype(np.float32)
    return made


def table_probabilities(
    match: Match, features: Mapping[str, Floats], without: frozenset[str] = frozenset()
) -> Floats:
    """Probabilities that the answer needs each table, float32 [T]."""
    own = first_look(features)
    scores = 1e-4 * match.first / (1.0 + match.first)
    scores[match.candidates] = own
    if "neighbour" in without:
        return scores.astype(np.float32)
    return _beside(scores, match)


def _beside(scores: Floats, match: Match) -> Floats:
    """Lift tables beside strong ones: bridges more than neighbours."""
    lifted = scores.copy()
    for at in match.candidates:
        near = np.sort(scores[match.index.near[at]])[::-1]
        if near.size:
            second = near[1] if near.size > 1 else 0.0
            beside = 0.25 * near[0] + 0.5 * second
            lifted[at] = 1 - (1 - scores[at]) * (1 - 0.6 * beside)
    return lifted.astype(np.float32)


def lifted(scores: Floats, names: Sequence[str], history: History) -> Floats:
    """Lift tables that past SQL uses beside the strongest ones."""
    number = {name: at for at, name in enumerate(names)}
    made = scores.copy()
    for at in np.argsort(-scores, kind="stable")[:5]:
        for other, share in history.cooccurrence(names[at]).items():
            if other in number:
                to = number[other]
                made[to] = max(made[to], 1 - (1 - made[to]) * (1 - 0.6 * share * scores[at]))
    return made
