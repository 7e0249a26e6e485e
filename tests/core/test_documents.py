"""Documents: kind, headings, first lines, from a bounded prefix of any bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.core.catalog.documents import (
    FIRST_LINES,
    HEADINGS,
    LINE_CHARS,
    PREFIX_BYTES,
    cut,
    decode,
    document,
    headings,
    read_text,
)


def made(tmp_path: Path, name: str, data: bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


def test_a_markdown_document(tmp_path: Path) -> None:
    path = made(tmp_path, "rules.MD", "# Rules\r\n\r\ntext\r\n## 单位\r\n".encode())
    assert document("doc/rules.MD", path) == {
        "path": "doc/rules.MD",
        "kind": "md",
        "bytes": 28,
        "headings": ["# Rules", "## 单位"],
        "first_lines": ["# Rules", "", "text", "## 单位"],
    }


def test_a_pdf_is_listed_and_not_read(tmp_path: Path) -> None:
    path = made(tmp_path, "a.pdf", b"%PDF-1.7 \xff\xfe")
    assert document("a.pdf", path) == {"path": "a.pdf", "kind": "pdf", "bytes": 11}


def test_no_values_leaves_the_headings(tmp_path: Path) -> None:
    path = made(tmp_path, "a.md", b"# Head\nEmployee 12 earns 900\n")
    assert document("a.md", path, values=False) == {
        "path": "a.md",
        "kind": "md",
        "bytes": 29,
        "headings": ["# Head"],
    }


def test_only_a_prefix_of_a_large_text_is_read(tmp_path: Path) -> None:
    path = made(tmp_path, "big.txt", b"# first\n" + "中文行\n".encode() * 60_000 + b"# last\n")
    assert path.stat().st_size > 2 * PREFIX_BYTES
    record = document("big.txt", path)
    assert record["bytes"] == path.stat().st_size
    assert record["headings"] == ["# first"]
    assert record["first_lines"] == ["# first"] + ["中文行"] * (FIRST_LINES - 1)


def test_one_endless_line_is_cut(tmp_path: Path) -> None:
    record = document("a.txt", made(tmp_path, "a.txt", b"x" * 1_000_000))
    (line,) = record["first_lines"]
    assert len(line) == LINE_CHARS
    assert line.endswith("x…")


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["# A", "text", "### B ###"], ["# A", "### B ###"]),
        (["```", "# code", "```", "# real"], ["# real"]),
        (["~~~py", "# code"], []),
        (["#nospace", "####### seven", "#", "   ## indented", "    # code"], ["## indented"]),
        ([], []),
    ],
)
def test_headings(lines: list[str], found: list[str]) -> None:
    assert headings(lines) == found


def test_headings_are_bounded() -> None:
    assert len(headings(["# h"] * 5_000)) == HEADINGS


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        ("é中".encode(), "é中"),
        (b"\xef\xbb\xbfa", "a"),
        ("中文".encode("utf-16"), "中文"),
        ("万股是单位，亿元也是单位".encode("gb18030"), "万股是单位，亿元也是单位"),
    ],
)
def test_encodings(data: bytes, text: str) -> None:
    assert decode(data) == text


def test_a_character_cut_by_the_prefix_is_no_reason_for_another_encoding() -> None:
    assert decode("单位".encode()[:-1], whole=False).startswith("单")


@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_give_text(data: bytes, whole: bool) -> None:
    decode(data, whole=whole).encode("utf-8", "surrogatepass")


@pytest.mark.parametrize(
    ("text", "limit", "shown"), [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("", 5, ""), ("ab", 1, "…")]
)
def test_cut(text: str, limit: int, shown: str) -> None:
    assert cut(text, limit) == shown


def test_read_text_settles_line_ends(tmp_path: Path) -> None:
    assert read_text(made(tmp_path, "k.md", b"\xef\xbb\xbfa\r\nb\rc\n")) == "a\nb\nc\n"
