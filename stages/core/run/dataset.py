"""The tasks of a run and their catalogs, as lines (seed 002: JydbTaskDataset).

Everything is scanned before the first task is worked on, so that a run knows what it is: how
many tasks, of which questions, over which tables. Workers read the lines and never scan.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from stages.core import diagnostics
from stages.core.catalog.schema_only.files import SchemaFolder
from stages.core.catalog.source_table import ScanOptions
from stages.core.catalog.stream import Item, Note, ScanRequest, from_lines, many_tasks, own_tasks
from stages.core.catalog.tasks import TASK_FILE, open_questions, questions
from stages.core.errors import DataError, UsageError, WinnowError
from stages.core.jsontypes import JsonMapping
from stages.core.lines.lines import digest, dump
from stages.core.records import Table, Task
from stages.core.run.config import RunConfig, texts

RESERVED = frozenset({"catalogs"})
LONGEST_NAME = 150


@dataclass(frozen=True)
class Assignment:
    """One task of a run, as a worker gets it.

    Attributes:
        task_id: The task's id.
        folder: Its folder below the run.
        line: The task line after scan, without its newline.
        catalog: Path of its catalog's lines below the run.
        tables: Hash of those lines.
    """

    task_id: str
    folder: str
    line: bytes
    catalog: str
    tables: str

    @property
    def digest(self) -> str:
        """A hash of all that the task is made of."""
        return digest(self.line, self.tables.encode())


@dataclass
class Dataset:
    """The tasks of a run in their order, and the lines of their catalogs by path."""

    assignments: list[Assignment] = field(default_factory=list)
    catalogs: dict[str, bytes] = field(default_factory=dict)

    def manifest(self) -> dict[str, str]:
        """What tasks there are: a hash for each, by id."""
        return {one.task_id: one.digest for one in self.assignments}


Pin = Callable[[Task, Sequence[Table]], Task]
"""Changes a task line before the run, given its tables."""


def read_dataset(config: RunConfig, pin: Pin | None = None) -> Dataset:
    """Scan everything that the configuration names.

    Args:
        config: The configuration.
        pin: What a mode adds to each task line.

    Raises:
        DataError: There is no task, two have one id, or a wanted one is not there.
    """
    wanted = config.dataset
    builder = _Builder(pin)
    with ExitStack() as stack:
        for item in _items(config, stack):
            builder.take(item)
    only = texts(wanted.get("only"))
    dataset = builder.dataset
    if only:
        missing = sorted({*only} - {one.task_id for one in dataset.assignments})
        if missing:
            raise DataError(f"no task {missing[0]}", place=config.path, hint="see dataset.only")
        dataset.assignments = [one for one in dataset.assignments if one.task_id in only]
    dataset.assignments = dataset.assignments[: wanted.get("limit")]
    if not dataset.assignments:
        hint = "task folders hold task.json; questions stand in a file"
        raise DataError("the dataset has no task", place=config.path, hint=hint)
    used = {one.catalog for one in dataset.assignments}
    dataset.catalogs = {path: raw for path, raw in dataset.catalogs.items() if path in used}
    return dataset


def _items(config: RunConfig, stack: ExitStack) -> Iterator[Item]:
    wanted = config.dataset
    if "tasks" in wanted:
        folders = [folder for place in texts(wanted["tasks"]) for folder in task_folders(place)]
        for number, folder in enumerate(folders):
            diagnostics.progress(number, len(folders), "tasks scanned")
            yield from own_tasks(ScanRequest(paths=(folder,)))
    elif "manifest" in wanted:
        stream = stack.enter_context(open_questions(wanted["manifest"]))
        yield from from_lines(stream, wanted["manifest"], ScanRequest())
    else:
        schemas = SchemaFolder(wanted["schemas"], ScanOptions()) if "schemas" in wanted else None
        request = ScanRequest(paths=texts(wanted.get("source")), schemas=schemas)
        stream = stack.enter_context(open_questions(wanted["questions"]))
        yield from many_tasks(request, questions(stream, wanted["questions"]))


def task_folders(place: str) -> list[str]:
    """The folder itself where it is a task folder, else the task folders in it, by name.

    Raises:
        UsageError: It is no folder, or holds no task folder.
    """
    path = Path(place)
    if not path.is_dir():
        raise UsageError("no such folder", place=place, hint="see dataset.tasks")
    if _is_task(path):
        return [place]
    found = [entry.path for entry in os.scandir(path) if entry.is_dir() and _is_task(entry)]
    if not found:
        hint = f"a task folder holds {TASK_FILE}, in it or in its input/"
        raise UsageError("no task folder in it", place=place, hint=hint)
    return sorted(found)


def _is_task(path: os.PathLike[str]) -> bool:
    return any((Path(path) / part / TASK_FILE).is_file() for part in ("", "input"))


class _Builder:
    """Sorts scanned lines into catalogs and tasks."""

    def __init__(self, pin: Pin | None) -> None:
        self.dataset = Dataset()
        self._pin = pin
        self._lines: dict[str, list[bytes]] = {}
        self._tables: dict[str, list[Table]] = {}
        self._paths: dict[str, tuple[str, str]] = {}
        self._ids: set[str] = set()

    def take(self, item: Item) -> None:
        """Take one thing that a scan gave."""
        if isinstance(item, WinnowError):
            diagnostics.error(item)
        elif isinstance(item, Note):
            diagnostics.detail(item.text)
        elif isinstance(item, bytes):
            raise DataError("a manifest holds task lines with a root", hint="and nothing else")
        elif item["kind"] == "task":
            self._task(cast("Task", item))
        else:
            self._catalog(item)

    def _catalog(self, record: JsonMapping) -> None:
        is_table = record["kind"] == "table"
        key = record["catalog" if is_table else "id"]
        if key in self._paths:
            return
        self._lines.setdefault(key, []).append(dump(record))
        if is_table:
            self._tables.setdefault(key, []).append(cast("Table", record))

    def _task(self, record: Task) -> None:
        task_id = record["task_id"]
        if task_id in self._ids:
            hint = "rename one of them; results lie in a folder each"
            raise DataError("two tasks have this id", place=task_id, hint=hint)
        self._ids.add(task_id)
        path, tables = self._stored(record.get("catalog", ""))
        if self._pin is not None:
            record = self._pin(record, self._tables.get(record.get("catalog", ""), ()))
        line = dump(record).rstrip(b"\n")
        self.dataset.assignments.append(
            Assignment(task_id, folder_name(task_id), line, path, tables)
        )

    def _stored(self, key: str) -> tuple[str, str]:
        """Where a catalog's lines lie, and their hash; they are complete by its first task."""
        if key not in self._paths:
            raw = b"".join(self._lines.pop(key, ()))
            hashed = digest(raw)
            path = f"catalogs/{hashed[7:23]}.jsonl"
            self.dataset.catalogs[path] = raw
            self._paths[key] = (path, hashed)
        return self._paths[key]


def folder_name(task_id: str) -> str:
    """The folder of a task's results: its id, with what no file name may hold written as %XX.

    >>> folder_name("task_15"), folder_name("a/b"), folder_name("..")
    ('task_15', 'a%2Fb', '%2E.')
    """
    name = "".join(map(_escaped, task_id))
    if name.startswith(".") or name in RESERVED:
        name = f"%{ord(name[0]):02X}{name[1:]}"
    if len(name.encode()) > LONGEST_NAME:
        head = name.encode()[: LONGEST_NAME - 20].decode("utf-8", "ignore")
        name = f"{head}%{digest(task_id.encode())[7:19]}"
    return name or "%"


def _escaped(char: str) -> str:
    return f"%{ord(char):02X}" if ord(char) < 32 or char in '%/\\:*?"<>|\x7f' else char
