"""A file of lines read whole, as `show` looks at it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import IO, cast

from stages.core import diagnostics
from stages.core.errors import WinnowError
from stages.core.jsontypes import JsonObject
from stages.core.lines import schema
from stages.core.lines.lines import BadLine, CatalogLines, LineReader, TaskInput
from stages.core.lines.sections import sound
from stages.core.readers import conflicts, pinned


@dataclass
class LineFile:
    """Catalogs by id, and the tasks in the order of their lines."""

    name: str
    shelves: dict[str, CatalogLines] = field(default_factory=dict)
    tasks: list[TaskInput] = field(default_factory=list)

    def task(self, task_id: str) -> TaskInput | None:
        """The last task with that id."""
        return next((a for a in reversed(self.tasks) if a.task["task_id"] == task_id), None)

    @property
    def sections(self) -> list[str]:
        """Names of all sections on any task, in the order they are met."""
        found: dict[str, None] = {}
        for asked in self.tasks:
            for key in sections_of(asked):
                found.setdefault(key)
        return list(found)


def read(source: Iterable[tuple[IO[bytes], str]], name: str) -> LineFile:
    """Read every line; broken ones are reported and left out."""
    library = LineReader(last_wins=True)
    book = LineFile(name)
    for item in library.read(source):
        if isinstance(item, TaskInput):
            book.tasks.append(_sound(item))
        elif isinstance(item, BadLine):
            diagnostics.error(item.error)
    book.shelves = {
        key: shelf for key, shelf in library.shelves.items() if shelf.line or shelf.tables
    }
    return book


def _sound(asked: TaskInput) -> TaskInput:
    """The task without the sections that cannot be read, which are reported."""
    task, errors = sound(asked.task, asked.line.place)
    for error in errors:
        diagnostics.error(error)
    record = cast("JsonObject", task)
    return replace(asked, line=replace(asked.line, record=record)) if errors else asked


def odd(book: LineFile, task_id: str | None) -> Iterator[WinnowError]:
    """What was edited by hand and is not to be followed, task by task: pins and verdicts.

    Args:
        book: The lines.
        task_id: One task, or None for all.
    """
    for asked in book.tasks:
        if task_id not in (None, asked.task["task_id"]):
            continue
        texts = pinned(asked.task.get("pin", {}), asked.tables)[1]
        for name, section in sections_of(asked).items():
            if schema.exists(name) and schema.fits(section, name):
                texts += conflicts(name, section, asked.tables)
        for text in texts:
            what, _, hint = text.partition("; ")
            yield WinnowError(what, place=asked.task["task_id"], hint=hint)


NOT_SECTIONS = frozenset({"pin", "error"})


def sections_of(asked: TaskInput) -> dict[str, dict[str, object]]:
    """The sections of a task, by the stage that added them."""
    return {
        key: value
        for key, value in asked.line.record.items()
        if isinstance(value, dict) and key not in NOT_SECTIONS
    }
