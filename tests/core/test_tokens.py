"""Tokens are counted with o200k, from the vocabulary that is shipped, whole or in part."""

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
    """tiktoken's own definition of o200k, with the vocabulary as its loader reads it."""
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe
    from tiktoken_ext import openai_public

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(openai_public, "load_tiktoken_bpe", _loaded(load_tiktoken_bpe))
        return tiktoken.Encoding(**openai_public.o200k_base())


def _loaded(load: Any) -> Any:
    """The loader, which checks the hash that tiktoken expects, on the file that is shipped."""
    return lambda _url, expected_hash: load(str(tokens.VOCABULARY), expected_hash)


def fresh() -> Any:
    """A vocabulary that has loaded nothing yet."""
    return tokens._Encoder()


def test_the_definition_is_tiktokens() -> None:
    assert whole()._pat_str == tokens.PATTERN
    assert whole()._mergeable_ranks == tokens._all_ranks()


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


TRICKY = st.text(
    st.sampled_from("aB z你好，。\n\r\t  .:/'sé1239\u0301\u3000😀_-\"")
    | st.characters(exclude_categories=["Cs"]),
    max_size=200,
)


@settings(max_examples=300, deadline=None)
@given(TRICKY)
def test_no_token_reaches_across_a_boundary(text: str) -> None:
    expected = whole().encode_ordinary(text)
    for found in tokens._BOUNDARY.finditer(text):
        at = found.start()
        parts = (text[:at], text[at:])
        assert [token for part in parts for token in whole().encode_ordinary(part)] == expected


@settings(max_examples=200, deadline=None)
@given(st.lists(TRICKY, min_size=1, max_size=5))
def test_pieces_are_the_text_and_count_the_same_where_it_says_so(texts: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "PIECE", 20)
        text = "".join(texts)
        pieces = list(tokens._pieces(text))
        assert "".join(text[piece] for piece, _safe in pieces) == text
        assert all(len(text[piece]) <= 20 for piece, _safe in pieces)
        found = tokens.size(text)
        assert found.exact == all(safe for _piece, safe in pieces)
        if found.exact:
            assert found.tokens == len(whole().encode_ordinary(text))


@settings(max_examples=200, deadline=None)
@given(TRICKY, st.lists(TRICKY, min_size=1, max_size=5), TRICKY)
def test_what_stands_beside_a_part_is_the_difference(
    before: str, texts: list[str], after: str
) -> None:
    part = "".join(texts)
    expected = count(before + part + after) - count(part)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "PIECE", 1000)
        assert tokens.beside(before + part + after, part) == tokens.Size(expected)


def test_the_middle_of_a_long_part_is_not_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    part = "how many rows are there? " * 100_000
    seen: list[int] = []
    monkeypatch.setattr(tokens, "count", lambda text: seen.append(len(text)) or 0)
    tokens.beside(f"<{part}>", part)
    assert sum(seen) < len(part) / 10


def test_size_of_what_no_model_reads_is_an_estimate_near_the_count() -> None:
    text = (ROOT / "README.md").read_text("utf-8") * 20
    exact = tokens.size(text)
    about = tokens.size(text, most=len(text) // 3)
    assert exact.exact
    assert not about.exact
    assert exact.tokens == count(text)
    assert abs(about.tokens - exact.tokens) < exact.tokens / 50


@pytest.mark.parametrize("letter", [" ", "\t", "a", "你", "1", "="])
def test_one_character_over_and_over_is_counted(letter: str) -> None:
    """The expressions of o200k break down over a million spaces in a row."""
    found = tokens.size(letter * 1_200_000)
    assert 0 < found.tokens <= 1_200_000
    assert not found.exact


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
