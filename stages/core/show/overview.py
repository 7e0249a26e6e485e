"""The plain view: catalogs, their tables, and of each task its sections and what they kept.

One short line for each section of a task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from stages.core.counts import many
from stages.core.lines import schema
from stages.core.lines.lines import CatalogLines, TaskInput
from stages.core.lines.readers import Level, focused, named, relevance, shown_at, superset, voted
from stages.core.lines.sections import section
from stages.core.records import Catalog, Table
from stages.core.runtime.stage import Section
from stages.core.show.book import LineFile, sections_of
from stages.core.text import visible

if TYPE_CHECKING:
    from rich.console import RenderableType

    from stages.core.records import (
        Collapse,
        Describe,
        Explore,
        Link,
        Meta,
        Plan,
        Prompt,
        Prune,
        Refine,
        Vote,
    )


def _many(number: object, one: str) -> str:
    """`many`, where a number stands."""
    return many(number, one) if isinstance(number, int) else f"? {one}s"


def _link(section: Link) -> str:
    kept = sum(bool(table.get("keep")) for table in section.get("tables", ()))
    return f"kept {kept} of {_many(section.get('n_tables'), 'table')}"


def _vote(section: Vote) -> str:
    kept, all_tables = len(section.get("relevant_tables", ())), len(section.get("all_tables", ()))
    total = all_tables + len(section.get("always_keep", ()))
    return f"kept {kept} of {many(total, 'table')} in {_many(section.get('n_rounds_ok'), 'round')}"


def _shown(section: Collapse) -> str:
    shown = section.get("shown", {})
    counts = ", ".join(f"{len(shown.get(level, ()))} {words}" for level, words in SHOWN)
    return f"{counts}, by {' and '.join(section.get('by', ())) or 'pins'}"


def _describe(section: Describe) -> str:
    whole = section.get("tokens_all")
    return f"{section.get('tokens', '?')}{f' of {whole}' if whole is not None else ''} tokens"


def _prompt(section: Prompt) -> str:
    messages = many(len(section.get("messages", ())), "message")
    return f"{messages}, {_many(section.get('tokens'), 'token')}"


def _refine(section: Refine) -> str:
    schema = section.get("refined_schema", {})
    columns = sum(len(table.get("relevant_columns", ())) for table in schema.values())
    return f"{many(len(schema), 'table')}, {many(columns, 'column')}"


def _plan(section: Plan) -> str:
    return many(str(section.get("logical_plan", "")).count("\n") + 1, "step")


def _prune(section: Prune) -> str:
    columns = f"{section.get('n_kept_columns', '?')} of {_many(section.get('n_columns'), 'column')}"
    tables = f"{section.get('n_kept_tables', '?')} of {_many(section.get('n_tables'), 'table')}"
    return f"kept {columns} in {tables}"


def _explore(section: Explore) -> str:
    judgments = section.get("table_judgments", {})
    relevant = sum(bool(one.get("relevant")) for one in judgments.values())
    return f"{relevant} of {many(len(judgments), 'table')} relevant"


def _other(section: Section) -> str:
    return ", ".join(key for key in section if key not in ("meta", "error"))


SHOWN: tuple[tuple[Level, str], ...] = (
    ("full", "in full"),
    ("names", "by names"),
    ("line", "as a line"),
)
BRIEF: Mapping[str, Callable[..., str]] = {
    "link": _link,
    "plan": _plan,
    "prune": _prune,
    "explore": _explore,
    "vote": _vote,
    "collapse": _shown,
    "describe": _describe,
    "prompt": _prompt,
    "refine": _refine,
}


def brief(name: str, section: Section) -> str:
    """What the section comes to, with its model, its cost and its error."""
    parts = [BRIEF.get(name, _other)(section), *_cost(cast("Meta", section.get("meta", {})))]
    if section.get("error"):
        parts.append(f"ERROR {section['error']}")
    return "; ".join(part for part in parts if part)


def _cost(meta: Meta) -> list[str]:
    parts = []
    if meta.get("model"):
        parts.append(str(meta["model"]))
    if meta.get("calls"):
        parts.append(
            f"{_many(meta['calls'], 'call')}, {meta.get('tokens_in', 0)} + "
            f"{meta.get('tokens_out', 0)} tokens"
        )
    if meta.get("usd") is not None:
        parts.append(f"${meta['usd']:.4f}")
    if meta.get("skipped"):
        parts.append(f"nothing asked: {meta['skipped']}")
    return parts


# Which tables a section kept, best first, and which it did not: by name.

MOST = 20
"""Tables of one list that are named unless all are asked for."""
Lists = Sequence[tuple[str, Sequence[str]]]


@dataclass(frozen=True)
class Order:
    """The order in which tables are listed: votes, then link scores, then as they stand."""

    scores: Mapping[str, float]
    places: Mapping[str, int]

    @classmethod
    def of(cls, asked: TaskInput) -> Order:
        """The order that the sections of a task give its tables."""
        names = [table["name"] for table in asked.tables]
        scores = relevance(names, section(asked.task, "vote"), section(asked.task, "link"))
        return cls(scores, {name: place for place, name in enumerate(names)})

    def ranked(self, names: Iterable[str]) -> list[str]:
        """The names, best first; one that is no table of the catalog comes last."""
        last = len(self.places)
        return sorted(names, key=lambda n: (-self.scores.get(n, -1.0), self.places.get(n, last), n))


def ranking(name: str, section: Section, order: Order) -> Lists:
    """Headed lists of tables; none for a section that keeps no tables.

    Args:
        name: Name of the section.
        section: It, of the shape that its schema gives.
        order: The order of tables that the section itself does not rank.
    """
    reader = _READERS.get(name)
    return (
        [] if reader is None else [(head, items) for head, items in reader(section, order) if items]
    )


def _link_ranks(section: Link, order: Order) -> Lists:
    tables = list(enumerate(section["tables"], 1))
    lists = [
        (head, [f"{rank} {t['name']} {t['score']:.3f}" for rank, t in tables if t["keep"] == keep])
        for head, keep in (("kept", True), ("not kept", False))
    ]
    rest = section["n_tables"] - len(tables)
    return [*lists, ("without evidence", [many(rest, "table")] if rest > 0 else [])]


def _vote_ranks(section: Vote, order: Order) -> Lists:
    names = named("vote", cast("Mapping[str, object]", section))
    kept, always = voted(section, names), section.get("always_keep", ())
    tallies = section.get("vote_tally", {})

    def said(name: str) -> str:
        return f"{name} {'always' if name in always else tallies.get(name, '?')}"

    ranked = order.ranked(names)
    return [
        ("kept", [said(name) for name in ranked if name in kept]),
        ("not kept", [said(name) for name in ranked if name not in kept]),
    ]


def _prune_ranks(section: Prune, order: Order) -> Lists:
    kept = superset(section)
    shown = [f"{name} {many(len(kept[name]), 'column')}" for name in order.ranked(kept)]
    gone = [*section["deleted"]["tables"], *section.get("cut", {}).get("tables", ())]
    return [("kept", shown), ("not kept", order.ranked(gone))]


def _explore_ranks(section: Explore, order: Order) -> Lists:
    judged = section["table_judgments"]
    ranked = order.ranked(judged)
    return [
        ("relevant", [name for name in ranked if judged[name]["relevant"]]),
        ("not relevant", [name for name in ranked if not judged[name]["relevant"]]),
    ]


def _refine_ranks(section: Refine, order: Order) -> Lists:
    kept = focused(section)
    return [("kept", [f"{name} ({', '.join(kept[name])})" for name in order.ranked(kept)])]


def _collapse(section: Collapse, order: Order) -> Lists:
    levels = shown_at(section)
    heads = (("full", "in full"), ("names", "by names"), ("line", "as a line"))
    return [
        (head, order.ranked(name for name, at in levels.items() if at == level))
        for level, head in heads
    ]


_READERS: Mapping[str, Callable[..., Lists]] = {
    "link": _link_ranks,
    "vote": _vote_ranks,
    "prune": _prune_ranks,
    "explore": _explore_ranks,
    "refine": _refine_ranks,
    "collapse": _collapse,
}


# The plain view: catalogs, their tables, and each task's sections in short.

NAME, LINE, QUESTION = 60, 120, 300
COLUMNS_NAMED = 8


def overview(book: LineFile, task_id: str | None) -> Iterator[RenderableType]:
    """Catalogs and tables, then tasks; with ``task_id`` that task, all tables of its lists, and
    its catalog in one line."""
    tasks = [asked for asked in book.tasks if task_id in (None, asked.task["task_id"])]
    ids = {asked.shelf.id for asked in tasks} if task_id else set(book.shelves)
    for key, shelf in book.shelves.items():
        if key in ids:
            yield from _catalog(shelf, whole=task_id is None)
    for asked in tasks:
        yield _task(asked, whole=task_id is not None)


def _catalog(shelf: CatalogLines, *, whole: bool) -> Iterator[RenderableType]:
    """The catalog in a line, and its tables where the whole is asked for."""
    from rich.table import Table as Grid
    from rich.text import Text

    yield Text(_catalog_line(shelf.catalog, len(shelf.tables)), style="bold")
    if not whole:
        return
    for skipped in shelf.catalog.get("skipped", []):
        yield Text(
            f"  skipped {visible(skipped['path'], LINE)}: {visible(skipped['reason'], LINE)}",
            style="yellow",
        )
    grid = Grid(box=None, pad_edge=True, header_style="dim")
    for head, justify in (
        ("table", "left"),
        ("rows", "right"),
        ("columns", "left"),
        ("from", "left"),
        ("", "left"),
    ):
        grid.add_column(head, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for table in shelf.records:
        grid.add_row(*(Text(cell) for cell in _table_cells(table)))
    yield grid
    yield Text("")


def _catalog_line(catalog: Catalog, tables: int) -> str:
    parts = [f"catalog {visible(catalog['name'], NAME)}", many(tables, "table")]
    if catalog.get("documents"):
        parts.append(many(len(catalog["documents"]), "document"))
    if catalog.get("root"):
        parts.append(f"in {visible(catalog['root'], LINE)}")
    return ", ".join(parts)


def _table_cells(table: Table) -> tuple[str, ...]:
    names = [visible(column["name"], NAME) for column in table["columns"]]
    more = f" … {len(names)} in all" if len(names) > COLUMNS_NAMED else ""
    flags = [word for word, on in (("always kept", table.get("always_keep")),) if on]
    flags += [many(len(table["warnings"]), "warning")] if table.get("warnings") else []
    flags += [f"ERROR {visible(table['error'], LINE)}"] if table.get("error") else []
    return (
        visible(table["name"], NAME),
        rows(table),
        ", ".join(names[:COLUMNS_NAMED]) + more,
        visible(table["describe_key"], LINE),
        ", ".join(flags),
    )


def rows(table: Table) -> str:
    """The row count as a person writes it: ``1204``, ``~1204`` or ``?``."""
    found = table.get("rows", {"count": None, "how": "unknown"})
    if found["count"] is None:
        return "?"
    return f"{'~' if found['how'] == 'estimate' else ''}{found['count']}"


def _task(asked: TaskInput, *, whole: bool) -> RenderableType:
    from rich.text import Text

    task, order = asked.task, Order.of(asked)
    text = Text(f"task {visible(task['task_id'], NAME)}", style="bold")
    text.append(
        f": {visible(task.get('question', '(no question)'), None if whole else QUESTION)}\n",
        style="not bold",
    )
    for key in ("evidence", "knowledge", "video"):
        value = str(task.get(key, ""))
        if value:
            shown = visible(" ".join(value.split()), None if whole and key == "evidence" else NAME)
            text.append(
                f"  {key}: {many(len(value), 'character')}: {shown}\n", style="not bold dim"
            )
    for key, names in task.get("pin", {}).items():
        if isinstance(names, list) and names:
            text.append(
                f"  pinned to {key}: {visible(', '.join(map(str, names)), LINE)}\n",
                style="not bold",
            )
    if "error" in task:
        text.append(
            f"  ERROR in {task['error']['stage']}: {visible(task['error']['message'], LINE)}\n",
            style="red",
        )
    for name, made in sections_of(asked).items():
        style = "red" if made.get("error") else "not bold"
        text.append(
            f"  {visible(name, NAME)}: {visible(brief(name, made), 4 * LINE)}\n", style=style
        )
        if schema.exists(name) and schema.fits(made, name):
            for line in _lists(name, made, order, whole=whole):
                text.append(f"    {line}\n", style="not bold dim")
    return text


def _lists(name: str, section: Section, order: Order, *, whole: bool) -> Iterator[str]:
    """The tables that a section kept and did not keep, best first."""
    for head, items in ranking(name, section, order):
        shown = items if whole else items[:MOST]
        more = f", and {len(items) - len(shown)} more" if len(items) > len(shown) else ""
        yield f"{head}: {', '.join(visible(item, LINE) for item in shown)}{more}"
