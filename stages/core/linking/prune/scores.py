"""What the built-in judge thinks of every candidate column, as numbers.

The task's ``link`` section is used where it stands, else the judge is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stages.core.linking.column_refs import ColumnRef
from stages.core.linking.judgment import judgment_for

if TYPE_CHECKING:
    from stages.core.judge.judgment import ValueSearch
    from stages.core.records import Table, Task


@dataclass(frozen=True)
class Scores:
    """Calibrated probabilities that the answer needs a table or a column, 0 to 1.

    Args:
        tables: By canonical name; none is 0.
        columns: Of columns with evidence of their own.
    """

    tables: Mapping[str, float]
    columns: Mapping[ColumnRef, float]

    def table(self, name: str) -> float:
        """The score of a table."""
        return self.tables.get(name, 0.0)

    def column(self, unit: ColumnRef, column: str) -> float:
        """The score of a candidate column; a field without its own has that of its column."""
        found = self.columns.get(unit)
        return self.columns.get((unit[0], column), 0.0) if found is None else found


def scores(task: Task, tables: Sequence[Table], values: ValueSearch | None = None) -> Scores:
    """The judge's scores, or those of the ``link`` section.

    Args:
        task: What is asked.
        tables: In an order that does not depend on that of the table lines, since the judge
            breaks ties by it.
        values: Looks words up in the data.
    """
    found = judgment_for(task, tables, values)
    return Scores(
        {name: table.score for name, table in found.tables.items()},
        {(name, c.name): c.score for name, columns in found.columns.items() for c in columns},
    )
