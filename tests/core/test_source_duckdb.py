"""DuckDB files: tables and views of every schema, and files that mean harm."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import duckdb
import pytest

from stages.core.catalog import load_table, scan_root
from stages.core.catalog.source_table import ScanOptions
from stages.core.catalog.sources import duckdbfile
from stages.core.errors import SourceError, SqlLimit
from stages.core.sandbox.engine.store import Store
from stages.core.sandbox.limits import Limits

SETUP = """
CREATE TABLE people (id INTEGER PRIMARY KEY, name VARCHAR NOT NULL, mail VARCHAR UNIQUE,
  place STRUCT(x INTEGER, y STRUCT(z VARCHAR)[]), twice INTEGER GENERATED ALWAYS AS (id * 2));
INSERT INTO people SELECT i, 'n' || i, 'm' || i, {'x': i, 'y': [{'z': 'q'}]} FROM range(1000) r(i);
COMMENT ON TABLE people IS 'who'; COMMENT ON COLUMN people.name IS 'as written';
CREATE TABLE pets (owner INTEGER REFERENCES people (id), kind ENUM ('cat', 'dog'), raw BLOB);
INSERT INTO pets VALUES (1, 'cat', 'a\\x00'::BLOB);
CREATE SCHEMA other; CREATE TABLE other.people (day DATE); INSERT INTO other.people VALUES ('2024-01-02');
CREATE VIEW grown AS SELECT id + 1 AS k FROM people;
"""


def make(path: Path, *statements: str) -> Path:
    with duckdb.connect(str(path)) as con:
        for statement in statements:
            con.execute(statement)
    return path


@pytest.fixture
def people(tmp_path):
    return make(tmp_path / "people.duckdb", SETUP)


def scanned(path: Path, **options):
    return {raw.name: raw for raw in duckdbfile.scan(path, ScanOptions(**options))}


def test_tables_of_every_schema(people):
    found = scanned(people)
    assert list(found) == ["grown", "people", "pets", "other.people"]
    assert found["grown"].view
    assert found["people"].rows == {"count": 1000, "how": "exact"}
    assert found["people"].comment == "who"


def test_columns_and_keys(people):
    found = scanned(people)
    columns = {column["name"]: column for column in found["people"].columns}
    assert found["people"].primary_key == ["id"]
    assert columns["id"]["key"] == "primary"
    assert columns["mail"]["key"] == "unique"
    assert columns["name"]["comment"] == "as written"
    assert columns["name"]["nullable"] is False
    assert columns["place"]["type"] == "STRUCT(x INTEGER, y STRUCT(z VARCHAR)[])"
    assert [field["name"] for field in columns["place"]["fields"]] == [
        "place.x",
        "place.y",
        "place.y.z",
    ]
    assert columns["id"]["examples"] == ["0", "500", "999"]
    assert found["pets"].foreign_keys == [
        {"columns": ["owner"], "ref_table": "people", "ref_columns": ["id"]}
    ]


def test_scan_and_load_agree(people):
    result = scan_root(people.parent)
    assert [table["name"] for table in result.tables] == [
        "grown",
        "people__people",
        "pets",
        "people__other_people",
    ] or len(result.tables) == 4
    for table in result.tables:
        con = duckdb.connect()
        load_table(con, people.parent, table, "out")
        described = con.execute("SELECT * FROM out LIMIT 0").description
        assert [(c["name"], c["type"]) for c in table["columns"]] == [
            (d[0], str(d[1])) for d in described
        ]
        first = con.execute(
            "SELECT * FROM (SELECT COLUMNS(*)::VARCHAR FROM out) LIMIT 1"
        ).fetchone()
        assert first == tuple(table["sample"][0].values())
        if table["rows"]["count"] is not None:
            assert con.execute("SELECT count(*) FROM out").fetchone() == (table["rows"]["count"],)


def test_a_view_cannot_read_other_files(tmp_path):
    marker = tmp_path / "marker.csv"
    marker.write_text("a\nthe-marker\n", encoding="utf-8")
    path = make(tmp_path / "evil.duckdb", f"CREATE VIEW evil AS SELECT * FROM read_csv('{marker}')")
    raw = scanned(path)["evil"]
    assert "the-marker" not in repr(raw)
    assert "cannot be read" in raw.error
    with pytest.raises(SourceError) as error:
        duckdbfile.load(
            duckdb.connect(),
            path,
            {"name": "evil", "columns": [], "source": {"kind": "duckdb", "table": "evil"}},
            "out",
        )
    assert "the-marker" not in str(error.value)


def test_a_view_that_takes_too_long(tmp_path, monkeypatch):
    monkeypatch.setattr(duckdbfile, "VIEW_SECONDS", 0.2)
    path = make(
        tmp_path / "slow.duckdb",
        "CREATE VIEW slow AS SELECT sum(a.range) AS n FROM range(1000000000) a, range(1000000000)",
    )
    assert scanned(path)["slow"].error == "its rows take too long to compute"


def test_a_database_is_told_by_its_bytes(tmp_path):
    make(tmp_path / "a.db", "CREATE TABLE t AS SELECT 1 AS x")
    with sqlite3.connect(tmp_path / "b.duckdb") as con:
        con.execute("CREATE TABLE u (y INTEGER)")
    kinds = {table["name"]: table["source"]["kind"] for table in scan_root(tmp_path).tables}
    assert kinds == {"t": "duckdb", "u": "sqlite"}


def test_changes_beside_the_file_are_read(tmp_path):
    path = tmp_path / "t.duckdb"
    con = duckdb.connect(str(path))
    con.execute("PRAGMA disable_checkpoint_on_shutdown")
    con.execute("CREATE TABLE t AS SELECT 42 AS x")
    con.close()
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    if "t.duckdb.wal" in before:
        assert scanned(path)["t"].sample == [{"x": "42"}]
        assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.parametrize("data", [b"", b"x" * 5000, b"\0" * 8 + b"DUCK" + b"\0" * 5000])
def test_what_is_no_duckdb_file(tmp_path, data):
    path = tmp_path / "bad.duckdb"
    path.write_bytes(data)
    with pytest.raises(SourceError):
        scanned(path)


def test_scanning_leaves_the_file_as_it_was(people):
    before = people.read_bytes()
    scanned(people)
    assert people.read_bytes() == before
    assert [file.name for file in people.parent.iterdir()] == [people.name]


def test_values_are_left_out(people):
    for raw in scanned(people, values=False).values():
        assert raw.sample == []
        assert all("examples" not in column for column in raw.columns)


def test_loading_an_endless_view_ends_at_the_time_limit(tmp_path):
    root, path = tmp_path / "data", tmp_path / "data" / "v.duckdb"
    root.mkdir()
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE VIEW v AS SELECT count(*) AS n FROM range(1000000) a, range(1000000) b")
    line = {"kind": "table", "catalog": "c", "name": "v", "describe_key": "v.duckdb::v",
            "source": {"kind": "duckdb", "path": "v.duckdb", "table": "v"},
            "columns": [{"name": "n", "type": "BIGINT"}]}  # fmt: skip
    store = Store(root, Limits(load_seconds=0.5), tmp_path / "cache", load_table)
    with pytest.raises(SqlLimit, match=r"stopped after 0\.5 s"):
        store.file(line)
    assert list((tmp_path / "cache").iterdir()) == []
