"""``--why TABLE``: every vote, reason and piece of evidence about one table, and where it ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from stages.core.errors import DataError
from stages.core.lines.lines import TaskInput
from stages.core.lines.sections import section
from stages.core.names import fold
from stages.core.readers import reader_of
from stages.core.readers.collapse import outcome
from stages.core.records import Table
from stages.core.show.book import LineFile, sections_of
from stages.core.show.overview import rows
from stages.core.text import visible

LONGEST = 400


def why(book: LineFile, wanted: str, task_id: str | None) -> Iterator[str]:
    """Lines of text, task by task.

    Args:
        book: The lines.
        wanted: A canonical name or an alias, in any case.
        task_id: One task, or None for all.

    Raises:
        DataError: No catalog has such a table.
    """
    met = False
    for asked in book.tasks:
        table = find(asked.tables, wanted)
        if table is None or task_id not in (None, asked.task["task_id"]):
            continue
        met = True
        yield f"{visible(table['name'])} for task {visible(asked.task['task_id'])}"
        yield from (f"  {visible(line, LONGEST)}" for line in _about(asked, table))
        yield ""
    if not met:
        raise DataError(
            f"no task has a table {wanted}", place=book.name, hint="`winnow show FILE` lists them"
        )


def find(tables: list[Table], wanted: str) -> Table | None:
    """The table by canonical name, else by alias, without regard to case."""
    key = fold(wanted)
    by_name = next((t for t in tables if fold(t["name"]) == key), None)
    return by_name or next((t for t in tables if key in map(fold, t.get("aliases", []))), None)


def _about(asked: TaskInput, table: Table) -> Iterator[str]:
    name = table["name"]
    yield f"table: {table['describe_key']}, {rows(table)} rows, {len(table['columns'])} columns"
    if table.get("always_keep"):
        yield f"always keep: {_mark(table)}"
    for key, names in asked.task.get("pin", {}).items():
        if isinstance(names, list) and name in names:
            yield f"pin: {key}"
    for section_name, made in sections_of(asked).items():
        lines = reader_of(section_name).why(made, table)
        yield from (f"{section_name}: {line}" for line in lines)
    yield f"in the end: {outcome(section(asked.task, 'collapse'), name)}"


def _mark(table: Table) -> str:
    """Where the mark comes from; scan sets it for documents, and an edit of the line for others."""
    from stages.core.catalog.documents import STEM

    stem = PurePath(table["describe_key"].partition("::")[0]).name.partition(".")[0]
    if stem == STEM:
        return "it comes from a prepared document"
    return "its line says so, by hand or because its file is marked as prepared"
