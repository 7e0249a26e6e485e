"""What the judge goes by beside a task and its tables, and the order in which it does.

Source: seed 002 (recall, then a model's choice, rules, co-occurrence, fusion): what a model
chose or a rule added speaks for its partners in past SQL, and for the tables between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stages.core.errors import DataError
from stages.core.jsontypes import JsonObject

if TYPE_CHECKING:
    from stages.core.judge import Judgment
    from stages.core.judge.judgment import ValueSearch
    from stages.core.judge.priors.query_log import BoundHistory, QueryLog
    from stages.core.judge.priors.rules import BoundRules, RuleChanges, RuleFile
    from stages.core.records import Table, Task

RECALL = 0.99
"""Strict table recall that the judge aims at, unless told otherwise."""

VOTED = 0.97
"""The same where columns are pruned: small catalogs would be kept whole at 0.99."""


LOSS_TOKENS = 64_000.0
"""Tokens that an answer is worth: what a needed table that was folded costs. Measured on databases
held back (`tools/train/evaluate.py` prints strict recall against tokens)."""


@dataclass(frozen=True)
class Hints:
    """What shapes the judge's answer beside the task and its tables."""

    recall: float
    without: tuple[str, ...]
    rules: RuleFile | None
    history: QueryLog | None
    index: Path | None = None
    values: ValueSearch | None = None
    loss_tokens: float | None = None

    def ready(self, task: Task, tables: Sequence[Table]) -> Ready:
        """The judge with one task before it.

        Raises:
            DataError: The task has no question.
        """
        from stages.core.judge.priors.query_log import BoundHistory
        from stages.core.judge.priors.rules import BoundRules
        from stages.core.names import names_of

        if not task.get("question", "").strip():
            hint = 'add a "question" to the task line'
            raise DataError("the task has no question", place=task["task_id"], hint=hint)
        names = names_of(tables)
        history = BoundHistory(self.history, names) if self.history else None
        rules = BoundRules(self.rules, names) if self.rules else None
        return Ready(self, task, tables, rules, history)

    def applied(self, task: Task, tables: Sequence[Table]) -> RuleChanges | None:
        """What the rules say to the question; None where there are none, or they are off."""
        from stages.core.names import names_of

        if self.rules is None or "rule" in self.without:
            return None
        return self.rules.apply(task.get("question", "")).within(names_of(tables))

    @property
    def options(self) -> JsonObject:
        """What differs from the defaults; files by their hashes."""
        given = {
            "recall": self.recall if self.recall != RECALL else None,
            "loss_tokens": self.loss_tokens,
            "without": sorted(self.without),
            "rules": str(self.rules) if self.rules else None,
            "history": str(self.history) if self.history else None,
        }
        return {name: value for name, value in given.items() if value not in (None, [])}


@dataclass(frozen=True)
class Ready:
    """The judge with one task before it, and what it goes by bound to the catalog.

    Args:
        hints: What shapes its answer.
        task: The question.
        tables: The catalog.
        rules, history: In the catalog's names.
    """

    hints: Hints
    task: Task
    tables: Sequence[Table]
    rules: BoundRules | None = None
    history: BoundHistory | None = None

    def alone(self) -> Judgment:
        """What the judge says before model, rules and past SQL (seed 002 has them in this
        order)."""
        return self._judged(None, None, frozenset())

    def judged(self, chosen: frozenset[str] = frozenset()) -> Judgment:
        """What it says by rules and past SQL too.

        Args:
            chosen: Tables that a model chose: kept, and past SQL and keys speak for them.
        """
        from stages.core.judge.priors.query_log import apply_query_log

        past = self.history if "co-occurrence" not in self.hints.without else None
        found = self._judged(self.rules, past, chosen)
        if past:
            applied = self.hints.applied(self.task, self.tables)
            found = apply_query_log(
                found, past, chosen | set(applied.add_tables if applied else ())
            )
        return found

    def _judged(
        self, rules: BoundRules | None, history: BoundHistory | None, chosen: frozenset[str]
    ) -> Judgment:
        from stages.core.judge import judge

        return judge(
            self.task,
            self.tables,
            recall=self.hints.recall,
            loss_tokens=self.hints.loss_tokens,
            without=self.hints.without,
            history=history,
            rules=rules,
            index_dir=self.hints.index,
            seek=self.hints.values,
            chosen=chosen,
        )
