"""`refine --apex FILE`: the complete output of seed 004, section 6."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from stages.core.lines.lines import dump
from stages.core.linking.refine.apex import apex, original_names
from stages.core.runtime.stage import TaskReport
from tests.helpers import ga360
from tests.helpers.linking_tables import keyed_table as table
from tests.helpers.tools import run

NEEDED = list(ga360.NEEDED)
NAME = "GA360.GA_SESSIONS_2017"


def column(name: str) -> dict[str, Any]:
    return {"name": name, "type": "VARCHAR"}


def example() -> TaskReport:
    """The example of the seed, canonical names in its sections."""
    source = {"kind": "snowflake", "table": NAME}
    made: Any = {"kind": "table", "catalog": "c", "name": "ga_sessions_2017", "describe_key": "k",
                 "aliases": [NAME], "source": source,
                 "columns": [column("date"), {**column("totals"), "fields": [column(NEEDED[1])]},
                             {**column("trafficSource"), "fields": [column(NEEDED[2])]}]}  # fmt: skip
    judged = {"table_full_name": "ga_sessions_2017", "relevant": True, "relevant_columns": [],
              "table_summary": "核心事实表。", "exploration_log": [{"sql": "SELECT 1", "res": "1"}]}  # fmt: skip
    refined = [{"column_name": name, "relevance_reason": "r"} for name in NEEDED]
    task: Any = {
        "kind": "task", "catalog": "c", "task_id": "sf_bq009", "question": ga360.QUESTION,
        "evidence": ga360.EVIDENCE, "prune": {"kept": {"ga_sessions_2017": NEEDED}},
        "explore": {"table_judgments": {"ga_sessions_2017": judged}},
        "refine": {"refined_schema": {"ga_sessions_2017": {"relevant_columns": refined}}},
    }  # fmt: skip
    catalog: Any = {"kind": "catalog", "id": "c", "name": "GA360"}
    return TaskReport(task, catalog, [made])


def test_the_example_of_the_seed() -> None:
    found = json.loads(apex([example()]))
    assert list(found) == ["sf_bq009"]
    entry = found["sf_bq009"]
    assert list(entry) == ["question_id", "question", "db_id", "evidence", "result"]
    assert entry["question_id"] == "sf_bq009"
    assert entry["db_id"] == "GA360"
    assert entry["evidence"] == ga360.EVIDENCE
    result = entry["result"]
    assert list(result) == ["refined_schema", "table_judgments", "similar_table_groups"]
    assert list(result["refined_schema"]) == [NAME]
    assert result["refined_schema"][NAME]["relevant_columns"][0]["column_name"] == "date"
    judged = result["table_judgments"][NAME]
    assert judged["table_full_name"] == NAME
    assert judged["exploration_log"] == [{"sql": "SELECT 1", "res": "1"}]
    assert result["similar_table_groups"] == {
        "['date', 'totals.totalTransactionRevenue', 'trafficSource.source']": [NAME]
    }


def test_tasks_without_a_refined_schema_are_left_out() -> None:
    one = example()
    bare: Any = {"kind": "task", "task_id": "2", "question": "q"}
    assert list(json.loads(apex([one, TaskReport(bare, None, [])]))) == ["sf_bq009"]
    assert json.loads(apex([])) == {}


def test_two_tables_of_one_original_name_stand_by_their_describe_keys() -> None:
    tables = [
        {**table("a__orders", "x"), "aliases": [], "describe_key": "a.db::orders",
         "source": {"kind": "sqlite", "table": "orders"}},
        {**table("b__orders", "x"), "aliases": [], "describe_key": "b.db::orders",
         "source": {"kind": "sqlite", "table": "orders"}},
        {**table("plain", "x"), "describe_key": "plain.csv"},
    ]  # fmt: skip
    assert original_names(tables) == {  # type: ignore[arg-type]
        "a__orders": "a.db::orders",
        "b__orders": "b.db::orders",
        "plain": "plain",
    }


def lines(folder: Path) -> bytes:
    """Two tasks on one catalog, both explored."""
    catalog, tables, task = ga360.scanned(ga360.write(folder))
    judged = {
        name: {
            "table_full_name": name,
            "relevant": name.endswith("2017"),
            "relevant_columns": [],
            "table_summary": "",
            "exploration_log": [],
        }
        for name in ga360.SESSIONS
    }
    made: Any = ga360.with_sections(task)
    explore = {"table_judgments": judged, "error": ""}
    tasks = [{**made, "task_id": name, "explore": explore} for name in ("one", "two")]
    return b"".join(dump({**record}) for record in (catalog, *tables, *tasks))


def test_the_file_holds_all_tasks_and_the_lines_are_the_same(tmp_path: Path) -> None:
    stdin, env = lines(tmp_path / "task"), {"XDG_CACHE_HOME": str(tmp_path)}
    target = tmp_path / "apex.json"
    done = run("refine", "--apex", str(target), stdin=stdin, env=env)
    assert done.status == 0, done.err
    assert list(json.loads(target.read_bytes())) == ["one", "two"]
    assert run("refine", stdin=stdin, env=env).out == done.out


def test_a_task_that_passes_through_with_its_schema_is_in_the_file(tmp_path: Path) -> None:
    stdin, env = lines(tmp_path / "task"), {"XDG_CACHE_HOME": str(tmp_path)}
    target = tmp_path / "apex.json"
    first = run("refine", "--tasks", "one", "--apex", str(target), stdin=stdin, env=env)
    assert list(json.loads(target.read_bytes())) == ["one"]
    run("refine", "--tasks", "two", "--apex", str(target), stdin=first.out, env=env)
    assert list(json.loads(target.read_bytes())) == ["one", "two"]


def test_a_dry_run_counts_two_calls_a_task_and_writes_no_file(tmp_path: Path) -> None:
    target = tmp_path / "apex.json"
    done = run(
        "refine",
        "--apex",
        str(target),
        "--model",
        "openai/test",
        "--dry-run",
        stdin=lines(tmp_path / "task"),
        env={"XDG_CACHE_HOME": str(tmp_path)},
    )
    assert done.status == 0, done.err
    assert b"2 tasks would ask openai/test 4 times" in done.out
    assert not target.exists()


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    done = run(
        "refine",
        "--apex",
        str(tmp_path / "no" / "apex.json"),
        stdin=lines(tmp_path / "task"),
        env={"XDG_CACHE_HOME": str(tmp_path)},
    )
    assert done.status == 1
    assert "no such folder" in done.err
