"""Parquet files: what the footer says, what a sample shows, and what is no Parquet."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from stages.core.catalog import scan_root
from stages.core.catalog.source_table import ScanOptions
from stages.core.catalog.sources import parquet
from stages.core.errors import SourceError

NESTED = "{'a': i::INTEGER, 'b': [{'c': 'x' || i}]}"


def write(path: Path, select: str, options: str = "") -> Path:
    duckdb.connect().execute(f"COPY ({select}) TO '{path}' (FORMAT parquet{options})")
    return path


def scanned(path: Path, **options):
    (raw,) = parquet.scan(path, ScanOptions(**options))
    return raw


def loaded(path: Path, **options):
    con = duckdb.connect()
    raw = scanned(path, **options)
    parquet.load(
        con, path, {"name": "t", "columns": raw.columns, "source": {"kind": "parquet"}}, "out"
    )
    return con


@pytest.fixture
def numbers(tmp_path):
    return write(
        tmp_path / "numbers.parquet",
        f"SELECT i, {NESTED} AS s, 'n' || i AS t, NULL::DATE AS d FROM range(50000) r(i)",
        ", ROW_GROUP_SIZE 4096",
    )


def test_columns_types_and_fields(numbers):
    raw = scanned(numbers)
    assert raw.name == "numbers"
    assert [(c["name"], c["type"]) for c in raw.columns] == [
        ("i", "BIGINT"),
        ("s", "STRUCT(a INTEGER, b STRUCT(c VARCHAR)[])"),
        ("t", "VARCHAR"),
        ("d", "DATE"),
    ]
    assert [field["name"] for field in raw.columns[1]["fields"]] == ["s.a", "s.b", "s.b.c"]
    assert raw.checked == "full"


def test_rows_and_sample(numbers):
    raw = scanned(numbers)
    assert raw.rows == {"count": 50000, "how": "exact"}
    assert raw.columns[0]["examples"] == ["0", "25000", "49999"]
    assert raw.sample == [
        {"i": "0", "s": "{'a': 0, 'b': [{'c': x0}]}", "t": "n0", "d": None},
        {"i": "1", "s": "{'a': 1, 'b': [{'c': x1}]}", "t": "n1", "d": None},
    ]


def test_values_are_left_out(numbers):
    raw = scanned(numbers, values=False)
    assert raw.sample == []
    assert all("examples" not in column for column in raw.columns)


def test_loading_gives_what_was_scanned(numbers):
    con = loaded(numbers)
    assert con.execute("SELECT count(*), sum(i), max(s.b[1].c) FROM out").fetchone() == (
        50000,
        1249975000,
        "x9999",
    )
    types = [str(kind) for _, kind, *_ in con.execute("SELECT * FROM out LIMIT 0").description]
    assert types == [column["type"] for column in scanned(numbers).columns]


@pytest.mark.parametrize(
    "name", ["a*b.parquet", "[x].parquet", "q?.parquet", "it's.parquet", "数.pq"]
)
def test_a_name_is_no_pattern(tmp_path, name):
    write(tmp_path / "axb.parquet", "SELECT 'wrong' AS v")
    write(tmp_path / "x.parquet", "SELECT 'wrong' AS v")
    made = write(tmp_path / "made.parquet", "SELECT 'right' AS v")
    path = made.rename(tmp_path / name)
    assert scanned(path).sample == [{"v": "right"}]
    assert loaded(path).execute("FROM out").fetchall() == [("right",)]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"id,name\n1,2\n", "not a Parquet file"),
        (b"PAR1", "damaged"),
        (b"PAR1" + b"x" * 100, "cut off"),
        (b"PAR1" + b"x" * 100 + b"PAR1", "damaged"),
        (b"PARE" + b"x" * 100 + b"PARE", "encrypted"),
        (b"P", "not a Parquet file"),
    ],
)
def test_what_is_no_parquet(tmp_path, data, words):
    path = tmp_path / "bad.parquet"
    path.write_bytes(data)
    with pytest.raises(SourceError, match=words) as error:
        scanned(path)
    assert str(tmp_path) not in error.value.what
    result = scan_root(tmp_path)
    assert [item["path"] for item in result.catalog["skipped"]] == ["bad.parquet"]


def test_a_column_called_like_the_row_number(tmp_path):
    path = write(tmp_path / "t.parquet", "SELECT i AS file_row_number FROM range(1000) r(i)")
    assert scanned(path).rows["count"] == 1000


def test_required_columns_are_not_nullable(tmp_path):
    path = tmp_path / "t.parquet"
    con = duckdb.connect()
    con.execute("CREATE TABLE t (a INTEGER NOT NULL, b STRUCT(c INTEGER), d INTEGER)")
    con.execute("INSERT INTO t VALUES (1, {'c': 1}, NULL)")
    con.execute(f"COPY t TO '{path}' (FORMAT parquet)")
    nullable = {column["name"]: column["nullable"] for column in scanned(path).columns}
    assert nullable["d"] is True


def test_no_rows(tmp_path):
    raw = scanned(write(tmp_path / "t.parquet", "SELECT 1 AS a WHERE false"))
    assert raw.rows == {"count": 0, "how": "exact"}
    assert raw.sample == []
    assert [column["name"] for column in raw.columns] == ["a"]
