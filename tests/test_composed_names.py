"""Names from a Mac, accents apart (NFD), are the names that people and models write (NFC)."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest

from stages.core.catalog import naming
from stages.core.judge.index import names
from stages.core.judge.language.tokenize import compact, sentence, split
from stages.core.judge.priors import query_log
from stages.core.linking.explore.judgments import ColumnNames
from stages.core.names import Names, canonical, fold
from tests.helpers.tools import Done, run

TABLE, COLUMN, OTHER = "Établissements", "Prénom", "データ"
QUESTION = "How many Prénom are in Établissements?"


def apart(text: str) -> str:
    made = unicodedata.normalize("NFD", text)
    assert made != text
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "data"
    made.mkdir()
    for name, column in ((TABLE, COLUMN), (OTHER, "プロジェクト")):
        text = f"id,{apart(column)}\n1,a\n2,b\n"
        (made / f"{apart(name)}.csv").write_text(text, "utf-8")
    (made / "spare.csv").write_text("x,y\n1,2\n", "utf-8")
    return made


def asked(folder: Path, *argv: str, stdin: bytes = b"", question: str = QUESTION) -> Done:
    env = {"WINNOW_CACHE": str(folder.parent / "cache")}
    lines = stdin or run("scan", str(folder), "--question", question, env=env).out
    return run(*argv, stdin=lines, env=env)


def kept(done: Done) -> set[str]:
    return {table["name"] for table in done.tasks[0]["link"]["tables"] if table["keep"]}


def test_there_is_one_form() -> None:
    assert naming.canonical is query_log.canonical is query_log.canonical is names.canonical
    for name in (
        TABLE,
        COLUMN,
        OTHER,
        "한국어 자료",
        "ВОЙНА й",
        "ภาษาไทย",
        "हिन्दी नाम",
        "İstanbul",
    ):
        twin = unicodedata.normalize("NFD", name)
        assert canonical(name) == canonical(twin)
        assert fold(name) == fold(twin)
        assert (split(name), compact(name)) == (split(twin), compact(twin))
        assert sentence(name) == sentence(twin)


def test_marks_that_no_letter_takes_in_stay_in_names() -> None:
    table = {
        "kind": "table",
        "name": canonical("हिन्दी नाम"),
        "describe_key": "x.csv",
        "columns": [],
    }
    assert Names([table]).table("हिन्दी नाम") == table["name"]  # type: ignore[list-item]


def test_columns_are_found_by_either_form() -> None:
    column = {"name": apart(COLUMN), "type": "VARCHAR"}
    table = {"kind": "table", "name": "t", "describe_key": "t.csv", "columns": [column]}
    assert ColumnNames(table).find(COLUMN.upper()) == apart(COLUMN)  # type: ignore[arg-type]
    assert Names([table]).column("t", COLUMN) == apart(COLUMN)  # type: ignore[list-item]


def test_a_question_names_them(folder: Path) -> None:
    for question in (QUESTION, apart(QUESTION)):
        done = asked(folder, "link", question=question)
        [table] = [t for t in done.tasks[0]["link"]["tables"] if t["name"] == canonical(TABLE)]
        assert table["keep"]
        assert [item["type"] for item in table["evidence"]][:1] == ["name"]
        best = max(done.tasks[0]["link"]["columns"], key=lambda column: column["score"])
        assert best["name"] == apart(COLUMN)


def test_rules_name_them(folder: Path) -> None:
    rules = folder.parent / "rules.yaml"
    columns = f"{{{OTHER}: [プロジェクト]}}"
    rules.write_text(
        f"- when: {{words: [Établissements]}}\n  add: {{columns: {columns}}}\n", "utf-8"
    )
    done = asked(folder, "link", "--rules", str(rules), question=apart(QUESTION))
    assert done.status == 0, done.err
    assert "no table" not in done.err
    assert "no column" not in done.err
    assert canonical(OTHER) in kept(done)


def test_past_sql_names_them(folder: Path) -> None:
    past = folder.parent / "past.sql"
    past.write_text(
        f'SELECT "プロジェクト" FROM "{TABLE}" JOIN "{OTHER}" USING (id);\n' * 9, "utf-8"
    )
    done = asked(folder, "link", "--history", str(past))
    assert done.status == 0, done.err
    [other] = [t for t in done.tasks[0]["link"]["tables"] if t["name"] == canonical(OTHER)]
    assert "co-occurrence" in {item["type"] for item in other["evidence"]}


def test_gold_names_them(folder: Path, tmp_path: Path) -> None:
    gold = tmp_path / "gold.jsonl"
    line = {"id": "data", "gold_tables": [TABLE], "gold_columns": [[TABLE, COLUMN]]}
    gold.write_text(json.dumps(line, ensure_ascii=False) + "\n", "utf-8")
    done = asked(folder, "link")
    (tmp_path / "link.jsonl").write_bytes(done.out)
    scored = run("evaluate", "linking", str(tmp_path / "link.jsonl"), "--gold", str(gold))
    assert scored.status == 0, scored.err
    assert "not in the catalog" not in scored.err


@pytest.mark.parametrize(
    "sql",
    [
        f'SELECT count("{COLUMN}") AS n FROM "{TABLE}"',
        f"SELECT count({COLUMN}) AS n FROM {TABLE}",
        f"SELECT count(t.{COLUMN}) AS n FROM {apart(TABLE)} t",
    ],
)
def test_statements_name_them(folder: Path, sql: str) -> None:
    done = run("query", str(folder), sql, env={"WINNOW_CACHE": str(folder.parent / "cache")})
    assert (done.status, done.out) == (0, b"n\n2\n"), done.err


def test_pins_and_show_name_them(folder: Path) -> None:
    env = {"WINNOW_CACHE": str(folder.parent / "cache")}
    lines = run("scan", str(folder), "--question", QUESTION, env=env).out.splitlines()
    task = {**json.loads(lines[-1]), "pin": {"fold": [apart(TABLE)]}}
    stdin = b"\n".join([*lines[:-1], json.dumps(task).encode(), b""])
    done = run("collapse", stdin=run("link", stdin=stdin, env=env).out, env=env)
    assert "no table is called" not in done.err
    assert run("show", "--why", apart(TABLE), stdin=done.out, env=env).status == 0


def test_hidden_columns_are_named_by_either_form(folder: Path) -> None:
    done = run("scan", str(folder), "--hide-values", COLUMN)
    [table] = [line for line in done.lines if line.get("name") == canonical(TABLE)]
    assert [c.get("hidden", False) for c in table["columns"]] == [False, True]
