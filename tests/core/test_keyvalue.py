"""The key-value store behind the caches: shared, read-only, damaged, full."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import stat
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from stages.core.keyvalue import ASIDE, KeyValueFile, KeyValueTable

TABLE = KeyValueTable("kept", "key TEXT PRIMARY KEY, value TEXT NOT NULL")
PUT = "REPLACE INTO kept VALUES (?, ?)"
GET = "SELECT value FROM kept WHERE key = ?"
NO_STORE = b"this is no database, but a long text" * 50


def filled(path: Path, table: KeyValueTable = TABLE) -> KeyValueFile:
    store = KeyValueFile(path, table)
    store.row(PUT, ("a", "1"))
    store.close()
    return store


def test_a_row_comes_back_after_closing(tmp_path: Path) -> None:
    store = filled(tmp_path / "new" / "kept.sqlite")
    assert store.row(GET, ("a",)) == ("1",)
    assert store.row(GET, ("b",)) is None
    assert store.count() == 1
    assert store.size() > 0
    assert (store.clear(), store.count()) == (1, 0)
    store.close()


def test_counting_makes_no_file(tmp_path: Path) -> None:
    store = KeyValueFile(tmp_path / "none" / "kept.sqlite", TABLE)
    assert (store.exists(), store.count(), store.clear(), store.size()) == (False, 0, 0, 0)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("name", ["what? #1%20.sqlite", "kept 表.sqlite"])
def test_any_name_is_a_name(tmp_path: Path, name: str) -> None:
    filled(tmp_path / name).close()
    assert (tmp_path / name).is_file()


def test_a_damaged_file_is_moved_aside_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "kept.sqlite"
    path.write_bytes(NO_STORE)
    path.with_name("kept.sqlite-wal").write_bytes(NO_STORE)
    store = filled(path)
    assert store.row(GET, ("a",)) == ("1",)
    store.close()
    assert path.with_name(path.name + ASIDE).read_bytes() == NO_STORE
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert f"{path}: damaged, and made anew" in told


def test_a_damaged_file_that_is_precious_stays_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "kept.sqlite"
    path.write_bytes(NO_STORE)
    with pytest.raises(sqlite3.DatabaseError):
        KeyValueFile(path, replace(TABLE, precious=True)).connection()
    assert path.read_bytes() == NO_STORE


def test_a_file_that_another_has_made_anew_is_left(tmp_path: Path) -> None:
    path = tmp_path / "kept.sqlite"
    store = filled(path)
    before = path.stat().st_ino
    store._move_aside(before + 1)
    assert path.stat().st_ino == before


def test_a_folder_that_cannot_be_written_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = filled(tmp_path / "kept.sqlite")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert store.row(GET, ("a",)) == ("1",)
    with pytest.raises(sqlite3.OperationalError):
        store.row(PUT, ("b", "2"))
    assert store.count() == 1
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == ["kept.sqlite"]


def test_a_full_disk_loses_only_what_is_new(tmp_path: Path) -> None:
    store = filled(tmp_path / "kept.sqlite")
    [pages] = store.row("PRAGMA page_count") or (0,)
    store.row(f"PRAGMA max_page_count={pages}")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        store.row(PUT, ("b", "x" * 100_000))
    assert store.row(GET, ("a",)) == ("1",)
    store.close()


def test_a_private_store_is_the_users_alone(tmp_path: Path) -> None:
    path = tmp_path / "mine" / "kept.sqlite"
    filled(path, replace(TABLE, private=True))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_threads_share_one_store(tmp_path: Path) -> None:
    store = KeyValueFile(tmp_path / "kept.sqlite", TABLE)

    def fill(start: int) -> None:
        for n in range(50):
            store.row(PUT, (str(start + n), "x"))

    threads = [threading.Thread(target=fill, args=(100 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert store.count() == 200
    store.close()


def _fill(path: str, start: int) -> None:
    store = KeyValueFile(Path(path), TABLE)
    for n in range(100):
        store.row(PUT, (str(start + n), "x"))
    store.close()


def test_processes_share_one_store(tmp_path: Path) -> None:
    path = tmp_path / "kept.sqlite"
    filled(path)
    processes = multiprocessing.get_context("spawn")
    workers = [processes.Process(target=_fill, args=(str(path), 1000 * n)) for n in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 3
    store = KeyValueFile(path, TABLE)
    assert store.count() == 301
    store.close()
