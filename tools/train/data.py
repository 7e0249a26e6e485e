"""Benchmark questions as matrices of features: what training and evaluation learn from.

Databases are dealt into folds by name; all databases of spider-dev stand in fold 0, because
spider-union holds them all. Merged catalogs join databases of one fold only, so that a model
trained without a fold has seen none of its tables.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from stages.core.evaluate.metrics import CatalogFacts
from stages.core.judge.index.texts import AROUND_COLUMN, AROUND_TABLE
from stages.core.judge.match.match import Match
from stages.core.judge.pipeline import matched
from stages.core.judge.rank import column_features, set_model
from stages.core.judge.rank import scores as rank_scores
from stages.core.judge.rank.table_features import table_features
from stages.core.records import Table
from tools.bench.data import Case, Data

FOLDS = 5
#: Questions measured of each set (all where None), and learned from.
TRAIN_SETS: dict[str, int | None] = {
    "bird-train": None,
    "snails-native": None,
    "spider-train": 1500,
    "spider-dev": None,
    "spider-syn-dev": 400,
    "cspider-dev": None,
    "snails-regular": None,
    "spider2-lite": None,
}
LEARNED = {
    "bird-train": 2500,
    "spider-train": 800,
    "spider-dev": 800,
    "cspider-dev": 700,
    "snails-regular": 200,
    "spider-syn-dev": 250,
}
#: Questions of one database that one process takes at a time.
AT_A_TIME = 60
MERGED = {"spider": 14, "bird-train": 8, "snails-native": 2, "spider2-lite": 4}


@dataclass
class Columns:
    """One question's columns of needed and likely tables: ``x`` float32 [C, F], ``gold`` bool [C];
    ``names`` are those of the features."""

    x: np.ndarray[Any, Any]
    gold: np.ndarray[Any, Any]
    names: list[str]


@dataclass
class Rows:
    """One question's candidates.

    Args:
        case: The question. ``fold``: the fold of its database.
        x: float32 [K, F]. ``gold``: bool [K]. ``lost``: gold tables that are no candidates.
        names: Names of the features.
        n_tables: Tables of the catalog.
        around: What the candidates say together; ``lowered`` what being copies takes from them.
        tokens: Tokens of the candidates, and ``all_tokens`` of the whole catalog.
        learned: Whether models learn from the question.
    """

    case: Case
    fold: int
    x: np.ndarray[Any, Any]
    gold: np.ndarray[Any, Any]
    lost: int
    names: list[str]
    n_tables: int
    tables: np.ndarray[Any, Any]
    kind: str
    columns: Columns
    table_names: list[str]
    around: set_model.SetContext
    lowered: np.ndarray[Any, Any]
    tokens: np.ndarray[Any, Any]
    all_tokens: int
    learned: bool = True


def hash_of(text: str) -> int:
    """A number from 0 to 255 that only the text decides."""
    return hashlib.sha256(text.lower().encode()).digest()[0]


def fold_of(db: str, dev: frozenset[str]) -> int:
    """The fold of a database: 0 for those of spider-dev, else by the hash of its name."""
    if db in dev:
        return 0
    return hash_of(db) % FOLDS


def dev_databases(data: Data) -> frozenset[str]:
    """Databases of spider-dev."""
    return frozenset(case.db for case in data.cases("spider-dev"))


def rows_of(case: Case, tables: Sequence[Table], fold: int, kind: str) -> Rows:
    """Features of one question's candidates, by the path that inference takes."""
    match = matched(case.task, tables)
    features = table_features(match)
    names = [match.index.names[at].lower() for at in match.candidates]
    wanted = {name.lower() for name in case.gold}
    gold = np.array([name in wanted for name in names])
    features = rank_scores.with_graph_features(match, features)
    x = np.stack(list(features.values()), axis=1).astype(np.float32)
    lost = len(wanted) - int(gold.sum())
    return Rows(
        case,
        fold,
        x,
        gold,
        lost,
        list(features),
        len(tables),
        match.candidates,
        kind,
        columns_of(case, match, gold, features["p"]),
        names,
        packed(match),
        rank_scores.demote_copies(match, np.zeros(len(names), dtype=np.float32)),
        *tokens_of(tables, match),
    )


def packed(match: Match) -> set_model.SetContext:
    """What all candidates say together, in half the room."""
    near = set_model.set_context(match, np.arange(len(match.candidates)))
    return replace(near, gain=near.gain.astype(np.float16))


_costs: dict[int, tuple[Sequence[Table], dict[str, int]]] = {}


def tokens_of(tables: Sequence[Table], match: Match) -> tuple[np.ndarray[Any, Any], int]:
    """Tokens of each candidate, and of the catalog (`stages.core.evaluate.metrics`), with what
    stands around them in a prompt (`texts.costs_of`)."""
    if id(tables) not in _costs:
        if len(_costs) > 8:
            _costs.clear()
        facts = CatalogFacts(tables, "")
        cost = {
            t["name"]: facts.tokens([t["name"]])
            + round(AROUND_TABLE + AROUND_COLUMN * len(t["columns"]))
            for t in tables
        }
        _costs[id(tables)] = (tables, cost)
    cost = _costs[id(tables)][1]
    own = [cost[match.index.canonical[at]] for at in match.candidates]
    return np.array(own, dtype=np.float32), sum(cost.values())


def columns_of(
    case: Case,
    match: Match,
    gold: np.ndarray[Any, Any],
    first: np.ndarray[Any, Any],
) -> Columns:
    """Features of the columns of needed tables and of the likeliest three others.

    The table's score stands in by the first look; see `train.columns_matrix`.
    """
    if not case.gold_columns or hash_of(case.id) % 2:  # half of the questions are enough
        return Columns(np.zeros((0, 0), dtype=np.float32), np.zeros(0, dtype=bool), [])
    likely = np.argsort(-first, kind="stable")[:4]
    places = np.unique(np.concatenate([np.flatnonzero(gold), likely]))[:12].astype(np.int32)
    rows = column_features.rows_of(match, places)[:400]
    scores = np.zeros(len(match.index.names), dtype=np.float32)
    scores[match.candidates] = first
    features = column_features.column_features(match, rows, scores)
    wanted = {(table.lower(), name.lower()) for table, name in case.gold_columns}
    names = [
        (match.index.names[match.index.column_table[c]].lower(), match.index.columns[c].lower())
        for c in match.columns[rows]
    ]
    x = np.stack(list(features.values()), axis=1).astype(np.float32)
    return Columns(x, np.array([name in wanted for name in names], dtype=bool), list(features))


def single(data: Data, limits: dict[str, int | None], seed: int = 1) -> Iterator[Rows]:
    """Questions on their own catalogs."""
    dev = dev_databases(data)
    for name, limit in limits.items():
        cases = sampled(data.cases(name), limit, seed)
        learned = {case.id for case in sampled(cases, LEARNED.get(name), seed)}
        made = featurised(data, name, cases, dev)
        for row in made:
            row.learned = row.case.id in learned
        yield from made


def featurised(data: Data, kind: str, cases: Sequence[Case], dev: frozenset[str]) -> list[Rows]:
    """The cases as rows, by several processes, in the order of databases and questions."""
    jobs = []
    by_db = sorted(cases, key=lambda case: (case.db, case.id))
    for db, found in groupby(by_db, key=lambda case: case.db):
        fold = 0 if kind == "spider-union" else fold_of(db, dev)
        asked = list(found)
        parts = (asked[at : at + AT_A_TIME] for at in range(0, len(asked), AT_A_TIME))
        jobs += [(data.folder, kind, part, fold) for part in parts]
    with ProcessPoolExecutor() as pool:
        return [row for rows in pool.map(_rows_of_part, jobs) for row in rows]


@cache
def _data(folder: Path) -> Data:
    """The data folder, once a process."""
    return Data(folder)


def _rows_of_part(job: tuple[Path, str, list[Case], int]) -> list[Rows]:
    """Rows of some questions of one database."""
    folder, kind, cases, fold = job
    data = _data(folder)
    return [rows_of(case, data.tables_of(case), fold, kind) for case in cases]


def sampled(cases: list[Case], limit: int | None, seed: int) -> list[Case]:
    """A fixed random part of the cases."""
    if limit is None or limit >= len(cases):
        return cases
    return random.Random(seed).sample(cases, limit)


def merged(data: Data, n_catalogs: int, n_questions: int, seed: int = 2) -> Iterator[Rows]:
    """Questions on catalogs made of many databases of one fold."""
    rng = random.Random(seed)
    dev = dev_databases(data)
    pool = pooled(data, dev)
    for at in range(n_catalogs):
        fold = at % FOLDS
        chosen: list[tuple[str, str, list[Case]]] = []
        for schemas, databases in pool[fold].items():
            n = max(1, round(MERGED[schemas] * rng.choice([0.3, 1, 2.5])))
            picked = rng.sample(sorted(databases), min(n, len(databases)))
            chosen += [(schemas, db, databases[db]) for db in picked]
        yield from _ask_merged(data, chosen, fold, n_questions, rng)


def pooled(data: Data, dev: frozenset[str]) -> dict[int, dict[str, dict[str, list[Case]]]]:
    """Fold → schemas → database → its questions, of moderately sized databases."""
    pool: dict[int, dict[str, dict[str, list[Case]]]] = {
        f: {s: {} for s in MERGED} for f in range(FOLDS)
    }
    for name in (
        "spider-train",
        "spider-dev",
        "cspider-dev",
        "bird-train",
        "snails-native",
        "spider2-lite",
    ):
        schemas = data.info[name]["schemas"].split("/")[1]
        for case in data.cases(name):
            pool[fold_of(case.db, dev)][schemas].setdefault(case.db, []).append(case)
    return pool


def _ask_merged(
    data: Data,
    chosen: list[tuple[str, str, list[Case]]],
    fold: int,
    n_questions: int,
    rng: random.Random,
) -> Iterator[Rows]:
    """One merged catalog and questions on it; half of the catalogs show the database's name."""
    tables: list[Table] = []
    asked: list[Case] = []
    shown = rng.random() < 0.6
    taken: set[str] = set()
    for schemas, db, cases in chosen:
        records = data.tables(f"schemas/{schemas}", db)
        if len(records) > 150:
            continue
        prefix = f"{db}." if shown or any(t["name"].lower() in taken for t in records) else ""
        taken.update(table["name"].lower() for table in records)
        tables += [renamed(table, prefix) for table in records]
        for case in rng.sample(cases, min(len(cases), 6)):
            gold = frozenset(prefix + name for name in case.gold)
            asked.append(Case(case.id, "merged", db, case.task, gold, gold_columns(prefix, case)))
    for case in rng.sample(asked, min(len(asked), n_questions)):
        yield rows_of(case, tables, fold, "merged")


def gold_columns(prefix: str, case: Case) -> frozenset[tuple[str, str]]:
    """The needed columns under their tables' longer names."""
    return frozenset((prefix + table, name) for table, name in case.gold_columns)


def renamed(table: Table, prefix: str) -> Table:
    """A table under a longer name, its keys too."""
    made: Any = dict(table)
    made["name"] = prefix + table["name"]
    made["foreign_keys"] = [
        {**key, "ref_table": prefix + key["ref_table"]} for key in table.get("foreign_keys", ())
    ]
    return made  # type: ignore[no-any-return]


def union(data: Data, limit: int | None = None) -> Iterator[Rows]:
    """spider-union: measured only."""
    made = featurised(
        data, "spider-union", sampled(data.cases("spider-union"), limit, 3), frozenset()
    )
    for row in made:
        row.learned = False
    yield from made


def recall_at(
    rows: Iterable[tuple[Rows, np.ndarray[Any, Any]]], ks: Sequence[int]
) -> dict[int, float]:
    """Strict table recall at k, in percent: every gold table among the first k."""
    hits = dict.fromkeys(ks, 0)
    n = 0
    for row, scores in rows:
        n += 1
        last = last_place(row, scores)
        for k in ks:
            hits[k] += last < k
    return {k: 100.0 * hit / max(n, 1) for k, hit in hits.items()}


def last_place(row: Rows, scores: np.ndarray[Any, Any]) -> int:
    """Place of the gold table that stands lowest, 0 the first; past all where one is lost."""
    if row.lost:
        return 10**6
    order = np.argsort(-scores, kind="stable")
    return int(np.flatnonzero(row.gold[order])[-1])
