"""What a context description shows of each table and document, whatever its format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, cast

from stages.core.lang import Lang
from stages.core.lines.sections import or_empty, section
from stages.core.readers import relevance
from stages.core.readers.collapse import shown_at
from stages.core.readers.prune import superset
from stages.core.readers.refine import refined_columns
from stages.core.records import Catalog, Column, Document, Skipped, Table, Task
from stages.core.text import visible

Level: TypeAlias = Literal["full", "names", "line"]

SKIPPED = 20
"""Unread files that are listed; the rest is counted."""

KNOWLEDGE = ("context/knowledge.md", "knowledge.md")
"""Where scan finds the knowledge that it puts on the task line."""


@dataclass(frozen=True)
class TableView:
    """One table as it is shown.

    Attributes:
        table: Its line.
        level: ``full``, ``names`` (column names and types) or ``line``.
        columns: The columns shown in detail, at level ``names`` by name and type.
        others: Names of the other columns, nested ones by dotted path.
        reasons: Why a column was selected, by name or dotted path.
        relevance: How needed the table is held to be, from 0 to 1.
        sample: Whether the first rows are shown.
        examples: Whether columns show an example.
        bare: Whether columns are shown by name only.
        pinned: Whether a pin decided on the level.
    """

    table: Table
    level: Level
    columns: tuple[Column, ...]
    others: tuple[str, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    relevance: float = 1.0
    sample: bool = True
    examples: bool = True
    bare: bool = False
    pinned: bool = False

    @property
    def rows(self) -> Sequence[Mapping[str, str | None]]:
        """The sample rows to show; none but at level ``full``."""
        shown = self.level == "full" and self.sample and not self.bare
        return self.table.get("sample", []) if shown else []


@dataclass(frozen=True)
class Page:
    """A whole context description.

    Attributes:
        catalog: Name, dialect and root.
        tables: The tables in file order.
        documents: The documents to list, knowledge not among them.
        skipped: What scan could not read, as far as it is listed.
        skipped_more: How much more it could not read.
        knowledge: The knowledge to print in full, or None.
        lang: Language of our own words.
        tool: The name of the tool that queries any table; empty for none.
        first_lines: Whether documents show their first lines.
        by: The sections that decided what is folded.
        budget: Tokens to stay within; 0 for no limit.
        over: Whether even this page is larger than the budget.
    """

    catalog: Catalog
    tables: tuple[TableView, ...]
    documents: tuple[Document, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    skipped_more: int = 0
    knowledge: str | None = None
    lang: Lang = "en"
    tool: str = "explore_data"
    first_lines: bool = True
    by: tuple[str, ...] = ()
    budget: int = 0
    over: bool = False

    def at(self, level: Level) -> list[TableView]:
        """The tables at one level."""
        return [view for view in self.tables if view.level == level]


def page_of(
    task: Task,
    tables: Sequence[Table],
    catalog: Catalog,
    *,
    columns: str,
    budget: int,
    tool: str,
    skip_knowledge: bool,
    lang: Lang,
) -> Page:
    """The page of a task before its budget; see `winnow describe` for the options."""
    skipped = catalog.get("skipped", [])
    return Page(
        catalog,
        tables=views(task, tables, columns),
        documents=documents(catalog),
        skipped=tuple(skipped[:SKIPPED]),
        skipped_more=len(skipped[SKIPPED:]),
        knowledge=None if skip_knowledge else task.get("knowledge"),
        lang=lang,
        by=tuple(or_empty(section(task, "collapse")).get("by", ())),
        tool=visible(tool, 80),
        budget=budget,
    )


def views(task: Task, tables: Sequence[Table], columns: str) -> tuple[TableView, ...]:
    """The tables as the sections of the task have them shown.

    Args:
        task: With a section collapse; refine, prune, vote and link are used where they stand.
        tables: The tables of the catalog. One that collapse does not list is full.
        columns: ``refined``: full tables show the columns of the refined schema, where
            there is none those of the superset, where there is none all. ``superset``:
            those of the superset. ``all``: all columns. What is not shown is named. A table
            that is always kept shows all of them (seed 000, 2.2).
    """
    collapse = or_empty(section(task, "collapse"))
    levels, pinned = shown_at(collapse), frozenset(collapse.get("pinned", ()))
    refine, prune = section(task, "refine"), section(task, "prune")
    refined = refined_columns(refine) if refine is not None else {}
    wide = superset(prune) if prune is not None else {}
    order = relevance((t["name"] for t in tables), section(task, "vote"), section(task, "link"))
    made = []
    for table in tables:
        name = table["name"]
        level = levels.get(name, "full")
        reasons = refined.get(name, {})
        picked: set[str] = set()
        whole = columns == "all" or table.get("always_keep", False)
        if columns == "refined" and level == "full" and not whole:
            picked = set(reasons)
        if not whole and not picked:
            picked = set(wide.get(name, ()))
        score = max(order[name], 1.0 if name in refined else 0.0)
        made.append(replace(_view(table, level, picked, reasons, score), pinned=name in pinned))
    return tuple(made)


def everything(tables: Sequence[Table]) -> tuple[TableView, ...]:
    """All tables in full, with all their columns."""
    return tuple(TableView(table, "full", tuple(table["columns"])) for table in tables)


def documents(catalog: Catalog) -> tuple[Document, ...]:
    """The documents of a catalog but its knowledge, which the task line carries."""
    return tuple(d for d in catalog.get("documents", []) if d["path"] not in KNOWLEDGE)


def _view(
    table: Table, level: Level, picked: set[str], reasons: Mapping[str, str], score: float
) -> TableView:
    """One table with its columns split; with nothing picked that it has, all are shown."""
    columns: list[Column] = []
    others: list[str] = []
    for column in table["columns"]:
        name = column["name"]
        inner = [path for path in picked if path.startswith(f"{name}.")]
        if name in picked:
            columns.append(column)
        elif inner:
            part, rest = _nested(column, set(inner))
            columns.append(part)
            others += rest
        else:
            others.append(name)
    if not columns:
        return TableView(table, level, tuple(table["columns"]), (), reasons, score)
    return TableView(table, level, tuple(columns), tuple(others), reasons, score)


def _nested(column: Column, picked: set[str]) -> tuple[Column, list[str]]:
    """A nested column with only the picked fields and those below them, and the other paths."""
    fields = column.get("fields", [])
    kept = [
        f for f in fields if any(f["name"] == p or f["name"].startswith(f"{p}.") for p in picked)
    ]
    part: dict[str, object] = {**column, "fields": kept}
    return cast("Column", part), [f["name"] for f in fields if f not in kept]
