"""Values of the whole data: found where the examples lack them, and never where hidden."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stages.core.catalog import scan_root
from stages.core.catalog.source_table import ScanOptions
from stages.core.errors import DataError, SqlLimit
from stages.core.judge.match.data_lookup import LONGEST, PER_COLUMN, ValueLookup, with_values
from stages.core.records import Table
from stages.core.sandbox.database import Database
from stages.link import link
from tests.helpers.tools import run

ROWS = 400


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Database, list[Table]]]:
    """Two tables; the values asked for stand far from both ends of one of them, and the second
    also comes last in the order of values."""
    root = tmp_path_factory.mktemp("data")
    (root / "context").mkdir()
    codes = [f"part-{n:04d}" for n in range(ROWS)]
    codes[157] = "Zwickauer Kurbel"
    codes[301] = "zinc flange"
    rows = [f'{n},{code},secret-{n},"{"x" * 90}"' for n, code in enumerate(codes)]
    (root / "context" / "parts.csv").write_text("id,label,pin,essay\n" + "\n".join(rows) + "\n")
    others = [f"{n},city {n % 7}" for n in range(ROWS)]
    (root / "context" / "depots.csv").write_text("id,town\n" + "\n".join(others) + "\n")
    found = scan_root(root, ScanOptions(hide=("pin",)))
    with Database(found.catalog, found.tables, cache=root / "cache") as database:
        yield database, list(found.tables)


def examples(tables: Any, table: str, column: str) -> list[str]:
    found = next(t for t in tables if t["name"] == table)
    return list(next(c for c in found["columns"] if c["name"] == column).get("examples", []))


def test_all_distinct_values_are_there_and_long_and_hidden_ones_are_not(data: Any) -> None:
    database, tables = data
    before = examples(tables, "parts", "label")
    filled, unread = with_values(tables, database)
    assert (unread.notes, unread.error) == ({}, "")
    labels = examples(filled, "parts", "label")
    assert "Zwickauer Kurbel" in labels
    assert len(set(labels)) == ROWS
    assert labels[: len(before)] == before
    assert sorted(examples(filled, "depots", "town")) == [f"city {n}" for n in range(7)]
    assert examples(filled, "parts", "pin") == []
    assert (
        max(map(len, set(examples(filled, "parts", "essay")))) > LONGEST
    )  # those of the scan only
    assert examples(tables, "parts", "label") == before
    assert with_values(tables, database)[0] is filled


@pytest.mark.parametrize("value", ["Zwickauer Kurbel", "Zinc Flange"])
def test_link_finds_a_table_by_a_value_that_the_examples_lack(data: Any, value: str) -> None:
    database, tables = data
    task: Any = {
        "kind": "task",
        "task_id": "t",
        "question": f"How many of '{value}' are left?",
    }
    made = asyncio.run(link(task, tables, values=True, database=database))  # type: ignore[arg-type]
    first = made["tables"][0]
    assert first["name"] == "parts"
    assert "value" in {piece["type"] for piece in first["evidence"]}
    assert made["meta"]["options"] == {"values": True}
    plain = asyncio.run(link(task, tables, database=database))  # type: ignore[arg-type]
    assert not [e for t in plain["tables"] for e in t["evidence"] if e["type"] == "value"]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Database, list[Table]]]:
    """Tables whose columns hold more values than are read, or none that are text."""
    root = tmp_path_factory.mktemp("large")
    (root / "context").mkdir()
    names = [f"part-{n:05d}" for n in range(PER_COLUMN + 500)]
    names[-3] = "Zinc Flange"
    lines = [f"{name},secret {name}" for name in names]
    (root / "context" / "parts.csv").write_text("label,pin\n" + "\n".join(lines) + "\n")
    days = [f"{70000 + n},{2000 + n // 28 % 20}-02-{n % 28 + 1:02d}" for n in range(900)]
    (root / "context" / "visits.csv").write_text("badge,came\n" + "\n".join(days) + "\n")
    (root / "context" / "depots.csv").write_text("id,town\n1,Ulm\n2,Bonn\n")
    found = scan_root(root, ScanOptions(hide=("pin",)))
    with Database(found.catalog, found.tables, cache=root / "cache") as database:
        yield database, list(found.tables)


@pytest.mark.parametrize(
    ("question", "column", "written"),
    [
        ("Where does the zinc flange lie?", "label", "zinc flange"),
        ("Who wore the number 70531?", "badge", "70531"),
        ("Who was in on 2011-02-17?", "came", "2011-02-17"),
    ],
)
def test_the_question_is_looked_up_where_not_all_values_are_read(
    large: Any, question: str, column: str, written: str
) -> None:
    database, tables = large
    task: Any = {"kind": "task", "task_id": "t", "question": question}
    made = asyncio.run(link(task, tables, values=True, database=database))  # type: ignore[arg-type]
    found = [
        (c["name"], e["words"])
        for c in made["columns"]
        for e in c["evidence"]
        if e["type"] == "value"
    ]
    assert (column, [written]) in found
    assert "notes" not in made
    off = asyncio.run(link(task, tables, values=True, database=database, without=["value"]))  # type: ignore[arg-type]
    assert not [e for c in off["columns"] for e in c["evidence"] if e["type"] == "value"]


def test_hidden_values_are_not_looked_up(large: Any) -> None:
    database, tables = large
    filled, _ = with_values(tables, database)
    assert ValueLookup(filled, database)(["secret part-00007", "zinc flange"]) == {
        "zinc flange": [("parts", "label")]
    }


def test_words_with_quotes_are_looked_up_as_they_are(large: Any) -> None:
    database, tables = large
    seeker = ValueLookup(with_values(tables, database)[0], database)
    assert seeker(["it's", "') OR ('1'='1", "x" * 5000]) == {}
    assert (seeker.unread.notes, seeker.unread.error) == ({}, "")


def test_data_that_is_away_is_an_error_and_keeps_examples(data: Any, tmp_path: Path) -> None:
    _, tables = data
    gone = Database(
        {"kind": "catalog", "v": 1, "id": "c", "name": "c", "root": str(tmp_path)},
        tables,
        cache=tmp_path / "cache",
    )
    copy = list(tables)
    with gone:
        filled, unread = with_values(copy, gone)
        task: Any = {"kind": "task", "task_id": "t", "question": "How many labels are in parts?"}
        made = asyncio.run(link(task, copy, values=True, database=gone))  # type: ignore[arg-type]
    assert examples(filled, "parts", "label") == examples(tables, "parts", "label")
    assert unread.notes == {}
    assert unread.error.startswith("values of 2 tables could not be read, those of the scan stand")
    assert made["error"] == unread.error
    plain = asyncio.run(link(task, tables))  # type: ignore[arg-type]
    assert made["tables"] == plain["tables"]


def test_a_statement_that_fails_is_a_note_told_once(data: Any) -> None:
    class Slow:
        """A database whose statements run into their limit."""

        def has_data(self, table: Table) -> bool:
            return True

        def query(self, *_: Any, **__: Any) -> Any:
            raise SqlLimit("took longer than 30 s")

    copy = list(data[1])
    task: Any = {"kind": "task", "task_id": "t", "question": "How many labels are in parts?"}
    made = asyncio.run(link(task, copy, values=True, database=Slow()))  # type: ignore[arg-type]
    assert "error" not in made
    assert len(made["notes"]) == len(set(made["notes"])) == 2


def test_values_without_data_are_an_error(data: Any) -> None:
    task: Any = {"kind": "task", "task_id": "t", "question": "How many?"}
    with pytest.raises(DataError, match="--values needs data"):
        asyncio.run(link(task, data[1], values=True))  # type: ignore[arg-type]


def test_a_table_on_a_server_keeps_its_examples_and_is_not_read() -> None:
    column: Any = {"name": "a", "type": "VARCHAR", "examples": ["x"]}
    table: Any = {"kind": "table", "name": "t", "columns": [column],
                  "source": {"kind": "mysql", "url": "mysql://u@127.0.0.1:1/d"}}  # fmt: skip
    with Database({"kind": "catalog", "v": 1, "id": "c", "name": "c"}, [table]) as database:
        filled, unread = with_values([table], database)
    assert filled == [table]
    assert (unread.notes, unread.error) == ({}, "")


def test_the_command_fails_where_the_data_is_away_and_redoes_it_once_it_is_back(
    tmp_path: Path,
) -> None:
    away, data = tmp_path / "away", tmp_path / "data"
    data.mkdir()
    (data / "parts.csv").write_text("id,label\n1,Zwickauer Kurbel\n2,Rad\n")
    run("scan", "data", "--question", "How many parts?", "-o", "s.jsonl", "-q", cwd=tmp_path)
    data.rename(away)
    done = run("link", "--values", "s.jsonl", "-o", "l.jsonl", cwd=tmp_path)
    assert done.status == 1
    assert "values of 1 table could not be read" in done.err
    assert "the source of parts is gone" in done.err
    plain = run("link", "s.jsonl", cwd=tmp_path)
    written = json.loads((tmp_path / "l.jsonl").read_text().splitlines()[-1])
    assert written["link"]["tables"] == plain.tasks[0]["link"]["tables"]
    away.rename(data)
    again = run("link", "--values", "--retry-failed", "l.jsonl", cwd=tmp_path)
    assert again.status == 0
    assert "error" not in again.tasks[0]["link"]
