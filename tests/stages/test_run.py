"""Runs: their configuration, their artifacts, and that they may end and go on at any moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stages.core.errors import DataError
from stages.core.lines import schema
from stages.core.run.config import parse_config
from stages.core.run.dataset import folder_name
from tests.helpers.llm_server import LlmServer, Say, obliging
from tests.helpers.runs import Desk
from tests.helpers.tools import ROOT, environment, pipe, run

GOOD = "dataset: {tasks: examples}\n"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk.at(tmp_path / "desk")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("max_wokers: 3", "run.yaml:2:1: unknown key 'max_wokers'; did you mean 'max_workers'?"),
        ("model: {temprature: 1}", "run.yaml:2:9: unknown key 'temprature'; did you mean 'temperature'?"),
        ("max_workers: four", "run.yaml:2:14: max_workers: wanted a whole number"),
        ("max_workers: 0", "run.yaml:2:14: max_workers: 0 is less than the minimum of 1"),
        ("kind: evl", "run.yaml:2:7: kind: 'evl' is none of its values; did you mean 'eval'?"),
        ("name: 12", "run.yaml:2:7: name: wanted a text; put a number or a yes/no in quotes"),
        ("stages: [link, vot]", "run.yaml:2:16: no stage 'vot'; did you mean 'vote'?"),
        ("stages: [scan, link]", "run.yaml:2:10: no stage 'scan'; scan runs by itself"),
        ("stages: [link, link]", "run.yaml:2:16: stage 'link' stands twice"),
        ("schema_mode: oracle", "run.yaml:2:14: schema_mode oracle shows the gold to a prod run"),
        ("gold: g.jsonl", "run.yaml:2:1: a prod run takes no gold"),
        ("kind: prod\nkind: eval", "run.yaml:3:1: key 'kind' stands twice"),
        ("task_timeout: .nan", "run.yaml:2:15: no number that counts"),
        ("name: 2026-01-01", "run.yaml:2:7: a timestamp may not stand here; put it in quotes"),
        ("kind: [", "run.yaml:3:1: not YAML"),
    ],
)  # fmt: skip
def test_a_wrong_configuration_names_file_line_and_the_nearest_name(text: str, said: str) -> None:
    with pytest.raises(DataError) as raised:
        parse_config(f"{GOOD}{text}\n".encode(), "run.yaml", schema.sections())
    assert str(raised.value).startswith(said)


@pytest.mark.parametrize(
    "dataset",
    ["{}", "{source: a}", "{questions: q}", "{tasks: a, manifest: b}", "{tasks: a, schemas: b}"],
)
def test_a_dataset_is_named_in_one_way(dataset: str) -> None:
    with pytest.raises(DataError, match="dataset wants tasks, or manifest, or questions"):
        parse_config(f"dataset: {dataset}".encode(), "r.yaml", schema.sections())


@pytest.mark.parametrize(
    ("stages", "said"),
    [
        ([{"vote": {"round": 3}}], "run.yaml:6:5: vote has no option 'round'; did you mean 'rounds'?"),
        ([{"vote": {"rounds": 0}}], "run.yaml:6:5: vote: Invalid value for '--rounds'"),
        (["collapse", "link"], "run.yaml:5:3: collapse needs vote or refine or prune or link"),
        (["link", "prompt"], "run.yaml:6:3: prompt needs describe; put it before this one"),
        ([{"vote": {"output": "x"}}], "run.yaml:6:5: vote has no option 'output'"),
    ],
)  # fmt: skip
def test_options_of_stages_are_read_as_their_commands_read_them(
    desk: Desk, stages: list[Any], said: str
) -> None:
    desk.config(stages=stages)
    done = desk.run()
    assert done.status == 1
    assert f"winnow run: {said}" in done.err
    assert not (desk.folder / "runs").exists()


def test_a_run_writes_what_the_pipe_writes(desk: Desk) -> None:
    desk.config()
    done = desk.run("--run-id", "a")
    assert (done.status, done.out) == (0, b"runs/a\n"), done.err
    assert "4 of 4 tasks: 4 ok" in done.err
    lines = run("scan", "data", "--questions", "questions.jsonl", cwd=desk.folder).out
    for stage in ("link", "vote", "collapse", "describe", "prompt"):
        lines = pipe(lines, [stage], cwd=desk.folder).out
        tasks = [line for line in lines.splitlines(True) if b'"kind":"task"' in line]
        files = desk.files("a")
        assert [files[f"q{n}/{stage}.jsonl"] for n in range(4)] == tasks
    catalog = next(path for path in files if path.startswith("catalogs/"))
    shown = run("show", stdin=files[catalog] + files["q0/vote.jsonl"])
    assert shown.status == 0
    assert desk.json("a", "summary.json")["statuses"] == {
        "ok": 4,
        "partial": 0,
        "failed": 0,
        "timeout": 0,
    }
    trace = desk.json("a", "q0/trace.json")
    assert (trace["schema_version"], trace["session_id"], trace["trajectory_id"]) == (
        "ATIF-v1.8",
        "a",
        "q0",
    )
    assert [s["extra"]["winnow"]["stage"] for s in trace["steps"][1:]] == ["link", "vote", "collapse", "describe", "prompt"]  # fmt: skip


def test_metadata_says_what_went_in_and_shows_no_key(desk: Desk) -> None:
    options = {"api_key": "sk-secret-secret-secret", "top_p": 0.5}
    desk.config(stages=["link"], model={"id": "builtin", "options": options})
    assert desk.run("--run-id", "a").status == 0
    text = (desk.folder / "runs/a/run_metadata.json").read_text()
    assert "sk-secret" not in text
    made = desk.json("a", "run_metadata.json")
    assert (made["workflow"], made["state"], made["provenance"]["v"]) == ("direct", "finished", 3)
    assert {"git", "config", "manifest", "schema", "runtime", "assets"} < made["provenance"].keys()
    assert "not that its results are right" in made["provenance"]["proves"]
    assert made["config"]["model"]["options"] == {"top_p": 0.5}


def test_what_is_finished_is_never_done_again(desk: Desk) -> None:
    desk.config(stages=["link"])
    assert desk.run("--run-id", "a").status == 0
    before = {path: path.stat().st_mtime_ns for path in (desk.folder / "runs/a").rglob("q*/*")}
    (desk.folder / "runs/a/q2/result.json").unlink()
    done = desk.run("--resume", "a")
    assert "3 of 4 are done" in done.err
    after = {path: path.stat().st_mtime_ns for path in (desk.folder / "runs/a").rglob("q*/*")}
    assert before.keys() == after.keys()
    assert {path.parent.name for path in after if after[path] != before[path]} == {"q2"}
    again = desk.run("--run-id", "a")
    assert again.status == 2
    assert "there is such a run already; go on with --resume a" in again.err


def test_a_changed_run_is_not_taken_up_again_and_what_changed_is_said(desk: Desk) -> None:
    desk.config(stages=["link"])
    assert desk.run("--run-id", "a").status == 0
    desk.config(stages=[{"link": {"recall": 0.9}}])
    assert 'stages: ["link"] -> [{"link":{"recall":0.9}}]' in desk.run("--resume", "a").err
    desk.config(stages=["link"], max_workers=3, task_timeout=50)
    assert desk.run("--resume", "a").status == 0, "who works changes no result"
    desk.ask(["Which customers live in Peru?", "And another?"])
    done = desk.run("--resume", "a")
    assert done.status == 1
    assert "2 of the tasks gone (q2), 2 of the tasks changed (q0)" in done.err


def test_only_runs_of_this_workflow_are_taken_up_again(desk: Desk) -> None:
    desk.config(stages=["link"])
    (desk.folder / "runs/old").mkdir(parents=True)
    (desk.folder / "runs/old/run_metadata.json").write_text('{"workflow": "plan_first"}')
    done = desk.run("--resume", "old")
    assert done.status == 1
    assert "its workflow is 'plan_first', not 'direct'" in done.err
    assert "there is no such run" in desk.run("--resume", "none").err


def test_resume_without_a_name_is_the_latest_of_the_file(desk: Desk) -> None:
    desk.config(stages=["link"], name="mine")
    first = desk.run().out.decode().strip()
    assert first.startswith("runs/mine-")
    assert desk.run("--resume").out.decode().strip() == first
    assert desk.run("--resume", "--run-id", "x").status == 2
    assert desk.run("--retry-failed").status == 2


def refusing(request: dict[str, Any], n: int) -> Any:
    """The question about rain is refused."""
    if "rain" in str(request["messages"][-1]["content"]).partition("weather")[0]:
        return Say(text="no", status=400)
    return obliging(request, n)


def test_a_task_that_fails_stops_no_other_and_can_be_done_again(desk: Desk) -> None:
    with LlmServer(refusing) as server:
        model = {"id": "openai/x", "base_url": server.base_url}
        desk.config(stages=["vote", "collapse"], model=model, max_workers=4)
        done = desk.run("--run-id", "a")
        asked = len(server.requests)
        assert done.status == 1
        assert done.err.count("q2: vote:") == 1
        statuses = desk.json("a", "summary.json")["statuses"]
        assert statuses == {"ok": 3, "partial": 1, "failed": 0, "timeout": 0}
        assert desk.run("--resume", "a").status == 0
        assert len(server.requests) == asked, "nothing finished is done again"
    with LlmServer(port=int(server.base_url.split(":")[2][:-3])) as server:
        assert desk.run("--resume", "a", "--retry-failed").status == 0
        assert desk.json("a", "summary.json")["statuses"]["ok"] == 4
        assert server.requests


@pytest.mark.parametrize("how", ["here", "children"])
def test_a_model_is_asked_in_the_same_way_wherever_a_task_is_done(desk: Desk, how: str) -> None:
    with LlmServer() as server:
        model = {"id": "openai/x", "base_url": server.base_url, "concurrency": 3, "cache": False}
        desk.config(stages=["vote", "collapse"], model=model, max_workers=2)
        assert desk.run("--run-id", "a").status == 0
        asked = len(server.requests)
        if how == "children":
            desk.config(stages=["vote", "collapse"], model=model, max_workers=2, task_timeout=60)
        assert desk.run("--run-id", "b").status == 0
        assert len(server.requests) == 2 * asked
        assert server.peak <= 3
    traces = [desk.files(name) for name in "ab"]
    for files in traces:
        assert files.keys() == traces[0].keys()
    for path, raw in traces[0].items():
        if not path.endswith(("trace.json", "result.json")):  # they name the run
            assert traces[1][path] == raw, path
    assert desk.json("b", "summary.json")["usage"]["calls"] == asked


def test_a_task_that_takes_too_long_is_ended_and_the_others_are_not(desk: Desk) -> None:
    def slow(request: dict[str, Any], n: int) -> Any:
        rain = "rain" in str(request["messages"][-1]["content"]).partition("weather")[0]
        return replace(obliging(request, n), hang=rain)

    with LlmServer(slow) as server:
        model = {"id": "openai/x", "base_url": server.base_url}
        desk.config(stages=["vote"], model=model, max_workers=2, task_timeout=4)
        done = desk.run("--run-id", "a")
    assert done.status == 1
    assert "q2: : longer than 4 s, in vote" in done.err
    assert desk.json("a", "summary.json")["statuses"] == {
        "ok": 3,
        "partial": 0,
        "failed": 0,
        "timeout": 1,
    }


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_goes_on_where_it_stopped(desk: Desk, number: signal.Signals) -> None:
    def slow(request: dict[str, Any], n: int) -> Any:
        return replace(obliging(request, n), delay=0.0 if n < 10 else 30.0)

    env = environment({"WINNOW_CACHE": str(desk.folder / "cache")})
    with LlmServer(slow) as server:
        model = {"id": "openai/x", "base_url": server.base_url}
        desk.config(stages=["vote"], model=model)
        argv = [sys.executable, "-m", "stages", "run", "--config", "run.yaml", "--run-id", "a"]
        with subprocess.Popen(argv, cwd=desk.folder, env=env, stderr=subprocess.PIPE) as process:
            deadline = time.monotonic() + 30
            while len(server.requests) < 11:
                assert time.monotonic() < deadline
                time.sleep(0.02)
            os.kill(process.pid, number)
            said = process.communicate(timeout=20)[1].decode()
        assert process.returncode in (130, -number)
        assert "--resume a" in said
    assert desk.json("a", "run_metadata.json")["state"] == "interrupted"
    assert desk.json("a", "summary.json")["finished"] == 2
    with LlmServer(port=int(server.base_url.split(":")[2][:-3])) as server:
        assert desk.run("--resume", "a").status == 0
        assert len(server.requests) == 10, "the five votes of each of the two tasks that were left"
    assert desk.json("a", "summary.json")["statuses"]["ok"] == 4


def test_schema_modes_pin_all_tables_or_the_gold(desk: Desk) -> None:
    (desk.folder / "gold.jsonl").write_text(
        "".join(f'{{"id": "q{n}", "gold_tables": ["weather"]}}\n' for n in range(4))
    )
    desk.config(stages=["link", "collapse"], schema_mode="none")
    assert desk.run("--run-id", "none").status == 0
    shown = desk.files("none")["q0/collapse.jsonl"]
    desk.config(stages=["link", "collapse"], schema_mode="oracle", kind="eval", gold="gold.jsonl")
    assert desk.run("--run-id", "oracle").status == 0, "gold is for eval"
    import orjson

    assert len(orjson.loads(shown)["collapse"]["shown"]["full"]) == 4
    oracle = orjson.loads(desk.files("oracle")["q0/collapse.jsonl"])["collapse"]["shown"]
    assert oracle["full"] == ["weather"]


def test_datasets_are_task_folders_questions_or_a_manifest(tmp_path: Path) -> None:
    desk = Desk.at(tmp_path / "desk")
    line = '{"kind":"task","task_id":"m1","question":"Which country?","root":"data"}\n'
    (desk.folder / "manifest.jsonl").write_text(line)
    desk.config(stages=["link"], dataset={"manifest": "manifest.jsonl"})
    assert desk.run("--run-id", "m").status == 0
    assert desk.json("m", "m1/result.json")["status"] == "ok"
    desk.config(stages=["link"], dataset={"tasks": str(ROOT / "examples")})
    done = desk.run("--dry-run")
    assert done.out.startswith(b"2 tasks over 2 catalogs: link; model builtin; into runs/run-")
    assert not (desk.folder / "runs" / "run").exists()
    desk.config(stages=["link"], dataset={"tasks": str(ROOT / "examples"), "only": ["nope"]})
    assert "no task nope" in desk.run().err
    desk.config(stages=["link"], dataset={"tasks": "nowhere"})
    assert desk.run().status == 2


@pytest.mark.parametrize(
    "task_id", ["../../x", "..", "catalogs", "a/b", "a%2Fb", "b" * 400, "\n", ""]
)
def test_a_task_id_never_leaves_its_run(task_id: str) -> None:
    name = folder_name(task_id)
    assert name
    assert "/" not in name
    assert name not in (".", "..", "catalogs")
    assert len(name.encode()) <= 200
    assert name != folder_name("a/b") or task_id == "a/b"
