"""Scanning again: nothing is read of what did not change, and everything of what did."""

from __future__ import annotations

import os
import sqlite3
import time

import duckdb
import pytest

from stages.core.catalog import scan_cache, scan_root
from stages.core.catalog.scan_cache import ScanCache, bounded, cache_file, stamp
from stages.core.catalog.source_table import ScanOptions, SourceTable

CACHED = ScanOptions(cache=True)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("WINNOW_CACHE", str(tmp_path / "cache"))
    root = tmp_path / "data"
    root.mkdir()
    (root / "a.csv").write_text("id,name\n1,Ann\n2,Bob\n", encoding="utf-8")
    (root / "b.json").write_text('[{"x": {"y": 1}}, {"x": {"y": 2}}]', encoding="utf-8")
    with sqlite3.connect(root / "c.db") as con:
        con.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT)")
        con.execute("INSERT INTO t VALUES (1, 'one')")
    duckdb.connect().execute(f"COPY (SELECT 1 AS p) TO '{root / 'd.parquet'}' (FORMAT parquet)")
    settle()
    return root


def settle():
    """Let the clock leave the time of the last change behind."""
    time.sleep(scan_cache.SETTLED_NS / 1e9 + 0.02)


def reads(root, monkeypatch, options=CACHED):
    """The result of a scan, and the names of the files that were read for it."""
    import stages.core.catalog.scan as catalog

    read = []
    whole = catalog._raws

    def spied(job):
        read.append(job[1].name)
        return whole(job)

    with monkeypatch.context() as patch:
        patch.setattr(catalog, "_raws", spied)
        result = scan_root(root, options)
    return result, sorted(read)


def test_an_unchanged_folder_is_not_read_again(folder, monkeypatch):
    first, read = reads(folder, monkeypatch)
    assert read == ["a.csv", "b.json", "c.db", "d.parquet"]
    second, read = reads(folder, monkeypatch)
    assert read == []
    fresh = scan_root(folder)
    assert (second.catalog, second.tables) == (first.catalog, first.tables)
    assert (second.catalog, second.tables) == (fresh.catalog, fresh.tables)


def change_size(path):
    path.write_text("id,name\n1,Ann\n2,Bob\n3,Cy\n", encoding="utf-8")


def change_bytes_keep_size_and_time(path):
    info = path.stat()
    path.write_text("id,name\n1,Ann\n2,Bib\n", encoding="utf-8")
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))


def replace_file(path):
    other = path.with_name("other")
    other.write_text("id,name\n1,Eve\n2,Bob\n", encoding="utf-8")
    os.replace(other, path)


@pytest.mark.parametrize("change", [change_size, change_bytes_keep_size_and_time, replace_file])
def test_a_changed_file_is_read_again(folder, monkeypatch, change):
    reads(folder, monkeypatch)
    change(folder / "a.csv")
    settle()
    result, read = reads(folder, monkeypatch)
    assert read == ["a.csv"]
    assert result.tables == scan_root(folder).tables


def test_changes_beside_a_database_count(folder, monkeypatch):
    reads(folder, monkeypatch)
    con = sqlite3.connect(folder / "c.db")
    con.execute("PRAGMA journal_mode = WAL")
    con.execute("INSERT INTO t VALUES (2, 'two')")
    con.commit()
    settle()
    _, read = reads(folder, monkeypatch)
    assert read == ["c.db"]
    con.execute("INSERT INTO t VALUES (3, 'three')")
    con.commit()
    settle()
    result, read = reads(folder, monkeypatch)
    con.close()
    assert read == ["c.db"]
    assert next(t for t in result.tables if t["name"] == "t")["rows"]["count"] == 3


def test_other_options_are_another_entry(folder, monkeypatch):
    reads(folder, monkeypatch)
    other = ScanOptions(cache=True, sample_rows=1)
    result, read = reads(folder, monkeypatch, other)
    assert len(read) == 4
    assert len(result.tables[0]["sample"]) == 1


def test_a_file_of_another_name_is_another_file(folder, monkeypatch):
    reads(folder, monkeypatch)
    (folder / "link.csv").symlink_to(folder / "a.csv")
    result, read = reads(folder, monkeypatch)
    assert read == ["link.csv"]
    assert {table["name"] for table in result.tables} >= {"a", "link"}


def test_a_file_that_changed_only_now_is_not_kept(folder, monkeypatch):
    (folder / "a.csv").write_text("id,name\n9,Zed\n", encoding="utf-8")
    monkeypatch.setattr(scan_cache, "SETTLED_NS", 10**12)
    reads(folder, monkeypatch)
    _, read = reads(folder, monkeypatch)
    assert "a.csv" in read


def test_without_the_option_nothing_is_written(folder):
    scan_root(folder)
    assert not cache_file().exists()


@pytest.mark.parametrize("hide", [("name",), ("a.*",), ("*name*",)])
def test_hidden_values_are_not_kept(folder, monkeypatch, hide):
    options = ScanOptions(cache=True, hide=hide)
    first, _ = reads(folder, monkeypatch, options)
    second, read = reads(folder, monkeypatch, options)
    assert read == []
    assert second.tables == first.tables == scan_root(folder, ScanOptions(hide=hide)).tables
    with sqlite3.connect(cache_file()) as con:
        import zlib

        bodies = [zlib.decompress(body) for (body,) in con.execute("SELECT body FROM entry")]
    assert bodies
    assert not any(b"Ann" in body for body in bodies)


@pytest.mark.parametrize("damage", [b"", b"no database at all", None])
def test_a_damaged_cache_is_no_cache(folder, monkeypatch, damage):
    reads(folder, monkeypatch)
    if damage is None:
        with sqlite3.connect(cache_file()) as con:
            con.execute("UPDATE entry SET body = x'00'")
    else:
        for file in cache_file().parent.iterdir():
            file.unlink()
        cache_file().write_bytes(damage)
    result, _ = reads(folder, monkeypatch)
    assert result.tables == scan_root(folder).tables


def test_a_cache_that_cannot_be_written_is_no_error(folder, monkeypatch):
    (folder.parent / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("WINNOW_CACHE", str(folder.parent / "file" / "below"))
    result, read = reads(folder, monkeypatch)
    assert len(read) == 4
    assert result.tables == scan_root(folder).tables


def test_a_table_with_an_error_is_tried_again(folder, monkeypatch):
    with sqlite3.connect(folder / "c.db") as con:
        con.execute("CREATE VIEW broken AS SELECT * FROM nosuch")
    settle()
    reads(folder, monkeypatch)
    _, read = reads(folder, monkeypatch)
    assert read == ["c.db"]


def test_entries_that_were_not_used_go_when_there_are_too_many(folder, monkeypatch):
    monkeypatch.setattr(scan_cache, "MOST_BYTES", 1)
    cache = ScanCache()
    marks = [stamp(folder / name, "csv", CACHED) for name in ("a.csv", "b.json", "d.parquet")]
    cache.keep((mark, [SourceTable("t", [])]) for mark in marks)
    kept = [mark for mark in marks if cache.get(mark.key) is not None]
    cache.close()
    assert 0 < len(kept) <= 3


def test_long_cells_are_not_carried_along():
    raw = SourceTable(
        "t",
        [{"name": "a", "type": "VARCHAR", "examples": ["x" * 1000]}],
        sample=[{"a": "y" * 1000}],
    )
    bounded(raw, ScanOptions(cell=10))
    assert raw.sample[0]["a"] == "y" * 10 + "…(+990)"
    assert raw.columns[0].get("examples") == ["x" * 10 + "…(+990)"]
