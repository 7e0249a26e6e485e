"""Folders of parts, as Hive and Spark write them, scanned and loaded as one table each."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest

from stages.core.catalog import ScanOptions, load_table, scan_root
from stages.core.catalog.partitions import is_part
from stages.core.records import Table


def written(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
    return folder


def rows_of(root: Path, table: Table) -> tuple[list[tuple[str, str]], list[tuple[Any, ...]]]:
    con = duckdb.connect()
    load_table(con, root, table, "t")
    types = [(row[0], row[1]) for row in con.execute("DESCRIBE t").fetchall()]
    assert con.execute("SELECT count(*) FROM duckdb_tables()").fetchone() == (1,)
    return types, con.execute("SELECT * FROM t").fetchall()


CASES: list[tuple[dict[str, str | bytes], list[tuple[str, str]], list[tuple[Any, ...]]]] = [
    (
        {"t/part-00000": "1,x\n2,y\n", "t/part-00001": "3,z\n", "t/_SUCCESS": ""},
        [("column0", "BIGINT"), ("column1", "VARCHAR")],
        [(1, "x"), (2, "y"), (3, "z")],
    ),
    (
        {"t/part-00000": "x,p\ny,q\n", "t/part-00001": "z,r\n", "t/part-00002": ""},
        [("column0", "VARCHAR"), ("column1", "VARCHAR")],
        [("x", "p"), ("y", "q"), ("z", "r")],
    ),
    (
        {
            "t.csv/part-00000-a-c000.csv": "id,v\n1,a\n",
            "t.csv/part-00001-a-c000.csv": "id,v\n2,b\n",
        },
        [("id", "BIGINT"), ("v", "VARCHAR")],
        [(1, "a"), (2, "b")],
    ),
    (
        {"t/000000_0": "1\x01ann\x01\\N\n", "t/000001_0": "2\x01bob\x017\n"},
        [("column0", "BIGINT"), ("column1", "VARCHAR"), ("column2", "BIGINT")],
        [(1, "ann", None), (2, "bob", 7)],
    ),
    (
        {
            "t/dt=2024-01-01/c=a%20b/part-00000": "1,x\n",
            "t/dt=2024-01-02/c=__HIVE_DEFAULT_PARTITION__/part-00000": "2,y\n",
        },
        [("column0", "BIGINT"), ("column1", "VARCHAR"), ("dt", "DATE"), ("c", "VARCHAR")],
        [],
    ),
    (
        {"t/year=2023/data.csv": "id,v\n1,a\n", "t/year=2024/data.csv": "id,v\n2,b\n"},
        [("id", "BIGINT"), ("v", "VARCHAR"), ("year", "BIGINT")],
        [(1, "a", 2023), (2, "b", 2024)],
    ),
    (
        {"t/part-00000.json": '{"id":1}\n{"id":2}\n', "t/part-00001.json": '{"id":3,"w":"x"}\n'},
        [("id", "BIGINT"), ("w", "VARCHAR")],
        [(1, None), (2, None), (3, "x")],
    ),
    (
        {"t/part-00000": "1,a\n", "t/part-00001": "2.5,b\n"},
        [("column0", "DOUBLE"), ("column1", "VARCHAR")],
        [(1.0, "a"), (2.5, "b")],
    ),
    (
        {"t/part-00000": "12,a\n", "t/part-00001": "007,b\n"},
        [("column0", "VARCHAR"), ("column1", "VARCHAR")],
        [("12", "a"), ("007", "b")],
    ),
]


@pytest.mark.parametrize(("files", "types", "rows"), CASES)
def test_parts_are_one_table(
    tmp_path: Path,
    files: dict[str, str | bytes],
    types: list[tuple[str, str]],
    rows: list[tuple[Any, ...]],
) -> None:
    result = scan_root(written(tmp_path, files))
    (table,) = result.tables
    assert table["name"] == "t"
    assert [(column["name"], column["type"]) for column in table["columns"]] == types
    found = rows_of(tmp_path, table)
    assert found[0] == types
    assert found[1] == rows or not rows
    assert table["rows"] == {"count": len(found[1]), "how": "exact"}
    assert result.catalog["skipped"] == []


def test_parquet_parts(tmp_path: Path) -> None:
    folder = written(tmp_path / "t" / "k=1", {}) or tmp_path
    folder.mkdir(parents=True)
    con = duckdb.connect()
    con.execute(f"COPY (SELECT 1 AS id) TO '{folder}/part-00000-x.snappy.parquet' (FORMAT parquet)")
    con.execute(f"COPY (SELECT 2 AS id) TO '{folder}/part-00001' (FORMAT parquet)")
    (table,) = scan_root(tmp_path).tables
    assert rows_of(tmp_path, table) == ([("id", "INTEGER"), ("k", "BIGINT")], [(1, 1), (2, 1)])


def test_many_parts_are_estimated_and_all_loaded(tmp_path: Path) -> None:
    files = {f"t/part-{at:05d}": f"{at},x\n" for at in range(10_000, 10_050)}
    (table,) = scan_root(written(tmp_path, files)).tables
    assert table["rows"] == {"count": 50, "how": "estimate"}
    assert len(rows_of(tmp_path, table)[1]) == 50
    (table,) = scan_root(tmp_path, ScanOptions(exact=True)).tables
    assert table["rows"]["how"] == "exact"


def test_what_is_no_part_is_read_as_ever(tmp_path: Path) -> None:
    files = {"part-00000.csv": "a,b\n1,2\n", "x=1.csv": "a,b\n1,2\n", "part-list.csv": "a,b\n1,2\n"}
    names = [table["name"] for table in scan_root(written(tmp_path, files)).tables]
    assert sorted(names) == ["part_00000", "part_list", "x_1"]


def test_a_link_among_parts_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("9,secret\n")
    folder = written(tmp_path / "root", {"t/part-00000": "1,a\n", "t/part-00001": "2,b\n"})
    os.symlink(tmp_path / "secret", folder / "t" / "part-00002")
    result = scan_root(folder)
    assert len(rows_of(folder, result.tables[0])[1]) == 2
    assert "secret" not in json.dumps(result.tables)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("part-r-00003", True),
        ("part-00000-6c.c000.snappy.parquet", True),
        ("000003_0_copy_1", True),
        ("part-1.csv", False),
        ("000003.csv", False),
        ("depart-00000", False),
    ],
)
def test_names_of_parts(name: str, part: bool) -> None:
    assert is_part(name) is part
