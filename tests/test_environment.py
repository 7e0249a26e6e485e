"""What breaks around winnow is told, keeps every table, and leaves nothing behind: it is mended,
and the same command runs as if nothing had been."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from stages.core.errors import SqlUnavailable
from stages.core.sandbox.engine import store, worker
from stages.core.sandbox.result_cache import QueryOutcome, ResultCache
from stages.core.sandbox.session import Data, SessionOptions
from tests.helpers import ga360
from tests.helpers.llm_server import LlmServer
from tests.helpers.tools import Done, run

TABLE = "ga_sessions_2017"
COUNT = f"SELECT count(*) AS n FROM {TABLE}"


class Place:
    """A task folder with the sections that exploring needs, and a cache of its own."""

    def __init__(self, folder: Path) -> None:
        self.root = ga360.write(folder / "task")
        self.away = folder / "away"
        self.cache = folder / "cache"
        self.lines = ga360.lines(self.root, sections=True)

    def run(self, *argv: str, stdin: bytes | None = None) -> Done:
        """Run a command on the lines."""
        env = {"XDG_CACHE_HOME": "", "WINNOW_CACHE": str(self.cache)}
        return run(*argv, stdin=self.lines if stdin is None else stdin, env=env)

    def move_data(self) -> Callable[[], object]:
        """Move the folder away; what puts it back is returned."""
        self.root.rename(self.away)
        return lambda: self.away.rename(self.root)

    def block_tables(self) -> Callable[[], object]:
        """Put a file where loaded tables are to lie."""
        self.cache.mkdir()
        (self.cache / "tables").write_text("in the way")
        return (self.cache / "tables").unlink


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


BREAKS = [Place.move_data, Place.block_tables]


@pytest.mark.parametrize("broken", BREAKS)
def test_exploring_tells_what_is_broken_and_runs_when_it_is_mended(
    place: Place, broken: Callable[[Place], Callable[[], object]]
) -> None:
    mend = broken(place)
    failed = place.run("explore")
    assert failed.status == 1
    assert "3 of 3 tables were not explored" in failed.err
    judgments = failed.tasks[0]["explore"]["table_judgments"].values()
    assert all(one["relevant"] and one["error"] for one in judgments)
    mend()
    again = place.run("explore", stdin=failed.out)
    assert again.status == 0, again.err
    assert again.tasks[0]["explore"]["error"] == ""
    assert again.tasks[0]["explore"] == place.run("explore").tasks[0]["explore"]
    assert place.run("explore", "--retry-failed", stdin=failed.out).out == again.out


@pytest.mark.parametrize("broken", BREAKS)
def test_a_model_is_asked_about_no_table_that_cannot_be_read(
    place: Place, broken: Callable[[Place], Callable[[], object]]
) -> None:
    mend = broken(place)
    with LlmServer(ga360.explored) as server:
        model = ("--model", "openai/test", "--base-url", server.base_url)
        failed = place.run("explore", *model)
        assert (failed.status, len(server.requests)) == (1, 0), failed.err
        assert "3 of 3 tables were not explored" in failed.err
        mend()
        again = place.run("explore", *model)
        assert again.status == 0, again.err
        assert "after 9 statements" in again.err


@pytest.mark.parametrize("broken", BREAKS)
def test_a_query_tells_what_is_broken_and_runs_when_it_is_mended(
    place: Place, broken: Callable[[Place], Callable[[], object]]
) -> None:
    mend = broken(place)
    failed = place.run("query", "--sql", COUNT)
    assert (failed.status, failed.out) == (1, b"")
    assert TABLE in failed.err
    mend()
    assert place.run("query", "--sql", COUNT).out == b"n\n48\n"


def test_refining_keeps_everything_while_the_data_is_away(place: Place) -> None:
    with LlmServer(ga360.explored) as server:
        model = ("--model", "openai/test", "--base-url", server.base_url)
        explored = place.run("explore", *model).out

    def asked(_request: Any, _number: int) -> Any:
        return {"refined_schema": [], "exploration_queries": [COUNT], "status": "OPEN"}

    mend = place.move_data()
    with LlmServer(asked) as server:
        model = ("--model", "openai/test", "--base-url", server.base_url, "--no-cache")
        failed = place.run("refine", *model, stdin=explored)
        assert failed.status == 1, failed.err
        assert "is gone" in failed.err
        mend()
        again = place.run("refine", *model, stdin=explored)
        assert again.status == 0, again.err


@pytest.fixture
def data(place: Place) -> Data:
    catalog, tables, _ = ga360.scanned(place.root)
    ways = SessionOptions(kept=ResultCache(place.cache), tables=place.cache / "tables")
    return Data(catalog, tables, ways)


def no_space(*_args: Any, **_kwargs: Any) -> Any:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


FAULTS = [
    (store.os, "replace", no_space),
    (store.Path, "mkdir", no_space),
    (subprocess, "Popen", no_space),
    (worker, "START_SECONDS", 0.0),
]


@pytest.mark.parametrize(("where", "name", "fault"), FAULTS)
def test_no_fault_of_the_system_is_kept_as_a_result(
    data: Data, where: Any, name: str, fault: Any
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(where, name, fault)
        with pytest.raises(SqlUnavailable):
            data.run_query(COUNT)
    assert data.run_query(COUNT).res == "n\n48"
    data.close()


def test_a_file_that_can_no_longer_be_read_is_no_fault_of_the_statement(data: Data) -> None:
    """The child reads the file of a table as the statement needs it."""
    assert data.run_query(COUNT).error == ""
    data.close()
    from stages.core.sandbox.engine import child

    assert child._kind(duckdb.IOException("IO Error: Could not read all bytes")) == "unavailable"
    assert child._kind(duckdb.BinderException("no column")) == "failed"


@pytest.mark.parametrize("kind", ["SqlLimit", "Died"])
def test_what_another_run_may_not_meet_is_kept_for_replays_alone(
    data: Data, place: Place, kind: str
) -> None:
    kept = ResultCache(place.cache)
    tables = [table for table in data.tables if table["name"] == TABLE]
    key, state = data._key(COUNT, tables), data._state(tables)
    assert state is not None
    kept.put(key, state, QueryOutcome(COUNT, None, "gave up", kind))
    assert data.run_query(COUNT, tables).res == "n\n48"
    data.close()


def test_catalogs_without_data_are_no_fault(place: Place, tmp_path: Path) -> None:
    (tmp_path / "t.sql").write_text("CREATE TABLE dept (id INT, name TEXT);")
    lines = run("scan", str(tmp_path / "t.sql"), "--question", "name of each dept?").out
    for command in ("plan", "prune", "summarize"):
        lines = place.run(command, stdin=lines).out
    done = place.run("explore", stdin=lines)
    assert done.status == 0, done.err
    assert json.loads(done.out.splitlines()[-1])["explore"]["error"] == ""
