"""Benchmark data (../shared/data) as table records and tasks; used by training and evaluation."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from stages.core.records import Table, Task


@dataclass(frozen=True)
class Case:
    """One question: which catalog it is asked of, and the tables and columns it needs."""

    id: str
    set: str
    db: str
    task: Task
    gold: frozenset[str]
    gold_columns: frozenset[tuple[str, str]]


def table_records(path: Path) -> list[Table]:
    """The tables of one schema file."""
    schema = json.loads(path.read_text(encoding="utf-8"))
    return [table_record(table, schema["db_id"]) for table in schema["tables"]]


def table_record(table: dict[str, Any], db: str, prefix: str = "") -> Table:
    """One table of a schema file as a table line has it."""
    made: dict[str, Any] = {
        "kind": "table",
        "catalog": db,
        "name": prefix + table["name"],
        "describe_key": prefix + table["name"],
        "columns": [column_record(column) for column in table["columns"]],
        "primary_key": list(table.get("primary_key") or ()),
        "foreign_keys": [
            {
                "columns": key["columns"],
                "ref_table": prefix + key["ref_table"],
                "ref_columns": key["ref_columns"],
            }
            for key in table.get("foreign_keys") or ()
        ],
    }
    for name in ("nl_name", "description"):
        if table.get(name):
            made[name] = table[name]
    return made  # type: ignore[return-value]


def column_record(column: dict[str, Any]) -> dict[str, Any]:
    """One column of a schema file as a table line has it."""
    made: dict[str, Any] = {"name": column["name"], "type": column.get("type") or "VARCHAR"}
    for name in ("nl_name", "description"):
        if column.get(name):
            made[name] = column[name]
    if column.get("samples"):
        made["examples"] = [str(value)[:80] for value in column["samples"]]
    return made


class Data:
    """The data folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.info: dict[str, Any] = json.loads((folder / "INDEX.json").read_text())

    @cache  # noqa: B019
    def tables(self, schemas: str, db: str) -> list[Table]:
        """Table records of one database; ``schemas`` as in INDEX.json."""
        return table_records(self.folder / schemas / f"{db}.json")

    def tables_of(self, case: Case) -> list[Table]:
        """Table records a case is asked of."""
        return self.tables(self.info[case.set]["schemas"], case.db)

    def cases(self, name: str) -> list[Case]:
        """All questions of a set that have a gold table."""
        path = self.folder / self.info[name]["questions"]
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return [case_of(name, row) for row in rows if row["gold_tables"]]


def case_of(name: str, row: dict[str, Any]) -> Case:
    """A row of a question file as a case."""
    task: Task = {"kind": "task", "task_id": row["id"], "question": row["question"]}
    if row.get("evidence"):
        task["evidence"] = row["evidence"]
    columns = frozenset((table, column) for table, column in row["gold_columns"])
    return Case(row["id"], name, row["db_id"], task, frozenset(row["gold_tables"]), columns)
