"""A catalog's data as stages see it: errors as outcomes, results kept, replays without data."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading

import pytest

from stages.core.errors import SqlUnavailable
from stages.core.sandbox.engine.pool import Pool, size_for
from stages.core.sandbox.limits import Limits
from stages.core.sandbox.result_cache import QueryOutcome, ResultCache
from stages.core.sandbox.session import Data, SessionOptions
from tests.helpers import ga360

SQL = "SELECT trafficSource.source, count(*) FROM GA_Sessions_2017 GROUP BY 1"


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Folder of loaded tables, shared so that each table is loaded once."""
    return tmp_path_factory.mktemp("tables")


@pytest.fixture
def opened(tmp_path, tables):
    """A maker of `Data` over the sessions; everything is closed in the end."""
    made = []
    folder = ga360.write(tmp_path / "task")
    catalog, records, _ = ga360.scanned(folder)

    def make(**ways):
        data = Data(catalog, records, SessionOptions(**{"tables": tables, **ways}))
        made.append(data)
        return data

    make.folder, make.records, make.catalog = folder, records, catalog
    yield make
    for data in made:
        data.close()


def test_nested_fields_and_the_answer_of_the_worked_example(opened):
    found = opened().run_query(ga360.SOLUTION)
    assert found.error == ""
    assert found.result.rows == (("google", "110.0"),)


def test_the_statement_of_the_log_is_the_one_that_ran(opened):
    found = opened().run_query(f"-- first a remark\n{SQL};")
    assert found.sql == ('SELECT trafficSource.source, COUNT(*) FROM "ga_sessions_2017" GROUP BY 1')
    assert "google | 12" in found.res


@pytest.mark.parametrize(
    ("sql", "kind", "told"),
    [
        ("DROP TABLE ga_sessions_2017", "SqlRefused", "DROP"),
        ("SELECT * FROM ga_sessions_2019", "SqlRefused", "did you mean ga_sessions_201"),
        ("SELECT nope FROM ga_sessions_2017", "SqlFailed", "no column nope"),
        ("SELECT 1; SELECT 2", "SqlRefused", ""),
        ("this is no SQL at all", "SqlRefused", ""),
        ("SELECT * FROM read_csv('/etc/passwd')", "SqlRefused", ""),
    ],
)
def test_an_error_is_an_outcome(opened, sql, kind, told):
    found = opened().run_query(sql)
    assert (found.kind, found.result) == (kind, None)
    assert told in found.error
    assert found.res.startswith("error: ")


def test_what_is_kept_is_not_read_again(opened, tmp_path):
    kept = ResultCache(tmp_path / "kept")
    first = opened(kept=kept).run_query(SQL)
    later = opened(kept=kept, tables=tmp_path / "none", limits=Limits(materialise=1))
    assert later.run_query(SQL) == first  # nothing could be loaded any more


def test_changed_data_is_read_again_and_an_offline_replay_needs_none(opened, tmp_path):
    kept = ResultCache(tmp_path / "kept")
    first = opened(kept=kept).run_query(SQL)
    path = opened.folder / "context" / "json" / "ga_sessions_2017.json"
    text = path.read_text("utf-8")
    path.write_text(text.replace('"google"', '"gogole"'), "utf-8")
    os.utime(path, ns=(1, 1))
    assert "gogole" in opened(kept=kept).run_query(SQL).res
    assert "gogole" in opened(kept=kept, offline=True).run_query(SQL).res
    shutil.rmtree(opened.folder)
    assert "gogole" in opened(kept=kept, offline=True).run_query(SQL).res
    with pytest.raises(SqlUnavailable, match="gone"):
        opened(kept=kept).run_query(SQL)
    assert first.error == ""


def test_errors_of_the_engine_are_kept_for_replays(opened, tmp_path):
    kept, sql = ResultCache(tmp_path / "kept"), "SELECT nope FROM ga_sessions_2017"
    first = opened(kept=kept).run_query(sql)
    shutil.rmtree(opened.folder)
    assert opened(kept=kept, offline=True).run_query(sql) == first


def test_a_statement_that_was_too_slow_is_tried_again_but_replayed_as_it_was(opened, tmp_path):
    kept = ResultCache(tmp_path / "kept")
    sql = (
        "SELECT count(*) FROM ga_sessions_2017 a, ga_sessions_2017 b, ga_sessions_2017 c, "
        "ga_sessions_2017 d, ga_sessions_2017 e, range(10) f WHERE a.visitId + b.visitId + c.visitId > e.visitId"
    )
    slow = opened(kept=kept, limits=Limits(seconds=0.1)).run_query(sql)
    assert slow.kind == "SqlLimit"
    assert opened(kept=kept, offline=True).run_query(sql) == slow
    assert opened(kept=kept).run_query(sql).error == ""


def test_another_table_line_is_another_key(opened, tmp_path):
    kept = ResultCache(tmp_path / "kept")
    opened(kept=kept).run_query(SQL)
    described = [{**table, "description": "changed"} for table in opened.records]
    other = Data(opened.catalog, described, SessionOptions(kept=kept, dry=True))
    assert other.run_query(SQL).result.rows == ()  # a dry run, and nothing is kept under it


def test_a_dry_run_reads_nothing(opened, tmp_path):
    kept = ResultCache(tmp_path / "kept")
    data = opened(kept=kept, dry=True, tables=tmp_path / "none")
    assert data.run_query(SQL).error == ""
    assert not (tmp_path / "none").exists()
    assert not (tmp_path / "kept").exists()


def test_statements_run_side_by_side_in_order(opened):
    async def go():
        data = opened(size=3)
        asked = [f"SELECT count(*), '{name}' FROM {name}" for name in ga360.SESSIONS] * 3
        return [found.result.rows[0] for found in await asyncio.gather(*map(data.ask, asked))]

    assert asyncio.run(go()) == [("48", name) for name in ga360.SESSIONS] * 3


def test_a_catalog_without_data(opened):
    bare = {"kind": "table", "catalog": "c", "name": "t", "describe_key": "t", "columns": []}
    data = Data({"kind": "catalog", "v": 1, "id": "c", "name": "c"}, [bare])
    assert not data.has_data(bare)
    assert "no data" in data.run_query("SELECT 1 FROM t").error


def test_a_folder_of_results_that_cannot_be_made_is_a_usage_error(tmp_path):
    from stages.core.errors import UsageError

    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UsageError, match="cache cannot be used"):
        ResultCache(tmp_path / "file").put("k", "s", QueryOutcome("SELECT 1", None, "no", "x"))


def test_a_broken_file_of_results_is_moved_aside_and_made_anew(tmp_path, capsys):
    (tmp_path / "results.sqlite").write_bytes(b"no database" * 1000)
    results = ResultCache(tmp_path)
    assert results.get("k", None) is None
    results.put("k", "s", QueryOutcome("SELECT 1", None, "no", "x"))
    results.close()
    assert ResultCache(tmp_path).get("k", "s").error == "no"
    assert (tmp_path / "results.sqlite.damaged").read_bytes().startswith(b"no database")
    assert capsys.readouterr().err.count("made anew") == 1


class Slow:
    """A database that tells which tables it was asked for, and how many run at once."""

    running, peak, lock = 0, 0, threading.Lock()

    def __init__(self, first=()):
        self.asked = []

    def query(self, sql, *, dialect=None, rows=None):
        with Slow.lock:
            Slow.running += 1
            Slow.peak = max(Slow.peak, Slow.running)
        self.asked.append(sql)
        threading.Event().wait(0.02)
        with Slow.lock:
            Slow.running -= 1
        return sql

    def close(self):
        pass


def test_a_pool_runs_no_more_at_once_than_it_has():
    Slow.peak = 0
    pool = Pool(Slow, 2)
    threads = [threading.Thread(target=pool.query, args=(str(n),)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Slow.peak == 2


def test_a_pool_goes_back_to_the_database_that_has_the_table():
    made = []

    def make(first):
        made.append(Slow())
        return made[-1]

    pool = Pool(make, 2)
    for name in ("a", "b", "a", "b", "b", "a"):
        pool.query(name, near=[name])
    assert [set(database.asked) for database in made] == [{"a"}, {"b"}]


def test_a_pool_looks_ahead():
    made = []

    def make(first):
        made.append(list(first))
        return Slow()

    names = ["a", "b", "c", "d", "e"]
    pool = Pool(make, 1, lambda wanted: names[names.index(min(wanted)) :][:2])
    for name in names:
        pool.query(name, near=[name])
    assert made == [[], ["a", "b"], ["c", "d"], ["e"]]


def test_expected_tables_are_loaded_together(opened, tmp_path):
    data = opened(tables=tmp_path / "fresh")
    data.expect([*ga360.SESSIONS, ga360.SPARE])
    assert data.run_query("SELECT count(*) FROM ga_sessions_2017").result.rows == (("48",),)
    assert len(list((tmp_path / "fresh").glob("*.duckdb"))) == 3  # from the wanted one on


def test_an_error_gives_the_database_back():
    class Broken(Slow):
        def query(self, sql, *, dialect=None, rows=None):
            raise ValueError(sql)

    pool = Pool(Broken, 1)
    for _ in range(3):
        with pytest.raises(ValueError, match="x"):
            pool.query("x")


@pytest.mark.parametrize(("concurrency", "most"), [(0, 1), (1, 1), (16, 4)])
def test_size_of_a_pool(concurrency, most):
    assert 1 <= size_for(concurrency) <= most
