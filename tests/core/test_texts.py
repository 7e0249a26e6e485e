"""Bare texts: one to a stream, many into a folder, and what stands in no text."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from stages.core import diagnostics
from stages.core.errors import UsageError
from stages.core.runtime.outputs import texts
from stages.core.runtime.stage import text_option

SAY = text_option(lambda section: str(section["text"]), lambda section: ".md")


@pytest.fixture(autouse=True)
def reporting():
    diagnostics.begin("winnow say")


def task(name: Any, text: str | None = None, **more):
    found = {} if text is None else {"say": {"text": text}}
    return {"kind": "task", "task_id": name, **found, **more}


def write(path, *tasks):
    with texts("say", SAY, str(path) if path is not None else None) as out:
        for one in ({"kind": "catalog", "v": 1}, *tasks):
            out.write(orjson.dumps(one) + b"\n")
    return diagnostics.exit_code()


def test_one_text_into_a_file(tmp_path):
    assert write(tmp_path / "out.md", task("a", "words\n\n")) == 0
    assert (tmp_path / "out.md").read_text() == "words\n"


def test_several_want_a_folder(tmp_path):
    with pytest.raises(UsageError):
        write(tmp_path / "out.md", task("a", "1"), task("b", "2"))


def test_file_that_cannot_be_written_stops_no_other(tmp_path, capsys):
    bad = ["../up", "", ".hidden", "nul\0", "z" * 300]
    assert (
        write(
            tmp_path, *(task(name, "no") for name in bad[:-1]), task(bad[-1], "no"), task("b", "2")
        )
        == 1
    )
    assert "b.md" in [path.name for path in tmp_path.iterdir()]
    assert {path.name for path in tmp_path.iterdir()} <= {"b.md", ".md"}
    assert capsys.readouterr().err.count("\n") >= 4


def test_second_task_of_one_id_is_an_error_and_overwrites_nothing(tmp_path, capsys):
    assert write(tmp_path, task("a", "first"), task("a", "second")) == 1
    assert (tmp_path / "a.md").read_text() == "first\n"
    assert "a: another task of this id" in capsys.readouterr().err


def test_task_that_failed_earlier_is_an_error_since_nothing_else_comes_of_it(tmp_path, capsys):
    error = {"stage": "scan", "message": "no table could be read"}
    assert write(tmp_path, task("a", error=error), task("b", "2"), task(5)) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["b.md"]
    assert "a: no text, since scan failed: no table could be read" in capsys.readouterr().err


def test_own_failure_has_been_reported_already(capsys):
    assert write(None, task("a", error={"stage": "say", "message": "x"}), task("b")) == 0
    assert capsys.readouterr() == ("", "")
