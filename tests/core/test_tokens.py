"""Tokens are counted with o200k, from the vocabulary that litellm ships, whole or in part."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.core import tokens
from stages.core.tokens import BUILDS, SMALL, count, counts, total

ROOT = Path(__file__).parents[2]
FILES = sorted(path for path in (ROOT / "stages").rglob("*") if path.suffix in (".py", ".md"))


@cache
def whole() -> Any:
    """tiktoken's o200k as it is, with its own loader."""
    import importlib.util

    import tiktoken

    spec = importlib.util.find_spec("litellm")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent / "litellm_core_utils" / "tokenizers"
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    try:
        return tiktoken.get_encoding("o200k_base")
    finally:
        del os.environ["TIKTOKEN_CACHE_DIR"]


def fresh() -> Any:
    """A vocabulary that has loaded nothing yet."""
    return tokens._Vocabulary()


@pytest.mark.parametrize(
    ("text", "n"),
    [("", 0), ("hello world", 2), ("你好", 1), ("<|endoftext|>", 7), ("\ud800", 1), ("a", 1)],
)
def test_known_counts(text: str, n: int) -> None:
    assert count(text) == n


def test_several_at_once_and_their_sum() -> None:
    assert counts(["hello", "", " world"]) == [1, 0, 1]
    assert total(["hello", " world", ""]) == 2
    assert counts([]) == []
    assert counts([""]) == [0]


@settings(max_examples=5, deadline=None)
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60),
        max_size=BUILDS + 1,
    )
)
def test_a_part_of_the_vocabulary_counts_as_the_whole(texts: list[str]) -> None:
    vocabulary = fresh()
    for text in texts:
        encoding = vocabulary.encoding([text.encode()])
        assert encoding.encode_ordinary(text) == whole().encode_ordinary(text)


@pytest.mark.parametrize("path", FILES[:: max(1, len(FILES) // 12)], ids=lambda p: p.name)
def test_real_texts_count_the_same_from_a_part(path: Path) -> None:
    text = path.read_text("utf-8")
    encoding = fresh().encoding([text.encode()])
    assert encoding.encode_ordinary(text) == whole().encode_ordinary(text)


def test_large_texts_and_many_texts_get_the_whole_vocabulary() -> None:
    size = len(whole()._mergeable_ranks)
    assert len(fresh().encoding([b"ab " * SMALL])._mergeable_ranks) == size
    vocabulary = fresh()
    for letter in "abcdefgh"[: BUILDS + 1]:
        encoding = vocabulary.encoding([letter.encode() * 9])
    assert len(encoding._mergeable_ranks) == size
    assert vocabulary.encoding(["новый".encode()]) is encoding


def test_counting_needs_no_network_no_litellm_and_leaves_the_environment_alone() -> None:
    code = (
        "import os, sys; from stages.core import tokens; assert 'tiktoken' not in sys.modules;"
        "before = dict(os.environ); assert tokens.count('hello world') == 2;"
        "assert dict(os.environ) == before;"
        "assert not {'litellm', 'requests'} & set(sys.modules)"
    )
    env = os.environ | {"TIKTOKEN_CACHE_DIR": "mine", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
