"""Typed evidence for tables and columns, in rank order and bounded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stages.core.judge import columns, cut
from stages.core.judge.match import Match
from stages.core.judge.postings import Floats
from stages.core.judge.types import (
    Evidence,
    EvidenceType,
    Judgment,
    RankedColumn,
    RankedTable,
    RuleEffect,
)

if TYPE_CHECKING:
    from stages.core.records import Table

#: Words of one piece of evidence; neighbours named; likeness below which a match says nothing.
MOST_WORDS, MOST_NEAR, LEAST = 5, 3, 0.3
#: Score from which a table speaks for its neighbours.
STRONG = 0.3
_KIND: dict[str, EvidenceType] = {
    "tname": "name",
    "cname": "name",
    "tdesc": "description",
    "cdesc": "description",
    "value": "value",
    "dname": "routing",
}


class Explainer:
    """Turns one match and its scores into a judgment.

    Args:
        match: The question met with the catalog.
        scores: Probabilities, float32 [T].
        without: Channels that are off.
        recall: The target that columns are cut for.
    """

    def __init__(
        self, match: Match, scores: Floats, without: frozenset[str], recall: float
    ) -> None:
        self.match, self.scores, self.without, self.recall = match, scores, without, recall
        self.index = match.index
        self.local = {int(table): at for at, table in enumerate(match.candidates)}
        self.number = {name: at for at, name in enumerate(self.index.names)}
        self.top_idf = float(match.idf.max(initial=0.0)) or 1.0

    def judgment(
        self, kept: NDArray[np.bool_], tables: Sequence[Table], effect: RuleEffect | None
    ) -> Judgment:
        """Everything in rank order; rules have the last word."""
        kept, scores = kept.copy(), self.scores.copy()
        ruled = self._ruled(kept, scores, effect)
        order = np.lexsort((np.arange(len(scores)), -scores, ~kept))
        ranked = tuple(
            RankedTable(
                self.index.names[at],
                round(float(scores[at]), 4),
                bool(kept[at]),
                self._table_evidence(int(at), ruled),
            )
            for at in order
        )
        names = [table.name for table in ranked if table.keep]
        edges = () if "key" in self.without else self.index.keys.between(names)
        ranked_columns = tuple(self._columns(kept, tables, effect))
        return Judgment(ranked, ranked_columns, edges, n_columns=len(self.index.columns))

    def _ruled(
        self, kept: NDArray[np.bool_], scores: Floats, effect: RuleEffect | None
    ) -> dict[int, Evidence]:
        """Apply the rules' tables to ``kept`` and ``scores`` in place."""
        ruled: dict[int, Evidence] = {}
        if effect is None:
            return ruled
        for names, add in ((effect.add, True), (effect.forbid, False)):
            for name in names:
                at = self.number.get(name)
                if at is not None:
                    kept[at] = add
                    scores[at] = max(float(scores[at]), 0.99) if add else 0.0
                    ruled[at] = Evidence("rule", (name,), 1.0 if add else -1.0)
        return ruled

    def _table_evidence(self, at: int, ruled: dict[int, Evidence]) -> tuple[Evidence, ...]:
        """All evidence of one table, the heaviest first."""
        found = [ruled[at]] if at in ruled else []
        if at in self.local:
            whole = list(self._values(self.local[at]))
            kinds = {item.type for item in whole if item.type == "value"}
            found += [item for item in self._matched(at) if item.type not in kinds]
            found += whole
            found += self._near(at)
        return tuple(sorted(found, key=lambda item: (-abs(item.weight), item.type)))

    def _matched(self, at: int) -> Iterator[Evidence]:
        """Words met by the table's names and descriptions."""
        match = self.match
        by_kind: dict[EvidenceType, dict[str, float]] = defaultdict(dict)
        for field, matrix in match.table.items():
            for unit in np.flatnonzero(matrix[:, at] > LEAST):
                word, origin = match.question.units[unit].text, match.question.units[unit].origin
                kind = "glossary" if origin == "glossary" else _KIND[field]
                weight = float(matrix[unit, at] * match.idf[unit])
                by_kind[kind][word] = max(by_kind[kind].get(word, 0.0), weight)
        total = float(match.idf.sum()) or 1.0
        for kind, words in by_kind.items():
            best = sorted(words, key=lambda word: (-words[word], word))[:MOST_WORDS]
            yield Evidence(kind, tuple(best), round(sum(words.values()) / total, 2))

    def _values(self, local: int) -> Iterator[Evidence]:
        """Whole values seen in the table, and names spelled as its columns are."""
        begin, end = self.match.starts[local], self.match.starts[local + 1]
        for hits, kind in ((self.match.exact, "value"), (self.match.spelled, "name")):
            inside = [(at, hits[at]) for at in hits if begin <= at < end]
            if inside:
                words = tuple(dict.fromkeys(word for _, word in inside))[:MOST_WORDS]
                note = self.index.columns[self.match.columns[inside[0][0]]]
                yield Evidence("value" if kind == "value" else "name", words, 0.5, note)

    def _near(self, at: int) -> Iterator[Evidence]:
        """Strong tables that this one is keyed to."""
        if "neighbour" in self.without:
            return
        near = self.index.near[at]
        strong = sorted(near[self.scores[near] >= STRONG], key=lambda o: (-self.scores[o], o))
        if strong:
            names = tuple(self.index.names[other] for other in strong[:MOST_NEAR])
            kind: EvidenceType = "key" if len(strong) > 1 else "neighbour"
            yield Evidence(kind, names, round(0.3 * float(self.scores[strong[0]]), 2))

    def _columns(
        self, kept: NDArray[np.bool_], tables: Sequence[Table], effect: RuleEffect | None
    ) -> Iterator[RankedColumn]:
        """Columns of kept tables that are kept or have evidence, and others with evidence."""
        places = columns.judged_tables(self.match, self.scores, kept)
        keys = columns.key_columns(self.match, tables, places)
        met = self._met_columns()
        rows = columns.judged_columns(self.match, places, self.scores, keys, met)
        chances = columns.column_probabilities(self.match, rows, self.scores, tables, keys)
        limit = cut.column_limit(self.recall, len(self.index.names))
        ruled = _ruled_columns(effect)
        # No column is likelier than its table; whether to keep it is asked as if the table is kept.
        owners = self.index.column_table[self.match.columns[rows]]
        bounded = np.minimum(chances, self.scores[owners])
        for at in np.argsort(-bounded, kind="stable"):
            row, chance = int(rows[at]), float(chances[at])
            column = int(self.match.columns[row])
            table, name = int(self.index.column_table[column]), self.index.columns[column]
            key = column in keys
            keep = bool(kept[table]) and (chance >= limit or key)
            evidence = self._column_evidence(row, met.get(row, ()))
            if key:
                evidence = (*evidence, Evidence("key", (name,), 0.3))
            if (self.index.names[table], name) in ruled:
                keep = ruled[self.index.names[table], name]
                evidence = (Evidence("rule", (name,), 1.0 if keep else -1.0), *evidence)
            if keep or evidence:
                score = round(float(bounded[at]), 4)
                yield RankedColumn(self.index.names[table], name, score, keep, evidence)

    def _met_columns(self) -> dict[int, list[tuple[str, int]]]:
        """Candidate columns that units meet: by which field and unit."""
        weight = (self.match.idf > 0)[:, None]
        met: dict[int, list[tuple[str, int]]] = {}
        for field, matrix in self.match.column.items():
            units, places = np.nonzero((matrix > LEAST) & weight)
            for unit, place in zip(units.tolist(), places.tolist(), strict=True):
                met.setdefault(place, []).append((field, unit))
        return met

    def _column_evidence(self, c: int, met: Sequence[tuple[str, int]]) -> tuple[Evidence, ...]:
        """Evidence of one candidate column; a value or a spelled-out name stands for its words."""
        match = self.match
        words: dict[EvidenceType, dict[str, float]] = {}
        for field, unit in met:
            weight = float(match.column[field][unit, c]) * float(match.idf[unit])
            words.setdefault(_KIND[field], {})[match.question.units[unit].text] = weight
        found = {
            kind: Evidence(
                kind, tuple(w)[:MOST_WORDS], round(min(sum(w.values()) / self.top_idf, 1.0), 2)
            )
            for kind, w in words.items()
        }
        if c in match.exact:
            found["value"] = Evidence("value", (match.exact[c],), 1.0)
        if c in match.spelled:
            found["name"] = Evidence("name", (match.spelled[c],), 1.0, "spelled out")
        return tuple(found.values())


def _ruled_columns(effect: RuleEffect | None) -> dict[tuple[str, str], bool]:
    """Columns that rules name as ``table.column``: whether to keep them."""
    made: dict[tuple[str, str], bool] = {}
    for names, keep in ((effect.add, True), (effect.forbid, False)) if effect else ():
        for name in names:
            table, dot, column = name.rpartition(".")
            if dot:
                made[table, column] = keep
    return made
