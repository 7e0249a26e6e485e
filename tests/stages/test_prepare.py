"""winnow prepare: documents become tables that the rest of the chain finds and never folds."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from stages.core.lines.schema import check
from tests.helpers.tools import pipe, run

WATER = "# Water\n\n| site | water (m3) | year |\n|---|---|---|\n| Oslo | 1,200 | 2024 |\n| Bergen | 900 | 2024 |\n"
REST = (("vote",), ("collapse",), ("describe",), ("prompt",))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "task_1"
    (place / "context" / "doc").mkdir(parents=True)
    (place / "context" / "video").mkdir()
    question = {"task_id": "task_1", "question": "Which site used most water in 2024?"}
    (place / "task.json").write_text(json.dumps(question))
    (place / "context" / "doc" / "water.md").write_text(WATER)
    (place / "context" / "doc" / "talk.txt").write_text("It rained all day, and nobody came.\n")
    (place / "context" / "video" / "said.txt").write_text("| a | b |\n|---|---|\n| 1 | 2 |\n")
    (place / "context" / "knowledge.md").write_text("| a | b |\n|---|---|\n| 1 | 2 |\n")
    (place / "context" / "staff.csv").write_text("id,name\n1,Ada\n")
    return place


def test_the_chain_from_documents_to_prompt(folder: Path) -> None:
    prepared = run("prepare", str(folder))
    assert prepared.status == 0
    assert "task_1: 2 documents, 1 table of 2 rows" in prepared.err
    (task,) = prepared.tasks
    check(task["prepare"], "prepare")
    assert [d["path"] for d in task["prepare"]["documents"]] == [
        "context/doc/talk.txt",
        "context/doc/water.md",
    ]
    assert task["prepare"]["database"] == "workdir/_doc_extracted.db"
    done = pipe(prepared.out, ("scan",), *REST)
    tables = {line["name"]: line for line in done.lines if line["kind"] == "table"}
    water = tables["water"]
    assert (water["always_keep"], water["rows"]["count"]) == (True, 2)
    assert "unit m3" in next(c["comment"] for c in water["columns"] if c["name"] == "water")
    (last,) = done.tasks
    assert last["vote"]["always_keep"] == ["water"]
    assert "water" not in last["vote"]["per_table"]
    assert "water" in last["collapse"]["shown"]["full"]
    assert "water.md" in last["prompt"]["messages"][1]["content"]
    rows = run("query", str(folder), "SELECT site FROM water ORDER BY water DESC LIMIT 1")
    assert rows.out == b"site\nOslo\n"


def test_the_same_twice_and_anew_where_a_document_changed(folder: Path) -> None:
    first = run("prepare", str(folder)).out
    database = folder / "workdir" / "_doc_extracted.db"
    before = database.read_bytes()
    assert run("prepare", str(folder)).out == first
    assert database.read_bytes() == before
    (folder / "context" / "doc" / "water.md").write_text(WATER + "| Voss | 10 | 2024 |\n")
    run("prepare", str(folder))
    counted = run("query", str(folder), "SELECT count(*) AS n FROM water")
    assert counted.out == b"n\n3\n"
    (folder / "context" / "doc" / "water.md").unlink()
    run("prepare", str(folder))
    assert not database.exists()


def test_task_lines_with_a_root_and_other_lines(folder: Path) -> None:
    line = {"kind": "task", "task_id": "q7", "question": "how much?", "root": str(folder)}
    other = b'{"kind":"task","task_id":"q8","question":"why?"}\n'
    done = run("prepare", stdin=json.dumps(line).encode() + b"\n" + other)
    assert done.status == 0
    assert done.out.endswith(other)
    assert done.tasks[0]["prepare"]["documents"]
    scanned = run("scan", stdin=done.out)
    assert [task["task_id"] for task in scanned.tasks] == ["q7", "q8"]
    assert "prepare" in scanned.tasks[0]


def test_a_plain_folder_is_asked_what_the_option_says(tmp_path: Path) -> None:
    (tmp_path / "water.md").write_text(WATER)
    silent = run("prepare", str(tmp_path))
    assert (silent.status, silent.out) == (0, b"")
    assert "no question; the tables are made" in silent.err
    done = pipe(run("prepare", str(tmp_path), "--question", "most water?").out, ("scan",))
    assert [line["name"] for line in done.lines if line["kind"] == "table"] == ["water"]


def test_one_document_that_fails_stops_no_other(folder: Path) -> None:
    (folder / "context" / "doc" / "broken.pdf").write_bytes(b"no pdf at all")
    (folder / "context" / "doc" / "broken.docx").write_bytes(b"PK\x03\x04 nothing")
    done = run("prepare", str(folder))
    assert done.status == 0
    found = {d["path"]: d for d in done.tasks[0]["prepare"]["documents"]}
    assert found["context/doc/broken.pdf"]["error"]
    assert found["context/doc/broken.docx"]["error"]
    assert found["context/doc/water.md"]["tables"]
    assert done.err.count("warning: task_1: context/doc/broken") == 2


@pytest.mark.parametrize(
    ("args", "status", "words"),
    [
        (["/no/such"], 1, "/no/such: no such folder; check the path"),
        (["-", "--question", "q?"], 2, "a question needs a DIR"),
    ],
)
def test_what_is_wrong_is_said(args: list[str], status: int, words: str) -> None:
    done = run("prepare", *args)
    assert (done.status, done.out) == (status, b"")
    assert words in done.err


def test_a_link_is_no_document_and_context_is_never_written(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text(WATER)
    (folder / "context" / "doc" / "link.md").symlink_to(tmp_path / "secret.md")
    before = sorted(os.listdir(folder / "context" / "doc"))
    done = run("prepare", str(folder))
    assert "link.md" not in done.out.decode()
    assert sorted(os.listdir(folder / "context" / "doc")) == before
    assert sorted(os.listdir(folder)) == ["context", "task.json", "workdir"]
