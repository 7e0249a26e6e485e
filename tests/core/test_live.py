"""Handing a catalog's data to the stages that want it."""

from __future__ import annotations

import threading
import time
from concurrent.futures import CancelledError

import pytest

from stages.core.lines.lines import LineReader
from stages.core.runtime.sessions import AWAKE, DataSessions, live
from stages.core.sandbox.session import Data
from tests.helpers import ga360
from tests.helpers.tools import imported, run


def asked_of(lines):
    """The tasks of lines, with their catalogs."""
    import io

    items = LineReader().read([(io.BytesIO(lines), "lines")])
    return [item for item in items if hasattr(item, "task")]


@pytest.fixture
def lines(tmp_path):
    return ga360.lines(ga360.write(tmp_path / "task"))


def test_one_data_for_all_tasks_of_a_catalog(lines, tmp_path):
    *head, task = lines.splitlines(keepends=True)
    first, second = asked_of(b"".join([*head, task, task.replace(b"sf_bq009", b"other")]))
    with live({"cache": str(tmp_path)}) as opened:
        assert isinstance(opened.of(first), Data)
        assert opened.of(first) is opened.of(second)


def test_a_catalog_without_data_has_none(lines):
    (asked,) = asked_of(lines.replace(b'"source":', b'"was_source":'))
    assert DataSessions({"no_cache": True}).of(asked) is None


def test_an_interrupt_waits_for_no_statement_and_keeps_nothing_of_it(lines, tmp_path):
    (asked,) = asked_of(lines)
    found, threads, start = [], [], time.monotonic()

    def ask(data):
        try:
            found.append(data.run_query("SELECT count(*) FROM range(1000000) a, range(1000000) b"))
        except CancelledError as error:
            found.append(error)

    def interrupted():
        with live({"cache": str(tmp_path)}) as opened:
            threads.append(threading.Thread(target=ask, args=[opened.of(asked)]))
            threads[0].start()
            time.sleep(1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    threads[0].join()
    assert time.monotonic() - start < 10
    assert isinstance(found[0], CancelledError)
    assert DataSessions({"cache": str(tmp_path)}).ways.kept.count() == 0


def test_only_the_latest_catalogs_stay_awake(lines, tmp_path):
    opened, rested = DataSessions({"no_cache": True}), []
    for number in range(AWAKE + 2):
        (asked,) = asked_of(lines)
        data = opened.of(asked)
        data.rest = lambda number=number: rested.append(number)
    assert set(rested) == {0, 1}
    opened.close()


@pytest.mark.parametrize(
    ("common", "place"),
    [
        ({"no_cache": True}, None),
        ({"cache": "folder"}, "folder"),
        ({"cache": "kept.jsonl"}, "winnow"),
        ({}, "winnow"),
    ],
)
def test_where_results_are_kept(common, place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kept = DataSessions(common).ways.kept
    assert (kept.path.parent.name if kept else None) == place


def test_link_opens_no_data_whose_values_are_known(lines, tmp_path):
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    assert not imported(["link", "--no-values"], lines) & {"duckdb", "sqlite3"}
    assert run("link", stdin=lines, env=env).status == 0
    assert not imported(["link"], lines, env) & {"duckdb", "sqlglot"}
