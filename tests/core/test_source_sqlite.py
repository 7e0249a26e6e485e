"""SQLite: metadata, types by what is stored, hostile and damaged files, loading without loss."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.core.catalog import ScanOptions, load_table, scan_files, scan_root
from stages.core.catalog.documents import MARK_TABLE
from stages.core.catalog.source_table import SourceTable
from stages.core.catalog.sources.sqlite import sample, scan
from stages.core.catalog.sources.sqlite.relation import (
    blob_text,
    cell_text,
    complaint,
    decide,
    widest,
)
from stages.core.errors import SourceError


def database(path: Path, script: str, rows: dict[str, list[tuple[Any, ...]]] | None = None) -> Path:
    con = sqlite3.connect(path)
    con.executescript(script)
    for table, values in (rows or {}).items():
        marks = ", ".join("?" * len(values[0]))
        con.executemany(f"INSERT INTO {table} VALUES ({marks})", values)
    con.commit()
    con.close()
    return path


def scanned(path: Path, **options: Any) -> dict[str, SourceTable]:
    return {raw.name: raw for raw in scan(path, ScanOptions(**options))}


def types(raw: SourceTable) -> dict[str, str]:
    return {column["name"]: column["type"] for column in raw.columns}


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def loaded(
    con: duckdb.DuckDBPyConnection, path: Path, name: str
) -> tuple[dict[str, str], list[tuple[Any, ...]]]:
    """Types and rows of a table of the file, loaded by its table line."""
    result = scan_files([path])
    (table,) = [t for t in result.tables if t.get("source", {}).get("table") == name]
    load_table(con, result.catalog["root"], table, 'my "target"')
    described = con.execute('DESCRIBE "my ""target"""').fetchall()
    rows = con.execute('SELECT * FROM "my ""target"""').fetchall()
    con.execute('DROP TABLE "my ""target"""').fetchall()
    return {row[0]: row[1] for row in described}, rows


HR = """
CREATE TABLE "Employee Attendance" (employee_id INTEGER NOT NULL, day DATE NOT NULL, hours REAL,
  PRIMARY KEY (employee_id, day), FOREIGN KEY (employee_id) REFERENCES employee);
CREATE TABLE employee (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, boss INT REFERENCES employee (id),
  pay DECIMAL(10, 2), twice AS (pay * 2), stored TEXT GENERATED ALWAYS AS (name || '!') STORED);
CREATE TABLE pairs (a TEXT, b TEXT, n INT, PRIMARY KEY (b, a)) WITHOUT ROWID;
CREATE VIEW rich AS SELECT id, pay FROM employee WHERE pay > 5;
INSERT INTO employee (id, name, pay) VALUES (1, 'Ann', 12.5), (2, 'Bob', 3);
INSERT INTO "Employee Attendance" VALUES (1, '2025-01-02', 8), (2, '2025-01-02', NULL);
INSERT INTO pairs VALUES ('x', 'y', 1);
"""


def test_metadata(tmp_path: Path) -> None:
    path = database(tmp_path / "hr.db", HR)
    tables = scanned(path)
    assert list(tables) == ["Employee Attendance", "employee", "pairs", "rich"]
    day = tables["Employee Attendance"]
    assert day.columns == [
        {
            "name": "employee_id",
            "type": "BIGINT",
            "declared": "INTEGER",
            "nullable": False,
            "key": "primary",
            "examples": ["1", "2"],
        },
        {
            "name": "day",
            "type": "VARCHAR",
            "declared": "DATE",
            "nullable": False,
            "key": "primary",
            "examples": ["2025-01-02"],
        },
        {
            "name": "hours",
            "type": "DOUBLE",
            "declared": "REAL",
            "nullable": True,
            "examples": ["8.0"],
        },
    ]
    assert day.sample == [
        {"employee_id": "1", "day": "2025-01-02", "hours": "8.0"},
        {"employee_id": "2", "day": "2025-01-02", "hours": None},
    ]
    assert (day.primary_key, day.rows, day.checked) == (
        ["employee_id", "day"],
        {"count": 2, "how": "exact"},
        "full",
    )
    assert day.foreign_keys == [
        {"columns": ["employee_id"], "ref_table": "employee", "ref_columns": []}
    ]
    employee = {column["name"]: column for column in tables["employee"].columns}
    assert [name for name, column in employee.items() if column.get("generated")] == [
        "twice",
        "stored",
    ]
    assert [employee[name].get("key") for name in ("id", "name", "boss", "pay")] == [
        "primary",
        "unique",
        "foreign",
        None,
    ]
    assert tables["employee"].sample[0]["stored"] == "Ann!"
    assert tables["pairs"].primary_key == ["b", "a"]
    assert tables["rich"].view
    assert tables["rich"].columns[0]["nullable"] is None
    assert types(tables["rich"]) == {"id": "BIGINT", "pay": "DOUBLE"}


def test_the_table_lines(tmp_path: Path) -> None:
    day, employee, *_ = scan_files([database(tmp_path / "hr.db", HR)]).tables
    assert (day["name"], day["aliases"]) == ("employee_attendance", ["Employee Attendance"])
    assert day["describe_key"] == "hr.db::Employee Attendance"
    assert day["source"]["table"] == "Employee Attendance"
    assert day["foreign_keys"] == [
        {"columns": ["employee_id"], "ref_table": "employee", "ref_columns": ["id"]}
    ]
    assert employee["foreign_keys"] == [
        {"columns": ["boss"], "ref_table": "employee", "ref_columns": ["id"]}
    ]


@pytest.mark.parametrize(
    ("declared", "kinds", "beyond", "kind"),
    [
        ("INTEGER", {"integer"}, False, "BIGINT"),
        ("INTEGER", {"integer", "null"}, True, "BIGINT"),
        ("INTEGER", {"integer", "real"}, False, "DOUBLE"),
        ("INTEGER", {"integer", "real"}, True, "VARCHAR"),
        ("INTEGER", {"integer", "text"}, False, "VARCHAR"),
        ("REAL", {"real"}, False, "DOUBLE"),
        ("DECIMAL(10,2)", {"integer"}, False, "DOUBLE"),
        ("DECIMAL(10,2)", {"integer"}, True, "BIGINT"),
        ("DECIMAL(10,0)", {"integer"}, False, "BIGINT"),
        ("NUMERIC", {"integer"}, False, "BIGINT"),
        ("DATE", {"text"}, False, "VARCHAR"),
        ("DATE", {"integer"}, False, "BIGINT"),
        ("BOOLEAN", {"integer"}, False, "BIGINT"),
        ("TEXT", {"blob"}, False, "BLOB"),
        ("TEXT", {"blob", "text"}, False, "VARCHAR"),
        ("", {"integer"}, False, "BIGINT"),
        ("INT", {"null"}, False, "BIGINT"),
        ("double precision", set(), False, "DOUBLE"),
        ("VARCHAR(20)", set(), False, "VARCHAR"),
        ("BLOB", set(), False, "BLOB"),
        ("DATETIME", set(), False, "VARCHAR"),
        ("", set(), False, "VARCHAR"),
    ],
)
def test_types_follow_the_values(declared: str, kinds: set[str], beyond: bool, kind: str) -> None:
    assert decide(declared, kinds, beyond=beyond) == kind


@pytest.mark.parametrize(
    ("declared", "kind", "kinds", "warned"),
    [
        ("INTEGER", "VARCHAR", {"integer", "text"}, True),
        ("INTEGER", "DOUBLE", {"integer", "real"}, True),
        ("REAL", "VARCHAR", {"text"}, True),
        ("TEXT", "BLOB", {"blob"}, True),
        ("DATE", "VARCHAR", {"text"}, False),
        ("DATE", "BIGINT", {"integer"}, False),
        ("NUMERIC", "BIGINT", {"integer"}, False),
        ("", "VARCHAR", {"integer", "text"}, False),
        ("", "VARCHAR", {"blob", "text"}, True),
        ("INTEGER", "BIGINT", {"null"}, False),
    ],
)
def test_broken_declarations_are_told(
    declared: str, kind: str, kinds: set[str], warned: bool
) -> None:
    assert bool(complaint("c", declared, kind, kinds)) is warned


@pytest.mark.parametrize("kind", ["BIGINT", "DOUBLE", "VARCHAR", "BLOB"])
@pytest.mark.parametrize("other", ["BIGINT", "DOUBLE", "VARCHAR", "BLOB"])
def test_widening_is_symmetric_and_stops(kind: str, other: str) -> None:
    wide = widest(kind, other)
    assert wide == widest(other, kind)
    assert widest(wide, kind) == wide


@pytest.mark.parametrize("at", [0, 50, 1500, 2999])
def test_a_violation_in_head_middle_or_tail_is_seen(tmp_path: Path, at: int) -> None:
    rows = [(i, "oops" if i == at else i) for i in range(3000)]
    path = database(
        tmp_path / "a.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)", {"t": rows}
    )
    raw = scanned(path)["t"]
    assert types(raw)["n"] == "VARCHAR"
    assert raw.warnings == [
        "column n is declared INTEGER and holds integer and text; read as VARCHAR"
    ]
    assert (raw.checked, raw.rows) == ("sample", {"count": 3000, "how": "exact"})


def test_a_sample_that_says_sample_may_miss_what_loading_finds(
    tmp_path: Path, con: duckdb.DuckDBPyConnection
) -> None:
    rows = [(i, "oops" if i == 700 else i) for i in range(3000)]
    path = database(
        tmp_path / "a.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)", {"t": rows}
    )
    raw = scanned(path)["t"]
    assert (types(raw)["n"], raw.checked) == ("BIGINT", "sample")
    kinds, got = loaded(con, path, "t")
    assert kinds == {"id": "BIGINT", "n": "VARCHAR"}
    assert got[700] == (700, "oops")
    assert got[701] == (701, "701")


NAMES = [
    "two words",
    'quo"te',
    "apo'strophe",
    "[brackets]",
    "`ticks`",
    "公募基金经理(新)",
    "select",
    "a;b",
    "x\ny",
    "100%",
    "день",
    "?1",
    ":a",
    "$b",
]


@pytest.mark.parametrize("name", NAMES)
def test_names_of_every_kind(tmp_path: Path, con: duckdb.DuckDBPyConnection, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    script = f"CREATE TABLE {quoted} ({quoted} INTEGER PRIMARY KEY, other REFERENCES {quoted})"
    path = database(tmp_path / "a.db", script, {quoted: [(1, None), (2, 1)]})
    raw = scanned(path)[name]
    assert raw.sample == [{name: "1", "other": None}, {name: "2", "other": "1"}]
    assert raw.foreign_keys[0]["ref_table"] == name
    assert loaded(con, path, name)[1] == [(1, None), (2, 1)]


def test_what_is_no_table_is_left_out(tmp_path: Path) -> None:
    path = database(
        tmp_path / "a.db",
        "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO t VALUES (1); ANALYZE;"
        "CREATE VIRTUAL TABLE f USING fts5(body, content='t'); CREATE INDEX i ON t (id);"
        "CREATE VIRTUAL TABLE g USING fts5(body, content='');"
        "CREATE VIRTUAL TABLE rtree_t_geom USING rtree(id, a, b);",
    )
    result = scan_files([path])
    assert [table["name"] for table in result.tables] == ["t"]
    skipped = {item["path"]: item["reason"] for item in result.catalog["skipped"]}
    assert skipped["a.db::f"].startswith("a virtual table")
    assert skipped["a.db::g"].startswith("a virtual table")
    assert skipped["a.db::rtree_t_geom"] == "a virtual table that indexes another one"
    assert skipped["a.db::f_data"] == "a shadow table"


@pytest.mark.parametrize(
    ("made", "columns"),
    [
        ("fts5(title, body)", ["title", "body"]),
        ("fts5(title UNINDEXED, \"bo dy\", tokenize = 'porter ascii', prefix='2 3', detail=none)", ["title", "bo dy"]),
        ("fts4(title, body, tokenize=porter, notindexed=body)", ["title", "body"]),
        ("fts3(title TEXT, body)", ["title", "body"]),
        ("FTS5('title', [body], columnsize=0)", ["title", "body"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("broken", [False, True])
def test_full_text_tables_are_read_where_their_text_lies(
    tmp_path: Path, con: duckdb.DuckDBPyConnection, made: str, columns: list[str], broken: bool
) -> None:
    script = (
        f"CREATE VIRTUAL TABLE docs USING {made};"
        "INSERT INTO docs VALUES ('Rain', 'It rained'), ('Sun', NULL);"
        "CREATE VIEW heads AS SELECT title FROM docs;"
    )
    if broken:  # a tokenizer that only the app that made the file knows
        script += (
            "PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = replace(sql, ')', ', tokenize=own)')"
            " WHERE name = 'docs';"
        )
    path = database(tmp_path / "a.db", script)
    raws = scanned(path)
    assert raws["docs"].sample[0] == dict(zip(columns, ["Rain", "It rained"], strict=True))
    assert raws["docs"].rows == {"count": 2, "how": "exact"}
    assert loaded(con, path, "docs")[1] == [("Rain", "It rained"), ("Sun", None)]
    assert not raws["docs"].skipped
    assert raws["docs_content"].skipped == "a shadow table"
    if broken:
        assert raws["heads"].error
    else:
        assert loaded(con, path, "heads")[1] == [("Rain",), ("Sun",)]


def test_spatial_tables_are_read(tmp_path: Path, con: duckdb.DuckDBPyConnection) -> None:
    script = (
        "CREATE VIRTUAL TABLE box USING rtree(id, low, high); INSERT INTO box VALUES (7, 1, 2);"
    )
    path = database(tmp_path / "a.db", script)
    assert types(scanned(path)["box"]) == {"id": "BIGINT", "low": "DOUBLE", "high": "DOUBLE"}
    assert loaded(con, path, "box")[1] == [(7, 1.0, 2.0)]


def test_a_module_that_is_not_there_is_told(tmp_path: Path) -> None:
    path = database(
        tmp_path / "a.db",
        "CREATE VIRTUAL TABLE f USING fts5(body); CREATE TABLE t (a); PRAGMA writable_schema = 1;"
        "UPDATE sqlite_master SET sql = 'CREATE VIRTUAL TABLE f USING spellfix1' WHERE name = 'f';",
    )
    raws = scanned(path)
    assert raws["f"].skipped == "a virtual table: no such module: spellfix1"
    assert raws["f_content"].columns


@pytest.mark.parametrize(
    ("script", "columns", "key"),
    [
        ('CREATE TABLE t ("" int, name text)', ["column0", "name"], []),
        ('CREATE TABLE t (name text, "" int PRIMARY KEY)', ["name", "column1"], ["column1"]),
        ('CREATE TABLE t ("" int, column0 text)', ["column2", "column0"], []),
        ('CREATE TABLE u (a); CREATE VIEW t AS SELECT 1 AS "", 2 AS b', ["column0", "b"], []),
    ],
)
def test_a_column_without_a_name_gets_one(
    tmp_path: Path, con: duckdb.DuckDBPyConnection, script: str, columns: list[str], key: list[str]
) -> None:
    path = database(tmp_path / "a.db", script)
    with sqlite3.connect(path) as db:
        if "VIEW" not in script:
            db.execute("INSERT INTO t VALUES (1, 2)")
    raw = scanned(path)["t"]
    assert [column["name"] for column in raw.columns] == columns
    assert raw.primary_key == key
    assert len(loaded(con, path, "t")[1]) == 1


@pytest.mark.parametrize("suffix", ["db3", "s3db", "sl3", "gpkg", "sqlite3", "mbtiles"])
def test_names_that_databases_have(tmp_path: Path, suffix: str) -> None:
    path = database(tmp_path / f"shop.{suffix}", "CREATE TABLE t (a int)")
    assert [table["name"] for table in scan_root(tmp_path).tables] == ["t"]
    path = path.rename(tmp_path / "shop.backup")
    assert [table["name"] for table in scan_files([path]).tables] == ["t"]
    assert scan_root(tmp_path).tables == []


@pytest.mark.parametrize(
    ("name", "script", "kept"),
    [
        ("a.db", "CREATE TABLE t (x)", False),
        ("_doc_extracted.db", "CREATE TABLE t (x)", True),
        ("_doc_extracted.sqlite3", "CREATE TABLE t (x)", True),
        ("a.db", f"CREATE TABLE t (x); CREATE TABLE {MARK_TABLE} (made TEXT)", True),
        ("x_doc_extracted.db", "CREATE TABLE t (x)", False),
    ],
)
def test_prepared_tables_are_always_kept(
    tmp_path: Path, name: str, script: str, kept: bool
) -> None:
    (table,) = scan_files([database(tmp_path / name, script)]).tables
    assert table["always_keep"] is kept
    assert table["name"] == "t"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"not a database at all", "not an SQLite database"),
        (os.urandom(4096), "encrypted"),
        (b"\0" * 8 + b"DUCK" + b"\0" * 100, "a DuckDB database"),
        (b"SQLite format 3\0" + b"\0" * 84, "damaged or not readable"),
        (b"SQLite", "not an SQLite database"),
    ],
)
def test_files_that_are_no_database(tmp_path: Path, data: bytes, reason: str) -> None:
    (tmp_path / "a.db").write_bytes(data)
    with pytest.raises(SourceError, match=reason):
        scanned(tmp_path / "a.db")


def test_a_damaged_table_stays_with_its_reason(tmp_path: Path) -> None:
    rows = [(i, "x" * 200) for i in range(500)]
    path = database(
        tmp_path / "a.db",
        "CREATE TABLE good (a); CREATE TABLE bad (id INTEGER, t TEXT)",
        {"bad": rows},
    )
    data = bytearray(path.read_bytes())
    data[8192:-4096] = b"\xff" * (len(data) - 12288)
    path.write_bytes(data)
    result = scan_files([path])
    tables = {table["name"]: table for table in result.tables}
    assert "error" not in tables["good"]
    assert tables["bad"]["error"].startswith("its rows cannot be read")
    assert [column["name"] for column in tables["bad"]["columns"]] == ["id", "t"]


def test_a_view_that_cannot_be_read_stays_with_its_reason(tmp_path: Path) -> None:
    script = (
        "CREATE TABLE t (x); CREATE VIEW v AS SELECT x FROM t; DROP TABLE t; CREATE TABLE u (y)"
    )
    tables = scanned(database(tmp_path / "a.db", script))
    assert tables["v"].error.startswith("its schema cannot be read")
    assert (tables["v"].columns, tables["v"].checked) == ([], "none")
    assert tables["u"].error == ""


def test_a_view_that_never_ends_is_given_up(tmp_path: Path) -> None:
    script = """CREATE TABLE t (x);
    CREATE VIEW slow AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0;
    CREATE VIEW slow2 AS SELECT * FROM slow;"""
    tables = scanned(database(tmp_path / "a.db", script))
    assert [tables[name].error for name in ("slow", "slow2", "t")] == [
        "its rows take too long to compute"
    ] * 2 + [""]
    assert list(types(tables["slow"])) == ["i"]


def test_nothing_is_written_beside_the_file(tmp_path: Path) -> None:
    path = database(
        tmp_path / "a.db", "PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)"
    )
    before = sorted(os.listdir(tmp_path))
    stamp = path.stat().st_mtime_ns
    scanned(path)
    assert sorted(os.listdir(tmp_path)) == before
    assert path.stat().st_mtime_ns == stamp


def test_changes_in_the_wal_are_read(tmp_path: Path, con: duckdb.DuckDBPyConnection) -> None:
    path = tmp_path / "a.db"
    writer = sqlite3.connect(path)
    try:
        writer.executescript(
            "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (x INT)"
        )
        writer.execute("INSERT INTO t VALUES (7)")
        writer.commit()
        assert (tmp_path / "a.db-wal").stat().st_size > 0
        before = (tmp_path / "a.db-wal").read_bytes()
        assert scanned(path)["t"].sample == [{"x": "7"}]
        assert loaded(con, path, "t")[1] == [(7,)]
        assert (tmp_path / "a.db-wal").read_bytes() == before
    finally:
        writer.close()


def test_paths_with_marks_of_uris(tmp_path: Path, con: duckdb.DuckDBPyConnection) -> None:
    folder = tmp_path / "a?mode=rwc&x=#1 %41"
    folder.mkdir()
    path = database(folder / "b#?.db", "CREATE TABLE t (x INT)", {"t": [(1,)]})
    assert scanned(path)["t"].rows["count"] == 1
    assert loaded(con, path, "t")[1] == [(1,)]


def test_huge_cells_are_not_held(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with sqlite3.connect(path) as writer:
        writer.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, b BLOB, s TEXT)")
        writer.execute("INSERT INTO t VALUES (1, zeroblob(9000000), printf('%.*c', 6000000, 'x'))")
    writer.close()
    raw = scanned(path)["t"]
    assert raw.error == ""
    assert types(raw) == {"id": "BIGINT", "b": "BLOB", "s": "VARCHAR"}
    assert len(raw.sample[0]["s"] or "") < 10_000


def test_many_columns(tmp_path: Path, con: duckdb.DuckDBPyConnection) -> None:
    columns = ", ".join(f"c{i} INTEGER" for i in range(2000))
    path = database(tmp_path / "a.db", f"CREATE TABLE t ({columns})")
    writer = sqlite3.connect(path)
    writer.execute("INSERT INTO t (c0, c1999) VALUES (1, 2)")
    writer.commit()
    writer.close()
    assert len(scanned(path)["t"].columns) == 2000
    kinds, rows = loaded(con, path, "t")
    assert (len(kinds), rows[0][0], rows[0][1], rows[0][1999]) == (2000, 1, None, 2)


@pytest.mark.parametrize("taken", [["rowid"], ["rowid", "_rowid_", "oid"]])
def test_columns_that_are_called_rowid(tmp_path: Path, taken: list[str]) -> None:
    columns = ", ".join(f'"{name}" TEXT' for name in taken)
    rows = [tuple(["x"] * len(taken)) for _ in range(300)]
    raw = scanned(database(tmp_path / "a.db", f"CREATE TABLE t ({columns})", {"t": rows}))["t"]
    assert raw.error == ""
    assert raw.rows == {"count": 300, "how": "exact"}


def test_row_numbers_at_both_ends_of_their_range(tmp_path: Path) -> None:
    rows = [(i, i) for i in range(200)] + [(-(2**63), 1), (2**63 - 1, 2)]
    raw = scanned(
        database(tmp_path / "a.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, n INT)", {"t": rows})
    )["t"]
    assert raw.error == ""
    assert raw.rows == {"count": 202, "how": "exact"}


@pytest.mark.parametrize(
    ("rows", "gap", "how", "count"),
    [(300, 0, "exact", 300), (300, 10**6, "estimate", 10**6 + 300)],
)
def test_large_files_are_counted_only_where_row_numbers_are_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, gap: int, how: str, count: int
) -> None:
    monkeypatch.setattr(sample, "COUNTED_BYTES", 0)
    values = [(i + gap * (i == rows - 1), i) for i in range(rows)]
    script = "CREATE TABLE t (id INTEGER PRIMARY KEY, n INT); CREATE TABLE w (k TEXT PRIMARY KEY) WITHOUT ROWID"
    path = database(tmp_path / "a.db", script, {"t": values, "w": [(str(i),) for i in range(rows)]})
    tables = scanned(path)
    assert tables["t"].rows == {"count": count, "how": how}
    assert tables["w"].rows == {"count": None, "how": "unknown"}
    exact = scanned(path, exact=True)
    assert [exact[name].rows for name in ("t", "w")] == [{"count": rows, "how": "exact"}] * 2


def test_exact_counts_views(tmp_path: Path) -> None:
    script = "CREATE TABLE t (x INT); CREATE VIEW v AS SELECT * FROM t"
    path = database(tmp_path / "a.db", script, {"t": [(i,) for i in range(500)]})
    assert scanned(path)["v"].rows == {"count": None, "how": "unknown"}
    assert scanned(path, exact=True)["v"].rows == {"count": 500, "how": "exact"}


def test_examples_are_distinct_and_never_null(tmp_path: Path) -> None:
    rows = [(None,), ("a",), ("a",), (None,), ("b",), ("c",), ("d",)]
    path = database(tmp_path / "a.db", "CREATE TABLE t (x TEXT)", {"t": rows})
    assert scanned(path)["t"].columns[0]["examples"] == ["a", "b", "c"]
    assert scanned(path, examples=1)["t"].columns[0]["examples"] == ["a"]
    assert "examples" not in scanned(path, examples=0)["t"].columns[0]


def test_an_empty_database_and_an_empty_table(tmp_path: Path) -> None:
    empty = database(tmp_path / "e.db", "CREATE TABLE t (x); DROP TABLE t")
    assert scanned(empty) == {}
    raw = scanned(database(tmp_path / "a.db", "CREATE TABLE t (x INT, y)"))["t"]
    assert (raw.rows, raw.sample, types(raw)) == (
        {"count": 0, "how": "exact"},
        [],
        {"x": "BIGINT", "y": "VARCHAR"},
    )


VALUES = [
    None,
    0,
    -1,
    2**53,
    2**53 + 1,
    2**63 - 1,
    -(2**63),
    0.5,
    33.5,
    0.1,
    1e300,
    1e-300,
    31783696.814999998,
    2.0,
    "",
    "text",
    "NULL",
    "12",
    'quo"te',
    "line\nbreak",
    "a,b",
    "表",
    b"",
    b"\x00\xff",
    b"abc",
]


def expected(value: Any, kind: str) -> Any:
    if value is None or kind == "BLOB":
        return value
    if kind == "VARCHAR":
        return cell_text(value, kind)
    return float(value) if kind == "DOUBLE" else value


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(VALUES), st.sampled_from(VALUES)), min_size=1, max_size=12)
)
def test_whatever_is_stored_is_loaded(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[Any, Any]]
) -> None:
    path = database(tmp_path_factory.mktemp("s") / "a.db", "CREATE TABLE t (a, b INTEGER)")
    writer = sqlite3.connect(path)
    writer.executemany("INSERT INTO t VALUES (?, ?)", rows)
    writer.commit()
    stored = writer.execute("SELECT * FROM t").fetchall()
    writer.close()
    with duckdb.connect() as con:
        kinds, got = loaded(con, path, "t")
    assert got == [tuple(map(expected, row, kinds.values())) for row in stored]
    assert kinds == types(scanned(path)["t"])


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([None] * 1500 + [1], "BIGINT"),
        ([None] * 1500 + [1.5], "DOUBLE"),
        ([None] * 1500 + ["x"], "VARCHAR"),
        ([None] * 1500 + [b"\x01"], "BLOB"),
        ([1] * 1500 + [0.5], "DOUBLE"),
        ([1] * 1500 + ["x"], "VARCHAR"),
        ([0.5] * 1500 + [2**63 - 1], "VARCHAR"),
        ([2**63 - 1] * 3, "BIGINT"),
        ([None] * 3, "VARCHAR"),
    ],
)
def test_late_values_decide_the_type(
    tmp_path: Path, con: duckdb.DuckDBPyConnection, values: list[Any], kind: str
) -> None:
    path = database(tmp_path / "a.db", "CREATE TABLE t (x)", {"t": [(value,) for value in values]})
    kinds, rows = loaded(con, path, "t")
    assert kinds == {"x": kind}
    assert [row[0] for row in rows] == [expected(value, kind) for value in values]


def test_text_that_is_not_utf8(tmp_path: Path, con: duckdb.DuckDBPyConnection) -> None:
    path = tmp_path / "a.db"
    writer = sqlite3.connect(path)
    writer.execute("CREATE TABLE t (id INTEGER, s TEXT, b BLOB, r REAL)")
    writer.execute(
        "INSERT INTO t VALUES (1, CAST(? AS TEXT), x'00ff', 0.1)", ("万股".encode("gb18030"),)
    )
    writer.execute(
        "INSERT INTO t VALUES (2, 'plain \"q\"\nx', NULL, NULL), (3, '', x'', 5e-324), (4, NULL, x'41', 1e308)"
    )
    writer.commit()
    writer.close()
    raw = scanned(path)["t"]
    assert raw.warnings == ["column s holds text that is not UTF-8; read by a fallback"]
    assert raw.sample[0]["s"] == "万股"
    kinds, rows = loaded(con, path, "t")
    assert list(kinds.values()) == ["BIGINT", "VARCHAR", "BLOB", "DOUBLE"]
    assert rows == [
        (1, "万股", b"\x00\xff", 0.1),
        (2, 'plain "q"\nx', None, None),
        (3, "", b"", 5e-324),
        (4, None, b"A", 1e308),
    ]


@pytest.mark.parametrize("name", ["employee", "pairs", "rich", "Employee Attendance"])
def test_generated_columns_views_and_tables_without_row_numbers_load(
    tmp_path: Path, con: duckdb.DuckDBPyConnection, name: str
) -> None:
    path = database(tmp_path / "hr.db", HR)
    kinds, rows = loaded(con, path, name)
    assert kinds == types(scanned(path)[name])
    with sqlite3.connect(path) as reader:
        stored = reader.execute(f'SELECT * FROM "{name}"').fetchall()
    reader.close()
    assert rows == [tuple(map(expected, row, kinds.values())) for row in stored]


@pytest.mark.parametrize(
    ("asked", "values", "kind"),
    [
        ("VARCHAR", [1, 2], "VARCHAR"),
        ("BIGINT", [1, "x"], "VARCHAR"),
        ("BIGINT", [1, 0.5], "DOUBLE"),
        ("DOUBLE", [1, 2], "DOUBLE"),
        ("DATE", ["2025-01-02"], "DATE"),
        ("DATE", ["2025-01-02", "soon"], "VARCHAR"),
        ("DECIMAL(9,2)", [1.25], "DECIMAL(9,2)"),
        ("nonsense", [1], "BIGINT"),
    ],
)
def test_the_line_asks_for_a_type_and_the_data_may_refuse(
    tmp_path: Path, con: duckdb.DuckDBPyConnection, asked: str, values: list[Any], kind: str
) -> None:
    path = database(tmp_path / "a.db", "CREATE TABLE t (x)", {"t": [(value,) for value in values]})
    result = scan_files([path])
    result.tables[0]["columns"][0]["type"] = asked
    load_table(con, tmp_path, result.tables[0], "t")
    assert con.execute("DESCRIBE t").fetchall()[0][1] == kind


def test_only_the_columns_of_the_line_are_loaded(
    tmp_path: Path, con: duckdb.DuckDBPyConnection
) -> None:
    path = database(tmp_path / "a.db", "CREATE TABLE t (a, b, c)", {"t": [(1, 2, 3)]})
    (table,) = scan_files([path]).tables
    table["columns"] = [table["columns"][2], table["columns"][0]]
    load_table(con, tmp_path, table, "t")
    assert con.execute("SELECT * FROM t").fetchall() == [(3, 1)]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"path": "gone.db"}, "the file is gone"),
        ({"path": "../a.db"}, "no plain file within the root"),
        ({"table": "gone"}, "no such table"),
        ({"kind": "parchment"}, "no reader for a source of kind"),
    ],
)
def test_lines_that_lead_nowhere(
    tmp_path: Path, con: duckdb.DuckDBPyConnection, change: dict[str, str], what: str
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    path = database(root / "a.db", "CREATE TABLE t (a)", {"t": [(1,)]})
    (tmp_path / "a.db").write_bytes(path.read_bytes())
    (table,) = scan_files([path]).tables
    table["source"] = {**table["source"], **change}  # type: ignore[typeddict-item]
    with pytest.raises(SourceError, match=what):
        load_table(con, root, table, "t")


@given(st.binary(max_size=30))
@settings(max_examples=30, deadline=None)
def test_blobs_are_shown_as_duckdb_casts_them(value: bytes) -> None:
    with duckdb.connect() as con:
        ((text,),) = con.execute("SELECT ?::BLOB::VARCHAR", [value]).fetchall()
    assert blob_text(value) == text


@given(st.floats(allow_nan=False))
@settings(max_examples=30, deadline=None)
def test_doubles_are_shown_as_duckdb_casts_them(value: float) -> None:
    with duckdb.connect() as con:
        ((text,),) = con.execute("SELECT ?::DOUBLE::VARCHAR", [value]).fetchall()
    assert cell_text(value, "DOUBLE") == text
