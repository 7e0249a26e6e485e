"""Typed evidence for tables and columns, in rank order and bounded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stages.core.judge.features import column_scores
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
    """

    def __init__(self, match: Match, scores: Floats, without: frozenset[str]) -> None:
        self.match, self.scores, self.without = match, scores, without
        self.index = match.index
        self.local = {int(table): at for at, table in enumerate(match.candidates)}
        self.number = {name: at for at, name in enumerate(self.index.names)}
        self.column_score = column_scores(match)
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
        columns = tuple(self._columns([int(at) for at in order], kept, tables, effect))
        return Judgment(ranked, columns, edges, n_columns=len(self.index.columns))

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
            found += self._matched(at)
            found += self._values(self.local[at])
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
        self,
        order: Sequence[int],
        kept: NDArray[np.bool_],
        tables: Sequence[Table],
        effect: RuleEffect | None,
    ) -> Iterator[RankedColumn]:
        """Columns with evidence or kept, by score."""
        found: list[RankedColumn] = []
        for at in order:
            if at in self.local:
                found.extend(self._table_columns(at, bool(kept[at]), tables[at]))
        yield from sorted(found, key=lambda c: -c.score)

    def _table_columns(self, at: int, kept: bool, table: Table) -> Iterator[RankedColumn]:
        """Columns of one table: a column's score is its own evidence times the table's score."""
        keys = self._key_columns(table)
        local = self.local[at]
        for c in range(int(self.match.starts[local]), int(self.match.starts[local + 1])):
            name = self.index.columns[self.match.columns[c]]
            evidence = self._column_evidence(c)
            key = name in keys
            own = min(
                1.0,
                0.1
                + float(self.column_score[c])
                + 0.5 * (c in self.match.exact or c in self.match.spelled)
                + 0.3 * key,
            )
            if evidence or (kept and key):
                if key:
                    evidence = (*evidence, Evidence("key", (name,), 0.3))
                score = round(own * float(self.scores[at]), 4)
                yield RankedColumn(table["name"], name, score, kept, evidence)

    def _key_columns(self, table: Table) -> frozenset[str]:
        """Columns that keys run over."""
        keys = set(table.get("primary_key", ()))
        for edge in self.index.keys.edges:
            if edge.left == table["name"]:
                keys.update(edge.left_columns)
            if edge.right == table["name"]:
                keys.update(edge.right_columns)
        return frozenset(keys)

    def _column_evidence(self, c: int) -> tuple[Evidence, ...]:
        """Evidence of one candidate column."""
        match, found = self.match, []
        for field, matrix in match.column.items():
            units = [u for u in np.flatnonzero(matrix[:, c] > LEAST) if match.idf[u] > 0]
            if units:
                words = tuple(dict.fromkeys(match.question.units[u].text for u in units))[
                    :MOST_WORDS
                ]
                weight = float((matrix[units, c] * match.idf[units]).sum()) / self.top_idf
                found.append(Evidence(_KIND[field], words, round(min(weight, 1.0), 2)))
        if c in match.exact:
            found.append(Evidence("value", (match.exact[c],), 1.0))
        if c in match.spelled:
            found.append(Evidence("name", (match.spelled[c],), 1.0, "spelled out"))
        return tuple(found)
