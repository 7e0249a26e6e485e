"""`import winnow`: the same lines as the commands write, nothing printed, nothing lost."""

from __future__ import annotations

import asyncio
import doctest
import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

import winnow
import winnow.aio
from tests.helpers.llm_server import LlmServer, Say, obliging
from tests.helpers.tools import ROOT, run

EXAMPLE = str(ROOT / "examples" / "orders")
CHAIN = ("vote", "collapse", "describe", "prompt")


@pytest.fixture(autouse=True)
def own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("WINNOW_MODEL", "WINNOW_BASE_URL", "WINNOW_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "none")


def piped(*stages: str) -> list[dict[str, object]]:
    done = run("scan", EXAMPLE)
    for stage in stages:
        done = run(stage, stdin=done.out)
    return done.lines


def called(*stages: str) -> list[winnow.Line]:
    lines = winnow.scan(EXAMPLE)
    for stage in stages:
        lines = getattr(winnow, stage)(lines)
    return lines


@pytest.mark.parametrize(
    "stages", [CHAIN, ("link", "collapse"), ("plan", "prune", "summarize", "explore", "refine")]
)
def test_the_same_lines_as_through_a_pipe(
    stages: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    assert called(*stages) == piped(*stages)
    assert capfd.readouterr() == ("", "")


def test_one_call_is_the_whole_chain() -> None:
    lines = winnow.ask(EXAMPLE)
    assert lines == called(*CHAIN)
    (system, user) = winnow.messages(lines)
    assert (system["role"], user["role"]) == ("system", "user")
    assert "Norway" in user["content"]


def test_options_are_those_of_the_command() -> None:
    lines = winnow.scan(EXAMPLE, question="q?", sample_rows=0, exclude=["*stock*"])
    tables = {line["name"]: line for line in lines if line["kind"] == "table"}
    assert "stock" not in tables
    assert not tables["orders"].get("sample")
    (task,) = (line for line in lines if line["kind"] == "task")
    assert task["question"] == "q?"
    described = winnow.describe(winnow.collapse(winnow.vote(lines)), format="ddl")
    assert "CREATE TABLE" in json.dumps(described[-1]["describe"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fromat": "ddl"}, "describe has no option 'fromat'; did you mean 'form"),
        ({"format": "docx"}, "'docx' is not one of"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, str], words: str) -> None:
    with pytest.raises(winnow.WinnowError) as caught:
        winnow.describe(winnow.scan(EXAMPLE), **options)
    assert words in str(caught.value)


def test_many_questions_of_one_source() -> None:
    asked = [{"question": "who?"}, {"id": "b", "question": "when?", "evidence": "soon"}]
    lines = winnow.link(winnow.scan(EXAMPLE, questions=asked))
    tasks = [line for line in lines if line["kind"] == "task"]
    assert [(t["task_id"], t["question"], t.get("evidence")) for t in tasks] == [
        ("0", "who?", None),
        ("b", "when?", "soon"),
    ]
    assert all("link" in task for task in tasks)


def test_what_fails_is_raised_with_the_rest_at_hand() -> None:
    lines = [*winnow.scan(EXAMPLE), {"kind": "task", "catalog": "gone", "task_id": "lost"}]
    with pytest.raises(winnow.PartialResult) as caught:
        winnow.vote(lines)
    assert "lost" in caught.value.errors[0]
    done = {line["task_id"]: line for line in caught.value.lines if line["kind"] == "task"}
    assert "vote" in done["orders"]
    assert "lost" in done
    with pytest.raises(winnow.PartialResult, match="no such folder"):
        winnow.scan("/no/such/folder")
    with pytest.raises(winnow.WinnowError):
        winnow.vote([{"kind": "cat"}])


def test_messages_of_a_command_go_to_the_logger(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "winnow"):
        winnow.vote(winnow.scan(EXAMPLE))
    assert "orders: kept 9 of 9 tables" in [record.message for record in caplog.records]


def test_rows_of_a_statement(tmp_path: Path) -> None:
    lines = winnow.scan(EXAMPLE)
    sql = "SELECT city, count(*) AS n FROM customers GROUP BY city ORDER BY n DESC, city LIMIT 2"
    rows = winnow.query(lines, sql)
    assert rows == winnow.query(EXAMPLE, sql)
    assert [list(row) for row in rows] == [["city", "n"]] * 2
    assert isinstance(rows[0]["n"], int)
    assert len(winnow.query(lines, "SELECT * FROM range(3000)")) == 3000
    with pytest.raises(winnow.SqlError):
        winnow.query(lines, "DROP TABLE customers")
    with pytest.raises(winnow.DataError, match="0 catalogs"):
        winnow.query([], "SELECT 1")


def test_scores(tmp_path: Path) -> None:
    gold = tmp_path / "gold.jsonl"
    gold.write_text('{"id": "orders", "gold_tables": ["customers", "orders"]}\n')
    found = winnow.evaluate(called("vote"), gold, section="vote")
    assert found["section"] == "vote"
    assert found["groups"][0]["questions"] == 1  # type: ignore[index]


def test_a_model_is_asked_at_once_and_on_a_loop() -> None:
    with LlmServer() as server:
        model = {"model": "openai/x", "base_url": server.base_url}
        lines = winnow.scan(EXAMPLE)
        made = winnow.vote(lines, rounds=3, **model)
        assert len(server.requests) == 3

        async def both() -> list[list[winnow.Line]]:
            inside = winnow.vote(lines, rounds=3, **model)  # a loop runs: as in a notebook
            return [inside, await winnow.aio.vote(lines, rounds=3, **model)]

        for again in asyncio.run(both()):
            assert again[-1]["vote"]["per_table"] == made[-1]["vote"]["per_table"]  # type: ignore[index]
        assert len(server.requests) == 3, "the replies are kept"


def test_calls_side_by_side_keep_their_messages_apart() -> None:
    def refuse_one(request: dict[str, object], n: int) -> Say:
        return Say(status=400) if "broken" in json.dumps(request) else obliging(request, n)

    async def ask(question: str, server: LlmServer) -> list[winnow.Line]:
        lines = winnow.scan(EXAMPLE, question=question)
        return await winnow.aio.vote(
            lines, model="openai/x", base_url=server.base_url, rounds=1, retries=0
        )

    async def both(server: LlmServer) -> list[list[winnow.Line] | BaseException]:
        return await asyncio.gather(
            ask("a broken one", server), ask("a whole one", server), return_exceptions=True
        )

    with LlmServer(refuse_one) as server:
        broken, whole = asyncio.run(both(server))
    assert isinstance(broken, winnow.PartialResult)
    assert "vote" in broken.lines[-1]
    assert isinstance(whole, list)


def test_the_page_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    done = doctest.testfile(
        str(ROOT / "docs" / "python.md"), module_relative=False, optionflags=doctest.ELLIPSIS
    )
    assert done.attempted > 8
    assert not done.failed


def test_every_function_of_the_package_is_typed_and_imports_little() -> None:
    code = "import sys, winnow; print(*sorted({'duckdb','litellm','numpy','sqlglot'} & {*sys.modules}))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=ROOT, check=True)
    assert found.stdout.strip() == b""
    assert (ROOT / "winnow" / "py.typed").exists()
