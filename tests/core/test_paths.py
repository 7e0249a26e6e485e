"""One folder of caches for all commands, and where replies of models lie."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stages.core import paths
from stages.core.catalog.scan_cache import cache_file
from stages.core.errors import UsageError
from stages.core.paths import cache_dir, reply_cache, result_cache
from stages.core.runtime.sessions import DataSessions
from stages.core.sandbox.engine.store import table_folder
from stages.link import _index_folder
from tests.helpers.tools import run

ROWS = b"id,name\n1,a\n2,b\n"


@pytest.mark.parametrize(
    ("home", "folder"),
    [("/somewhere", Path("/somewhere/winnow")), ("", None), ("relative", None)],
)
def test_the_folder_is_where_xdg_says(
    monkeypatch: pytest.MonkeyPatch, home: str, folder: Path | None
) -> None:
    monkeypatch.delenv("WINNOW_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", home)
    assert cache_dir() == reply_cache() == (folder or Path.home() / ".cache/winnow")


def test_everything_lies_in_the_folder_that_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WINNOW_CACHE", str(tmp_path))
    assert cache_dir() == reply_cache() == result_cache() == tmp_path
    places = (cache_file(), table_folder(), _index_folder())
    assert {place.parent for place in places} == {tmp_path}
    ways = DataSessions({}).ways
    assert ways.kept is not None
    assert ways.kept.path.parent == tmp_path


@pytest.mark.parametrize("there", [True, False])
def test_a_named_export_is_for_replies_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, there: bool
) -> None:
    file = tmp_path / "replies.jsonl"
    if there:
        file.write_bytes(b"")
    monkeypatch.setenv("WINNOW_CACHE", str(file))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert reply_cache() == file
    assert cache_dir() == result_cache() == tmp_path / "winnow"
    assert reply_cache(tmp_path / "x") == result_cache(tmp_path / "x") == tmp_path / "x"


def test_without_a_home_it_is_said_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.delenv("WINNOW_CACHE", raising=False)

    def lost(_path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(paths.Path, "expanduser", lost)
    with pytest.raises(UsageError, match="set WINNOW_CACHE"):
        cache_dir()


@pytest.mark.parametrize("content", [b"", None])
def test_commands_run_where_the_variable_names_an_export(
    tmp_path: Path, content: bytes | None
) -> None:
    data, file = tmp_path / "data", tmp_path / "replies.jsonl"
    data.mkdir()
    (data / "t.csv").write_bytes(ROWS)
    if content is not None:
        file.write_bytes(content)
    env = {**os.environ, "WINNOW_CACHE": str(file), "XDG_CACHE_HOME": str(tmp_path / "home")}
    done = run("query", str(data), "SELECT count(*) AS n FROM t", env=env)
    assert (done.status, done.out) == (0, b"n\n2\n"), done.err
    lines = run("scan", str(data), "--question", "how many names are there?", env=env)
    assert lines.status == 0, lines.err
    for command in ("plan", "prune", "summarize", "explore"):
        lines = run(command, stdin=lines.out, env=env)
        assert lines.status == 0, lines.err
    assert "after 2 statements" in lines.err
    assert (tmp_path / "home" / "winnow" / "tables").is_dir()
