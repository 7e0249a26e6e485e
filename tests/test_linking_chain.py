"""Schema linking as a chain: plan, prune, summarize, explore, refine, against a scripted server."""

from __future__ import annotations

import asyncio
import importlib
import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from stages.core.lines.lines import dump
from stages.core.sandbox.session import Data, SessionOptions
from tests.helpers import ga360
from tests.helpers import linking_chain as chain
from tests.helpers.linking_chain import Script, flat, name_of, units_of
from tests.helpers.llm_server import LlmServer, faulty
from tests.helpers.tools import run

STAGES = ("plan", "prune", "summarize", "explore", "refine")
QUICK_FAULTS = ("500", "drop", "torn", "broken", "wrong", "cut", "empty")

SALES = Script(
    irrelevant=["canteen_menu"],
    relevant={"sales": ["amount", "region_id"], "employee": ["full_name"]},
    first={"sales": ["amount", "region_id"], "employee": ["full_name"]},
    second={"region_manager": ["region_id", "employee_id"], "employee": ["employee_id"]},
    queries=[
        "SELECT count(*) AS n FROM sales s JOIN region_manager m ON s.region_id = m.region_id"
    ],
)


BRIDGED = replace(SALES, irrelevant=["canteen_menu", "region_manager"], second={})
"""The bridge is pruned, and comes back by a join path alone."""


class Ga360(Script):
    """The model of the seed's worked example; `explore` answers as in 4.2 and 4.3."""

    def __call__(self, request: Any, n: int) -> Any:
        if name_of(request) in ("explore_queries", "table_judgment"):
            return ga360.explored(request, n)
        return super().__call__(request, n)


SESSIONS = Ga360(
    irrelevant=[ga360.SPARE, "ga_sessions_2018"],
    relevant={"ga_sessions_2017": ga360.NEEDED},
    first={"GA360.GA_SESSIONS_2017": ga360.NEEDED, "ga_sessions_2017": ga360.NEEDED},
)


@dataclass
class Scene:
    """A catalog with its data, and one task."""

    tables: list[Any]
    task: Any
    data: Data

    def linked(self, answer: Callable[..., Any], **options: Any) -> Any:
        """The task after all five stages."""
        with LlmServer(answer) as server:
            return asyncio.run(self._all(server.base_url, options))

    async def _all(self, url: str, options: Any) -> Any:
        from stages.core.model import Client, ModelOptions

        task = self.task
        client = Client(
            ModelOptions("openai/test", base_url=url, retries=0, circuit=10**6, **options)
        )
        try:
            for name in STAGES:
                run_stage = importlib.import_module(f"stages.{name}").STAGE.run
                given = {"database": self.data} if name in ("explore", "refine") else {}
                model = client.for_task("1", name)
                made = await run_stage(task, self.tables, model=model, timeout=20.0, **given)
                task = {**task, name: made}
        finally:
            await client.close()
        return task


def opened(folder: Path, home: Any) -> Scene:
    catalog, tables, task = home.scanned(home.write(folder / "task"))
    return Scene(
        tables, task, Data(catalog, tables, SessionOptions(size=2, tables=folder / "tables"))
    )


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    scene = opened(tmp_path_factory.mktemp("ga"), ga360)
    yield scene
    scene.data.close()


@pytest.fixture(scope="module")
def sales(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    scene = opened(tmp_path_factory.mktemp("sales"), chain)
    yield scene
    scene.data.close()


def test_the_question_on_2017_through_all_five_stages(sessions: Scene) -> None:
    """Seed 004: the worked example from 3.1 to 5.2."""
    made = sessions.linked(SESSIONS)
    assert not any(made[name]["error"] for name in STAGES)
    assert made["plan"]["logical_plan"].startswith("1. ")
    assert set(made["prune"]["kept"]) == {"ga_sessions_2016", "ga_sessions_2017"}
    judged = made["explore"]["table_judgments"]
    assert {name: one["relevant"] for name, one in judged.items()} == {
        "ga_sessions_2016": False,
        "ga_sessions_2017": True,
    }
    refined = made["refine"]["refined_schema"]
    assert list(refined) == ["ga_sessions_2017"]
    columns = [c["column_name"] for c in refined["ga_sessions_2017"]["relevant_columns"]]
    assert sorted(columns) == sorted(ga360.NEEDED)
    assert made["refine"]["unknown"] == ["GA360.GA_SESSIONS_2017"] or not made["refine"]["unknown"]
    answer = sessions.data.query(ga360.SOLUTION)
    assert (answer.rows[0][0], float(answer.rows[0][1])) == ga360.ANSWER


def test_a_bridge_that_pruning_lost_comes_back(sales: Scene) -> None:
    made = sales.linked(BRIDGED)
    assert "region_manager" not in made["prune"]["kept"]
    assert made["refine"]["paths"][0]["tables"] == ["employee", "region_manager", "sales"]
    assert made["refine"]["unconnected"] == []


def test_the_gap_from_sales_to_employee_is_closed_by_round_1(sales: Scene) -> None:
    """Seed 004, 5.3, on real tables; the guard may add region_manager.region_id before it."""
    made = sales.linked(SALES)
    assert not any(made[name]["error"] for name in STAGES)
    first, second = made["refine"]["rounds"]
    assert first["queries"][0]["res"] == "n\n3"
    assert "employee_id" in second["added"]["region_manager"]
    assert "employee_id" in second["added"]["employee"]
    assert made["refine"]["unconnected"] == []
    assert set(made["refine"]["refined_schema"]) == {"sales", "region_manager", "employee"}


@pytest.mark.parametrize(
    ("columns", "detailed", "named"),
    [
        ("refined", set(ga360.NEEDED), {"visitId", "channelGrouping", "totals.visits"}),
        ("superset", {*ga360.NEEDED, "visitId", "channelGrouping"}, set()),
        ("all", {*ga360.NEEDED, "visitId", "channelGrouping"}, set()),
    ],
)
def test_collapse_describe_and_prompt_follow_the_refined_schema(
    sessions: Scene, columns: str, detailed: set[str], named: set[str]
) -> None:
    from stages.collapse import collapse
    from stages.describe import describe
    from stages.prompt import prompt

    task = sessions.linked(SESSIONS)
    task["collapse"] = collapse(task, sessions.tables)
    assert task["collapse"]["shown"] == {
        "full": ["ga_sessions_2017"],
        "names": ["ga_sessions_2016"],
        "line": ["ga_sessions_2018", ga360.SPARE],
    }
    catalog = sessions.data.catalog
    task["describe"] = describe(
        task, sessions.tables, catalog=catalog, columns=columns, form="json"
    )
    shown = json.loads(task["describe"]["text"])["tables"]
    full = next(entry for entry in shown if entry["table"] == "ga_sessions_2017")
    assert detailed <= names_in(full["columns"])
    assert named <= set(full.get("other_columns", []))
    if columns == "refined":
        assert "for trafficSource.source" in task["describe"]["text"]
    made = prompt(task, sessions.tables, catalog=catalog)
    assert "ga_sessions_2017" in json.dumps(made, ensure_ascii=False)


def names_in(columns: Sequence[Any]) -> set[str]:
    """Columns and fields that are shown in detail."""
    fields = {field["name"] for column in columns for field in column.get("fields", [])}
    return {column["name"] for column in columns} | fields


@pytest.mark.slow
@pytest.mark.parametrize("script", [SALES, BRIDGED], ids=["gap", "bridge"])
def test_faults_only_ever_enlarge_the_result(sales: Scene, script: Script) -> None:
    whole = units_of(sales.linked(script)["refine"], sales.tables)
    failed = 0
    for seed in range(20):
        made = sales.linked(faulty(script, 0.3, seed=seed, kinds=QUICK_FAULTS))
        failed += any(made[name]["error"] for name in STAGES)
        assert whole <= units_of(made["refine"], sales.tables), seed
    assert failed > 10


@pytest.mark.slow
def test_faults_only_ever_enlarge_the_result_of_nested_tables(sessions: Scene) -> None:
    whole = units_of(sessions.linked(SESSIONS)["refine"], sessions.tables)
    for seed in range(10):
        made = sessions.linked(faulty(SESSIONS, 0.3, seed=seed, kinds=QUICK_FAULTS))
        assert whole <= units_of(made["refine"], sessions.tables), seed


@pytest.mark.parametrize("broken", ["plan", "prune", "query", "explore", "table", "refine"])
def test_all_calls_of_one_stage_failing_only_enlarges_the_result(sales: Scene, broken: str) -> None:
    from tests.helpers.llm_server import Say

    def answer(request: Any, n: int) -> Any:
        name = name_of(request).replace("logical_plan", "plan")
        return Say(status=400, text="no") if name.startswith(broken) else SALES(request, n)

    whole = units_of(sales.linked(SALES)["refine"], sales.tables)
    assert whole <= units_of(sales.linked(answer)["refine"], sales.tables)


def lines(scene: Scene, tables: Sequence[Any]) -> bytes:
    records = (scene.data.catalog, *tables, scene.task)
    return b"".join(dump({**record}) for record in records)


def commands(
    first: bytes, url: str, cache: Path, *more: str, only: Sequence[str] = STAGES
) -> list[bytes]:
    """The lines after each command."""
    found = [first]
    for name in only:
        done = run(
            name,
            "--model",
            "openai/test",
            "--base-url",
            url,
            "--cache",
            str(cache),
            *more,
            stdin=found[-1],
            env={"OPENAI_API_KEY": "none", "XDG_CACHE_HOME": str(cache.parent)},
        )
        assert done.status == 0, (name, done.err)
        found.append(done.out)
    return found[1:]


def sections(out: bytes) -> bytes:
    return next(line for line in out.splitlines() if json.loads(line)["kind"] == "task")


@pytest.mark.slow
def test_commands_from_the_cache_whatever_the_order_of_tables(sales: Scene, tmp_path: Path) -> None:
    """Reruns spend nothing, each stage alone too, and shuffled tables change no byte."""
    cache = tmp_path / "cache"
    with LlmServer(SALES) as server:
        url = server.base_url
        made = commands(lines(sales, sales.tables), url, cache)
        asked = len(server.requests)
    shuffled = random.Random(7).sample(sales.tables, len(sales.tables))
    assert shuffled != sales.tables
    other = commands(lines(sales, shuffled), url, cache, "--offline")
    for one, two in zip(made, other, strict=True):
        assert sections(one) == sections(two)
    assert commands(made[3], url, cache, "--offline", only=["refine"]) == [made[4]]
    assert asked == len(server.requests)


@pytest.mark.slow
def test_builtin_through_all_five_stages_in_any_order_of_tables(
    sales: Scene, tmp_path: Path
) -> None:
    found = []
    for tables in (sales.tables, sales.tables[::-1]):
        out = lines(sales, tables)
        for name in STAGES:
            done = run(
                name,
                "--cache",
                str(tmp_path / "c"),
                stdin=out,
                env={"XDG_CACHE_HOME": str(tmp_path)},
            )
            assert done.status == 0, done.err
            out = done.out
        found.append(sections(out))
    assert found[0] == found[1]
    refined = flat(json.loads(found[0])["refine"])
    assert {("sales", ""), ("employee", "")} <= refined
