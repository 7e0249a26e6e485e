"""Which columns of the likely tables the answer needs."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from stages.core.judge.index.postings import Floats, Ints
from stages.core.judge.index.semantic_types import KINDS
from stages.core.judge.match.match import Match
from stages.core.judge.rank import trees
from stages.core.judge.rank.table_features import column_scores, rank_of, share_of_best

#: Tables whose columns are judged at least, where there are so many.
MOST_TABLES = 15
#: Columns judged of all other kept tables together.
MOST_COLUMNS = 800


def judged_tables(match: Match, scores: Floats, kept: NDArray[np.bool_]) -> Ints:
    """Places (among the candidates) of the tables whose columns are judged: the kept and the
    best."""
    own = scores[match.candidates]
    best = np.argsort(-own, kind="stable")[:MOST_TABLES]
    chosen = kept[match.candidates]
    chosen[best] = True
    return np.flatnonzero(chosen).astype(np.int32)


def rows_of(match: Match, places: Ints) -> Ints:
    """Candidate columns of these tables, ascending."""
    parts = [np.arange(match.starts[at], match.starts[at + 1]) for at in places]
    return np.concatenate([*parts, np.zeros(0, dtype=np.int64)]).astype(np.int32)


def judged_columns(match: Match, places: Ints, scores: Floats, met: NDArray[np.bool_]) -> Ints:
    """All columns of the likeliest of these tables; of the others, keys and the best met."""
    order = places[np.argsort(-scores[match.candidates[places]], kind="stable")]
    whole, rest = rows_of(match, np.sort(order[:MOST_TABLES])), rows_of(match, order[MOST_TABLES:])
    if not rest.size:
        return whole
    known = met | match.index.is_key[match.columns]
    known[[*match.exact, *match.spelled]] = True
    some = rest[known[rest]]
    if len(some) > MOST_COLUMNS:
        some = some[np.argsort(-column_scores(match)[some], kind="stable")[:MOST_COLUMNS]]
    return np.concatenate([whole, np.sort(some)]).astype(np.int32)


def column_features(match: Match, rows: Ints, scores: Floats) -> dict[str, Floats]:
    """Features of candidate columns by name, each float32 [rows].

    Args:
        rows: Columns, by place among the candidates' columns.
        scores: Probabilities of all tables, float32 [T].
    """
    index, columns = match.index, match.columns[rows]
    top = float(match.idf.max(initial=0.0)) or 1.0
    owner = index.column_table[columns]
    name_score = column_scores(match)[rows]
    complete = match.complete[rows]
    made: dict[str, Floats] = {
        f"{name}_cover": match.idf @ matrix[:, rows] / top for name, matrix in match.column.items()
    }
    made["cname_exact"] = match.idf @ (match.column["cname"][:, rows] > 0.99) / top
    made |= {
        "complete": complete,
        "name_score": name_score,
        "in_table": _share_in(name_score, owner, len(index.names)),
        "everywhere": name_score / max(float(name_score.max(initial=0.0)), 1e-9),
        "rank": rank_of(name_score),
        "text": share_of_best(match.column_text[rows]),
        "text_in_table": _share_in(match.column_text[rows], owner, len(index.names)),
        "text_rank": rank_of(match.column_text[rows]),
        "value_whole": _flags(match.exact, len(match.columns))[rows],
        "spelled": _flags(match.spelled, len(match.columns))[rows],
        "any_spelled": np.full(len(rows), float(len(match.spelled) > 0)),
        "key": index.is_key[columns].astype(np.float32),
        "first": (columns == index.column_start[owner]).astype(np.float32),
        "place": np.log1p(columns - index.column_start[owner]),
        "n_columns": np.log1p(np.diff(index.column_start)[owner]),
        "table": scores[owner],
        "table_rank": rank_of(scores)[owner],
    }
    return {k: np.asarray(v, dtype=np.float32) for k, v in (made | _kinds(match, columns)).items()}


def _flags(marked: Collection[int], n: int) -> Floats:
    """1 at the marked places, else 0."""
    made = np.zeros(n, dtype=np.float32)
    made[list(marked)] = 1.0
    return made


def _share_in(score: Floats, owner: Ints, n_tables: int) -> Floats:
    """Each column's score over the best of its table."""
    best = np.full(n_tables, 1e-9)
    np.maximum.at(best, owner, score)
    made: Floats = score / best[owner]
    return made


def _kinds(match: Match, columns: Ints) -> dict[str, Floats]:
    """What kind of thing each column holds, beside what the question's form asks for."""
    bits = match.index.column_kinds[columns]
    made = {f"is_{kind}": ((bits >> at) & 1).astype(np.float32) for at, kind in enumerate(KINDS)}
    form = match.question.form
    made["q_people"] = np.full(len(columns), float(len(match.question.named)))
    for kind in ("date", "year", "average", "total", "person", "place", "most", "count"):
        made[f"q_{kind}"] = np.full(len(columns), float(kind in form))
    return made


def column_probabilities(match: Match, rows: Ints, scores: Floats) -> Floats:
    """Calibrated probabilities of candidate columns, float32 [rows]."""
    features = column_features(match, rows, scores)
    held = trees.model("columns")
    if held is not None:
        return held.probabilities(features)
    own = 0.1 + features["name_score"] + 0.5 * features["spelled"] + 0.3 * features["key"]
    made: Floats = np.minimum(own, 1.0) * scores[match.index.column_table[match.columns[rows]]]
    return made
