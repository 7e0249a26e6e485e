"""Tables judged together: which set of the likeliest tables answers the question as a whole.

Trees score each table for itself, and so cannot see that a join table is of no use without the
table behind it, or that nothing chosen explains a word. Here every set of the likeliest
`MOST_TABLES` gets a log-linear score from what its members say together, and a table's
probability is that of all sets that hold it. The weights (`data/jointly.json`) are fitted by
tools/train/fit.py so that the sets that were needed are the likeliest.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from stages.core.judge.index.index import Index
from stages.core.judge.index.postings import Floats, Ints
from stages.core.judge.match.match import Match
from stages.core.judge.rank.graph_features import name_jaccard, weighted_similarity
from stages.core.judge.rank.probability import logit

#: Tables that are judged together, and of one set.
MOST_TABLES, MOST_MEMBERS = 8, 6
#: Weight of this judgment beside that of each table alone, on the scale of log-odds.
BLEND = 0.75
#: Logits are bounded, so that no table decides by itself.
MOST_LOGIT = 8.0
#: Share of all words below which a table's part is none; words in common from which names are
#: alike.
IDLE, ALIKE = 0.01, 0.5
#: Where the weights stand.
FILE = Path(__file__).parent.parent / "data" / "jointly.json"
#: The features of a set, in the order of their weights.
NAMES = (
    "logit",
    *(f"size_{n}" for n in range(1, MOST_MEMBERS + 1)),
    "size_tables",
    "size_units",
    "parts",
    "apart",
    "cover",
    "unexplained",
    "idle_leaf",
    "idle_inner",
    "alike",
    "spelled_missed",
    "values_missed",
    "best",
    "lowest",
    "highest_out",
    "gap",
)
Flags = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class SetContext:
    """What n tables say about the question and each other.

    Args:
        gain: float32 [U, n], likeness of units times their share of all weight.
        joined: bool [n, n], whether a key joins two tables.
        alike: bool [n, n], whether their names share half of their terms.
        spelled: bool [names, n], which tables have a column that the question spells out.
        values: bool [values, n], which tables hold a whole value of the question.
        n_tables: Tables of the catalog.
    """

    gain: Floats
    joined: Flags
    alike: Flags
    spelled: Flags
    values: Flags
    n_tables: int

    def only(self, places: Ints) -> SetContext:
        """The same for some of the tables, in the order of ``places``."""
        pairs = np.ix_(places, places)
        return SetContext(
            gain=self.gain[:, places],
            joined=self.joined[pairs],
            alike=self.alike[pairs],
            spelled=self.spelled[:, places],
            values=self.values[:, places],
            n_tables=self.n_tables,
        )


def set_context(match: Match, places: Ints) -> SetContext:
    """What candidates (by place) say."""
    index = match.index
    local = {int(place): at for at, place in enumerate(places)}
    # What holds of a set whatever is asked is worked out once, for tables in catalog order.
    order = np.argsort(places)
    rank = np.ix_(np.argsort(order), np.argsort(order))
    tables = match.candidates[places[order]]
    return SetContext(
        gain=weighted_similarity(match, match.candidates[places]).astype(np.float32),
        joined=index.remember("joined", tables, lambda: _key_pairs(index, tables))[rank],
        alike=(name_jaccard(index, tables) >= ALIKE)[rank],
        spelled=_holders(match, match.spelled, local),
        values=_holders(match, match.exact, local),
        n_tables=len(index.names),
    )


def _key_pairs(index: Index, tables: Ints) -> Flags:
    """Whether a key joins two of these tables, bool [n, n]."""
    rows = [np.isin(tables, index.near[at]) for at in tables]
    return np.array(rows, dtype=bool).reshape(len(tables), len(tables))


def _holders(match: Match, hits: Mapping[int, str], local: Mapping[int, int]) -> Flags:
    """For each text that columns were hit by, the tables of those columns; texts that none of
    these tables holds say nothing."""
    found: dict[str, set[int]] = {}
    for column, text in hits.items():
        place = int(np.searchsorted(match.starts, column, side="right")) - 1
        if place in local:
            found.setdefault(text, set()).add(local[place])
    made = np.zeros((len(found), len(local)), dtype=bool)
    for row, held in enumerate(found.values()):
        made[row, list(held)] = True
    return made


@lru_cache(maxsize=MOST_TABLES + 1)
def members(n: int) -> Floats:
    """All sets of 1 to `MOST_MEMBERS` of n tables, float32 [sets, n] of 0 and 1."""
    sizes = range(1, min(n, MOST_MEMBERS) + 1)
    chosen = [places for size in sizes for places in itertools.combinations(range(n), size)]
    made = np.zeros((len(chosen), n), dtype=np.float32)
    for row, places in enumerate(chosen):
        made[row, list(places)] = 1.0
    return made


def features(logits: Floats, near: SetContext) -> Floats:
    """Features of all sets, float32 [sets, names].

    Args:
        logits: Log-odds of each table alone, the best first, float32 [n].
        near: What the same tables say together.
    """
    held = members(len(logits))
    inside = held > 0
    size = held.sum(axis=1)
    bounded = np.clip(logits, -MOST_LOGIT, MOST_LOGIT)
    lowest = np.where(inside, bounded, np.inf).min(axis=1)
    highest_out = np.where(inside, -MOST_LOGIT, bounded).max(axis=1)
    parts, leaf, alike_pairs = _shapes(len(logits), near.joined.tobytes(), near.alike.tobytes())
    cover, unexplained, idle = _explained(inside, near.gain)
    columns = {
        "logit": held @ bounded,
        **{f"size_{n}": size == n for n in range(1, MOST_MEMBERS + 1)},
        "size_tables": size * np.log(near.n_tables),
        "size_units": size * np.log1p(len(near.gain)),
        "parts": parts - 1,
        "apart": parts > 1,
        "cover": cover,
        "unexplained": unexplained,
        "idle_leaf": (idle & leaf).sum(axis=1),
        "idle_inner": (idle & ~leaf).sum(axis=1),
        "alike": alike_pairs,
        "spelled_missed": _missed(held, near.spelled),
        "values_missed": _missed(held, near.values),
        "best": (held @ (bounded == bounded[0])) > 0,
        "lowest": lowest,
        "highest_out": highest_out,
        "gap": np.maximum(highest_out - lowest, 0.0),
    }
    return np.stack([columns[name] for name in NAMES], axis=1).astype(np.float32)


@lru_cache(maxsize=256)
def _shapes(n: int, joined: bytes, named: bytes) -> tuple[Floats, Flags, Floats]:
    """Of all sets of n tables: into how many parts each falls, which members have one neighbour
    at most inside, and how many pairs have like names; both arguments are bool [n, n] as bytes."""
    held = members(n)
    keys, names = (np.frombuffer(part, dtype=bool).reshape(n, n) for part in (joined, named))
    pairs: Floats = np.einsum("si,ij,sj->s", held, names.astype(np.float32), held) / 2
    return _parts(held > 0, keys), (held @ keys) <= 1, pairs


def _parts(inside: Flags, joined: Flags) -> Floats:
    """Into how many parts, not joined to each other, each set falls."""
    n = inside.shape[1]
    label = np.where(inside, np.arange(n), n)
    for _ in range(min(n, MOST_MEMBERS) - 1):
        near = np.where(joined[None], label[:, None, :], n).min(axis=2)
        label = np.where(inside, np.minimum(label, near), n)
    made: Floats = ((label == np.arange(n)) & inside).sum(axis=1).astype(np.float32)
    return made


def _explained(inside: Flags, gain: Floats) -> tuple[Floats, Floats, Flags]:
    """Share of the words that each set explains, words it leaves to others, and members that
    explain nothing new."""
    if not len(gain):
        none = np.zeros(len(inside), dtype=np.float32)
        return none, none, inside
    every = np.where(inside[:, None, :], gain[None], 0.0)
    best, most = every.max(axis=2), gain.max(axis=1)
    second = np.partition(every, -2, axis=2)[:, :, -2] if inside.shape[1] > 1 else 0.0 * best
    own = np.where((every >= best[:, :, None]) & inside[:, None, :], (best - second)[:, :, None], 0)
    left = ((best < 0.5 * most) & (most > IDLE)).sum(axis=1)
    return best.sum(axis=1), left.astype(np.float32), inside & (own.sum(axis=1) < IDLE)


def _missed(held: Floats, holders: Flags) -> Floats:
    """How many texts have no holder in each set."""
    made: Floats = ((held @ holders.T.astype(np.float32)) == 0).sum(axis=1)
    return made


@lru_cache(maxsize=1)
def weights() -> Floats | None:
    """The shipped weights, in the order of the features; None before they were fitted."""
    if not FILE.exists():
        return None
    held = orjson.loads(FILE.read_bytes())
    return np.array([held[name] for name in NAMES], dtype=np.float64)


def save(fitted: Iterable[float], path: Path) -> None:
    """Write weights by the names of their features."""
    held = {name: round(float(value), 5) for name, value in zip(NAMES, fitted, strict=True)}
    path.write_bytes(orjson.dumps(held, option=orjson.OPT_INDENT_2) + b"\n")


def blended_log_odds(logits: Floats, near: SetContext, fitted: Floats) -> Floats:
    """Log-odds that the answer needs each table, judged together and blended with its own."""
    total = features(logits, near) @ fitted
    share = np.exp(total - total.max())
    together = share @ members(len(logits)) / share.sum()
    made: Floats = (1 - BLEND) * logits + BLEND * logit(together, 1e-5)
    return made


def top_with_ties(logits: Floats) -> Ints:
    """Places of the tables to judge together, the best first; equal ones all or none."""
    order = np.argsort(-logits, kind="stable")
    if len(order) > MOST_TABLES and logits[order[MOST_TABLES]] == logits[order[MOST_TABLES - 1]]:
        order = order[logits[order] > logits[order[MOST_TABLES]]]
    return order[:MOST_TABLES]


def judge_together(match: Match, logits: Floats) -> Floats:
    """The log-odds of all candidates, those of the likeliest judged together, float32 [K]."""
    fitted = weights()
    if fitted is None or len(logits) < 2:
        return logits
    places = top_with_ties(logits)
    if len(places) < 2:
        return logits
    made = logits.copy()
    made[places] = blended_log_odds(logits[places], set_context(match, places), fitted)
    return made
