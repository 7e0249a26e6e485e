"""A scripted model for the whole chain of schema linking, and a small sales database.

The script is monotone: it chooses by name from what it is shown, so that whoever is shown
more gets no less back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Wanted = Mapping[str, Sequence[str]]

QUESTION = "Which employees manage the regions with the highest sales amount?"

ROWS: Mapping[str, str] = {
    "sales": "amount,region_id,sold_on\n10,1,2024-01-01\n20,2,2024-02-01\n5,1,2024-03-01\n",
    "region_manager": "region_id,employee_id\n1,7\n2,8\n",
    "employee": "employee_id,full_name,hired\n7,Ann,2020-01-01\n8,Bo,2021-01-01\n9,Cy,2022-01-01\n",
    "canteen_menu": "dish,price\nsoup,3\nstew,4\n",
}


def write(folder: Path) -> Path:
    """The sales database as a task folder (the gap of seed 004, 5.3)."""
    context = folder / "context" / "csv"
    context.mkdir(parents=True)
    for name, text in ROWS.items():
        (context / f"{name}.csv").write_text(text, "utf-8")
    task = {"task_id": "sales", "question": QUESTION}
    (folder / "task.json").write_text(json.dumps(task), "utf-8")
    return folder


def scanned(folder: Path) -> tuple[Any, list[Any], Any]:
    """Catalog, tables and task of a folder that `write` made."""
    from stages.core.catalog import scan_root

    found = scan_root(folder)
    task = {
        "kind": "task",
        "catalog": found.catalog["id"],
        "task_id": "sales",
        "question": QUESTION,
    }
    return found.catalog, found.tables, task


def name_of(request: Mapping[str, Any]) -> str:
    """The name of the schema that a reply has to fit."""
    return str(request["response_format"]["json_schema"]["name"])


def user(request: Mapping[str, Any]) -> str:
    """The message that opens the conversation."""
    return str(request["messages"][1]["content"])


def shown(request: Mapping[str, Any]) -> set[str]:
    """Tables that stand in a request, by whatever stage."""
    heads = r"^(?:### (?:\[MARKED \w+\] )?(?:t\d+ = )?|t\d+ = )(\w+)"
    return set(re.findall(heads, user(request), re.M)) - {"g1", "g2"}


@dataclass
class Script:
    """What the model says.

    Args:
        irrelevant: Tables that it calls irrelevant as a whole in `prune`.
        relevant: Columns that it finds relevant in `prune` and `explore`.
        first, second: Columns that it names in rounds 0 and 1 of `refine`.
        queries: SQL that it puts in round 0 of `refine`.
        declines: Reasons against join paths, by id.
    """

    irrelevant: Sequence[str] = ()
    relevant: Wanted = field(default_factory=dict)
    first: Wanted = field(default_factory=dict)
    second: Wanted = field(default_factory=dict)
    queries: Sequence[str] = ()
    declines: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, request: Mapping[str, Any], n: int) -> Any:
        """The answer to a request of any stage."""
        name = name_of(request)
        makers = {
            "logical_plan": self.plan, "prune_negative": self.negative, "prune_positive": self.positive,
            "query_semantics": self.semantics, "explore_queries": self.exploring,
            "table_judgment": self.judgment,
        }  # fmt: skip
        return makers[name](request) if name in makers else self.refine(request, int(name[-1]))

    def plan(self, request: Mapping[str, Any]) -> Any:
        return {"steps": ["Filter.", "Join.", "Return the answer."]}

    def negative(self, request: Mapping[str, Any]) -> Any:
        names = [name for name in self.irrelevant if name in shown(request)]
        return {"obviously_irrelevant_tables": names, "obviously_irrelevant_columns": []}

    def positive(self, request: Mapping[str, Any]) -> Any:
        seen = shown(request)
        columns = [{"table": t, "columns": list(c)} for t, c in self.relevant.items() if t in seen]
        return {"relevant_tables": [], "relevant_columns": columns}

    def semantics(self, request: Mapping[str, Any]) -> Any:
        functions = [
            {"table": name, "function": f"holds {name}", "roles": ["target"]}
            for name in sorted(shown(request))
            if name in self.relevant
        ]
        return {"query_specific_content_analysis": "Joins.", "table_functions": functions}

    def exploring(self, request: Mapping[str, Any]) -> Any:
        if len(request["messages"]) > 2:
            return {"queries": [], "status": "[COMPLETE]"}
        table = sorted(shown(request))[0]
        # A reply that is kept has its keys in another order, and an error is an outcome too.
        queries = [f"SELECT count(*) AS n FROM {table}", f"SELECT nothing FROM {table}"]
        return {"status": "[COMPLETE]", "queries": [*queries, "SELECT 1 AS n FROM no_such_table"]}

    def judgment(self, request: Mapping[str, Any]) -> Any:
        table = sorted(shown(request))[0]
        columns = [
            {"column_name": name, "relevance_reason": "needed", "observations": "has values"}
            for name in self.relevant.get(table, ())
        ]
        return {
            "table_full_name": table,
            "table_summary": "rows",
            "relevant_columns": columns,
            "relevant": bool(columns),
        }

    def refine(self, request: Mapping[str, Any], number: int) -> Any:
        wanted, again = (self.first, self.second)[number], len(request["messages"]) > 2
        queries = [] if again or number else list(self.queries)
        made = schema({t: c for t, c in wanted.items() if t in shown(request)}, queries)
        if "declined_paths" in json.dumps(request["response_format"]):
            made["declined_paths"] = [{"path": p, "reason": r} for p, r in self.declines.items()]
        return made


def schema(wanted: Wanted, queries: Sequence[str] = (), status: str = "") -> dict[str, Any]:
    """A reply of `refine`."""
    return {
        "refined_schema": [
            {"table": table, "relevant_columns": [
                {"column_name": name, "relevance_reason": f"for {name}"} for name in columns]}
            for table, columns in wanted.items()
        ],
        "exploration_queries": list(queries),
        "status": status or ("[CONTINUE]" if queries else "[CONFIRM]"),
    }  # fmt: skip


def flat(made: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Tables (column empty) and columns of a refined schema."""
    found = {(table, "") for table in made["refined_schema"]}
    for table, entry in made["refined_schema"].items():
        found |= {(table, item["column_name"]) for item in entry["relevant_columns"]}
    return found


def units_of(made: Mapping[str, Any], tables: Sequence[Any]) -> set[tuple[str, str]]:
    """The same with nested columns as their innermost fields."""
    from stages.core.linking.refine.choice import within

    by_name = {table["name"]: table for table in tables}
    named = {
        name: [item["column_name"] for item in entry["relevant_columns"]]
        for name, entry in made["refined_schema"].items()
    }
    found = {(name, "") for name in named}
    return found | {(n, u) for n, columns in named.items() for u in within(by_name[n], columns)}
