"""What a command writes beside lines: the text of a section, a report over all tasks.

A file beside the lines, made from all tasks of a run: ``Stage.report``.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import orjson

from stages.core import diagnostics
from stages.core.errors import DataError, LineError, UsageError
from stages.core.jsontypes import JsonMapping
from stages.core.lines.io import output, replace_file
from stages.core.lines.lines import Output, parse
from stages.core.lines.sections import sound
from stages.core.params import Options
from stages.core.runtime.stage import BareText, Stage, TaskReport

if TYPE_CHECKING:
    from stages.core.records import Catalog, Table, Task


class RecordingOutput(Output):
    """An output that takes note of the tasks that pass, with their catalogs and tables."""

    def __init__(self, out: Output) -> None:
        super().__init__(out.stream, out.name)
        self._out = out
        self._catalogs: dict[str, Catalog] = {}
        self._tables: dict[str, dict[str, Table]] = {}
        self._tasks: list[Task] = []

    def write(self, data: bytes) -> None:
        """Write one whole line."""
        self._out.write(data)
        try:
            line = parse(data.rstrip(b"\n"), self.name)
        except LineError:  # it has been told, and is passed on as it was
            return
        record = cast("Any", line.record)  # Any: which record it is, its kind tells
        if line.kind == "catalog":
            self._catalogs[record["id"]] = record
        elif line.kind == "table":
            self._tables.setdefault(record["catalog"], {})[record["name"]] = record
        else:
            self._tasks.append(sound(record, self.name)[0])

    @property
    def reported(self) -> list[TaskReport]:
        """What passed, in its order."""
        return [
            TaskReport(
                task,
                self._catalogs.get(task.get("catalog", "")),
                list(self._tables.get(task.get("catalog", ""), {}).values()),
            )
            for task in self._tasks
        ]


@contextmanager
def with_report(
    stage: Stage, common: Options, base: AbstractContextManager[Output]
) -> Iterator[Output]:
    """The output, and at its good end the report where one is asked for; none of a dry run."""
    path = common.get(str(stage.report.option.name)) if stage.report else None
    with base as out:
        if stage.report is None or not path or common.get("dry_run") or common.get("dump_prompt"):
            yield out
            return
        noting = RecordingOutput(out)
        yield noting
    with replace_file(Path(path)) as stream:
        stream.write(stage.report.make(noting.reported))


# The bare text of a section instead of lines.


class TextSink(io.RawIOBase):
    """Takes lines as they are written and keeps the text of each task's section."""

    def __init__(self, stage: str, text: BareText) -> None:
        self.stage = stage
        self.text = text
        self.found: dict[str, str] = {}
        self.suffixes: dict[str, str] = {}
        self.problems: list[DataError] = []

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: object) -> int:
        """Take one whole line."""
        raw = bytes(cast("bytes", data))
        record = orjson.loads(raw)
        if record["kind"] == "task":
            self._take(record)
        return len(raw)

    def _take(self, task: JsonMapping) -> None:
        """Keep the task's text, or why it has none; a failed stage has said so itself."""
        section, task_id, error = task.get(self.stage), task.get("task_id"), task.get("error")
        if isinstance(section, Mapping) and isinstance(task_id, str):
            if task_id in self.found:
                what, hint = "another task of this id has its text already", "rename one of them"
                self.problems.append(DataError(what, place=task_id, hint=hint))
                return
            self.found[task_id] = self.text.make(section).rstrip("\n") + "\n"
            self.suffixes[task_id] = self.text.suffix(section)
        elif isinstance(error, Mapping) and error.get("stage") != self.stage:
            what = f"no text, since {error.get('stage')} failed: {error.get('message')}"
            self.problems.append(DataError(what, place=str(task_id)))


@contextmanager
def texts(stage: str, text: BareText, path: str | None) -> Iterator[Output]:
    """Collect lines; at the end print the one text, or write one file per task into a folder.

    A task that has no text because it failed earlier is an error here, since nothing else
    of it comes out; the texts of the others are written all the same.

    Raises:
        UsageError: There are several tasks and ``path`` is no folder to be.
    """
    sink = TextSink(stage, text)
    yield Output(cast("IO[bytes]", sink), path or "stdout")
    for problem in sink.problems:
        diagnostics.error(problem)
    if (path is not None and path.endswith("/")) or (path and Path(path).is_dir()):
        _write_files(sink, Path(path))
    elif len(sink.found) > 1:
        raise UsageError(
            f"{len(sink.found)} tasks have a text",
            hint="name a folder with -o FOLDER/, or one task with --tasks",
        )
    else:
        with output(path) as out:
            for body in sink.found.values():
                out.write(body.encode())


def _write_files(sink: TextSink, folder: Path) -> None:
    """One file per task; one that cannot be written is reported and stops no other."""
    folder.mkdir(parents=True, exist_ok=True)
    for task_id, text in sink.found.items():
        if "/" in task_id or "\0" in task_id or task_id.startswith("."):
            what, hint = "the task id is no file name", "rename the task"
            diagnostics.error(DataError(what, place=task_id, hint=hint))
            continue
        try:
            with replace_file(folder / f"{task_id}{sink.suffixes[task_id]}") as stream:
                stream.write(text.encode())
        except OSError as error:
            diagnostics.error(DataError(diagnostics.os_message(error), place=task_id))
