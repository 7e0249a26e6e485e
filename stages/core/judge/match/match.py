"""Which units of a question meet which tables and columns, and how nearly.

All likenesses are float32 matrices, units × documents. Tables are matched for the whole catalog
from table-level postings; columns only for the candidates that a cheap first score leaves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from stages.core.judge.channels import BY_FIELD
from stages.core.judge.index.index import COLUMN_FIELDS, FIELDS, Index
from stages.core.judge.index.postings import Floats, Ints, Postings
from stages.core.judge.language.tokenize import compact
from stages.core.judge.match.expand import Vocabulary, expand_all
from stages.core.judge.match.values import NO_HITS, whole_values
from stages.core.judge.question.question import ParsedQuestion

#: What a match in a field says about the table, for the first score only.
FIELD_WEIGHT = {
    "dname": 0.4,
    "tname": 1.0,
    "cname": 0.8,
    "tdesc": 0.6,
    "cdesc": 0.5,
    "value": 0.6,
    "kind": 0.4,
}
#: Likeness of a date's words with the name of a table that holds the time and spells it otherwise.
HELD = 0.35
#: Tables that go on to the full features.
MOST_CANDIDATES, MOST_OF_FAMILY = 250, 40
#: Tables that go on for their texts alone.
BY_TEXT = 30
_K1, _B = 1.2, 0.75


@dataclass(frozen=True, kw_only=True)
class Match:
    """A question met with a catalog; T tables, U units, K candidates, C their columns.

    Args:
        idf: float32 [U], rarity of each unit among the catalog's tables.
        table: Field → float32 [U, T]; ``best`` the best over all, weighted (`strongest`).
        first: float32 [T], the first score (BM25 over fields, with group support).
        candidates: int32 [K], tables by number, ascending.
        columns: int32 [C], columns of the candidates by number; ``starts`` int32 [K + 1].
        column: Field → float32 [U, C] for those of `COLUMN_FIELDS`.
        texts: Kind of text → float32 BM25, of tables [T] (``all``, ``own``, and the best of the
            columns as ``column``); ``column_text`` float32 [C] of the candidate columns.
        met: float32 [V], the best likeness of any unit with each of the catalog's terms.
        complete: float32 [C], share of each candidate column's name that is met.
        when, which: float32 [T], see `part_hits`.
        exact: Candidate columns with a whole value of the question → the value as written.
        spelled: Candidate columns spelled out in the question → as written there.
    """

    question: ParsedQuestion
    index: Index
    idf: Floats
    table: Mapping[str, Floats]
    best: Floats
    first: Floats
    candidates: Ints
    columns: Ints
    starts: Ints
    column: Mapping[str, Floats]
    texts: Mapping[str, Floats]
    column_text: Floats
    met: Floats
    complete: Floats
    when: Floats
    which: Floats
    exact: Mapping[int, str]
    spelled: Mapping[int, str]


def match_catalog(
    question: ParsedQuestion,
    index: Index,
    known: Vocabulary,
    without: frozenset[str] = frozenset(),
    hits: Mapping[str, tuple[int, ...]] = NO_HITS,
) -> Match:
    """Match a question with a catalog, and with values found in its data (`hit_columns`)."""
    ways = _flat(expand_all(question.units, known, "synonym" not in without))
    n_units = len(question.units)
    table = {
        name: _matrix(ways, index.by_table[name], (n_units, len(index.names)), _on(name, without))
        for name in FIELDS
    }
    when, which = part_hits(index, question)
    met, named = _term_similarity(ways, len(index.vocabulary)), {}
    if "name" not in without:
        _by_time(question, index, when, table["tname"], met)
        named = by_letter(question, index, table["cname"])
    best = strongest(table)
    idf = _idf(best)
    exact, spelled = _whole(question, index, without, hits)
    first = _first(table, idf, index, exact, spelled) * (1.0 + 0.3 * when + 0.2 * which)
    texts, by_column = _by_text(question, index, without)
    candidates = _candidates(first, texts["all"], index)
    columns, starts = _columns_of(candidates, index)
    local = _places(columns, len(index.columns))
    column = _by_column(ways, index, (n_units, len(columns)), without, local)
    complete = completeness(index.column_terms, columns, met)
    _as_named(named, local, column["cname"], complete)
    return Match(
        question=question,
        index=index,
        idf=idf,
        table=table,
        best=best,
        first=first,
        candidates=candidates,
        columns=columns,
        starts=starts,
        column=column,
        texts=texts,
        column_text=by_column[columns],
        met=met,
        complete=complete,
        when=when,
        which=which,
        exact={int(local[c]): v for c, v in exact.items() if local[c] >= 0},
        spelled={int(local[c]): v for c, v in spelled.items() if local[c] >= 0},
    )


def _by_column(
    ways: _Ways, index: Index, shape: tuple[int, int], without: frozenset[str], local: Ints
) -> dict[str, Floats]:
    """`_matrix` of the candidate columns, by field."""
    return {
        name: _matrix(ways, index.by_column[name], shape, _on(name, without), local)
        for name in COLUMN_FIELDS
    }


def _places(columns: Ints, n: int) -> Ints:
    """Where each of n columns stands among some; -1 where it does not."""
    made = np.full(n, -1, dtype=np.int32)
    made[columns] = np.arange(len(columns), dtype=np.int32)
    return made


def _whole(
    question: ParsedQuestion,
    index: Index,
    without: frozenset[str],
    hits: Mapping[str, tuple[int, ...]],
) -> tuple[dict[int, str], dict[int, str]]:
    """Columns with a whole value of the question, and those spelled out in it."""
    exact = {}
    if "value" not in without:
        exact = whole_values(question, index.values, index.spellings, hits)
    return exact, spelled_out(question, index) if "name" not in without else {}


def _by_text(
    question: ParsedQuestion, index: Index, without: frozenset[str]
) -> tuple[dict[str, Floats], Floats]:
    """BM25 of the texts by kind (`Match.texts`), and of all columns; nothing where names or
    descriptions are switched off."""
    asked = () if without & {"name", "description"} else question.words
    found = {name: held.scores(asked) for name, held in index.texts.items()}
    columns = found["column"]
    best = np.zeros(len(index.names), dtype=np.float32)
    met = np.flatnonzero(columns)
    np.maximum.at(best, index.column_table[met], columns[met])
    return found | {"column": best}, columns


def strongest(table: Mapping[str, Floats]) -> Floats:
    """The best weighted likeness over all fields, [U, documents]."""
    parts = [table[name] * FIELD_WEIGHT[name] for name in table]
    for part in parts[1:]:
        np.maximum(parts[0], part, out=parts[0])
    return parts[0]


def _on(name: str, without: frozenset[str]) -> bool:
    """Whether a field's channel is switched on."""
    return BY_FIELD[name] not in without


@dataclass(frozen=True)
class _Ways:
    """What all units may stand for: unit, term and likeness, the least alike first."""

    unit: Ints
    term: Ints
    likeness: Floats


def _flat(ways: list[dict[int, float]]) -> _Ways:
    """The units' terms end to end."""
    triples = [(row, term, alike) for row, way in enumerate(ways) for term, alike in way.items()]
    held = np.array(triples, dtype=np.float64).reshape(-1, 3)
    held = held[np.argsort(held[:, 2], kind="stable")]
    return _Ways(
        held[:, 0].astype(np.int64), held[:, 1].astype(np.int64), held[:, 2].astype(np.float32)
    )


def _matrix(
    ways: _Ways, lists: Postings, shape: tuple[int, int], on: bool, local: Ints | None = None
) -> Floats:
    """The best likeness of every unit with every document; ``local`` renumbers documents.

    Of several values for one place the last stands, which is the largest.
    """
    made = np.zeros(shape, dtype=np.float32)
    begin = lists.start[ways.term]
    size = lists.start[ways.term + 1] - begin
    total = int(size.sum())
    if on and total:
        ends = np.cumsum(size)
        place = np.arange(total) + np.repeat(begin - ends + size, size)
        docs = lists.doc[place]
        at = np.repeat(ways.unit * shape[1], size)
        likeness = np.repeat(ways.likeness, size)
        if local is not None:
            docs = local[docs]
            there = docs >= 0
            docs, at, likeness = docs[there], at[there], likeness[there]
        made.reshape(-1)[at + docs] = likeness
    return made


def completeness(names: Postings, docs: Ints, met: Floats) -> Floats:
    """Mean likeness of each document's name terms with the units, 0 where it has no terms."""
    sizes = names.sizes()
    sums = np.concatenate([[0.0], np.cumsum(met[names.doc], dtype=np.float64)])
    hits = sums[names.start[docs + 1]] - sums[names.start[docs]]
    made: Floats = (hits / np.maximum(sizes[docs], 1)).astype(np.float32)
    return made


def _term_similarity(ways: _Ways, n_terms: int) -> Floats:
    """The best likeness of any unit with every term."""
    made = np.zeros(n_terms, dtype=np.float32)
    made[ways.term] = ways.likeness
    return made


def _idf(any_field: Floats) -> Floats:
    """log(1 + (N + 0.5) / (df + 0.5)) with soft document frequencies; zero where nothing meets."""
    n_tables = any_field.shape[1]
    frequency = np.minimum(any_field / 0.5, 1.0).sum(axis=1)
    rarity = np.log(1.0 + (n_tables + 0.5) / (frequency + 0.5))
    made: Floats = np.where(frequency > 0, rarity, 0.0).astype(np.float32)
    return made


def _first(
    table: Mapping[str, Floats],
    idf: Floats,
    index: Index,
    exact: Mapping[int, str],
    spelled: Mapping[int, str],
) -> Floats:
    """BM25 with weighted fields, plus whole values and spelled-out names."""
    found = np.sum([table[name] * FIELD_WEIGHT[name] for name in FIELDS], axis=0)
    mean = max(float(index.lengths.mean()), 1.0)
    norm = _K1 * (1 - _B + _B * index.lengths / mean)
    score = (idf[:, None] * found * (_K1 + 1) / (found + norm)).sum(axis=0) + 0.5 * (
        idf[:, None] * table["tname"]
    ).sum(axis=0)
    rare = np.log(len(index.names) + 1.0)
    for hits, weight in ((exact, 0.5), (spelled, 0.7)):
        owners = {int(index.column_table[c]) for c in hits}
        for owner in owners:
            score[owner] += weight * rare
    made: Floats = score.astype(np.float32)
    return made


def _candidates(first: Floats, text: Floats, index: Index) -> Ints:
    """The best tables by first score and by their texts, with the neighbours of the very best.

    At most `MOST_OF_FAMILY` parts of one family go on, so that a thousand days of one table leave
    room for others.
    """
    if len(first) <= MOST_CANDIDATES:
        return np.arange(len(first), dtype=np.int32)
    order = np.argsort(-first, kind="stable")
    families = index.family[order]
    by_family = np.lexsort((np.arange(len(order)), families))
    starts = np.searchsorted(families[by_family], np.arange(families.max() + 1))
    place = np.empty(len(order), dtype=np.int64)
    place[by_family] = np.arange(len(order)) - starts[families[by_family]]
    best = order[place < MOST_OF_FAMILY][:MOST_CANDIDATES]
    near = [index.near[at] for at in best[:20]]
    told = np.argsort(-text, kind="stable")[:BY_TEXT]
    return np.unique(np.concatenate([best, told[text[told] > 0], *near])).astype(np.int32)


def _columns_of(candidates: Ints, index: Index) -> tuple[Ints, Ints]:
    """Columns of the candidates, and where each candidate's begin."""
    begin, end = index.column_start[candidates], index.column_start[candidates + 1]
    starts = np.zeros(len(candidates) + 1, dtype=np.int32)
    np.cumsum(end - begin, out=starts[1:])
    columns = np.arange(starts[-1], dtype=np.int32) - np.repeat(starts[:-1] - begin, end - begin)
    return columns.astype(np.int32), starts


def part_hits(index: Index, question: ParsedQuestion) -> tuple[Floats, Floats]:
    """For tables with a date or number in their name, whether the question speaks of it.

    Where the date says no, the number is a part of it (``after 2020``).

    Returns:
        Two float32 [T]: dates (1 inside the time asked for, -1 outside, 0 no dates), numbers (1
        or 0).
    """
    when = index.parts.when(question.sought)
    which = index.parts.which(question.numbers)
    return when, np.where(when < 0, 0.0, which).astype(np.float32)


def _by_time(
    question: ParsedQuestion, index: Index, when: Floats, names: Floats, met: Floats
) -> None:
    """Let the words of a date meet the tables that hold the time, whatever their names spell.

    Args:
        when: See `part_hits`.
        names: Likenesses of units with names of tables, [U, T]; changed in place.
        met: The best likeness of any unit with each term, [V]; changed in place.
    """
    dated = np.array([unit.dated for unit in question.units], dtype=bool)
    rows = np.flatnonzero(dated)
    for inside, least, most in ((when < 0, 0.0, 0.0), (when > 0, HELD, 1.0)):
        tables = np.flatnonzero(inside)
        if len(tables) and len(rows):
            cells = np.ix_(rows, tables)
            names[cells] = names[cells].clip(least, most)
            terms = np.concatenate([index.table_terms.row(at) for at in tables.tolist()])
            terms = terms[index.timely[terms]]
            met[terms] = met[terms].clip(least, most)


def by_letter(question: ParsedQuestion, index: Index, names: Floats) -> dict[int, list[int]]:
    """Columns whose name is a word of the question letter for letter, by the unit it is; their
    tables meet it in ``names`` [U, T], which is changed in place.

    Names are matched by their parts, and a word that the question writes in one is no part
    of ``page_views`` or of ``taxrate``, which is split.
    """
    found: dict[int, list[int]] = {}
    for row, unit in enumerate(question.units):
        if unit.origin != "form":
            word = unit.text.lower()
            for spelling in (word, f"{word}s", word.removesuffix("s")):
                if len(spelling) > 1 and spelling in index.spelled:
                    found.setdefault(row, []).extend(index.spelled[spelling])
    for row, held in found.items():
        names[row, index.column_table[held]] = 1.0
    return found


def _as_named(named: Mapping[int, list[int]], local: Ints, names: Floats, complete: Floats) -> None:
    """Let units meet the columns that they name in full; both arrays are changed in place."""
    for row, held in named.items():
        places = local[held][local[held] >= 0]
        names[row, places] = 1.0
        complete[places] = 1.0


def spelled_out(question: ParsedQuestion, index: Index) -> dict[int, str]:
    """Columns whose name the question or its hints spell as the schema does."""
    found = {
        column: written
        for name, written in question.identifiers.items()
        for column in index.spelled.get(name, ())
    }
    for runs in question.hinted:
        known = ((run, index.spelled.get(compact(run.rpartition(".")[2]))) for run in runs)
        written, columns = next(((run, held) for run, held in known if held), ("", ()))
        for column in columns:
            found.setdefault(column, written)
    return found
