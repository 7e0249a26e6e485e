"""Benchmark questions as matrices of features: what train and crossval learn from.

Databases are dealt into folds by name; all databases of spider-dev stand in fold 0, because
spider-union holds them all. Merged catalogs join databases of one fold only, so that a model
trained without a fold has seen none of its tables.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks import Case, Data

from stages.core.judge import columns, fuse
from stages.core.judge.engine import matched
from stages.core.judge.features import table_features
from stages.core.judge.match import Match
from stages.core.records import Table

FOLDS = 5
#: Questions taken of each set: all where None.
TRAIN_SETS: dict[str, int | None] = {
    "bird-train": 1200,
    "snails-native": None,
    "spider-train": 500,
    "spider-dev": 700,
    "spider-syn-dev": 200,
    "cspider-dev": 600,
    "snails-regular": 150,
    "spider2-lite": None,
}
MERGED = {"spider": 14, "bird-train": 8, "snails-native": 2, "spider2-lite": 4}


@dataclass
class Columns:
    """One question's columns of needed and likely tables: ``x`` float32 [C, F], ``gold`` bool [C];
    ``table_at`` is the place of the table's own score among the features."""

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
    features = fuse.look_again(match, features)
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
    )


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
    rows = columns.rows_of(match, places)[:400]
    scores = np.zeros(len(match.index.names), dtype=np.float32)
    scores[match.candidates] = first
    features = columns.column_features(match, rows, scores)
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
        for case in sorted(cases, key=lambda c: c.db):
            yield rows_of(case, data.tables_of(case), fold_of(case.db, dev), name)


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
    for case in sampled(data.cases("spider-union"), limit, 3):
        yield rows_of(case, data.tables_of(case), 0, "spider-union")


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
