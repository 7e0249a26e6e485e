"""winnow values: where a value stands, as it is written there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.tools import run

EXAMPLE = "examples/orders"
HEAD = "table,column,value,rows,match\n"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("Norway", "customers,country,Norway,4,exact\n"),
        ("ｎｏｒｗａｙ", "customers,country,Norway,4,whole\n"),
        ("cancelld", "orders,status,cancelled,13,near\n"),
        ("no such thing anywhere", ""),
    ],
)
def test_where_a_value_stands(text: str, rows: str, tmp_path: Path) -> None:
    done = run("values", EXAMPLE, text, env={"WINNOW_CACHE": str(tmp_path)})
    assert (done.status, done.out.decode()) == (0, HEAD + rows)


def test_parts_come_after_wholes_and_no_more_than_asked_for(tmp_path: Path) -> None:
    env = {"WINNOW_CACHE": str(tmp_path)}
    done = run("values", EXAMPLE, "can", "--most", "1", env=env)
    assert done.out.decode() == HEAD + "orders,status,cancelled,13,part\n"
    assert "the first 1 places; --most shows more" in done.err


def test_hidden_values_are_not_found(tmp_path: Path) -> None:
    env = {"WINNOW_CACHE": str(tmp_path)}
    done = run("values", EXAMPLE, "Norway", "--hide-values", "country", env=env)
    assert done.out.decode() == HEAD


@pytest.mark.parametrize(
    ("args", "status", "words"),
    [
        (["/no/such", "x"], 1, "no such file or folder"),
        ([EXAMPLE], 2, "Missing argument 'TEXT'"),
    ],
)
def test_what_is_wrong_is_said(args: list[str], status: int, words: str) -> None:
    done = run("values", *args)
    assert (done.status, done.out) == (status, b"")
    assert words in done.err
