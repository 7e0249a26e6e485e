"""The judge's chain: read the question, match, score, look along the keys, cut, explain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stages.core.judge import explain
from stages.core.judge.index.postings import Floats
from stages.core.judge.judgment import History, Judgment, Rules, ValueSearch
from stages.core.judge.match.match import Match, match_catalog
from stages.core.judge.match.values import NO_HITS, as_indexed, hit_columns
from stages.core.judge.question.patterns import is_spelled
from stages.core.judge.question.question import read
from stages.core.judge.rank import scores as rank_scores
from stages.core.judge.rank import select
from stages.core.judge.store import gc_paused, open_index

if TYPE_CHECKING:
    from stages.core.records import Table, Task

#: Tables that hold a value of the question, up to which each of them is kept.
MOST_SHARERS = 2
#: Tables that hold a column of one name, from which the name is no one table's.
MOST_HOLDERS = 3
#: Likeness from which a word says anything about a table.
SPEAKS = 0.3


# Some BLAS kernels raise the flag for "invalid" on sound numbers, which would warn the user.
@gc_paused()
@np.errstate(invalid="ignore")
def decide(
    task: Task,
    tables: Sequence[Table],
    *,
    recall: float,
    loss_tokens: float | None = None,
    without: frozenset[str],
    history: History | None,
    rules: Rules | None,
    index_dir: Path | None,
    seek: ValueSearch | None = None,
    columns: bool = True,
    chosen: frozenset[str] = frozenset(),
) -> Judgment:
    """See `judge`."""
    match = matched(task, tables, without, index_dir, seek)
    scores = table_scores(match, without)
    effect = rules.apply(task.get("question", "")) if rules and "rule" not in without else None
    wanted = chosen | frozenset(effect.add if effect else ())
    if history is not None and "co-occurrence" not in without:
        scores = rank_scores.boost(scores, match.index.canonical, history, wanted)
    told, counts = is_spoken_for(match), match.index.counts
    if loss_tokens is None:
        kept = select.select(scores, recall, counts, told)
    else:
        kept = select.by_cost(scores, loss_tokens, match.index.tokens, counts, told)
    if 0 < recall < 1:
        kept |= spelled_tables(match, without) | holds_named_value(match)
    if recall < 1:
        kept = select.by_time(kept, match.when, match.index.family)
    kept |= [name in wanted for name in match.index.canonical]
    if not without & rank_scores.GRAPH:
        kept = select.add_join_tables(kept, scores, match.index.names, match.index.keys)
    explained = explain.Explainer(match, scores, without, recall)
    return explained.judgment(kept, effect, columns)


def matched(
    task: Task,
    tables: Sequence[Table],
    without: frozenset[str] = frozenset(),
    index_dir: Path | None = None,
    seek: ValueSearch | None = None,
) -> Match:
    """The task's question met with the catalog."""
    index, known = open_index(tables, index_dir)
    question, hits = read(task, without), NO_HITS
    if seek is not None and "value" not in without:
        hits = hit_columns(index, seek(as_indexed(question)))
    return match_catalog(question, index, known, without, hits)


def table_scores(match: Match, without: frozenset[str] = frozenset()) -> Floats:
    """Calibrated probabilities of all tables, float32 [T]."""
    return rank_scores.table_probabilities(match, without)


def spelled_tables(match: Match, without: frozenset[str]) -> NDArray[np.bool_]:
    """Whether the question spells each table's name, or a column that few tables have; bool [T].

    A name counts that stands by itself: no letter or digit of its own kind goes on before or
    after it. Han stands in no spaces, and any other script may stand right beside it.
    """
    index, made = match.index, np.zeros(len(match.index.names), dtype=bool)
    if "name" in without:
        return made
    text = match.question.text
    low = text.lower()
    for at, (own, folded) in enumerate(index.last_names):
        if folded in low and is_spelled(own, text, set(match.question.quoted)):
            made[at] = True
    return made | _held_by_few(match, match.spelled, MOST_HOLDERS)


def holds_named_value(match: Match) -> NDArray[np.bool_]:
    """Whether a table holds a whole value that the question names and few other tables hold.

    Such a table is kept whatever its score; a value inside a longer one says nothing. bool [T].
    """
    low = {column: value.lower() for column, value in match.exact.items()}
    written = set(low.values())
    parts = {value for value in written if any(value in other for other in written - {value})}
    whole = {column: value for column, value in low.items() if value not in parts}
    return _held_by_few(match, whole, MOST_SHARERS)


def _held_by_few(match: Match, hits: Mapping[int, str], most: int) -> NDArray[np.bool_]:
    """Tables with a candidate column of what at most so many tables have; bool [T].

    Args:
        match: The question met with the catalog.
        hits: Candidate column → what was met there.
        most: Tables.
    """
    holders: dict[str, set[int]] = {}
    for column, met in hits.items():
        owner = int(match.index.column_table[match.columns[column]])
        holders.setdefault(met, set()).add(owner)
    made = np.zeros(len(match.index.names), dtype=bool)
    made[[at for found in holders.values() if len(found) <= most for at in found]] = True
    return made


def is_spoken_for(match: Match) -> NDArray[np.bool_]:
    """Whether a word of the question speaks for each table, be it by a name, a description, a
    value or the time it holds; the kind of column that a question asks for is no word. bool [T]."""
    rows = [at for at, unit in enumerate(match.question.units) if unit.origin != "form"]
    made: NDArray[np.bool_] = match.when > 0
    for field, matrix in match.table.items():
        if field not in {"kind", "dname"}:
            made |= (matrix[rows] > SPEAKS).any(axis=0)
    owners = np.searchsorted(match.starts, [*match.exact, *match.spelled], side="right") - 1
    made[match.candidates[owners]] = True
    return made
