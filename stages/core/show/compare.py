"""``show A B``: what changed between two files of lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stages.core.lines.lines import CatalogLines, TaskInput
from stages.core.readers import reader_of
from stages.core.show.book import LineFile, sections_of
from stages.core.show.overview import brief
from stages.core.text import visible

LONGEST = 300


def compare(old: LineFile, new: LineFile) -> Iterator[str]:
    """Lines of text: catalogs and tables first, then each task that differs."""
    found = False
    for line in (*_catalogs(old, new), *_tasks(old, new)):
        found = True
        yield visible(line, LONGEST)
    if not found:
        yield "nothing differs"


def _catalogs(old: LineFile, new: LineFile) -> Iterator[str]:
    """Catalogs are matched by name: an edited or rescanned one may have another id."""
    before = {shelf.catalog["name"]: shelf for shelf in old.shelves.values()}
    after = {shelf.catalog["name"]: shelf for shelf in new.shelves.values()}
    for name in [*before, *(name for name in after if name not in before)]:
        if name not in after or name not in before:
            yield f"catalog {name}: only in {old.name if name in before else new.name}"
            continue
        yield from (f"catalog {name}: {line}" for line in _tables(before[name], after[name]))


def _tables(before: CatalogLines, after: CatalogLines) -> Iterator[str]:
    for name in sorted(before.tables.keys() - after.tables.keys()):
        yield f"table {name} is gone"
    for name, line in after.tables.items():
        if name not in before.tables:
            yield f"table {name} is new"
            continue
        old = before.tables[name].record
        keys = [
            key
            for key in {**old, **line.record}
            if key != "catalog" and old.get(key) != line.record.get(key)
        ]
        if keys:
            yield f"table {name} differs in {', '.join(sorted(keys))}"


def _tasks(old: LineFile, new: LineFile) -> Iterator[str]:
    for asked in new.tasks:
        task_id = asked.task["task_id"]
        before = old.task(task_id)
        if before is None:
            yield f"task {task_id}: only in {new.name}"
            continue
        yield from (f"task {task_id}: {line}" for line in _task(before, asked))
    ids = {asked.task["task_id"] for asked in new.tasks}
    yield from (
        f"task {a.task['task_id']}: only in {old.name}"
        for a in old.tasks
        if a.task["task_id"] not in ids
    )


def _task(before: TaskInput, after: TaskInput) -> Iterator[str]:
    for key in ("question", "evidence", "knowledge", "video", "pin", "error"):
        if before.line.record.get(key) != after.line.record.get(key):
            yield f"{key} differs"
    ours, theirs = sections_of(before), sections_of(after)
    for name in [*ours, *(n for n in theirs if n not in ours)]:
        if name not in theirs or name not in ours:
            here = brief(name, (ours.get(name) or theirs.get(name)) or {})
            yield f"{name} is {'gone' if name in ours else 'new'} ({here})"
        elif _content(ours[name]) != _content(theirs[name]):
            yield from (f"{name}: {line}" for line in _section(name, ours[name], theirs[name]))


def _content(section: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in section.items() if key != "meta"}


def _section(name: str, before: Mapping[str, object], after: Mapping[str, object]) -> Iterator[str]:
    old, new = brief(name, before), brief(name, after)
    if old != new:
        yield f"{old} -> {new}"
    details = list(reader_of(name).diff(before, after))
    yield from details
    if old == new and not details:
        yield "differs"
