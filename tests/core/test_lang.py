"""Language of a task."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.core.lang import Lang, choose, language

CASES = [
    ("2025 年 revenue 最高的企业是哪一家?", "zh"),
    ("统计 company_financials 表中 status 为 active 的企业数", "zh"),
    ("哪家?", "zh"),
    ("《Romeo and Juliet》的作者是谁", "zh"),
    ("按 `Player Attributes` 统计 overall rating 最高的球员", "zh"),
    ("What was the 净利润 of the largest company?", "en"),
    ("Which company's status is “正常经营中的企业”?", "en"),
    ('Who wrote "红楼梦与三国演义"?', "en"),
    ("List all superheroes.", "en"),
    ("Élèves à l'école", "en"),
    ("東京にある会社の名前はなんですか", "en"),
    ("", "en"),
    ("42", "en"),
    ("“全部”", "zh"),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_language(text: str, expected: str) -> None:
    assert language(text) == expected


@pytest.mark.parametrize(
    ("asked", "question", "expected"),
    [
        ("auto", "哪家公司?", "zh"),
        ("auto", "Which one?", "en"),
        ("zh", "Which one?", "zh"),
        ("en", "哪家公司?", "en"),
    ],
)
def test_choose(asked: str, question: str, expected: str) -> None:
    assert choose(asked, question) == expected


@given(st.text())
def test_any_text_has_a_language(text: str) -> None:
    assert language(text) in get_args(Lang)
