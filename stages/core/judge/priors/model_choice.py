"""Fusion with a model's choice: what it names is added or raised, what it was shown and did
not name is lowered, and nothing is removed: a lost table costs an answer, a spare one
costs tokens.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from stages.core.judge.judgment import Edge, EvidencePiece, Judgment, RankedColumn, RankedTable
from stages.core.records import Table
from stages.core.text import visible

if TYPE_CHECKING:
    from stages.core.linking.link import Choice

RAISE, LOWER = 3.0, 1.0
"""How far a choice moves the log-odds of a score up, and silence down: a model that names
a table is right far more often than one that passes over it."""


def named(choices: Iterable[Choice]) -> frozenset[str]:
    """The tables that the choices name."""
    return frozenset(name for choice in choices for name in choice.chosen)


def apply_model_choice(
    judgment: Judgment,
    choices: Iterable[Choice],
    tables: Sequence[Table],
    added: Collection[str] | None = None,
) -> Judgment:
    """The judgment with the model's choices in it.

    What was chosen is kept and raised; what was shown and not chosen is lowered and keeps
    its ``keep``. Of a table that the model added, its keys are kept too, and all columns
    where the model named none.

    Args:
        judgment: What the judge says.
        choices: One for each reply.
        tables: All tables of the catalog.
        added: Chosen tables that the judge by itself had not kept; those it does not keep here
            where None.
    """
    seen: set[str] = set()
    chosen: dict[str, frozenset[str]] = {}
    reasons: dict[str, str] = {}
    for choice in choices:
        seen |= choice.seen
        chosen |= choice.chosen
        reasons |= choice.reasons
    if added is None:
        added = {t.name for t in judgment.tables if t.name in chosen and not t.keep}
    by_name = {table["name"]: table for table in tables}
    wanted = {
        name: columns | (_extra(by_name[name], columns) if name in added else frozenset())
        for name, columns in chosen.items()
    }
    ranked = [_table(t, seen, chosen, reasons) for t in judgment.tables]
    return replace(
        judgment,
        tables=tuple(sorted(ranked, key=lambda t: -t.score)),
        columns=_columns(judgment, seen, chosen, wanted),
        edges=tuple(dict.fromkeys((*judgment.edges, *_edges(ranked, added, tables)))),
    )


def _extra(table: Table, columns: frozenset[str]) -> frozenset[str]:
    """The keys of an added table, or all its columns where none was named."""
    if not columns:
        return frozenset(column["name"] for column in table["columns"])
    known = {column["name"] for column in table["columns"]}
    keys = {name for key in table.get("foreign_keys", []) for name in key["columns"]}
    return frozenset((keys | set(table.get("primary_key", []))) & known)


def _table(
    table: RankedTable,
    seen: set[str],
    chosen: Mapping[str, frozenset[str]],
    reasons: Mapping[str, str],
) -> RankedTable:
    if table.name in chosen:
        evidence = (_chosen_by_model(reasons.get(table.name, "")), *table.evidence)
        return replace(table, score=_moved(table.score, RAISE), keep=True, evidence=evidence)
    if table.name in seen:
        return replace(table, score=_moved(table.score, -LOWER))
    return table


def _chosen_by_model(why: str) -> EvidencePiece:
    return EvidencePiece("model", (), 1.0, visible(why.strip(), 200))


def _columns(
    judgment: Judgment,
    seen: set[str],
    chosen: Mapping[str, frozenset[str]],
    wanted: Mapping[str, frozenset[str]],
) -> tuple[RankedColumn, ...]:
    moved = []
    for column in judgment.columns:
        if column.name in chosen.get(column.table, ()):
            evidence = (_chosen_by_model(""), *column.evidence)
            column = replace(
                column, score=_moved(column.score, RAISE), keep=True, evidence=evidence
            )
        elif column.table in seen:
            kept = column.keep or column.name in wanted.get(column.table, ())
            column = replace(column, score=_moved(column.score, -LOWER), keep=kept)
        moved.append(column)
    listed = {(column.table, column.name) for column in judgment.columns}
    scores = {table.name: table.score for table in judgment.tables}
    for table, names in wanted.items():
        for name in sorted(names):
            if (table, name) not in listed:
                named = name in chosen[table]
                score = _moved(scores[table], RAISE) if named else scores[table]
                moved.append(
                    RankedColumn(table, name, score, True, (_chosen_by_model(""),) if named else ())
                )
    return tuple(sorted(moved, key=lambda c: -c.score))


def _edges(
    ranked: Sequence[RankedTable], added: Collection[str], tables: Sequence[Table]
) -> list[Edge]:
    """Declared relations between an added table and the other kept ones."""
    kept = {table.name for table in ranked if table.keep}
    return [
        Edge(
            table["name"],
            tuple(key["columns"]),
            key["ref_table"],
            tuple(key["ref_columns"]),
            "declared",
        )
        for table in tables
        for key in table.get("foreign_keys", [])
        if {table["name"], key["ref_table"]} <= kept
        and {table["name"], key["ref_table"]} & set(added)
    ]


def _moved(score: float, by: float) -> float:
    """The probability whose log-odds are ``by`` higher."""
    import numpy as np

    from stages.core.judge.rank.probability import logit, sigmoid

    return float(sigmoid(logit(np.asarray(score)) + by))
