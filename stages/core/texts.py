"""``--text``: the bare text of a section instead of lines."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import orjson

from stages.core.errors import DataError, UsageError
from stages.core.lines import Output
from stages.core.stage import Stage
from stages.core.streams import output, replacing


class TextSink(io.RawIOBase):
    """Takes lines as they are written and keeps the text of each task's section."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.found: dict[str, str] = {}
        self.suffixes: dict[str, str] = {}

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: object) -> int:
        """Take one whole line."""
        raw = bytes(cast("bytes", data))
        record = orjson.loads(raw)
        section = record.get(self.stage.name) if record["kind"] == "task" else None
        if section is not None and self.stage.text is not None:
            self.found[record["task_id"]] = self.stage.text(section).rstrip("\n") + "\n"
            self.suffixes[record["task_id"]] = self.stage.text_suffix(section)
        return len(raw)


@contextmanager
def texts(stage: Stage, path: str | None) -> Iterator[Output]:
    """Collect lines; at the end print the one text, or write one file per task into a folder.

    Raises:
        UsageError: There are several tasks and ``path`` is no folder to be.
    """
    sink = TextSink(stage)
    yield Output(cast("IO[bytes]", sink), path or "stdout")
    if (path is not None and path.endswith("/")) or (path and Path(path).is_dir()):
        _write_files(sink, Path(path))
    elif len(sink.found) > 1:
        raise UsageError(
            f"{len(sink.found)} tasks have a text",
            hint="name a folder with -o FOLDER/, or one task with --tasks",
        )
    else:
        with output(path) as out:
            for text in sink.found.values():
                out.write(text.encode())


def _write_files(sink: TextSink, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for task_id, text in sink.found.items():
        if "/" in task_id or "\0" in task_id or task_id.startswith("."):
            raise DataError("the task id is no file name", place=task_id, hint="rename the task")
        with replacing(folder / f"{task_id}{sink.suffixes[task_id]}") as stream:
            stream.write(text.encode())
