"""`winnow cache`, over replies that a real client has kept."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from stages.core.errors import NotCached
from stages.core.model import ModelOptions
from stages.core.model.cache import FILE
from stages.core.paths import CACHES
from stages.core.sandbox.result_cache import QueryOutcome
from stages.core.sandbox.result_cache import ResultCache as Results
from stages.core.text import block
from tests.helpers.model_asking import FINE, REQUEST, ask, ask_all, asking
from tests.helpers.tools import Done, run


@dataclass
class Kept:
    """A folder of three kept replies, two of one model."""

    folder: Path
    log: Path
    options: ModelOptions

    def cache(self, *argv: str) -> Done:
        """``winnow cache ARGV`` over the folder."""
        return run("cache", *argv, env={"WINNOW_CACHE": str(self.folder)})

    def keys(self) -> list[str]:
        """The keys as ``ls`` shows them."""
        return [line.split()[0] for line in self.cache("ls").out.decode().splitlines()]


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    with asking([FINE]) as (_, options):
        options = replace(options, cache=tmp_path / "cache", log=tmp_path / "calls.jsonl")
        asyncio.run(ask_all(options, REQUEST, replace(REQUEST, sample=1)))
        ask(replace(options, model="openai/other", log=None))
    assert options.log is not None
    return Kept(tmp_path / "cache", options.log, options)


def test_ls_shows_one_line_for_each_reply(kept: Kept) -> None:
    done = kept.cache("ls")
    lines = done.out.decode().splitlines()
    assert (done.status, done.err, len(lines)) == (0, "", 3)
    assert all(
        "10+3" in line and "number#" in line and line.endswith("How many?") for line in lines
    )
    assert "openai/other" in lines[-1]
    assert len(kept.cache("ls", "-n", "1").out.splitlines()) == 1
    assert len(kept.cache("ls", "--model", "openai/test").out.splitlines()) == 2
    assert len(kept.cache("ls", "--log", str(kept.log)).out.splitlines()) == 2


def test_ls_shows_the_question_of_a_task_wherever_it_stands_in_the_prompt(tmp_path: Path) -> None:
    long = "## rules\n" + "x" * 500
    asked = block("question", "Which towns\ngrew?")
    user = f"## q\n{asked}\n\n## tables\n{long}"
    messages = ({"role": "system", "content": long}, {"role": "user", "content": user})
    with asking([FINE]) as (_, options):
        options = replace(options, cache=tmp_path / "cache")
        ask(options, replace(REQUEST, messages=messages))
    done = run("cache", "ls", env={"WINNOW_CACHE": str(tmp_path / "cache")})
    assert done.out.decode().rstrip().endswith("  Which towns grew?")


def test_show_prints_what_was_asked_and_answered(kept: Kept) -> None:
    name = kept.keys()[0]
    done = kept.cache("show", name)
    text = done.out.decode()
    assert done.status == 0
    assert text.startswith(f"=== sha256:{name}")
    for part in ("--- system\nBe brief.", "--- user\nHow many?", '"a": 1', 'model="openai/test"'):
        assert part in text, part
    assert "127.0.0.1" not in text


def test_a_key_that_names_nothing_is_an_error(kept: Kept) -> None:
    done = kept.cache("show", "sha256:0000")
    assert done.status == 1
    assert "no kept reply to sha256:0000" in done.err


def test_clear_forgets_what_it_is_told_and_nothing_unasked(kept: Kept) -> None:
    assert kept.cache("clear").status == 2
    assert len(kept.keys()) == 3
    assert "2 replies forgotten" in kept.cache("clear", "--model", "openai/test").err
    assert len(kept.keys()) == 1
    assert "0 replies forgotten" in kept.cache("clear", "--older", "1").err
    assert "1 replies and 0 results of exploring forgotten" in kept.cache("clear", "--all").err
    assert kept.keys() == []


def test_stats_counts_by_model(kept: Kept) -> None:
    lines = kept.cache("stats").out.decode().splitlines()
    assert [line.split()[0] for line in lines] == ["1", "2", "3", "0"]
    assert "20 tokens in, 6 out, cost unknown  openai/test" in lines[1]


def test_results_of_exploring_are_counted_and_forgotten_with_all_else(kept: Kept) -> None:
    results = Results(kept.folder)
    for state in ("a", "b"):
        results.put("key", state, QueryOutcome("SELECT 1", None, "no", "SqlFailed"))
    results.close()
    last = kept.cache("stats").out.decode().splitlines()[-1]
    assert last.startswith("2 results of exploring in ")
    assert "0 results" not in kept.cache("clear", "--model", "openai/none").err
    assert "2 results of exploring" in kept.cache("stats").out.decode()
    done = kept.cache("clear", "--all")
    assert "3 replies and 2 results of exploring forgotten" in done.err
    assert results.get("key", None) is None
    assert kept.cache("stats").out.decode().splitlines()[-1].startswith("0 results")


def test_an_export_replays_offline_and_names_no_url(kept: Kept, tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    assert kept.cache("export", "--log", str(kept.log), "-o", str(path)).status == 0
    text = path.read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert len(lines) == 2
    assert all(set(line) == {"key", "request", "reply"} for line in lines)
    assert "127.0.0.1" not in text
    offline = replace(kept.options, cache=path, offline=True, base_url=None)
    assert ask(offline).cached
    with pytest.raises(NotCached):
        ask(replace(offline, model="openai/other"))
    assert len(run("cache", "ls", "--cache", str(path)).out.splitlines()) == 2
    assert run("cache", "clear", "--all", "--cache", str(path)).status == 2
    assert path.read_text() == text


def test_two_exports_are_the_same_bytes(kept: Kept) -> None:
    assert kept.cache("export").out == kept.cache("export").out != b""


def test_nothing_kept_yet_is_no_error_and_makes_no_folder(tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path / "home")}
    for command in ("ls", "stats", "export"):
        assert run("cache", command, env=env).status == 0
    assert not (tmp_path / "home").exists()
    assert run("cache", "ls", "--cache", str(tmp_path / "none")).status == 2


def test_hostile_replies_cannot_reach_the_terminal(kept: Kept) -> None:
    evil = json.dumps(
        {
            "data": {"a": 1},
            "text": "\x1b[2J\u202e",
            "tokens_in": 1,
            "tokens_out": 1,
            "usd": None,
            "calls": 1,
        }
    )
    with sqlite3.connect(kept.folder / FILE) as db:
        db.execute("UPDATE replies SET reply = ?", (evil,))
    for command in ("ls", "export"):
        assert b"\x1b" not in kept.cache(command).out
    shown = kept.cache("show", kept.keys()[0]).out
    assert b"\x1b" not in shown
    assert "\u202e".encode() not in shown


def test_places_list_all_kinds_and_clear_forgets_each(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    env = {"WINNOW_CACHE": str(folder)}
    listed = run("cache", "places", env=env).out.decode().splitlines()
    assert [line.split()[0] for line in listed] == [*CACHES]
    assert all(line.split()[1] == "0" for line in listed)
    assert not folder.exists()
    lines = run("scan", "examples/orders", env=env).out
    run("query", "examples/orders", "SELECT count(*) FROM orders", env=env)
    chain = [["plan"], ["prune"], ["summarize"], ["explore"]]
    for command in chain:
        lines = run(*command, stdin=lines, env=env).out
    (folder / CACHES["indexes"]).mkdir()
    (folder / CACHES["indexes"] / "judge-a.npz").write_bytes(b"index")
    kept = {line.split()[0]: line.split()[1] for line in _places(env)}
    assert kept["indexes"] == "5"
    assert all(kept[name] != "0" for name in ("results", "scans", "tables"))
    done = run("cache", "clear", "--kind", "tables", "--kind", "indexes", env=env)
    assert "tables forgotten" in done.err
    left = {line.split()[0]: line.split()[1] for line in _places(env)}
    assert (left["tables"], left["indexes"], left["scans"]) == ("0", "0", kept["scans"])
    assert run("cache", "clear", "--all", env=env).status == 0
    assert {line.split()[0] for line in _places(env) if line.split()[1] == "0"} >= {
        "scans",
        "tables",
    }
    assert run("query", "examples/orders", "SELECT count(*) FROM orders", env=env).status == 0


def _places(env: dict[str, str]) -> list[str]:
    return run("cache", "places", env=env).out.decode().splitlines()


def test_only_files_of_winnow_are_shown_and_forgotten(tmp_path: Path) -> None:
    folder, other = tmp_path / "cache", tmp_path / "mine"
    env = {"WINNOW_CACHE": str(folder)}
    assert run("query", "examples/orders", "SELECT count(*) FROM orders", env=env).status == 0
    own = next((folder / CACHES["tables"]).glob("*.duckdb"))
    foreign = [
        place / CACHES[kind] / name
        for place in (folder, other)
        for kind, name in (("tables", "sales.duckdb"), ("indexes", "weights.npz"))
    ]
    for path in (*foreign, other / CACHES["scans"], other / CACHES["tables"] / own.name):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"precious")
    listed = run("cache", "places", "--cache", str(other), env=env).out.decode().splitlines()
    lies = {line.split()[0]: Path(line.split()[-1]).parent for line in listed}
    assert {kind for kind in lies if lies[kind] == other} == {"replies", "results"}
    assert {kind for kind in lies if lies[kind] == folder} == {
        "scans",
        "values",
        "indexes",
        "tables",
    }
    done = run("cache", "clear", "--kind", "tables", "--cache", str(other), env=env)
    assert (done.status, own.exists()) == (0, False)
    assert run("cache", "clear", "--all", "--cache", str(other), env=env).status == 0
    assert run("cache", "clear", "--all", env=env).status == 0
    for path in (*foreign, other / CACHES["scans"], other / CACHES["tables"] / own.name):
        assert path.read_bytes() == b"precious"


def test_an_export_that_is_named_is_the_place_of_replies(kept: Kept, tmp_path: Path) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_bytes(kept.cache("export").out)
    env = {"WINNOW_CACHE": str(path), "XDG_CACHE_HOME": str(tmp_path / "home")}
    row = _places(env)[0].split()
    assert (row[0], row[1], row[-1]) == ("replies", f"{path.stat().st_size:,}", str(path))


def test_a_kind_stands_alone(tmp_path: Path) -> None:
    env = {"WINNOW_CACHE": str(tmp_path)}
    assert run("cache", "clear", "--kind", "scans", "--all", env=env).status == 2
    assert run("cache", "clear", "--kind", "no such", env=env).status == 2
