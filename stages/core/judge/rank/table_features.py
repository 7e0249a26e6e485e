"""Features of candidate tables, relative to the catalog they stand in.

Everything that depends on the size of a catalog is given as a share of the best, as a rank, or
beside the logarithm of the size, so that one model serves from 2 tables to 2,500.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from stages.core.judge.index.keys import last_name
from stages.core.judge.index.postings import Floats, Ints, Postings, counted
from stages.core.judge.index.semantic_types import KINDS
from stages.core.judge.language.tokenize import compact
from stages.core.judge.match.match import Match, completeness

#: Likeness from which a match is the word itself and no variant; from which it says anything.
EXACT, LEAST = 0.99, 0.6
#: Features that are also given as a share of the best and as a rank; values that are few.
COMPARED = ("tname_cover", "cname_cover", "any_cover", "share", "column_best", "name_complete")
FEW = 40


def table_features(match: Match) -> dict[str, Floats]:
    """Features of the candidate tables by name, each float32 [K]."""
    index, cand = match.index, match.candidates
    own = {name: matrix[:, cand] for name, matrix in match.table.items()}
    total = float(match.idf.sum()) or 1.0
    made: dict[str, Floats] = {}
    for name, matrix in own.items():
        made[f"{name}_cover"] = match.idf @ matrix / total
    exact = {name: np.where(own[name] > EXACT, 1.0, 0.0) for name in ("tname", "cname")}
    made["tname_exact"] = match.idf @ exact["tname"] / total
    made["names_exact"] = match.idf @ np.maximum(exact["tname"], exact["cname"]) / total
    best = match.best[:, cand]
    made["any_cover"] = match.idf @ best / total
    made["any_best"] = (match.idf[:, None] * best).max(axis=0, initial=0.0) / (
        float(match.idf.max(initial=0.0)) or 1.0
    )
    made["share"] = _share(match, best, total)
    made["name_complete"] = completeness(index.table_terms, cand, match.met)
    made["name_head"] = heads(index.table_terms, cand, match.met)
    made["first_share"] = share_of_best(match.first[cand])
    made["first_rank"] = rank_of(match.first[cand])
    made["name_spelled"] = _spelled(match)
    made |= _columns(match)
    made |= _texts(match)
    made |= _shape(match)
    made |= _group(match)
    made |= _question_features(match)
    made |= _parts(match)
    compared = np.stack([made[name] for name in COMPARED])
    for name, shares, ranks in zip(
        COMPARED, _shares_of_best(compared), _ranks_of(compared), strict=True
    ):
        made[f"{name}_rel"], made[f"{name}_rank"] = shares, ranks
    return {name: np.asarray(values, dtype=np.float32) for name, values in made.items()}


def _shares_of_best(rows: Floats) -> Floats:
    """`share_of_best` of each row."""
    top = rows.max(axis=1, initial=0.0, keepdims=True)
    made: Floats = rows / np.where(top > 0, top, 1.0)
    return made


def _ranks_of(rows: Floats) -> Floats:
    """`rank_of` each row; many values are sorted, few are compared with each other."""
    if rows.shape[1] > FEW:
        return np.stack([rank_of(row) for row in rows])
    better = (rows[:, None, :] > rows[:, :, None]).sum(axis=2)
    made: Floats = np.log1p(better).astype(np.float32)
    return made


def share_of_best(values: Floats) -> Floats:
    """Each value over the largest; all 0 where nothing is above zero."""
    top = float(values.max(initial=0.0))
    made: Floats = values / (top if top > 0 else 1.0)
    return made


def rank_of(values: Floats) -> Floats:
    """log(1 + places from the top); ties share the better place."""
    order = np.sort(-values)
    return np.log1p(np.searchsorted(order, -values, side="left")).astype(np.float32)


def heads(names: Postings, docs: Ints, met: Floats) -> Floats:
    """The best likeness among each document's name terms."""
    padded = np.append(met[names.doc], 0.0)
    if not len(names.doc):
        return np.zeros(len(docs), dtype=np.float32)
    best = np.maximum.reduceat(padded, names.start[:-1].clip(max=len(names.doc)))
    best = np.where(names.sizes() > 0, best, 0.0)
    return best[docs].astype(np.float32)


def _share(match: Match, best: Floats, total: float) -> Floats:
    """How much of the question only this table explains: units split among the tables they meet."""
    everywhere = match.best**2
    split = best**2 / np.maximum(everywhere.sum(axis=1, keepdims=True), 1e-9)
    made: Floats = match.idf @ split / total
    return made


def _texts(match: Match) -> dict[str, Floats]:
    """How well the texts explain the question, and how much the catalog is described."""
    made: dict[str, Floats] = {}
    cand, n = match.candidates, len(match.candidates)
    for name, scores in match.texts.items():
        made[f"text_{name}"] = share_of_best(scores[cand])
        made[f"text_{name}_rank"] = rank_of(scores[cand])
    ranked = np.sort(match.texts["all"][cand])[::-1]
    lead = (ranked[0] - ranked[1]) / ranked[0] if n > 1 and ranked[0] > 0 else 0.0
    columns = match.index.by_column["cdesc"]
    described = len(np.unique(columns.doc)) / max(len(match.index.columns), 1)
    own = np.zeros(len(match.index.names), dtype=np.float32)
    own[match.index.by_table["tdesc"].doc] = 1.0
    total = float(match.idf.sum()) or 1.0
    names = match.idf @ match.table["tname"][:, cand] / total
    made["text_lead"] = np.full(n, lead)
    made["described"], made["own_described"] = np.full(n, described), own[cand]
    made["names_meet"] = np.full(n, float(names.max(initial=0.0)))
    return made


def _spelled(match: Match) -> Floats:
    """Whether a table's name stands in the question or hint as the schema spells it
    (``Paper.Id``)."""
    written = match.question.identifiers
    names = (compact(last_name(match.index.names[at])) for at in match.candidates)
    return np.fromiter((name in written for name in names), dtype=np.float32)


def column_scores(match: Match) -> Floats:
    """How well each candidate column's name is met: coverage × completeness, float32 [C]."""
    covered = match.idf @ match.column["cname"] / (float(match.idf.max(initial=0.0)) or 1.0)
    made: Floats = covered * match.complete
    return made


def _columns(match: Match) -> dict[str, Floats]:
    """Features from the columns of each table."""
    n = len(match.candidates)
    scores = column_scores(match)
    complete = match.complete
    flags = np.zeros((2, len(scores)), dtype=np.float32)
    flags[0, list(match.exact)] = 1.0
    flags[1, list(match.spelled)] = 1.0
    holders = Counter(match.spelled.values())
    only = np.zeros(len(scores), dtype=np.float32)
    for at, written in match.spelled.items():
        only[at] = 1.0 / holders[written]
    owner = np.repeat(np.arange(n), np.diff(match.starts))
    order = np.lexsort((-scores, owner))
    place = np.arange(len(scores)) - match.starts[owner]
    ranked = scores[order]
    return {
        "column_best": _top(ranked, owner, place, n, 1),
        "column_top3": _top(ranked, owner, place, n, 3),
        "columns_complete": counted(owner, n, (complete > 0.95).astype(np.float32)),
        "value_whole": counted(owner, n, flags[0]),
        "spelled": counted(owner, n, flags[1]),
        "spelled_only": counted(owner, n, only),
        "spelled_share": counted(owner, n, flags[1]) / max(float(flags[1].sum()), 1.0),
    }


def _top(ranked: Floats, owner: Ints, place: Ints, n: int, best: int) -> Floats:
    """Sum of each table's best scores."""
    inside = place < best
    return counted(owner[inside], n, ranked[inside])


def _shape(match: Match) -> dict[str, Floats]:
    """What kind of table it is, whatever is asked."""
    index, cand = match.index, match.candidates
    n = len(cand)
    degree = np.array([len(index.near[at]) for at in cand])
    into, out = (np.array([len(held[at]) for at in cand]) for held in index.pointed)
    return {
        "pointed_to": np.log1p(into),
        "points_to": np.log1p(out),
        "pointed_share": share_of_best(into.astype(np.float32)),
        "n_columns": np.log1p(np.diff(match.starts)),
        "degree": np.log1p(degree),
        "name_terms": index.table_terms.sizes()[cand],
        "log_tables": np.full(n, np.log(len(index.names))),
        "log_units": np.full(n, np.log1p(len(match.question.units))),
    }


def _group(match: Match) -> dict[str, Floats]:
    """How well the database that a table belongs to explains the question as a whole."""
    group = match.index.group
    n_groups = int(group.max()) + 1
    every = match.best
    best = np.zeros((len(every), n_groups), dtype=np.float32)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(n_groups))
    if len(every):
        best = np.maximum.reduceat(every[:, order], starts, axis=1)
    cover = match.idf @ best / (float(match.idf.sum()) or 1.0)
    mine = group[match.candidates]
    return {
        "group_cover": cover[mine],
        "group_rel": share_of_best(cover)[mine],
        "group_rank": rank_of(cover)[mine],
        "group_size": np.log(np.bincount(group)[mine]),
        "log_groups": np.full(len(mine), np.log(n_groups)),
    }


def _question_features(match: Match) -> dict[str, Floats]:
    """The question's form beside what kinds of column the table has."""
    asked, n = match.question, len(match.candidates)
    named = np.maximum(match.table["tname"], match.table["cname"]).max(axis=1, initial=0.0)
    met = {unit.text.lower() for unit, best in zip(asked.units, named, strict=True) if best > LEAST}
    unknown = [run for run in asked.named if run.lower().split()[0] not in met]
    people = sum(1 for run in unknown if len(run.split()) in (2, 3))
    flags = {
        "q_unknown": len(unknown),
        "q_people": people,
        "q_quoted": len(asked.quoted),
        "q_hint": sum(unit.origin == "evidence" for unit in asked.units) > 0,
        **{f"q_{kind}": kind in asked.form for kind in FORMS},
    }
    made = {name: np.full(n, float(value)) for name, value in flags.items()}
    for at, kind in enumerate(KINDS):
        made[f"has_{kind}"] = match.index.kinds[match.candidates, at]
    holders = made["has_person"]
    made["person_wanted"] = (people > 0) * holders / max(float(holders.sum()), 1.0) ** 0.5
    return made


#: Forms of question that are features.
FORMS = ("person", "place", "date", "year", "average", "total")


def _parts(match: Match) -> dict[str, Floats]:
    """Tables split by date or number: whether this part is the one asked for."""
    index, asked = match.index, match.question
    when, which = match.when, match.which
    families = index.family[match.candidates]
    any_hit = np.zeros(int(index.family.max(initial=0)) + 1)
    np.maximum.at(any_hit, index.family, np.maximum(when, which))
    own = np.maximum(when, which)[match.candidates]
    size = np.bincount(index.family)[families]
    return {
        "part_time": when[match.candidates],
        "part_number": which[match.candidates],
        "part_missed": np.where(size > 1, any_hit[families] * (1 - own.clip(0, 1)), 0.0),
        "family_size": np.log(size),
        "q_times": np.full(len(families), float(len(asked.times))),
    }
