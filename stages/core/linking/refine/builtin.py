"""Refining without a model: the tables marked relevant, narrowed to what the judge insists on.

The built-in exploration marks for recall. Where the marks are its own, the judge is asked
again with a lower target of strict recall; a model's marks stand as they are. Columns of
recognition (id, code, name, type) that are marked stay with their table: what a question
asks of a thing is often its name, without a word for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from stages.core.judge.channels import SURE
from stages.core.lang import Lang
from stages.core.lines.sections import or_empty, section
from stages.core.linking.column_refs import column_refs
from stages.core.linking.prune.builtin import is_name_column
from stages.core.linking.refine.candidates import Candidate
from stages.core.linking.refine.choice import ColumnChoice, Selection, within
from stages.core.records import LinkColumn, LinkTable, Table, Task

if TYPE_CHECKING:
    from stages.core.judge import Judgment
    from stages.core.judge.judgment import ValueSearch

RECALL = 0.95
"""Strict recall that the judge's cut aims at; tools/bench/pruning.py measures what comes of it."""


_MARKED: Mapping[Lang, str] = {
    "en": "In a table that exploring marked relevant.",
    "zh": "所在的表在逐表探索中被标为相关。",
}


def mark(selection: Selection, candidates: Sequence[Candidate], lang: Lang) -> None:
    """Choose all that exploring marked relevant."""
    for item in candidates:
        if item.relevant:
            selection.add_table(item.name)
            selection.add_all((item.name, name, _pick(item, name, lang)) for name in item.wanted)


def focus(
    selection: Selection,
    task: Task,
    tables: Sequence[Table],
    candidates: Sequence[Candidate],
    lang: Lang,
    values: ValueSearch | None = None,
) -> None:
    """Choose what exploring marked relevant and the judge keeps; all that is marked where the
    marks are a model's, or the judge keeps none of it."""
    if explored_by(task) != "builtin":
        mark(selection, candidates, lang)
        return
    from stages.core.judge import judge

    found = judge(task, sorted(tables, key=lambda table: table["name"]), recall=RECALL, seek=values)
    kept = _kept(task, found)
    chosen = [item for item in candidates if item.relevant and item.name in kept]
    if not chosen:
        mark(selection, candidates, lang)
    for item in chosen:
        selection.add_table(item.name)
        columns = _columns(item, kept[item.name])
        selection.add_all(
            (item.name, name, _pick(item, name, lang)) for name in columns or item.wanted
        )


def explored_by(task: Task) -> str:
    """Who made the section ``explore``: ``builtin``, or the id of a model."""
    meta = or_empty(section(task, "explore")).get("meta", {})
    return str(meta.get("model", "builtin"))


def _kept(task: Task, found: Judgment) -> dict[str, list[str]]:
    """Columns that the judge keeps, by table; what ``link`` left out stays out, and what its
    user asked for stays in."""
    link = section(task, "link")
    kept: dict[str, list[str]] = {table.name: [] for table in found.tables if table.keep}
    if link is not None:
        allowed = {entry["name"] for entry in link["tables"] if entry["keep"]}
        kept = {name: [] for name in kept if name in allowed}
        kept |= {entry["name"]: [] for entry in link["tables"] if entry["keep"] and _sure(entry)}
    for column in found.columns:
        if column.keep and column.table in kept:
            kept[column.table].append(column.name)
    for entry in link["columns"] if link is not None else ():
        if entry["keep"] and _sure(entry) and entry["table"] in kept:
            kept[entry["table"]].append(entry["name"])
    return kept


def _sure(entry: LinkTable | LinkColumn) -> bool:
    return any(piece["type"] in SURE for piece in entry["evidence"])


def _columns(item: Candidate, kept: Sequence[str]) -> list[str]:
    """Candidate columns that the judge keeps, and columns of recognition that are marked."""
    found = set(within(item.table, kept)) | {
        name for name in item.said if is_name_column(name, column_refs(item.table)[name])
    }
    return [name for name in item.columns if name in found]


def _pick(item: Candidate, name: str, lang: Lang) -> ColumnChoice:
    return ColumnChoice(item.said.get(name, {}).get("relevance_reason") or _MARKED[lang])
