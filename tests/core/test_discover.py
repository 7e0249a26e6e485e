"""Walking a root: what is taken, what is left out, and the reason given."""

from __future__ import annotations

import os
import socket
import sqlite3
from pathlib import Path

import pytest

from stages.core.catalog import discover, scan_files, scan_root
from stages.core.catalog.discover import Findings, kinds, module_for, walk
from stages.core.catalog.documents import MARK_FILE
from stages.core.errors import SourceError


def put(path: Path, data: bytes = b"a,b\n1,2\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def reasons(found: Findings) -> dict[str, str]:
    return {item["path"]: item["reason"] for item in found.skipped}


def test_kinds_are_found_by_listing_the_folder() -> None:
    assert {kinds()[suffix].KIND for suffix in (".csv", ".json", ".sqlite3")} == {
        "csv",
        "json",
        "sqlite",
    }
    folder = Path(discover.sources.__path__[0])
    assert {module.__name__.rsplit(".", 1)[-1] for module in kinds().values()} == {
        file.parent.name if file.stem == "__init__" else file.stem
        for file in (*folder.glob("*.py"), *folder.glob("*/__init__.py"))
        if "SUFFIXES" in file.read_text("utf-8")
    }


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("A.CSV", "csv"),
        ("a.tsv", "csv"),
        ("a.json", "json"),
        ("a.sqlite3", "sqlite"),
        ("a.DB", "sqlite"),
        ("a.exe", None),
        ("csv", None),
        ("a.csv.bak", None),
    ],
)
def test_kind_of_a_name(name: str, kind: str | None) -> None:
    module = module_for(name)
    assert (module.KIND if module else None) == kind


def test_folders_are_walked_to_the_bottom_in_the_order_of_paths(tmp_path: Path) -> None:
    for name in ("z.csv", "b/a.csv", "b/c/d.csv", "B.csv", "doc/x.md"):
        put(tmp_path / name)
    found = walk(tmp_path, tmp_path)
    assert [item.path for item in found.data] == ["B.csv", "b/a.csv", "b/c/d.csv", "z.csv"]
    assert [path for path, _ in found.documents] == ["doc/x.md"]
    assert found.skipped == []


def test_links_that_leave_the_folder_are_refused(tmp_path: Path) -> None:
    outside = put(tmp_path / "outside" / "secret.csv")
    root = tmp_path / "root"
    put(root / "a.csv")
    (root / "file.csv").symlink_to(outside)
    (root / "folder").symlink_to(outside.parent)
    (root / "relative.csv").symlink_to("../outside/secret.csv")
    (root / "dangling.csv").symlink_to("/no/such/file.csv")
    (root / "passwd.md").symlink_to("/etc/passwd")
    found = walk(root, root)
    assert [item.path for item in found.data] == ["a.csv"]
    assert found.documents == []
    assert set(reasons(found)) == {
        "file.csv",
        "folder",
        "relative.csv",
        "dangling.csv",
        "passwd.md",
    }
    assert {r for path, r in reasons(found).items() if path != "dangling.csv"} == {
        "a link that leaves the folder"
    }


def test_a_name_that_starts_like_the_root_is_still_outside(tmp_path: Path) -> None:
    put(tmp_path / "root2" / "secret.csv")
    put(tmp_path / "root" / "a.csv")
    (tmp_path / "root" / "b.csv").symlink_to(tmp_path / "root2" / "secret.csv")
    assert [item.path for item in walk(tmp_path / "root", tmp_path / "root").data] == ["a.csv"]


def test_links_within_the_folder(tmp_path: Path) -> None:
    put(tmp_path / "sub" / "a.csv")
    (tmp_path / "link.csv").symlink_to("sub/a.csv")
    (tmp_path / "again").symlink_to("sub")
    (tmp_path / "sub" / "up").symlink_to("..")
    found = walk(tmp_path, tmp_path)
    assert [item.path for item in found.data] == ["link.csv", "sub/a.csv"]
    assert reasons(found) == {
        "again": "a link to a folder that is read anyway",
        "sub/up": "a link that loops",
    }


def test_links_to_folders_beside_the_walked_one_are_read_once(tmp_path: Path) -> None:
    put(tmp_path / "data" / "a.csv")
    top = tmp_path / "context"
    top.mkdir()
    (top / "one").symlink_to("../data")
    (top / "two").symlink_to("../data")
    found = walk(tmp_path, top)
    assert [item.path for item in found.data] == ["context/one/a.csv"]
    assert reasons(found) == {"context/two": "a link to a folder that is read anyway"}


def test_a_link_to_itself(tmp_path: Path) -> None:
    (tmp_path / "self.csv").symlink_to("self.csv")
    (reason,) = reasons(walk(tmp_path, tmp_path)).values()
    assert reason.startswith("cannot be read")


def test_a_context_that_is_a_link_out_of_the_root(tmp_path: Path) -> None:
    put(tmp_path / "elsewhere" / "a.csv")
    root = tmp_path / "root"
    root.mkdir()
    (root / "context").symlink_to("../elsewhere")
    result = scan_root(root)
    assert result.tables == []
    assert result.catalog["skipped"] == [
        {"path": "context", "reason": "a link that leaves the folder"}
    ]


def test_pipes_sockets_and_devices_are_never_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s.csv")
        found = walk(tmp_path, tmp_path)
    assert reasons(found) == {"pipe.csv": "a named pipe", "s.csv": "a socket"}


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("empty.db", b"", "0 bytes"),
        ("empty.csv", b"", "0 bytes"),
        ("empty.md", b"", "0 bytes"),
        (".hidden.csv", b"a\n1\n", "hidden"),
        ("x.db-wal", b"x", "a side file of an SQLite database"),
        ("x.sqlite-journal", b"", "a side file of an SQLite database"),
        ("movie.mp4", b"x", "neither data nor a document of a known kind"),
    ],
)
def test_left_out_with_a_reason(tmp_path: Path, name: str, data: bytes, reason: str) -> None:
    put(tmp_path / name, data)
    found = walk(tmp_path, tmp_path)
    assert reasons(found) == {name: reason}
    assert not found.data
    assert not found.documents


def test_own_files_are_neither_data_nor_skipped(tmp_path: Path) -> None:
    for name in ("task.json", "v/video_input.json", MARK_FILE, "_video_frames/frames.json"):
        put(tmp_path / name, b"{}")
    assert walk(tmp_path, tmp_path) == Findings()


def test_a_name_that_is_not_utf8_is_told_in_a_line_that_can_be_written(tmp_path: Path) -> None:
    try:
        put(Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.csv")))
    except OSError:
        pytest.skip("this file system refuses such names")
    (item,) = walk(tmp_path, tmp_path).skipped
    assert item["reason"] == "its name is not UTF-8"
    item["path"].encode()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_files(tmp_path: Path) -> None:
    put(tmp_path / "a.csv").chmod(0)
    (reason,) = reasons(walk(tmp_path, tmp_path)).values()
    assert reason == "cannot be read: permission denied"


def test_deep_folders_end(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * 90)
    deep.mkdir(parents=True)
    (reason,) = reasons(walk(tmp_path, tmp_path)).values()
    assert reason == "more than 64 folders deep"


@pytest.mark.parametrize(
    ("include", "exclude", "taken"),
    [
        ((), (), ["a.csv", "s/b.csv", "s/c.json"]),
        (("*.json",), (), ["s/c.json"]),
        (("s/*",), (), ["s/b.csv", "s/c.json"]),
        ((), ("s/*",), ["a.csv"]),
        (("*.csv",), ("b.csv",), ["a.csv"]),
    ],
)
def test_include_and_exclude(
    tmp_path: Path, include: tuple[str, ...], exclude: tuple[str, ...], taken: list[str]
) -> None:
    for name in ("a.csv", "s/b.csv", "s/c.json"):
        put(tmp_path / name)
    found = walk(tmp_path, tmp_path, include=include, exclude=exclude)
    assert [item.path for item in found.data] == taken
    assert len(found.skipped) == 3 - len(taken)


def test_the_mark_file_counts_for_its_own_folder_only(tmp_path: Path) -> None:
    for name in ("p/a.csv", "p/q/b.csv", "c.csv", "_doc_extracted.csv"):
        put(tmp_path / name)
    put(tmp_path / "p" / MARK_FILE, b"{}")
    kept = {table["name"]: table["always_keep"] for table in scan_root(tmp_path).tables}
    assert kept == {"_doc_extracted": True, "c": False, "a": True, "b": False}


def test_a_broken_file_is_skipped_and_the_rest_is_read(tmp_path: Path) -> None:
    put(tmp_path / "a.csv")
    put(tmp_path / "fake.db", b"this is no database")
    put(tmp_path / "good.db", b"").unlink()
    with sqlite3.connect(tmp_path / "good.db") as con:
        con.execute("CREATE TABLE t (x)")
    result = scan_root(tmp_path)
    assert [table["name"] for table in result.tables] == ["a", "t"]
    assert result.catalog["skipped"] == [
        {"path": "fake.db", "reason": "not an SQLite database, or an encrypted one"}
    ]


def test_files_named_one_by_one(tmp_path: Path) -> None:
    one, two = put(tmp_path / "x" / "a.csv"), put(tmp_path / "y" / "b.csv")
    result = scan_files([one, two])
    assert result.catalog["root"] == str(tmp_path)
    assert result.catalog["name"] == tmp_path.name
    assert [table["describe_key"] for table in result.tables] == ["x/a.csv", "y/b.csv"]
    alone = scan_files([one])
    assert (alone.catalog["name"], alone.tables[0]["describe_key"]) == ("a", "a.csv")


@pytest.mark.parametrize(
    ("name", "what"),
    [("none.csv", "no such file"), ("x.exe", "not data of a known kind"), ("e.csv", "0 bytes")],
)
def test_a_named_file_that_is_no_data(tmp_path: Path, name: str, what: str) -> None:
    put(tmp_path / "x.exe", b"MZ")
    put(tmp_path / "e.csv", b"")
    with pytest.raises(SourceError, match=what):
        scan_files([tmp_path / name])


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such folder"):
        scan_root(tmp_path / "none")


def test_the_solvers_own_folder_is_no_data(tmp_path: Path) -> None:
    (tmp_path / "workdir").mkdir()
    (tmp_path / "workdir" / "prediction.csv").write_text("a\n1\n")
    (tmp_path / "inner" / "workdir").mkdir(parents=True)
    (tmp_path / "inner" / "workdir" / "facts.csv").write_text("a\n1\n")
    found = walk(tmp_path, tmp_path)
    assert [item.path for item in found.data] == ["inner/workdir/facts.csv"]
    assert {"path": "workdir", "reason": "the solver's own folder"} in found.skipped
