"""From what a model says of a table to the judgment that is kept: real columns, and no others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from stages.core.jsontypes import JsonMapping
from stages.core.names import fold
from stages.core.records import JudgedColumn, Statement, Table, TableJudgment
from stages.core.text import visible

REASON = 600
"""Characters kept of a reason, an observation or a summary."""


@dataclass
class TableFinding:
    """A table's judgment, and what to say about it."""

    judgment: TableJudgment
    notes: list[str] = field(default_factory=list)


def judgment(
    table: Table,
    *,
    relevant: bool,
    columns: Sequence[JudgedColumn],
    summary: str,
    log: Sequence[Statement] = (),
    error: str = "",
) -> TableJudgment:
    """The record of one table's judgment."""
    made: TableJudgment = {
        "table_full_name": table["name"],
        "relevant": relevant,
        "relevant_columns": list(columns),
        "table_summary": summary,
        "exploration_log": list(log),
    }
    if error:
        made["error"] = error
    return made


def parse_judgment(reply: JsonMapping, table: Table, log: Sequence[Statement]) -> TableFinding:
    """The judgment of a reply; columns that the table has not are dropped, with a note.

    Args:
        reply: Fits ``schemas/replies/explore.judgment.json``.
        table: The table it is about, whatever name the reply gives it.
        log: The statements that were run.
    """
    names, unknown = ColumnNames(table), []
    columns: dict[str, JudgedColumn] = {}
    for said in reply["relevant_columns"]:
        name = names.find(said["column_name"])
        if name is None:
            unknown.append(said["column_name"])
        elif name not in columns:
            columns[name] = judge_column(name, said["relevance_reason"], said["observations"])
    notes = []
    if unknown:
        listed = ", ".join(visible(name, 80) for name in unknown[:5])
        notes.append(f"{table['name']}: the model named columns that are not there: {listed}")
    made = judgment(
        table,
        relevant=reply["relevant"],
        columns=list(columns.values()),
        summary=_text(reply["table_summary"]),
        log=log,
    )
    return TableFinding(made, notes)


def judge_column(name: str, reason: str, seen: str) -> JudgedColumn:
    """One column of a judgment; texts are cut, and lone surrogates, which no line can hold, go."""
    return {"column_name": name, "relevance_reason": _text(reason), "observations": _text(seen)}


def _text(text: str) -> str:
    whole = text.strip().encode("utf-8", "replace").decode()
    return whole if len(whole) <= REASON else f"{whole[:REASON]}…(+{len(whole) - REASON})"


class ColumnNames:
    """Finds a table's column, or a field of a nested one, by any spelling of its name.

    An exact name comes before one that differs in case; quotes, and the table's own name in
    front, are left out of account. A path below a column that has no such field is the column.
    """

    def __init__(self, table: Table) -> None:
        self._exact: set[str] = set()
        self._folded: dict[str, str] = {}
        columns = table["columns"]
        self._add(column["name"] for column in columns)
        self._add(item["name"] for column in columns for item in column.get("fields", []))
        self._owners = [table["name"], *table.get("aliases", [])]

    def _add(self, names: Iterable[str]) -> None:
        for name in names:
            self._exact.add(name)
            self._folded.setdefault(_fold(name), name)

    def find(self, said: str) -> str | None:
        """The real name; None where there is none."""
        if said in self._exact:
            return said
        whole = _fold(said)
        for name in (whole, *self._without_owner(whole)):
            found = self._folded.get(name) or self._parent(name)
            if found is not None:
                return found
        return None

    def _without_owner(self, whole: str) -> list[str]:
        """The name without the table's in front, however much of it is given."""
        found = []
        for owner in self._owners:
            parts = _fold(owner).split(".")
            for start in range(len(parts)):
                prefix = ".".join(parts[start:]) + "."
                if whole.startswith(prefix):
                    found.append(whole.removeprefix(prefix))
        return found

    def _parent(self, name: str) -> str | None:
        """The innermost known path above the name."""
        while "." in name:
            name = name.rpartition(".")[0]
            if name in self._folded:
                return self._folded[name]
        return None


def _fold(name: str) -> str:
    for mark in '"`[]':
        name = name.replace(mark, "")
    return fold(name.strip())
