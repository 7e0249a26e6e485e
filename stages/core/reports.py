"""A file beside the lines, made from all tasks of a run: ``Stage.report``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stages.core.errors import LineError
from stages.core.lines import Output, parse
from stages.core.sections import sound
from stages.core.stage import Reported, Stage
from stages.core.streams import replacing

if TYPE_CHECKING:
    from stages.core.records import Catalog, Table


class Noting(Output):
    """An output that takes note of the tasks that pass, with their catalogs and tables."""

    def __init__(self, out: Output) -> None:
        super().__init__(out.stream, out.name)
        self._out = out
        self._catalogs: dict[str, Catalog] = {}
        self._tables: dict[str, dict[str, Table]] = {}
        self._tasks: list[Any] = []

    def write(self, data: bytes) -> None:
        """Write one whole line."""
        self._out.write(data)
        try:
            line = parse(data.rstrip(b"\n"), self.name)
        except LineError:  # it has been told, and is passed on as it was
            return
        record: Any = line.record
        if line.kind == "catalog":
            self._catalogs[record["id"]] = record
        elif line.kind == "table":
            self._tables.setdefault(record["catalog"], {})[record["name"]] = record
        else:
            self._tasks.append(sound(record, self.name)[0])

    @property
    def reported(self) -> list[Reported]:
        """What passed, in its order."""
        return [
            Reported(
                task,
                self._catalogs.get(task.get("catalog", "")),
                list(self._tables.get(task.get("catalog", ""), {}).values()),
            )
            for task in self._tasks
        ]


@contextmanager
def reporting(
    stage: Stage, common: Mapping[str, Any], base: AbstractContextManager[Output]
) -> Iterator[Output]:
    """The output, and at its good end the report where one is asked for; none of a dry run."""
    path = common.get(str(stage.report.option.name)) if stage.report else None
    with base as out:
        if stage.report is None or not path or common.get("dry_run") or common.get("dump_prompt"):
            yield out
            return
        noting = Noting(out)
        yield noting
    with replacing(Path(path)) as stream:
        stream.write(stage.report.make(noting.reported))
