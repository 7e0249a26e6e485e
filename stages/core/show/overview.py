"""The plain view: catalogs, their tables, and of each task its sections and what they kept.

One short line for each section of a task.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from stages.core.counts import many
from stages.core.lines import schema
from stages.core.lines.lines import CatalogLines, TaskInput
from stages.core.lines.sections import section
from stages.core.readers import Order, count_of, reader_of
from stages.core.records import Catalog, Table
from stages.core.runtime.stage import Section
from stages.core.show.book import LineFile, sections_of
from stages.core.text import visible

if TYPE_CHECKING:
    from rich.console import RenderableType

    from stages.core.records import Meta


def brief(name: str, section: Section) -> str:
    """What the section comes to, with its model, its cost and its error."""
    parts = [reader_of(name).summary(section), *_cost(cast("Meta", section.get("meta", {})))]
    if section.get("error"):
        parts.append(f"ERROR {section['error']}")
    return "; ".join(part for part in parts if part)


def _cost(meta: Meta) -> list[str]:
    parts = []
    if meta.get("model"):
        parts.append(str(meta["model"]))
    if meta.get("calls"):
        parts.append(
            f"{count_of(meta['calls'], 'call')}, {meta.get('tokens_in', 0)} + "
            f"{meta.get('tokens_out', 0)} tokens"
        )
    if meta.get("usd") is not None:
        parts.append(f"${meta['usd']:.4f}")
    if meta.get("skipped"):
        parts.append(f"nothing asked: {meta['skipped']}")
    return parts


MOST = 20
"""Tables of one list that are named unless all are asked for."""


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

    task, order = asked.task, _order(asked)
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


def _order(asked: TaskInput) -> Order:
    """The order that the sections of a task give its tables."""
    return Order.of(asked.tables, section(asked.task, "vote"), section(asked.task, "link"))


def _lists(name: str, section: Section, order: Order, *, whole: bool) -> Iterator[str]:
    """The tables that a section kept and did not keep, best first."""
    for head, items in reader_of(name).ranking(section, order):
        if not items:
            continue
        shown = items if whole else items[:MOST]
        more = f", and {len(items) - len(shown)} more" if len(items) > len(shown) else ""
        yield f"{head}: {', '.join(visible(item, LINE) for item in shown)}{more}"
