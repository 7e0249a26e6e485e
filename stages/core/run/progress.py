"""How far a run is: by stage, how fast, what it cost so far, how long it will take."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field

from stages.core import diagnostics
from stages.core.errors import WinnowError
from stages.core.run.outcome import TaskOutcome
from stages.core.text import redact


@dataclass
class RunProgress:
    """What is done and under way, told on a terminal; a failure is one line anywhere.

    Args:
        total: Tasks of the run.
        done: Tasks that were finished before.
    """

    total: int
    done: int = 0
    records: list[TaskOutcome] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    _start: float = field(default_factory=time.monotonic)
    _at: dict[str, str] = field(default_factory=dict)

    def begun(self, task_id: str, stage: str) -> None:
        """A stage began on a task."""
        self._at[task_id] = stage
        self.show()

    def finished(self, record: TaskOutcome) -> None:
        """A task is finished; what failed in it is told."""
        self._at.pop(record["task_id"], None)
        self.records.append(record)
        self.statuses[record["status"]] += 1
        if record["status"] != "ok":
            what = redact(str(record.get("error", "")))
            place = f"{record['task_id']}: {record.get('stage', '')}"
            diagnostics.error(WinnowError(what, place=place))
        self.show()

    def show(self) -> None:
        """Write the line on a terminal, where it is time to."""
        diagnostics.progress(self.done + len(self.records), self.total, self.words())

    def words(self) -> str:
        """The line after the number of tasks."""
        seconds = time.monotonic() - self._start
        rate = len(self.records) / seconds if seconds else 0.0
        stages = Counter(self._at.values())
        failed = sum(n for status, n in self.statuses.items() if status not in ("ok", "partial"))
        left = (self.total - self.done - len(self.records)) / rate if rate else None
        parts = [
            " ".join(f"{stage} {n}" for stage, n in stages.items()),
            f"{rate:.1f}/s" if rate >= 1 else f"{60 * rate:.1f}/min",
            cost(self.records),
            f"{failed} failed" if failed else "",
            f"{clock(left)} left" if left is not None else "",
        ]
        return "tasks, " + ", ".join(part for part in parts if part)


def cost(records: list[TaskOutcome]) -> str:
    """What the tasks cost, in words; empty where no model was asked."""
    usages = [record["usage"] for record in records if record["usage"]["calls"]]
    if not usages:
        return ""
    costs = [usage["usd"] for usage in usages]
    known = [usd for usd in costs if usd is not None]
    return f"${sum(known):.4f}" if len(known) == len(costs) else "cost unknown"


def clock(seconds: float) -> str:
    """Minutes and seconds, hours where there are any.

    >>> clock(75), clock(3661)
    ('1:15', '1:01:01')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
