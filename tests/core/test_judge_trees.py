"""The judge's trees: forks without a walk say what a walk from node to node says."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from stages.core.judge.match.expand import Bucket
from stages.core.judge.question.patterns import hinted
from stages.core.judge.rank import trees
from stages.core.judge.rank.trees import Trees
from stages.core.judge.store import gc_paused

# x0 <= 1 ? (x1 <= 0 ? leaf 0 : leaf 1) : leaf 2, and a tree of one leaf.
MODEL = Trees(
    names=("a", "b"),
    starts=np.array([0, 2]),
    feature=np.array([0, 1, 0]),
    threshold=np.array([[1.0], [0.0], [0.0]], dtype=np.float32),
    mask=np.array([[0b011], [0b001], [0]], dtype=np.uint32),
    value=np.array([[1.0, 2.0, 4.0], [8.0, 0.0, 0.0]], dtype=np.float32),
    base=0.5,
    slope=1.0,
    offset=0.0,
    cuts=np.array([[0, 0.9, 0.99], [10, 0.2, 0.1], [1000, 0.02, 0.01]], dtype=np.float32),
)


@pytest.mark.parametrize(
    ("a", "b", "leaf"), [(1, 0, 1.0), (1, 1, 2.0), (2, 0, 4.0), (2, 1, 4.0), (0, -1, 1.0)]
)
def test_a_row_falls_into_the_leaf_of_its_way(a: float, b: float, leaf: float) -> None:
    rows = {"a": np.array([a], dtype=np.float32), "b": np.array([b], dtype=np.float32)}
    expected = 1 / (1 + np.exp(-(leaf + 8.0 + 0.5)))
    assert MODEL.probabilities(rows)[0] == pytest.approx(expected)


def test_many_rows_come_out_in_order_and_none_gives_none() -> None:
    a = np.linspace(0, 3, 1000, dtype=np.float32)
    rows = {"a": a, "b": np.zeros_like(a)}
    one_by_one = [
        MODEL.probabilities({"a": a[at : at + 1], "b": rows["b"][:1]})[0] for at in (0, 500, 999)
    ]
    assert MODEL.probabilities(rows)[[0, 500, 999]].tolist() == pytest.approx(one_by_one)
    assert len(MODEL.probabilities({"a": a[:0], "b": a[:0]})) == 0


def test_cuts_fall_with_the_target_and_with_the_size() -> None:
    assert MODEL.cut_at(0.9, 10) == pytest.approx(0.2)
    assert MODEL.cut_at(0.99, 10) < MODEL.cut_at(0.95, 10) < MODEL.cut_at(0.9, 10)
    assert MODEL.cut_at(0.99, 1000) < MODEL.cut_at(0.99, 100) < MODEL.cut_at(0.99, 10)


@pytest.mark.parametrize("name", ["tables", "columns"])
def test_the_shipped_models_can_be_evaluated(name: str) -> None:
    held = trees.model(name)
    assert held is not None
    rows = {feature: np.zeros(3, dtype=np.float32) for feature in held.names}
    found = held.probabilities(rows)
    assert ((found >= 0) & (found <= 1)).all()
    assert len(set(found.tolist())) == 1


def test_a_bucket_gives_terms_of_these_letters_in_order() -> None:
    bucket = Bucket(["vehno", "qty", "v-1", "ytq", "vhn"])
    assert bucket.made_of("quantity") == ["qty", "ytq"]
    assert bucket.made_of("vehiclenumber o", "n") == ["vehno", "vhn"]
    assert Bucket().made_of("abc") == []
    assert Bucket(["a-c", "a]c"]).made_of("ac-") == ["a-c"]


@pytest.mark.parametrize(
    ("hint", "names"),
    [
        ("old refers to age > 30", {"age"}),
        ("`Airline Name` = 'X'", {"Airline Name"}),
        ("most goals refers to MAX(goals)", {"goals"}),
        ("born in May: birth_date LIKE '%-05-%'", {"birth_date"}),
        ("teams.name is not null", {"teams.name"}),
        ("", set()),
        ("a plain sentence without any of it", set()),
    ],
)
def test_hints_name_the_columns_they_compare_or_compute_with(hint: str, names: set[str]) -> None:
    found = {run for runs in hinted(hint) for run in runs}
    assert names <= found
    assert bool(found) == bool(names)


def test_collections_are_put_off_and_come_back_after_an_error() -> None:
    def fail() -> None:
        with gc_paused():
            assert not gc.isenabled()
            raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        fail()
    assert gc.isenabled()
