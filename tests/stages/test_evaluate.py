"""`winnow evaluate linking` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.tools import Done, run


def catalog(letter: str) -> str:
    return "sha256:" + letter * 64


def lines(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def opening(letter: str, tables: int = 3) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = [
        {"kind": "catalog", "v": 1, "id": catalog(letter), "name": letter}
    ]
    for n in range(tables):
        columns = [{"name": "id", "type": "BIGINT"}, {"name": f"c{n}", "type": "VARCHAR"}]
        made.append(
            {
                "kind": "table",
                "catalog": catalog(letter),
                "name": f"t{n}",
                "describe_key": f"t{n}.csv",
                "columns": columns,
            }
        )
    return made


def asked(letter: str, task_id: str, kept: list[str], **more: Any) -> dict[str, Any]:
    section = {"shown": {"full": kept, "names": [], "line": []}, "keys": [], "by": ["vote"]}
    return {
        "kind": "task",
        "catalog": catalog(letter),
        "task_id": task_id,
        "question": "?",
        "collapse": section,
        **more,
    }


def measure(
    tmp_path: Path, stdin: bytes, gold: dict[str, list[dict[str, Any]]], *argv: str
) -> Done:
    files = []
    for name, records in gold.items():
        (tmp_path / f"{name}.jsonl").write_bytes(lines(*records))
        files += ["--gold", str(tmp_path / f"{name}.jsonl")]
    return run("evaluate", "linking", *files, "--section", "collapse", *argv, stdin=stdin)


GOLD = [{"id": "q1", "gold_tables": ["T0"]}, {"id": "q2", "gold_tables": ["t1", "t2"]}]


def values(done: Done, group: str = "all") -> dict[str, Any]:
    found = next(g for g in json.loads(done.out)["groups"] if g["group"] == group)
    return {name: value["mean"] for name, value in found["values"].items()}


def test_a_section_without_ranks_and_several_catalogs(tmp_path: Path) -> None:
    stdin = lines(
        *opening("a"), asked("a", "q1", ["t0"]), *opening("b", 8), asked("b", "q2", ["t1", "t7"])
    )
    done = measure(tmp_path, stdin, {"set": GOLD}, "--format", "json", "--worst", "9")
    assert (done.status, done.err) == (0, "")
    assert values(done)["strict table recall"] == 0.5
    assert values(done)["table recall"] == 0.75
    assert values(done)["table precision"] == 0.75
    assert not [name for name in values(done) if " at " in name]
    assert {g["group"] for g in json.loads(done.out)["groups"]} == {
        "all",
        "1-5 tables",
        "6-10 tables",
    }
    first = json.loads(done.out)["groups"][0]["values"]["strict table recall"]
    assert (first["low"], first["high"]) == (0.0, 1.0)
    assert [m["lost"] for m in json.loads(done.out)["worst"]] == [["t2"]]


def test_one_id_in_two_sets_is_scored_against_its_own_catalog(tmp_path: Path) -> None:
    union = [{"id": "q1", "gold_tables": ["db.T0", "t5"]}]
    stdin = lines(
        *opening("a"), asked("a", "q1", ["t0"]), *opening("b", 8), asked("b", "q1", ["t0"])
    )
    done = measure(tmp_path, stdin, {"union": union, "small": GOLD}, "--format", "json")
    assert values(done, "set small")["strict table recall"] == 1.0
    assert values(done, "set union")["strict table recall"] == 0.0


def test_two_runs_of_one_set_are_not_pooled(tmp_path: Path) -> None:
    first = [*opening("a"), asked("a", "q1", ["t0"]), asked("a", "q2", ["t0"])]
    second = [asked("a", "q1", []), asked("a", "q2", ["t1"])]
    done = measure(tmp_path, lines(*first, *second), {"set": GOLD})
    assert (done.status, done.out) == (1, b"")
    assert "stdin:7: task q1 stands at stdin:5 already; measure one run at a time" in done.err
    for name, records in (("a", first), ("b", first)):
        (tmp_path / f"{name}.lines").write_bytes(lines(*records))
    for names in (["a.lines", "b.lines"], ["a.lines", "a.lines"]):
        paths = [str(tmp_path / name) for name in names]
        both = measure(tmp_path, b"", {"set": GOLD}, *paths)
        assert (both.status, both.out) == (1, b"")
        assert "task q1 stands at" in both.err


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    bare = {"kind": "task", "catalog": catalog("a"), "task_id": "q2", "question": "?"}
    failed = {**bare, "task_id": "q3", "error": {"stage": "scan", "message": "no table"}}
    gold = [*GOLD, {"id": "q3", "gold_tables": ["t0"]}, {"id": "q4", "gold_tables": ["elsewhere"]}]
    stdin = lines(
        *opening("a"),
        asked("a", "q1", ["t0"]),
        bare,
        failed,
        asked("a", "q4", ["t0"]),
        asked("a", "q5", []),
    )
    done = measure(tmp_path, stdin, {"set": gold}, "--format", "json")
    assert sorted(json.loads(done.out)["left_out"].values()) == [1, 1, 1, 1]
    assert json.loads(done.out)["groups"][0]["questions"] == 1


def test_what_was_not_measured_is_said(tmp_path: Path) -> None:
    odd = {"id": "q2", "gold_tables": ["t0"], "gold_columns": [["t0", "id"], ["t0", "no such"]]}
    gold = [GOLD[0], odd, {"id": "q8", "gold_tables": ["t0"]}, {"id": "q9", "gold_tables": ["t0"]}]
    stdin = lines(*opening("a"), asked("a", "q1", ["t0"]), asked("a", "q2", ["t0"]))
    done = measure(tmp_path, stdin, {"set": gold})
    assert b"not measured: 2 gold questions that no task asks" in done.out
    assert b"1 questions, of columns alone, whose gold columns are not all in" in done.out
    assert b"all: 2 questions" in done.out


def test_stale_sections_are_measured_and_said(tmp_path: Path) -> None:
    stdin = lines(*opening("a"), {**asked("a", "q1", []), "question": "How many?"})
    voted = run("vote", stdin=stdin).out
    collapsed = run("collapse", stdin=voted).out
    assert b"stale:" not in measure(tmp_path, collapsed, {"set": GOLD}).out
    edited = measure(tmp_path, collapsed.replace(b"How many?", b"How much?"), {"set": GOLD})
    assert edited.status == 0
    assert b"stale: 1 of the sections were made from other inputs or tables" in edited.out
    assert b"rerun `winnow collapse`" in edited.out


def test_broken_lines_and_sections_are_reported_and_the_rest_is_scored(tmp_path: Path) -> None:
    odd = asked("a", "q2", [])
    odd["collapse"] = {"shown": 3}
    stdin = lines(*opening("a"), asked("a", "q1", ["t0"]), odd) + b"{broken\n"
    done = measure(tmp_path, stdin, {"set": GOLD})
    assert done.status == 1
    assert "section collapse is not what `winnow collapse` writes" in done.err
    assert "not JSON" in done.err
    assert b"all: 1 question, 1 database" in done.out


def test_nothing_to_score_says_why(tmp_path: Path) -> None:
    done = measure(tmp_path, lines(*opening("a"), asked("a", "qx", [])), {"set": GOLD})
    assert done.status == 0
    assert "no question could be scored: tasks without gold" in done.err
    assert "no task came in" in measure(tmp_path, b"", {"set": GOLD}).err


def test_the_report_goes_to_a_file(tmp_path: Path) -> None:
    out = tmp_path / "report.md"
    stdin = lines(*opening("a"), asked("a", "q1", ["t0"]))
    done = measure(tmp_path, stdin, {"set": GOLD}, "--format", "markdown", "-o", str(out))
    assert (done.status, done.out) == (0, b"")
    assert out.read_text().startswith("## linking, section collapse")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "Missing option '--gold'"),
        (["--gold", "nowhere.jsonl"], "nowhere.jsonl"),
        (["--gold", "{here}", "--section", "plan"], "plan"),
        (["--gold", "{here}", "--worst", "-1"], "worst"),
    ],
)
def test_a_wrong_command_line(tmp_path: Path, argv: list[str], said: str) -> None:
    here = tmp_path / "gold.jsonl"
    here.write_text("")
    done = run("evaluate", "linking", *[word.format(here=here) for word in argv])
    assert done.status == 2
    assert said in done.err


def test_wrong_gold_is_named_with_its_line(tmp_path: Path) -> None:
    done = measure(tmp_path, b"", {"set": [{"id": "q1", "gold_tables": "t0"}]})
    assert done.status == 1
    assert "set.jsonl:1: gold_tables is not a list of names" in done.err
