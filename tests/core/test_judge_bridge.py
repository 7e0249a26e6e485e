"""Bridges: a table that joins two kept ones is kept, whatever its own score."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.core.judge.index.keys import graph_of
from stages.core.judge.judgment import Edge
from stages.core.judge.rank.select import add_join_tables

NAMES = ["a", "b", "c", "d", "e"]


def edges(*pairs: str):
    return graph_of([Edge(left, ("x",), right, ("x",), "declared") for left, right in pairs])


def kept(chosen: str, graph, scores=(0.9, 0.8, 0.1, 0.2, 0.05)) -> str:
    before = np.array([name in chosen for name in NAMES])
    after = add_join_tables(before, np.array(scores, dtype=np.float32), NAMES, graph)
    return "".join(name for name, on in zip(NAMES, after, strict=True) if on)


@pytest.mark.parametrize(
    ("chosen", "pairs", "expected"),
    [
        ("ab", ["ac", "cb"], "abc"),
        ("ab", ["ab", "ac", "cb"], "ab"),
        ("ab", ["ac", "cb", "ad", "db"], "abd"),
        ("ab", ["ac", "cd", "db"], "abcd"),
        ("ab", ["ac", "cd", "db", "ce", "eb"], "abcd"),
        ("ab", ["ac", "cd", "de", "eb"], "ab"),
        ("abe", ["ac", "cb", "bd", "de"], "abcde"),
        ("a", ["ac"], "a"),
        ("", ["ac"], ""),
        ("ab", [], "ab"),
    ],
)
def test_bridge_is_kept_where_two_kept_tables_need_it(chosen, pairs, expected):
    assert kept(chosen, edges(*pairs)) == expected


@given(
    st.sets(st.sampled_from(NAMES)),
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES))),
)
def test_nothing_kept_is_ever_left_out(chosen, pairs):
    graph = edges(*("".join(pair) for pair in pairs if pair[0] != pair[1]))
    assert set(chosen) <= set(kept("".join(chosen), graph))
