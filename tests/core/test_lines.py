"""Reading lines: order, merging, broken lines, and what is never lost."""

from __future__ import annotations

import io

import orjson
import pytest

from stages.core.errors import LineError
from stages.core.lines import lines
from stages.core.lines.lines import (
    BadLine,
    CatalogLines,
    LineReader,
    TaskInput,
    digest,
    dump,
    parse,
)

ID = "sha256:" + "0" * 64


def catalog(**more):
    return dump({"kind": "catalog", "v": 1, "id": ID, "name": "c", **more})


def table(name, **more):
    return dump(
        {"kind": "table", "catalog": ID, "name": name, "describe_key": name, "columns": [], **more}
    )


def task(name, **more):
    return dump({"kind": "task", "catalog": ID, "task_id": name, "question": "?", **more})


def read(*chunks, **options):
    return list(LineReader(**options).read([(io.BytesIO(b"".join(chunks)), "in")]))


def kinds(items):
    return [type(item).__name__ for item in items]


def test_shelf_comes_once_and_before_its_first_task():
    items = read(catalog(), table("a"), task("1"), task("2"))
    assert kinds(items) == ["CatalogLines", "TaskInput", "TaskInput"]
    assert [t["name"] for t in items[1].tables] == ["a"]


def test_catalog_and_table_bytes_pass_unchanged():
    odd = (
        b'{ "kind":"table","catalog":"%s","name":"a",  "describe_key":"a","columns":[],"mine":{"x":1.50}}\n'
        % ID.encode()
    )
    [shelf] = read(catalog(), odd)
    assert b"".join(shelf.lines()) == catalog() + odd


def test_concatenated_files_merge_identical_lines():
    once = [catalog(), table("a"), task("1")]
    items = read(*once, catalog(), table("a"), task("2"))
    assert kinds(items) == ["CatalogLines", "TaskInput", "TaskInput"]


def test_two_lines_for_one_table_are_an_error_that_names_both():
    with pytest.raises(LineError) as caught:
        read(catalog(), table("a"), table("a", description="other"), task("1"))
    assert caught.value.place == "in:3"
    assert "in:2" in caught.value.what
    assert "--last-wins" in caught.value.hint


def test_last_wins_takes_the_last_even_after_a_task():
    items = read(catalog(), table("a"), task("1"), table("a", description="new"), last_wins=True)
    asked = next(item for item in items if isinstance(item, TaskInput))
    assert asked.tables[0]["description"] == "new"


def test_table_line_after_its_task_is_still_written():
    items = read(catalog(), table("a"), task("1"), table("b"), task("2"))
    assert kinds(items) == ["CatalogLines", "TaskInput", "CatalogLines", "TaskInput"]
    assert [t["name"] for t in items[1].tables] == ["a"]
    assert [t["name"] for t in items[3].tables] == ["a", "b"]
    assert b"".join(items[2].lines()) == table("b")


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"{", "not JSON"),
        (b'"text"', "no line of winnow"),
        (b"[1]", "no line of winnow"),
        (b"{}", "no line of winnow"),
        (b'{"kind":"row"}', "no line of winnow"),
        (b'{"kind":"task"}', "task_id"),
        (b'{"kind":"task","task_id":7}', "task_id"),
        (b'{"kind":"task","task_id":"\xff"}', "not JSON"),
        (
            b'{"kind":"table","catalog":"x","name":"n","describe_key":"k","columns":[{"name":"c"}]}',
            "type",
        ),
    ],
)
def test_broken_line_names_place_and_rule(raw, words):
    with pytest.raises(LineError) as caught:
        parse(raw, "in:9")
    assert caught.value.place == "in:9"
    assert words in caught.value.what


def test_cut_last_line_is_told_from_a_wrong_one():
    items = read(catalog(), table("a"), task("1"), task("2")[:-20])
    assert kinds(items) == ["CatalogLines", "TaskInput", "BadLine"]
    assert "cut off" in items[-1].error.what


def test_blank_lines_and_a_bom_are_nothing():
    items = read(b"\xef\xbb\xbf", catalog(), b"\n  \n\r\n", table("a"), task("1"))
    assert kinds(items) == ["CatalogLines", "TaskInput"]


def test_table_line_that_breaks_its_schema_passes_and_marks_its_catalog():
    bad = table("b", columns="none")
    items = read(catalog(), table("a"), bad, task("1"))
    broken = next(item for item in items if isinstance(item, BadLine))
    assert broken.raw == bad.rstrip(b"\n")
    assert items[-1].shelf.damaged == "in:3"


def test_unreadable_line_among_tables_marks_the_open_catalog():
    items = read(catalog(), table("a"), b"{...\n", task("1"))
    assert items[-1].shelf.damaged == "in:3"


def test_unreadable_line_after_tasks_marks_nothing():
    items = read(catalog(), table("a"), task("1"), b"{...\n", task("2"))
    assert not items[-1].shelf.damaged


def test_tables_hash_does_not_depend_on_their_order():
    [one] = read(catalog(), table("a"), table("b"))
    [two] = read(catalog(), table("b"), table("a"))
    assert one.tables_hash == two.tables_hash
    [three] = read(catalog(), table("b"), table("a", description="x"))
    assert one.tables_hash != three.tables_hash


def test_digest_tells_its_parts_apart():
    assert digest(b"ab", b"c") != digest(b"a", b"bc")


def test_task_without_catalog_has_no_tables():
    [shelf, asked] = read(task("1"))
    assert isinstance(shelf, CatalogLines)
    assert asked.tables == []


def test_huge_line_is_read():
    big = task("1", knowledge="x" * 5_000_000)
    items = read(catalog(), table("a"), big)
    assert len(items[-1].task["knowledge"]) == 5_000_000


def test_unknown_keys_are_kept():
    [_, asked] = read(catalog(), table("a"), task("1", mine={"a": 1}))
    assert orjson.loads(asked.line.raw)["mine"] == {"a": 1}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_lines_that_a_shell_wrote(encoding: str, ending: str) -> None:
    texts = ['{"a": "é 作者 😀"}', "", '{"b": 2}']
    data = ending.join(texts).encode(encoding)
    found = list(lines.split(io.BytesIO(data), "f"))
    assert found == [(texts[0].encode(), "f:1", False), (texts[2].encode(), "f:3", True)]
    long = (ending.join(texts) + ending) * 40_000
    assert sum(1 for _ in lines.split(io.BytesIO(long.encode(encoding)), "f")) == 80_000
