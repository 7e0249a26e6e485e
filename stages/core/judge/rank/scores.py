"""Fusion: from features to calibrated probabilities."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from stages.core.judge.index.postings import Floats
from stages.core.judge.judgment import History
from stages.core.judge.match.match import Match
from stages.core.judge.rank import set_model, trees
from stages.core.judge.rank.graph_features import candidate_graph, graph_features
from stages.core.judge.rank.probability import logit, sigmoid
from stages.core.judge.rank.table_features import table_features

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
    "person_wanted": 1.5,
}

#: What being a copy takes from a table's log-odds: where benchmarks have copies, 93 gold tables
#: were originals and 3 copies, and the half of that is on the safe side. Likeness from which a
#: word of its name was said.
COPY, SAID = 2.0, 0.9

#: Tables that speak for those that past SQL uses with them, the strongest; how loud one speaks that
#: a model chose or a rule added, at least; and how far a table that is always used with one is
#: lifted.
SPEAKERS, WANTED, LIFT = 5, 0.5, 0.6

#: Channels without which keys say nothing about tables, and features of routing by first scores.
GRAPH = frozenset({"neighbour", "key"})
#: Features that say nothing where a channel is off, by how their names begin.
OFF = {"routing": "group_", "form": "has_"}
GROUPED = ("group_best", "group_sum", "group_best_rank", "group_sum_rank")


def first_stage_scores(features: Mapping[str, Floats]) -> Floats:
    """Scores from 0 to 1 by hand-set weights: what the look along the keys starts from."""
    raw = np.sum([features[name] * weight for name, weight in WEIGHTS.items()], axis=0)
    made: Floats = sigmoid(raw - 4.0).astype(np.float32)
    return made


def with_graph_features(
    match: Match, features: dict[str, Floats], without: frozenset[str] = frozenset()
) -> dict[str, Floats]:
    """The features of the first look, and those that the key graph adds to them."""
    off = tuple(prefix for channel, prefix in OFF.items() if channel in without)
    features = features | {
        name: np.zeros_like(v) for name, v in features.items() if off and name.startswith(off)
    }
    made = features | graph_features(
        first_stage_scores(features), candidate_graph(match, not without & GRAPH)
    )
    return made | (
        {name: np.zeros_like(made[name]) for name in GROUPED} if "routing" in without else {}
    )


def table_probabilities(match: Match, without: frozenset[str] = frozenset()) -> Floats:
    """Probabilities that the answer needs each table, float32 [T].

    Tables that are no candidates stay below all candidates, in the order of the first score;
    parts of a family that has candidates share the least of those.
    """
    features = with_graph_features(match, table_features(match), without)
    held = trees.model("tables")
    alone = held.log_odds(features) if held else logit(features["p"])
    apart = demote_copies(match, alone)
    together = apart if GRAPH & without else set_model.judge_together(match, apart)
    own = sigmoid(together).astype(np.float32)
    least_own = float(own.min(initial=1.0))
    scores = (0.5 * least_own * match.first / (1.0 + match.first)).astype(np.float32)
    if len(match.candidates) < len(scores):
        families = match.index.family
        least = np.full(int(families.max()) + 1, np.inf, dtype=np.float32)
        np.minimum.at(least, families[match.candidates], own)
        shared = least[families]
        scores = np.where(np.isfinite(shared), np.maximum(shared, scores), scores)
    scores[match.candidates] = own
    return scores


def demote_copies(match: Match, log_odds: Floats) -> Floats:
    """Log-odds with those of copies lowered, but where the question says what makes the copy."""
    made, names = log_odds.copy(), match.index.table_terms
    for place, at in enumerate(match.candidates):
        original = match.index.copy_of[at]
        if original >= 0:
            own = np.setdiff1d(names.row(at), names.row(original))
            if not (match.met[own] >= SAID).any():
                made[place] -= COPY
    return made


def boost(
    scores: Floats, names: Sequence[str], history: History, wanted: Collection[str] = ()
) -> Floats:
    """Lift tables that past SQL uses beside the strongest ones, and beside those that are wanted
    for another reason than their score."""
    number = {name: at for at, name in enumerate(names)}
    best = [int(at) for at in np.argsort(-scores, kind="stable")[:SPEAKERS]]
    voices = {at: float(scores[at]) for at in best}
    for at in (number[name] for name in wanted if name in number):
        voices[at] = max(float(scores[at]), WANTED)
    made = scores.copy()
    for at, voice in voices.items():
        for other, share in history.cooccurrence(names[at]).items():
            if other in number:
                to = number[other]
                made[to] = max(made[to], 1 - (1 - made[to]) * (1 - LIFT * share * voice))
    return made
