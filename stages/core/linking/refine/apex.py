"""The complete output of schema linking, as seed 004, section 6, has it.

One JSON object keyed by question id. Tables stand by the names that their sources give them;
the sections themselves hold canonical names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import orjson

from stages.core.jsontypes import JsonObject
from stages.core.lines.sections import or_empty, section
from stages.core.linking.refine.choice import within

if TYPE_CHECKING:
    from stages.core.records import Table
    from stages.core.runtime.stage import TaskReport


def apex(tasks: Sequence[TaskReport]) -> bytes:
    """The file's content: every task that has a section ``refine``, in their order.

    Of two tasks with one id the later stands.
    """
    found = {
        one.task["task_id"]: _entry(one) for one in tasks if section(one.task, "refine") is not None
    }
    return orjson.dumps(found, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _entry(one: TaskReport) -> JsonObject:
    names = original_names(one.tables)
    refined = or_empty(section(one.task, "refine")).get("refined_schema", {})
    judged = or_empty(section(one.task, "explore")).get("table_judgments", {})
    return {
        "question_id": one.task["task_id"],
        "question": one.task.get("question", ""),
        "db_id": one.catalog["name"] if one.catalog else "",
        "evidence": one.task.get("evidence", ""),
        "result": {
            "refined_schema": {names.get(name, name): value for name, value in refined.items()},
            "table_judgments": {
                names.get(name, name): {**value, "table_full_name": names.get(name, name)}
                for name, value in judged.items()
            },
            "similar_table_groups": _groups(one, names),
        },
    }


def _groups(one: TaskReport, names: Mapping[str, str]) -> dict[str, list[str]]:
    """Tables that pruning kept, by their kept columns as Python writes a sorted list of names."""
    kept: Mapping[str, Sequence[str]] = or_empty(section(one.task, "prune")).get("kept", {})
    found: dict[str, list[str]] = {}
    for table in sorted(one.tables, key=lambda table: table["name"]):
        if table["name"] in kept:
            columns = sorted(within(table, kept[table["name"]]))
            found.setdefault(str(columns), []).append(names[table["name"]])
    return found


def original_names(tables: Sequence[Table]) -> dict[str, str]:
    """The name of each table in its source, by canonical name; where two have the same, the
    describe key, which is never the same."""
    names = {table["name"]: _original(table) for table in tables}
    seen: dict[str, int] = {}
    for name in names.values():
        seen[name] = seen.get(name, 0) + 1
    keys = {table["name"]: table["describe_key"] for table in tables}
    return {table: name if seen[name] == 1 else keys[table] for table, name in names.items()}


def _original(table: Table) -> str:
    """An alias, which is how the source spells the name; else what the source calls it."""
    aliases = table.get("aliases", [])
    return str(aliases[0] if aliases else table.get("source", {}).get("table") or table["name"])
