"""winnow pin: tables kept and folded by hand, by whatever name, and nothing lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.seed_tables import CATALOG, seed_table
from tests.helpers.tools import Done, run


def lines(*tasks: dict[str, object]) -> bytes:
    tables = [
        seed_table("orders", aliases=["df_o", "shared"]),
        seed_table("items", aliases=["shared"]),
        seed_table("log"),
    ]
    asked = {"kind": "task", "catalog": CATALOG["id"], "question": "q"}
    made = [CATALOG, *tables, *({**asked, **task} for task in tasks)]
    return b"".join(json.dumps(line).encode() + b"\n" for line in made)


def pins(done: Done) -> dict[str, object]:
    records = [json.loads(line) for line in done.out.splitlines()]
    return {line["task_id"]: line.get("pin") for line in records if line["kind"] == "task"}


@pytest.mark.parametrize(
    ("args", "before", "after"),
    [
        (["--keep", "DF_O"], None, {"keep": ["orders"]}),
        (["--keep", "orders", "--fold", "log"], None, {"keep": ["orders"], "fold": ["log"]}),
        (["--fold", "orders"], {"keep": ["df_o", "log"]}, {"keep": ["log"], "fold": ["orders"]}),
        (["--free", "orders"], {"keep": ["orders"], "fold": ["log"]}, {"fold": ["log"]}),
        (["--free", "orders"], {"keep": ["orders"]}, None),
        (["--clear"], {"keep": ["orders"]}, None),
        (["--clear", "--fold", "log"], {"keep": ["orders"]}, {"fold": ["log"]}),
        (["--keep", "log"], {"keep": ["gone"]}, {"keep": ["gone", "log"]}),
        (["--keep", "log"], {"keep": ["log"]}, {"keep": ["log"]}),
    ],
)
def test_pins_by_any_name(args: list[str], before: object, after: object) -> None:
    task = {"task_id": "t"} | ({} if before is None else {"pin": before})
    done = run("pin", *args, stdin=lines(task))
    assert (done.status, done.err) == (0, "")
    assert pins(done) == {"t": after}


def test_only_the_named_task(tmp_path: Path) -> None:
    path = tmp_path / "l.jsonl"
    path.write_bytes(lines({"task_id": "a"}, {"task_id": "b"}))
    assert run("pin", str(path), "--keep", "log", "--task", "b", "-o", str(path)).status == 0
    assert run("pin", str(path)).out == b"b\tkeep\tlog\n"
    assert run("pin", str(path), "--task", "a").out == b""


@pytest.mark.parametrize(
    ("args", "status", "words"),
    [
        (["--keep", "nope"], 1, "t: no table is called nope; its pins stay as they were"),
        (["--fold", "shared"], 1, "several tables are called shared"),
        (["--keep", "log", "--fold", "log"], 2, "log cannot be kept and folded"),
        (["--keep", "log", "--task", "u"], 1, "no task u"),
    ],
)
def test_what_cannot_be_pinned_is_said_and_loses_nothing(
    args: list[str], status: int, words: str, tmp_path: Path
) -> None:
    path, before = tmp_path / "l.jsonl", lines({"task_id": "t", "pin": {"keep": ["items"]}})
    path.write_bytes(before)
    done = run("pin", str(path), *args, "-o", str(path))
    assert done.status == status
    assert words in done.err
    assert path.read_bytes() == before


def test_a_broken_line_is_told_and_the_rest_comes_out() -> None:
    given = lines({"task_id": "t"}) + b'{"kind":"task"}\nnonsense\n'
    done = run("pin", "--keep", "log", stdin=given)
    assert done.status == 1
    assert done.out.endswith(b'{"kind":"task"}\n')
    assert done.err.count("stdin:") == 2
    assert b'"pin":{"keep":["log"]}' in done.out


def test_the_pinned_table_is_shown_in_full() -> None:
    scanned = run("scan", "examples/orders").out
    kept = run("pin", "--keep", "shifts", stdin=run("vote", stdin=scanned).out)
    collapsed = run("collapse", stdin=kept.out)
    (task,) = [json.loads(line) for line in collapsed.out.splitlines() if b'"task_id"' in line]
    assert "shifts" in task["collapse"]["pinned"]
