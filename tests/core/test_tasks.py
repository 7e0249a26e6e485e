"""Task folders and question files."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from stages.core.catalog import scan_root
from stages.core.catalog.tasks import locate, questions, task_from, without_question
from stages.core.errors import LineError


def folder(tmp_path: Path, record: Any = None, *, inner: bool = False) -> Path:
    path = tmp_path / "task_9"
    root = path / "input" if inner else path
    (root / "context").mkdir(parents=True)
    (root / "context" / "a.csv").write_text("x\n1\n", "utf-8")
    if record is not None:
        text = record if isinstance(record, str) else json.dumps(record)
        (root / "task.json").write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("inner", [False, True])
def test_the_root_holds_task_json(tmp_path: Path, inner: bool) -> None:
    path = folder(
        tmp_path, {"task_id": "t1", "question": "How many?", "difficulty": "easy"}, inner=inner
    )
    root = path / "input" if inner else path
    (root / "context" / "knowledge.md").write_text("# K\n", "utf-8")
    result = scan_root(path)
    assert result.catalog["name"] == "t1"
    assert result.catalog["root"] == str(root)
    assert [table["describe_key"] for table in result.tables] == ["context/a.csv"]
    assert result.task == {
        "kind": "task",
        "task_id": "t1",
        "question": "How many?",
        "difficulty": "easy",
        "knowledge": "# K\n",
    }


@pytest.mark.parametrize(
    ("record", "task_id", "question", "warning"),
    [
        ({"question": "q"}, "task_9", "q", ""),
        ({"task_id": "  ", "question": "q"}, "task_9", "q", ""),
        ({"task_id": 15, "question": "q"}, "15", "q", ""),
        ({"task_id": True, "question": ["q"]}, "task_9", None, ""),
        ({"task_id": "t", "question": "q", "evidence": "e", "difficulty": None}, "t", "q", ""),
        ([1], "task_9", None, "task.json holds no object"),
        ("{broken", "task_9", None, "task.json cannot be read"),
        ("\ufeff" + '{"question": "q"}', "task_9", "q", ""),
        ("", "task_9", None, "task.json cannot be read"),
    ],
)
def test_task_json_of_every_shape(
    tmp_path: Path, record: Any, task_id: str, question: str | None, warning: str
) -> None:
    result = scan_root(folder(tmp_path, record))
    assert result.task is not None
    assert result.task["task_id"] == task_id
    assert result.task.get("question") == question
    assert all(w.startswith(warning) for w in result.catalog.get("warnings", []))
    assert bool(warning) == ("warnings" in result.catalog)
    assert [table["name"] for table in result.tables] == ["a"]


def test_a_plain_folder_has_no_task_and_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.csv").write_text("x\n1\n", "utf-8")
    result = scan_root(tmp_path)
    assert result.task is None
    assert result.catalog["name"] == tmp_path.name
    assert [table["describe_key"] for table in result.tables] == ["sub/a.csv"]


def test_a_plain_folder_with_a_context_is_read_there_only(tmp_path: Path) -> None:
    path = folder(tmp_path)
    (path / "questions.jsonl").write_text('{"id": 1}\n', "utf-8")
    (path / "knowledge.md").write_text("K", "utf-8")
    result = scan_root(path)
    assert [table["describe_key"] for table in result.tables] == ["context/a.csv"]
    assert result.texts == {"knowledge": "K"}


def test_the_folder_in_which_one_stands_has_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder(tmp_path)
    monkeypatch.chdir(path)
    result = scan_root(".")
    assert (result.catalog["name"], result.catalog["root"]) == ("task_9", ".")


def test_a_task_json_that_is_a_link_out_of_the_folder_is_not_read(tmp_path: Path) -> None:
    path = folder(tmp_path)
    (tmp_path / "secret.json").write_text('{"question": "secret"}', "utf-8")
    (path / "task.json").symlink_to("../secret.json")
    assert scan_root(path).task is None


def test_knowledge_of_context_outranks_that_of_the_root(tmp_path: Path) -> None:
    path = folder(tmp_path, {"question": "q"})
    (path / "knowledge.md").write_text("root", "utf-8")
    (path / "context" / "knowledge.md").write_text("context\r\n", "utf-8", newline="")
    result = scan_root(path)
    assert result.texts["knowledge"] == "context\n"
    assert [document["path"] for document in result.catalog["documents"]] == [
        "context/knowledge.md"
    ]


def test_video_may_lie_in_workdir_beside_input(tmp_path: Path) -> None:
    path = folder(tmp_path, {"question": "q"}, inner=True)
    (path / "workdir").mkdir()
    (path / "workdir" / "timeline.txt").write_text("said", "utf-8")
    result = scan_root(path)
    assert result.task is not None
    assert result.task["video"] == "said"


def test_scanning_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    path = folder(tmp_path, {"question": "q"})
    assert json.dumps([scan_root(path).catalog, scan_root(path).tables]) == json.dumps(
        [scan_root(path).catalog, scan_root(path).tables]
    )


def test_the_id_tells_names_and_tables_apart(tmp_path: Path) -> None:
    path = folder(tmp_path, {"task_id": "one"})
    first = scan_root(path).catalog["id"]
    (path / "task.json").write_text('{"task_id": "two"}', "utf-8")
    second = scan_root(path).catalog["id"]
    (path / "context" / "a.csv").write_text("x\n2\n", "utf-8")
    third = scan_root(path).catalog["id"]
    assert len({first, second, third}) == 3


LINES = b"""\xef\xbb\xbf{"id": 1, "question": "How many?", "evidence": "e", "db_id": "d", "gold_sql": "SELECT"}

{"id": "b", "question": "Q", "evidence": null, "db_id": null, "difficulty": "hard"}
{"question": "no id"}
{"id": 3, "question": ""}
not json
[]
{"id": "last", "question": "no line end"}"""


def test_a_question_file() -> None:
    found = list(questions(io.BytesIO(LINES), "q.jsonl"))
    good = [item for item in found if isinstance(item, dict)]
    assert [item["id"] for item in good] == [1, "b", 2, "last"]
    errors = [item for item in found if isinstance(item, LineError)]
    assert [error.place for error in errors] == ["q.jsonl:5", "q.jsonl:6", "q.jsonl:7"]
    assert task_from(good[0], {"knowledge": "k"}) == {
        "kind": "task",
        "task_id": "1",
        "question": "How many?",
        "evidence": "e",
        "knowledge": "k",
    }
    assert task_from(good[1], {}) == {
        "kind": "task",
        "task_id": "b",
        "question": "Q",
        "difficulty": "hard",
    }


BIRD = [
    {"question_id": 5, "db_id": "d", "question": "Q", "evidence": "e", "SQL": "SELECT 1", "difficulty": "simple"},
    {"question_id": 6, "db_id": "d", "question": "R", "evidence": "", "SQL": "SELECT 2"},
]  # fmt: skip
SPIDER = [
    {"db_id": "d", "query": "SELECT 1", "question": "Q", "sql": {}},
    {"db_id": "d", "question": "R"},
]
SPIDER_2 = [
    {"instance_id": "sf_1", "instruction": "Q", "db_id": "d"},
    {"instance_id": "sf_2", "question": "R", "db": "d"},
]


@pytest.mark.parametrize(
    ("records", "ids"), [(BIRD, [5, 6]), (SPIDER, [0, 1]), (SPIDER_2, ["sf_1", "sf_2"])]
)
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("shape", ["array", "object", "lines"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_questions_as_benchmarks_and_shells_write_them(
    records: Any, ids: list[Any], indent: int | None, shape: str, encoding: str, ending: str
) -> None:
    text = {
        "array": json.dumps(records, indent=indent),
        "object": json.dumps({"version": 1, "data": records}, indent=indent),
        "lines": "\n".join(map(json.dumps, records)) + "\n",
    }[shape]
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    data = mark + text.replace("\n", ending).encode(encoding)
    found = list(questions(io.BytesIO(data), "q.json"))
    assert [(q["id"], q["question"], q["db_id"]) for q in found if isinstance(q, dict)] == list(
        zip(ids, "QR", "dd", strict=True)
    )
    assert len(found) == 2


@pytest.mark.parametrize(
    "text", ["[]", "{}", "[1, 2]", "[{", '[{"question": "Q"},]', "{\n}\n", "null", "\ufeff["]
)
def test_files_that_ask_nothing(text: str) -> None:
    found = list(questions(io.BytesIO(text.encode()), "q.json"))
    assert found
    assert all(isinstance(item, LineError) for item in found)


TABLE = 'ID,Question,Evidence\nq1,"How many, in all?",\n,,\nq2,去年有多少新员工入职?,hint\n'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
@pytest.mark.parametrize(("name", "delimiter"), [("q.csv", ","), ("q.csv", ";"), ("Q.TSV", "\t")])
def test_questions_in_a_table(encoding: str, name: str, delimiter: str) -> None:
    head, *rows = TABLE.split("\n")
    text = "\r\n".join([head.replace(",", delimiter), *rows])
    if delimiter != ",":
        text = text.replace("q1,", f"q1{delimiter}").replace(",\r\n,,", "\r\n")
        text = text.replace(
            "q2,去年有多少新员工入职?,", f"q2{delimiter}去年有多少新员工入职?{delimiter}"
        )
    found = list(questions(io.BytesIO(text.encode(encoding)), name))
    assert found == [
        {"id": "q1", "question": "How many, in all?"},
        {"id": "q2", "question": "去年有多少新员工入职?", "evidence": "hint"},
    ]


def test_a_table_that_has_no_questions_says_what_it_lacks() -> None:
    (error,) = questions(io.BytesIO(b"a,b\n1,2\n"), "q.csv")
    assert isinstance(error, LineError)
    assert (error.place, error.what) == ("q.csv:1", "no column is called question")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "gb18030"])
def test_questions_in_a_text(encoding: str) -> None:
    text = "How many, in all?\n\n  去年有多少新员工入职?  \r\n{not json}\n"
    found = list(questions(io.BytesIO(text.encode(encoding)), "q.txt"))
    assert [(q["id"], q["question"]) for q in found if isinstance(q, dict)] == [
        (0, "How many, in all?"),
        (1, "去年有多少新员工入职?"),
        (2, "{not json}"),
    ]


def test_an_id_stands_once_in_a_question_file() -> None:
    lines = [{"id": 1, "question": "a"}, {"id": "1", "question": "b"}, {"id": 2, "question": "c"}]
    stream = io.BytesIO("\n".join(map(json.dumps, lines)).encode())
    first, again, other = questions(stream, "q.jsonl")
    assert isinstance(again, LineError)
    assert (again.place, again.what) == ("q.jsonl:2", "the id 1 stands at q.jsonl:1 already")
    assert [item["question"] for item in (first, other) if isinstance(item, dict)] == ["a", "c"]


@pytest.mark.parametrize(
    ("question", "failed"), [("q", False), ("", True), (" \n", True), (None, True)]
)
def test_a_task_without_question_carries_an_error(question: str | None, failed: bool) -> None:
    task: Any = {"kind": "task", "task_id": "t"} | (
        {} if question is None else {"question": question}
    )
    assert ("error" in without_question(task)) is failed


def test_locate_prefers_the_given_folder_to_its_input(tmp_path: Path) -> None:
    path = folder(tmp_path, {"task_id": "outer"})
    (path / "input").mkdir()
    (path / "input" / "task.json").write_text('{"task_id": "inner"}', "utf-8")
    assert locate(path).name == "outer"
