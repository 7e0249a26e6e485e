"""What the built-in judge says of tables and columns: from the task's ``link`` section, or anew."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stages.core.judge.judgment import EvidencePiece, RankedColumn, RankedTable, ValueSearch
from stages.core.lines.sections import section
from stages.core.records import LinkColumn, LinkTable, Table, Task


@dataclass(frozen=True)
class JudgeRanks:
    """The judge's word on a catalog.

    Args:
        tables: By canonical name; a table that is not there has no evidence.
        columns: By table, in rank order.
    """

    tables: Mapping[str, RankedTable]
    columns: Mapping[str, Sequence[RankedColumn]]

    def table(self, name: str) -> RankedTable:
        """The table's rank; nothing is known of one that is not there."""
        return self.tables.get(name, RankedTable(name, 0.0, False))


def judgment_for(
    task: Task, tables: Sequence[Table], values: ValueSearch | None = None
) -> JudgeRanks:
    """The judgment that stands on the task, or else one that is made now, with words looked up in
    the data where ``values`` can."""
    link = section(task, "link")
    if link is None:
        from stages.core.judge import judge

        made = judge(task, tables, seek=values)
        return _by_table(made.tables, made.columns)
    return _by_table(
        [ranked_table(item) for item in link["tables"]],
        [
            RankedColumn(item["table"], item["name"], item["score"], item["keep"], _evidence(item))
            for item in link["columns"]
        ],
    )


def kept_by_judge(
    task: Task, tables: Sequence[Table], values: ValueSearch | None = None
) -> frozenset[str]:
    """The tables that the judge keeps at the recall `VOTED`, or that the ``link`` section keeps.

    Columns are cut to be few, so that costing little is no reason to keep a table.
    """
    link = section(task, "link")
    if link is not None:
        return frozenset(item["name"] for item in link["tables"] if item["keep"])
    from stages.core.judge import judge
    from stages.core.judge.priors.hints import VOTED

    made = judge(task, tables, recall=VOTED, columns=False, seek=values)
    return frozenset(table.name for table in made.tables if table.keep)


def _by_table(tables: Sequence[RankedTable], columns: Sequence[RankedColumn]) -> JudgeRanks:
    by_table: dict[str, list[RankedColumn]] = defaultdict(list)
    for column in columns:
        by_table[column.table].append(column)
    return JudgeRanks({table.name: table for table in tables}, by_table)


def ranked_table(item: LinkTable) -> RankedTable:
    """A table of a ``link`` section as the judge ranks it."""
    return RankedTable(item["name"], item["score"], item["keep"], _evidence(item))


def _evidence(item: LinkTable | LinkColumn) -> tuple[EvidencePiece, ...]:
    return tuple(
        EvidencePiece(found["type"], tuple(found["words"]), found["weight"], found.get("note", ""))
        for found in item["evidence"]
    )
