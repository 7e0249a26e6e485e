"""Write the context description: the tables that collapse chose, and the documents.

Tables shown in full come with path, rows, columns (type, nullability, an example) and the
first rows; a folded table is one line that says how to query it; documents are listed by
headings and first lines. Nothing is hidden: what is left out is named or counted. Where
collapse has not run, every table is in full.

    winnow describe collapsed.jsonl --text --budget 4000
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from stages.core.context.formats import FORMATS, Form
from stages.core.lang import choose
from stages.core.lines.sections import section
from stages.core.records import Catalog, Column, Describe, DescribeTables, Meta, Table, Task
from stages.core.runtime.stage import Capability, Stage, TaskFolder, text_option, works_in_task

if TYPE_CHECKING:
    from stages.core.context.budget import BudgetFit, PageFormat
    from stages.core.context.view import Page
    from stages.core.judge.judgment import ValueSearch

COLUMNS = ("refined", "superset", "all")
TOOL = "explore_data"


def describe(
    task: Task,
    tables: Sequence[Table],
    *,
    catalog: Catalog,
    folder: TaskFolder | None = None,
    form: Form = "context",
    columns: str = "refined",
    budget: int = 0,
    tool: str | None = None,
    skip_knowledge: bool = True,
    lang: str = "auto",
    values: ValueSearch | None = None,
) -> Describe:
    """The text of one task's context description.

    Args:
        task, tables, catalog: The task and what it is asked of; all in full without collapse.
        folder: What lies in the catalog's folder.
        form: One of `FORMATS`.
        columns: Which columns full tables show in detail, one of `COLUMNS`; the rest are
            named.
        budget: Most o200k tokens; 0 for no limit. See `core.context.budget`.
        tool: The name of the tool that queries folded tables; None for that of a task's solver.
        skip_knowledge: Whether knowledge.md is left out, as the prompt holds it in full.
        lang: ``zh``, ``en``, or ``auto`` for the language of the question.
        values: Looks the question's words up in the data, for `_with_named`.

    Returns:
        A ``describe`` section.
    """
    from stages.core.context.view import page_of

    tables = _with_named(task, tables, values)
    tool = (TOOL if works_in_task(catalog, folder) else "") if tool is None else tool
    page = page_of(
        task,
        tables,
        catalog,
        columns=columns,
        budget=budget,
        tool=tool,
        skip_knowledge=skip_knowledge,
        lang=choose(lang, task.get("question", "")),
    )
    made = _fitted(page, tables, form)
    if notes := _notes(task, budget, made["tokens"]):
        made["notes"] = notes
    made["meta"] = _meta(page.lang, tool, skip_knowledge, columns, budget)
    return made


def _with_named(task: Task, tables: Sequence[Table], values: ValueSearch | None) -> Sequence[Table]:
    """The tables with values that the question names before the other examples."""
    if values is None:
        return tables
    from stages.core.values.spans import spans

    named = values.written(spans(task.get("question", "")))
    owners = {table for table, _ in named}
    return [
        {**table, "columns": [_first(c, named.get((table["name"], c["name"]))) for c in columns]}
        if (columns := table["columns"]) and table["name"] in owners
        else table
        for table in tables
    ]


def _first(column: Column, value: str | None) -> Column:
    """The column with one more example at the front, in place of its last."""
    if value is None:
        return column
    others = [text for text in column.get("examples", ()) if text != value]
    return {**column, "examples": [value, *others][: max(1, len(column.get("examples", ())))]}


def _fitted(page: Page, tables: Sequence[Table], form: Form) -> Describe:
    """The section before its notes and its ``meta``."""
    from stages.core.context.budget import fit
    from stages.core.context.formats import writer

    fitted = fit(page, writer(form))
    made: Describe = {
        "text": fitted.text,
        "format": form,
        "tokens": fitted.tokens,
        "tokens_all": _tokens_all(page, tables, writer(form)),
        "tables": _levels(page),
    }
    _tell_shortfall(made, fitted, page.budget)
    return made


def _levels(page: Page) -> DescribeTables:
    """How many tables the page shows at each level."""
    return {
        "full": len(page.at("full")),
        "names": len(page.at("names")),
        "line": len(page.at("line")),
    }


def _meta(lang: str, tool: str, skip_knowledge: bool, columns: str, budget: int) -> Meta:
    """The language, what the text was made from, and the options that shaped it."""
    meta: Meta = {"lang": lang, "from": _sources(skip_knowledge, columns, budget)}
    if options := _options(tool, skip_knowledge, columns, budget):
        meta["options"] = options
    return meta


def _notes(task: Task, budget: int, tokens: int) -> list[str]:
    """What is otherwise than the caller may think."""
    notes = []
    if section(task, "collapse") is None:
        notes.append("not collapsed; every table is in full, until `winnow collapse` has run")
    if budget and tokens > budget:
        notes.append(
            f"over the budget of {budget} tokens; {tokens - budget} too many, as names are never "
            "left out: fold more tables, or raise --budget"
        )
    return notes


def _tell_shortfall(made: Describe, fitted: BudgetFit, budget: int) -> None:
    """Say in the section what the budget cost, where it cost anything."""
    from stages.core.context.values import given_up

    lost = given_up(fitted.page, named=True)
    over = fitted.tokens - budget if budget else 0
    if lost:
        made["gave_up"] = lost
    if over > 0:
        made["over_budget"] = over


def _tokens_all(page: Page, tables: Sequence[Table], form: PageFormat) -> int:
    """The tokens of the page with every table in full.

    The page as it is goes along, so that one part of the vocabulary does for both.
    """
    from stages.core.context.view import everything
    from stages.core.tokens import counts

    whole = replace(page, tables=everything(tables), budget=0)
    return counts([form.whole(whole), form.whole(page)])[0]


def _sources(skip_knowledge: bool, columns: str, budget: int) -> list[str]:
    """What the text was made from: votes and scores count only where a budget orders tables."""
    knowledge = [] if skip_knowledge else ["knowledge"]
    sections = [] if columns == "all" else ["refine", "prune"]
    order = ["refine", "vote", "link"] if budget else []
    return [
        "question",
        *knowledge,
        "tables",
        "catalog",
        "collapse",
        *dict.fromkeys(sections + order),
    ]


def _options(tool: str, skip_knowledge: bool, columns: str, budget: int) -> dict[str, object]:
    """The options that shaped the text and are not as they are by default, for ``meta``."""
    given = {
        "tool": (tool, TOOL),
        "skip_knowledge": (skip_knowledge, True),
        "columns": (columns, "refined"),
        "budget": (budget, 0),
    }
    return {name: value for name, (value, default) in given.items() if value != default}


def _text(found: Describe) -> str:
    return str(found["text"])


def _suffix(found: Describe) -> str:
    return FORMATS[found["format"]][1]


def _counts(found: Describe) -> tuple[int, ...]:
    tables = found["tables"]
    return tables["full"], tables["names"], tables["line"], found["tokens"], found["tokens_all"]


OPTIONS = (
    click.Option(
        ["--format", "form"],
        type=click.Choice(tuple(FORMATS)),
        default="context",
        show_default=True,
        help="How the description is written.",
    ),
    click.Option(
        ["--columns"],
        type=click.Choice(COLUMNS),
        default="refined",
        show_default=True,
        help="Columns that full tables show in detail, where refine or prune has run.",
    ),
    click.Option(
        ["--budget"],
        type=click.IntRange(min=0),
        default=0,
        metavar="TOKENS",
        help="Leave out samples, then examples, then all but column names, to stay within TOKENS.",
    ),
    click.Option(
        ["--tool"],
        default=None,
        help="Name of the solver's tool that queries any table.  [default: "
        f"{TOOL} for a task folder, none elsewhere]",
    ),
    click.Option(
        ["--skip-knowledge/--with-knowledge"],
        default=True,
        show_default=True,
        help="Whether to leave out knowledge.md, which the prompt holds anyway.",
    ),
    click.Option(
        ["--lang"],
        type=click.Choice(("auto", "zh", "en")),
        default="auto",
        show_default=True,
        help="Language of the description's own words; auto follows the question.",
    ),
)

STAGE = Stage(
    describe,
    uses=("collapse", "refine", "prune", "vote", "link"),
    inputs=("question", "knowledge"),
    wants=(Capability.CATALOG, Capability.FOLDER, Capability.VALUES),
    options=OPTIONS,
    texts=(text_option(_text, _suffix),),
    counts=_counts,
    summary="{0:table} in full, {1} by column names, {2} as a line; {3} of {4:token}",
)
