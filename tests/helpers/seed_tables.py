"""Table lines for tests: any table in a line, and the catalog of the first seed's example."""

from __future__ import annotations

from typing import Any

CATALOG: dict[str, Any] = {
    "kind": "catalog",
    "v": 1,
    "id": "sha256:" + "0" * 64,
    "name": "task_15",
    "root": "examples/task_15",
    "dialect": "duckdb",
    "documents": [
        {
            "path": "context/doc/rules.md",
            "kind": "md",
            "bytes": 5120,
            "headings": ["# Rules of companies"],
            "first_lines": ["# Rules of companies", "Rule one."],
        },
        {"path": "context/knowledge.md", "kind": "md", "bytes": 900, "first_lines": ["# Know"]},
    ],
    "skipped": [{"path": "context/db/empty.db", "reason": "0 bytes"}],
}


def seed_table(name: str, *columns: str, key: str = "", **more: Any) -> dict[str, Any]:
    """A table line; a column is ``name:TYPE:example``, the key decides what it lies in."""
    key = key or f"context/csv/{name}.csv"
    path, _, inner = key.partition("::")
    source: dict[str, Any] = {"kind": path.rpartition(".")[2], "path": path, "bytes": 2048}
    made = [column.split(":") for column in columns or ("id:BIGINT:1",)]
    record: dict[str, Any] = {
        "kind": "table",
        "catalog": CATALOG["id"],
        "name": name,
        "describe_key": key,
        "source": source | ({"table": inner} if inner else {}),
        "rows": {"count": 4, "how": "exact"},
        "columns": [
            {"name": n, "type": t, "nullable": True, "examples": list(e)} for n, t, *e in made
        ],
        "sample": [{n: e[0] if e else None for n, _, *e in made}],
    }
    return record | more


def seed_tables() -> list[dict[str, Any]]:
    """The four tables of the first seed, 2.3."""
    return [
        seed_table(
            "company_financials",
            "company_id:VARCHAR:C001",
            "revenue:DOUBLE:1200000.0",
            "year:BIGINT:2025",
            "status:VARCHAR:active",
        ),
        seed_table(
            "company_profile",
            "company_id:VARCHAR:C001",
            "company_name:VARCHAR:Acme Ltd",
            key="context/json/company_profile.json",
        ),
        seed_table(
            "employee_attendance",
            "employee_id:BIGINT:1001",
            "day:VARCHAR:2025-01-02",
            key="context/db/hr.db::employee_attendance",
        ),
        seed_table(
            "doc_company_rules",
            "rule:VARCHAR:no debt",
            always_keep=True,
            key="context/db/_doc_extracted.db::doc_company_rules",
        ),
    ]


def seed_task(**more: Any) -> dict[str, Any]:
    """The task of the first seed's example with its vote."""
    return {
        "kind": "task",
        "catalog": CATALOG["id"],
        "task_id": "task_15",
        "question": "Which company had the highest revenue in 2025?",
        "vote": {
            "task_id": "task_15",
            "per_table": {
                "company_financials": True,
                "company_profile": True,
                "employee_attendance": False,
            },
            "relevant_tables": ["company_financials", "company_profile", "doc_company_rules"],
            "skipped_tables": ["employee_attendance"],
            "always_keep": ["doc_company_rules"],
            "skipped_describe_keys": ["context/db/hr.db::employee_attendance"],
            "reasons": {},
            "all_tables": ["company_financials", "company_profile", "employee_attendance"],
            "vote_tally": {
                "company_financials": "5/5",
                "company_profile": "4/5",
                "employee_attendance": "1/5",
            },
            "n_rounds_ok": 5,
            "error": "",
            "meta": {"of": "sha256:" + "1" * 64},
        },
    } | more
