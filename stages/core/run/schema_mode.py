"""What ``schema_mode`` adds to the tasks of a run, by pins (seed 002).

``hybrid`` leaves the stages to decide. ``none`` shows every table in full, the lower bound of
what linking can be worth. ``oracle`` shows the gold tables and folds the rest, the upper bound;
it is a leak by design, and the configuration refuses it outside ``kind: eval``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stages.core.errors import DataError
from stages.core.records import Table, Task
from stages.core.run.config import RunConfig
from stages.core.run.dataset import Pin


def pins(config: RunConfig) -> Pin | None:
    """What the mode does to each task line; None for ``hybrid``.

    Raises:
        DataError: The gold of ``oracle`` cannot be read.
    """
    if config.schema_mode == "none":
        return _keep_all
    if config.schema_mode == "oracle":
        return _Oracle(config.gold).pin
    return None


def _keep_all(task: Task, tables: Sequence[Table]) -> Task:
    """Every table is kept."""
    return {**task, "pin": {"keep": [table["name"] for table in tables], "fold": []}}


class _Oracle:
    """The gold tables are kept, and all others folded."""

    def __init__(self, files: Sequence[str]) -> None:
        from stages.core.evaluate.gold import GoldBook, read_gold

        self._book = GoldBook([gold for path in files for gold in read_gold(Path(path))])

    def pin(self, task: Task, tables: Sequence[Table]) -> Task:
        """The task with its pins.

        Raises:
            DataError: The task has no gold, or it names a table that is not there.
        """
        from stages.core.names import Names

        names = Names(tables)
        gold = self._book.find(task["task_id"], names)
        if gold is None:
            hint = "schema_mode oracle needs gold for every task"
            raise DataError("no gold", place=task["task_id"], hint=hint)
        found = {name: names.table(name) for name in gold.tables}
        missing = next((name for name, own in found.items() if own is None), None)
        if missing is not None:
            what = f"its gold names {missing}, and no table is called so"
            raise DataError(what, place=task["task_id"])
        keep = [own for own in found.values() if own]
        fold = [table["name"] for table in tables if table["name"] not in keep]
        return {**task, "pin": {"keep": keep, "fold": fold}}
