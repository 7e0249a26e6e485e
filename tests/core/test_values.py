"""Values of the whole data: found where the examples lack them, and never where hidden."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stages.core.catalog import scan_root
from stages.core.catalog.source_table import ScanOptions
from stages.core.records import Catalog, Table
from stages.core.values.index import TableState, ValueIndex, folded
from stages.core.values.lookup import CatalogValues
from stages.core.values.server import ServerValues, statement
from stages.link import link
from tests.helpers.tools import run

ROWS = 1500


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables whose values that are asked for are far from what a scan shows."""
    folder = tmp_path_factory.mktemp("data")
    names = [f"part-{n:05d}" for n in range(ROWS)]
    names[157], names[-3], names[700] = "Zwickauer Kurbel", "Zinc Flange", "Ｚange 部品"
    rows = [f"{name},secret {name},{'x' * 200}" for name in names]
    (folder / "parts.csv").write_text("label,pin,essay\n" + "\n".join(rows) + "\n")
    days = [f"{70000 + n},{2000 + n // 28 % 20}-02-{n % 28 + 1:02d},{n % 40}" for n in range(900)]
    (folder / "visits.csv").write_text("badge,came,age\n" + "\n".join(days) + "\n")
    (folder / "depots.csv").write_text("id,town\n1,Ulm\n2,zinc flange\n")
    with sqlite3.connect(folder / "shop.sqlite") as con:
        con.execute("CREATE TABLE goods (code TEXT, price REAL)")
        con.executemany("INSERT INTO goods VALUES (?, 1)", [(f"AB-{n}",) for n in range(50)])
    con.close()
    return folder


@pytest.fixture(scope="module")
def lines(root: Path) -> tuple[Catalog, list[Table]]:
    found = scan_root(root, ScanOptions(hide=("pin",)))
    return found.catalog, list(found.tables)


@pytest.fixture
def values(lines: Any, tmp_path: Path) -> Iterator[CatalogValues]:
    made = CatalogValues(*lines, index=tmp_path / "v.sqlite", seconds=60)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("word", "places"),
    [
        ("Zwickauer Kurbel", [("parts", "label")]),
        ("zinc  FLANGE", [("depots", "town"), ("parts", "label")]),
        ("zange 部品", [("parts", "label")]),
        ("70531", [("visits", "badge")]),
        ("2011-02-17", [("visits", "came")]),
        ("ab-49", [("goods", "code")]),
        ("secret part-00007", []),  # hidden
        ("x" * 200, []),  # prose
        ("39", []),  # a number that says nothing
        ("zinc", []),  # a part of a value
        ("') OR ('1'='1", []),
    ],
)
def test_where_a_value_stands(values: CatalogValues, word: str, places: list[Any]) -> None:
    assert sorted(values([word]).get(word, [])) == places
    assert (values.notes, values.error) == ([], "")


def test_an_index_is_read_again_by_the_next_process_and_only_what_changed_is_built(
    root: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    shutil.copytree(root, folder)
    read: list[str] = []

    def looked_up(word: str) -> list[Any]:
        found = scan_root(folder, ScanOptions(cache=False))
        made = CatalogValues(found.catalog, found.tables, index=tmp_path / "v.sqlite", seconds=60)
        before = dict(ValueIndex(tmp_path / "v.sqlite").states())
        places = list(made([word]).get(word, []))
        after = ValueIndex(tmp_path / "v.sqlite").states()
        read[:] = sorted(name for name in after if after[name] != before.get(name))
        made.close()
        return places

    assert looked_up("Ulm") == [("depots", "town")]
    assert read == ["depots", "goods", "parts", "visits"]
    assert looked_up("Ulm") == [("depots", "town")]
    assert read == []
    (folder / "depots.csv").write_text("id,town\n1,Bonn\n")
    assert looked_up("Ulm") == []
    assert read == ["depots"]
    assert looked_up("Bonn") == [("depots", "town")]


def test_what_is_not_read_in_time_is_told_and_read_by_the_next_run(
    lines: Any, tmp_path: Path
) -> None:
    hasty = CatalogValues(*lines, index=tmp_path / "v.sqlite", seconds=0)
    assert hasty(["Ulm"]) == {}
    (note,) = hasty.notes
    assert note.startswith("values of 4 tables were not read within 0 s; the next run goes on")
    patient = CatalogValues(*lines, index=tmp_path / "v.sqlite", seconds=60)
    assert patient(["Ulm"]) == {"Ulm": [("depots", "town")]}
    assert patient.notes == []


@pytest.mark.parametrize("asked_for", [False, True])
def test_a_source_that_is_gone_is_told(root: Path, tmp_path: Path, asked_for: bool) -> None:
    folder = tmp_path / "data"
    shutil.copytree(root, folder)
    found = scan_root(folder)
    (folder / "parts.csv").unlink()
    made = CatalogValues(
        found.catalog,
        found.tables,
        index=tmp_path / "v.sqlite",
        seconds=60,
        asked_for=asked_for,
    )
    assert made(["Ulm"]) == {"Ulm": [("depots", "town")]}
    said = made.error if asked_for else made.notes[0]
    assert said == "values of parts could not be read: No such file or directory"
    assert (made.error == "") is not asked_for


def test_a_folder_that_cannot_be_written_and_a_file_that_is_none(
    lines: Any, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("x")
    made = CatalogValues(*lines, index=tmp_path / "file" / "v.sqlite", seconds=60)
    assert made(["Ulm"]) == {}
    assert "the value index cannot be used" in made.notes[0]
    damaged = tmp_path / "d.sqlite"
    damaged.write_bytes(b"no database" * 500)
    mended = CatalogValues(*lines, index=damaged, seconds=60)
    assert mended(["Ulm"]) == {"Ulm": [("depots", "town")]}


def test_a_value_in_very_many_columns_says_nothing(tmp_path: Path) -> None:
    index = ValueIndex(tmp_path / "v.sqlite")
    columns = [(f"c{n}", [[("yes", 1), (f"only {n}", 1)]]) for n in range(300)]
    index.replace("t", TableState("s", ""), columns)
    assert set(index.holding(["yes", "only 7"])) == {"only 7"}


def test_words_are_found_fast_among_many_values(tmp_path: Path) -> None:
    index = ValueIndex(tmp_path / "v.sqlite")
    part = [(f"customer {n:07d}", 1) for n in range(200_000)]
    index.replace("t", TableState("s", ""), [("name", [part])])
    index.close()
    again = ValueIndex(tmp_path / "v.sqlite")
    words = [f"customer {n:07d}" for n in range(0, 200_000, 1000)] + [f"no {n}" for n in range(99)]
    start = time.perf_counter()
    assert len(again.holding(words)) == 200
    assert time.perf_counter() - start < 0.5


def test_forms_of_one_value() -> None:
    assert folded("ＡＢ\u3000１２") == folded("ab 12")
    assert folded("STRASSE") == "strasse"


TASK: Any = {
    "kind": "task",
    "task_id": "t",
    "question": "How many of the zwickauer kurbel are left?",
}


def test_link_finds_a_table_by_a_value_that_the_examples_lack(
    values: CatalogValues, lines: Any
) -> None:
    made = asyncio.run(link(TASK, lines[1], values=values))
    assert made["tables"][0]["name"] == "parts"
    assert "value" in {piece["type"] for piece in made["tables"][0]["evidence"]}
    plain = asyncio.run(link(TASK, lines[1]))
    assert not [e for t in plain["tables"] for e in t["evidence"] if e["type"] == "value"]
    off = asyncio.run(link(TASK, lines[1], values=values, without=["value"]))
    assert not [e for t in off["tables"] for e in t["evidence"] if e["type"] == "value"]


@pytest.mark.parametrize("stage", ["vote", "link"])
def test_values_are_looked_up_unasked_and_not_with_no_values(
    root: Path, tmp_path: Path, stage: str
) -> None:
    env = {"WINNOW_CACHE": str(tmp_path / "cache")}
    scanned = run("scan", str(root), "--question", TASK["question"])
    told = [run(stage, *more, stdin=scanned.out, env=env).out for more in ((), ("--no-values",))]
    assert [
        b'"Zwickauer Kurbel"' in out or b"zwickauer kurbel" in _section(out) for out in told
    ] == [
        True,
        False,
    ]


def _section(out: bytes) -> bytes:
    return out.splitlines()[-1].partition(b'"question"')[2].partition(b'","')[2].lower()


def test_values_asked_for_where_there_is_no_data_are_an_error(root: Path, tmp_path: Path) -> None:
    scanned = run("scan", str(root), "--question", TASK["question"])
    bare = scanned.out.replace(b'"source":', b'"was_source":')
    done = run("link", "--values", stdin=bare, env={"WINNOW_CACHE": str(tmp_path)})
    assert done.status == 1
    assert "--values needs data" in done.err
    assert run("link", stdin=bare, env={"WINNOW_CACHE": str(tmp_path)}).status == 0


def test_the_command_fails_where_the_data_is_away_and_redoes_it_once_it_is_back(
    tmp_path: Path,
) -> None:
    away, data = tmp_path / "away", tmp_path / "data"
    data.mkdir()
    (data / "parts.csv").write_text("id,label\n1,Zwickauer Kurbel\n2,Rad\n")
    env = {"WINNOW_CACHE": str(tmp_path / "cache")}
    run("scan", "data", "--question", "How many parts?", "-o", "s.jsonl", "-q", cwd=tmp_path)
    data.rename(away)
    done = run("link", "--values", "s.jsonl", "-o", "l.jsonl", cwd=tmp_path, env=env)
    assert done.status == 1
    assert "values of parts could not be read" in done.err
    assert run("link", "s.jsonl", cwd=tmp_path, env=env).status == 0
    away.rename(data)
    again = run("link", "--values", "--retry-failed", "l.jsonl", cwd=tmp_path, env=env)
    assert again.status == 0
    assert "error" not in again.tasks[0]["link"]


def test_a_small_folder_is_read_without_files_of_its_tables(root: Path, tmp_path: Path) -> None:
    scanned = run("scan", str(root), "--question", TASK["question"])
    assert run("vote", stdin=scanned.out, env={"WINNOW_CACHE": str(tmp_path)}).status == 0
    assert sorted(os.listdir(tmp_path)) == ["values"]


SERVER: Any = {
    "kind": "table",
    "name": "t",
    "columns": [
        {"name": "a", "type": "VARCHAR", "examples": ["x"]},
        {"name": "b", "type": "VARCHAR"},
        {"name": "c", "type": "INTEGER", "examples": ["1"]},
    ],
    "source": {"kind": "mysql", "url": "mysql://u@127.0.0.1:1/d"},
}


def test_a_server_is_asked_by_bounded_statements_for_what_is_not_hidden() -> None:
    asked: list[str] = []

    class Answered:
        def query(self, sql: str, **_: Any) -> Any:
            asked.append(sql)
            return type("A", (), {"rows": [("a", "zinc flange")]})

    found = ServerValues([SERVER], Answered())(["Zinc Flange", "it's"])  # type: ignore[arg-type]
    assert found == {"Zinc Flange": [("t", "a")]}
    assert asked == [statement("t", ["a"], ["zinc flange", "it's"])]
    assert "'it''s'" in asked[0]
