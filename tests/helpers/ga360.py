"""Seed 004's worked example as real data: sessions of three years in tables of one structure.

`write` makes the task folder (three JSON files with nested records, and one table that has
nothing to do with the question), `lines` scans it; `with_sections` adds what the stages
before `explore` would have said, `refined` what `refine` may count on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from stages.core.lines.lines import dump
from stages.core.records import Catalog, Table, Task

TASK_ID = "sf_bq009"
QUESTION = "找出 2017 年交易收入最高的流量来源，并计算其月度最高值与最低值之差（单位：百万）。"
EVIDENCE = "totals.totalTransactionRevenue 以 10^6 为缩放单位。"
SESSIONS = ("ga_sessions_2016", "ga_sessions_2017", "ga_sessions_2018")
SPARE = "warehouse_stock"
NEEDED = ("date", "totals.totalTransactionRevenue", "trafficSource.source")

PLAN = (
    "1. 限定 2017 年记录\n2. 按流量来源汇总全年交易收入\n3. 选择全年总收入最高的来源\n"
    "4. 对该来源按月汇总交易收入\n5. 计算月度最大值与最小值之差，并换算为百万"
)
ANALYSIS = "需要先按 traffic source 汇总 2017 年全年交易收入，再对胜出来源按月聚合。收入字段以 10^6 为缩放单位。"
FUNCTION = "同时提供日期、流量来源和会话级交易收入，是过滤、分组和聚合的核心表。"

SEED_SQL = """SELECT
  SUBSTR(date, 1, 6) AS month,
  trafficSource.source AS source,
  COUNT(*) AS sessions,
  COUNT(totals.totalTransactionRevenue) AS revenue_rows,
  SUM(totals.totalTransactionRevenue) AS revenue
FROM {table}
GROUP BY 1, 2
ORDER BY revenue DESC
LIMIT 20;"""
"""The query of seed 004, 4.2."""

SOLUTION = """WITH monthly AS (
  SELECT trafficSource.source AS source, SUBSTR(date, 1, 6) AS month,
         SUM(totals.totalTransactionRevenue) AS revenue
  FROM ga_sessions_2017 GROUP BY 1, 2),
best AS (SELECT source FROM monthly GROUP BY 1 ORDER BY SUM(revenue) DESC LIMIT 1)
SELECT source, (MAX(revenue) - MIN(revenue)) / 1e6 AS difference
FROM monthly JOIN best USING (source) GROUP BY 1"""
ANSWER = ("google", 110.0)
"""What SOLUTION gives."""

_SOURCES = ("google", "(direct)", "dfa", "mall.googleplex.com")


def sessions(year: int) -> Iterator[dict[str, Any]]:
    """One session a month and source; google earns most, from 10 to 120 millions a month."""
    for month in range(1, 13):
        for number, source in enumerate(_SOURCES):
            earned = {0: month * 10_000_000, 1: 20_000_000, 2: 5_000_000}.get(number)
            yield {
                "fullVisitorId": f"{year}{month:02}{number:04}",
                "visitId": year * 10_000 + month * 100 + number,
                "date": f"{year}{month:02}{number + 10}",
                "channelGrouping": ("Organic Search", "Direct", "Display", "Referral")[number],
                "socialEngagementType": "Not Socially Engaged",
                "totals": {"visits": 1, "pageviews": 3 + number, "totalTransactionRevenue": earned},
                "trafficSource": {
                    "source": source,
                    "medium": ("organic", "(none)", "cpm", "referral")[number],
                },
            }


def write(folder: Path) -> Path:
    """The task folder."""
    context = folder / "context" / "json"
    context.mkdir(parents=True)
    for name in SESSIONS:
        rows = list(sessions(int(name[-4:])))
        (context / f"{name}.json").write_text(json.dumps(rows), "utf-8")
    stock = [{"sku": f"P{n}", "shelf": f"S{n % 7}", "pieces": n * 3} for n in range(40)]
    (context / f"{SPARE}.json").write_text(json.dumps(stock), "utf-8")
    task = {"task_id": TASK_ID, "question": QUESTION, "evidence": EVIDENCE}
    (folder / "task.json").write_text(json.dumps(task, ensure_ascii=False), "utf-8")
    return folder


def scanned(folder: Path) -> tuple[Catalog, list[Table], Task]:
    """Catalog, tables and task of a folder that `write` made."""
    from stages.core.catalog import scan_root

    found = scan_root(folder)
    task: Any = {
        "kind": "task",
        "catalog": found.catalog["id"],
        "task_id": TASK_ID,
        "question": QUESTION,
        "evidence": EVIDENCE,
    }
    return found.catalog, found.tables, task


def with_sections(task: Task, **more: Mapping[str, Any]) -> Task:
    """The task as `plan`, `prune` and `summarize` leave it."""
    from stages.core.lines.sections import fingerprint

    kept = ["visitId", *NEEDED]
    meta = {"of": fingerprint(task, ["question"], {}), "from": ["question"]}
    made: Any = {
        **task,
        "plan": {"logical_plan": PLAN, "drafts": [PLAN, PLAN], "error": "", "meta": meta},
        "prune": {
            "kept": dict.fromkeys(SESSIONS, kept),
            "deleted": {"tables": [SPARE], "columns": {}},
            "groups": {SESSIONS[0]: list(SESSIONS)},
            "votes": [], "n_tables": 4, "n_columns": 33, "n_kept_tables": 3, "n_kept_columns": 12,
            "batches": 1, "notes": [], "error": "", "meta": meta,
        },
        "summarize": {
            "query_specific_content_analysis": ANALYSIS,
            "table_functions": dict.fromkeys(SESSIONS, FUNCTION),
            "roles": {name: ["filter", "calculation", "target"] for name in SESSIONS},
            "error": "", "meta": meta,
        },
        **more,
    }  # fmt: skip
    return made  # type: ignore[no-any-return]


def lines(folder: Path, *, sections: bool = False) -> bytes:
    """The lines of the folder, with the sections before `explore` where they are asked for."""
    catalog, tables, task = scanned(folder)
    task = with_sections(task) if sections else task
    return b"".join(dump({**record}) for record in (catalog, *tables, task))


def table_of(request: Mapping[str, Any]) -> str:
    """The table that a request of `explore` is about."""
    told = request["messages"][1]["content"]
    return next(name for name in (*SESSIONS, SPARE) if f"### {name}\n" in told)


def explored(request: Mapping[str, Any], n: int) -> Any:
    """What a good model answers to the requests of `explore`."""
    table = table_of(request)
    if "relevant_columns" not in json.dumps(request.get("response_format", {})):
        results = request["messages"][-1]["content"]
        if len(request["messages"]) > 2:
            return {"queries": [], "status": "[COMPLETE]"}
        assert table in results
        return {
            "queries": [
                SEED_SQL.format(table=table),
                f"SELECT MIN(date) AS first, MAX(date) AS last FROM {table}",
                f"SELECT COUNT(*) AS n, COUNT(DISTINCT visitId) AS visits FROM {table}",
            ],
            "status": "[CONTINUE]",
        }
    return {
        "table_full_name": table,
        "relevant": table == "ga_sessions_2017",
        "relevant_columns": [
            {"column_name": "date", "relevance_reason": "将会话限定到 2017 年并形成月份分组",
             "observations": "样例值采用 YYYYMMDD 格式"},
            {"column_name": "totals.totalTransactionRevenue", "relevance_reason": "计算全年和月度交易收入",
             "observations": "Evidence 说明数值按 10^6 缩放"},
            {"column_name": "trafficSource.source", "relevance_reason": "按流量来源分组并返回最高来源",
             "observations": "字段表示搜索引擎、来源域名或 utm_source"},
        ] if table == "ga_sessions_2017" else [],
        "table_summary": "提供会话日期、流量来源和交易收入的核心事实表",
    }  # fmt: skip
