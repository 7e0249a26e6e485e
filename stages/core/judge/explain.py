"""Typed evidence for tables and columns, in rank order and bounded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stages.core.judge.channels import BY_FIELD, BY_NAME
from stages.core.judge.index.postings import Floats, Ints
from stages.core.judge.judgment import (
    Edge,
    EvidencePiece,
    EvidenceType,
    Judgment,
    RankedColumn,
    RankedTable,
    RuleEffect,
)
from stages.core.judge.match.match import Match
from stages.core.judge.rank import column_features, select
from stages.core.judge.rank.scores import GRAPH

#: Words of one piece of evidence; neighbours named; likeness below which a match says nothing.
MOST_WORDS, MOST_NEAR, LEAST = 5, 3, 0.3
#: Columns explained that are not kept, the likeliest: more than a section lists (`listed`).
MOST_LEFT = 350
#: Score from which a table speaks for its neighbours.
STRONG = 0.3


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
        self.number = {name: at for at, name in enumerate(self.index.canonical)}
        self.top_idf = float(match.idf.max(initial=0.0)) or 1.0

    def judgment(
        self, kept: NDArray[np.bool_], effect: RuleEffect | None, columns: bool = True
    ) -> Judgment:
        """Everything in rank order, or the tables alone; rules have the last word."""
        kept, scores = kept.copy(), self.scores.copy()
        ruled = self._rule_evidence(kept, scores, effect)
        order = np.lexsort((np.arange(len(scores)), -scores, ~kept))
        matched, spoken = self._matched(), self.local.keys() | ruled.keys()
        ranked = tuple(
            RankedTable(
                self.index.canonical[at],
                round(score, 4),
                keep,
                self._table_evidence(at, ruled, matched) if at in spoken else (),
            )
            for at, score, keep in zip(
                order.tolist(), scores[order].tolist(), kept[order].tolist(), strict=True
            )
        )
        if not columns:
            return Judgment(ranked, (), (), n_columns=len(self.index.columns))
        ranked_columns = tuple(self._columns(kept, effect))
        if self.recall >= 1:
            ranked_columns += tuple(self._unjudged(kept, ranked_columns, _ruled_columns(effect)))
        edges = tuple(self._edges([at for at in order.tolist() if kept[at]]))
        return Judgment(ranked, ranked_columns, edges, n_columns=len(self.index.columns))

    def _edges(self, kept: Sequence[int]) -> Iterator[Edge]:
        """Relations between the kept tables, in canonical names."""
        if "key" in self.without:
            return
        own = {self.index.names[at]: self.index.canonical[at] for at in kept}
        for edge in self.index.keys.between(list(own)):
            left, right = own[edge.left], own[edge.right]
            same = (left, right) == (edge.left, edge.right)
            yield edge if same else replace(edge, left=left, right=right)

    def _rule_evidence(
        self, kept: NDArray[np.bool_], scores: Floats, effect: RuleEffect | None
    ) -> dict[int, EvidencePiece]:
        """Apply the rules' tables to ``kept`` and ``scores`` in place."""
        ruled: dict[int, EvidencePiece] = {}
        if effect is None:
            return ruled
        for names, add in ((effect.add, True), (effect.forbid, False)):
            for name in names:
                at = self.number.get(name)
                if at is not None:
                    kept[at] = add
                    scores[at] = max(float(scores[at]), 0.99) if add else 0.0
                    ruled[at] = EvidencePiece("rule", (name,), 1.0 if add else -1.0)
        return ruled

    def _table_evidence(
        self, at: int, ruled: dict[int, EvidencePiece], matched: dict[int, list[EvidencePiece]]
    ) -> tuple[EvidencePiece, ...]:
        """All evidence of one table, the heaviest first."""
        found = [ruled[at]] if at in ruled else []
        if at in self.local:
            whole = list(self._values(self.local[at]))
            kinds = {item.type for item in whole if item.type == "value"}
            found += [item for item in matched.get(at, ()) if item.type not in kinds]
            found += whole
            found += self._near(at)
        return tuple(sorted(found, key=lambda item: (-abs(item.weight), item.type)))

    def _matched(self) -> dict[int, list[EvidencePiece]]:
        """Words met by each candidate's names and descriptions."""
        match, units = self.match, self.match.question.units
        total = float(match.idf.sum()) or 1.0
        met: dict[int, dict[EvidenceType, dict[str, float]]] = {}
        for field, matrix in match.table.items():
            own = matrix[:, match.candidates].T
            places, rows = np.nonzero(own > LEAST)
            weights = (own[places, rows] * match.idf[rows]).tolist()
            tables = match.candidates[places].tolist()
            for at, row, weight in zip(tables, rows.tolist(), weights, strict=True):
                unit = units[row]
                kind = "glossary" if unit.origin == "glossary" else BY_FIELD[field]
                words = met.setdefault(at, {}).setdefault(kind, {})
                words[unit.text] = max(words.get(unit.text, 0.0), weight)
        return {
            at: [_heaviest(kind, words, total) for kind, words in kinds.items()]
            for at, kinds in met.items()
        }

    def _values(self, local: int) -> Iterator[EvidencePiece]:
        """Whole values seen in the table, and names spelled as its columns are."""
        begin, end = self.match.starts[local], self.match.starts[local + 1]
        for hits, kind in ((self.match.exact, "value"), (self.match.spelled, "name")):
            inside = [(at, hits[at]) for at in hits if begin <= at < end] if hits else []
            if inside:
                words = tuple(dict.fromkeys(word for _, word in inside))[:MOST_WORDS]
                note = self.index.columns[self.match.columns[inside[0][0]]]
                yield EvidencePiece(kind, words, BY_NAME[kind].weight, note)

    def _near(self, at: int) -> Iterator[EvidencePiece]:
        """Strong tables that this one is keyed to."""
        if GRAPH & self.without:
            return
        near = self.index.near[at]
        strong = sorted(near[self.scores[near] >= STRONG], key=lambda o: (-self.scores[o], o))
        if strong:
            names = tuple(self.index.canonical[other] for other in strong[:MOST_NEAR])
            kind: EvidenceType = "key" if len(strong) > 1 else "neighbour"
            yield EvidencePiece(
                kind, names, round(BY_NAME[kind].weight * float(self.scores[strong[0]]), 2)
            )

    def _columns(
        self, kept: NDArray[np.bool_], effect: RuleEffect | None
    ) -> Iterator[RankedColumn]:
        """Columns of kept tables that are kept or have evidence, and others with evidence."""
        places = column_features.judged_tables(self.match, self.scores, kept)
        rows = column_features.judged_columns(self.match, places, self.scores, self._any_met())
        chances = column_features.column_probabilities(self.match, rows, self.scores)
        met = self._met_columns(rows)
        limit = select.column_limit(self.recall, len(self.index.names))
        ruled = _ruled_columns(effect)
        # No column is likelier than its table; whether to keep it is asked as if the table is kept.
        owners = self.index.column_table[self.match.columns[rows]]
        bounded = np.minimum(chances, self.scores[owners])
        order = np.lexsort((-chances, -bounded))
        held = self.match.columns[rows]
        keys = self.index.is_key[held] & ("key" not in self.without)
        spelled = np.isin(rows, list(self.match.spelled)) & (self.recall > 0)
        keeps = kept[owners] & ((chances >= np.float64(limit)) | keys | spelled)
        each = (part[order].tolist() for part in (rows, held, owners, keys, keeps, bounded))
        left = 0
        for row, column, table, key, keep, likely in zip(*each, strict=True):
            own, name = self.index.canonical[table], self.index.columns[column]
            rule = ruled.get((own, name))
            left += not keep
            if left > MOST_LEFT and not keep and rule is None:
                continue
            evidence = self._column_evidence(row, met.get(row, ()), name if key else "")
            if rule is not None:
                keep = rule
                evidence = (EvidencePiece("rule", (name,), 1.0 if keep else -1.0), *evidence)
            if keep or evidence:
                yield RankedColumn(own, name, round(likely, 4), keep, evidence)

    def _unjudged(
        self,
        kept: NDArray[np.bool_],
        judged: Sequence[RankedColumn],
        ruled: dict[tuple[str, str], bool],
    ) -> Iterator[RankedColumn]:
        """All other columns of kept tables, for a recall of 1."""
        known = {(column.table, column.name) for column in judged}
        for table, name in zip(self.index.column_table.tolist(), self.index.columns, strict=True):
            own = self.index.canonical[table]
            if kept[table] and (own, name) not in known:
                yield RankedColumn(own, name, 0.0, ruled.get((own, name), True))

    def _any_met(self) -> NDArray[np.bool_]:
        """Whether any unit meets each candidate column."""
        units = self.match.idf > 0
        parts = [(matrix[units] > LEAST).any(axis=0) for matrix in self.match.column.values()]
        made: NDArray[np.bool_] = np.logical_or.reduce(parts)
        return made

    def _met_columns(self, rows: Ints) -> dict[int, list[tuple[str, int, float]]]:
        """Which of these columns units meet: by which field and unit, and how much that weighs."""
        idf = self.match.idf.astype(np.float64)
        met: dict[int, list[tuple[str, int, float]]] = {}
        for field, matrix in self.match.column.items():
            own = matrix[:, rows]
            units, places = np.nonzero((own > LEAST) & (idf > 0)[:, None])
            weights = (own[units, places].astype(np.float64) * idf[units]).tolist()
            held = rows[places].tolist()
            for unit, place, weight in zip(units.tolist(), held, weights, strict=True):
                met.setdefault(place, []).append((field, unit, weight))
        return met

    def _column_evidence(
        self, c: int, met: Sequence[tuple[str, int, float]], key: str
    ) -> tuple[EvidencePiece, ...]:
        """Evidence of one candidate column, the heaviest first; a value or a spelled-out name
        stands for its words. ``key`` is its name where it is one."""
        match = self.match
        words: dict[EvidenceType, dict[str, float]] = {}
        for field, at, weight in met:
            unit = match.question.units[at]
            kind = "glossary" if unit.origin == "glossary" else BY_FIELD[field]
            heard = words.setdefault(kind, {})
            heard[unit.text] = max(heard.get(unit.text, 0.0), weight)
        found = {kind: _heaviest(kind, heard, self.top_idf) for kind, heard in words.items()}
        if c in match.exact:
            found["value"] = EvidencePiece("value", (match.exact[c],), 1.0)
        if c in match.spelled:
            found["name"] = EvidencePiece("name", (match.spelled[c],), 1.0, "spelled out")
        if key:
            found["key"] = EvidencePiece("key", (key,), BY_NAME["key"].weight)
        return tuple(sorted(found.values(), key=lambda item: -item.weight))


def _heaviest(kind: EvidenceType, words: dict[str, float], total: float) -> EvidencePiece:
    """The words that weigh most, for one kind of evidence."""
    best = sorted(words, key=lambda word: (-words[word], word))[:MOST_WORDS]
    return EvidencePiece(kind, tuple(best), round(min(sum(words.values()) / total, 1.0), 2))


def _ruled_columns(effect: RuleEffect | None) -> dict[tuple[str, str], bool]:
    """Columns that rules name as ``table.column``: whether to keep them."""
    made: dict[tuple[str, str], bool] = {}
    for names, keep in ((effect.add, True), (effect.forbid, False)) if effect else ():
        for name in names:
            table, dot, column = name.rpartition(".")
            if dot:
                made[table, column] = keep
    return made
