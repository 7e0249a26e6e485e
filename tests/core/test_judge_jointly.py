"""Tables judged together: sets, their features, and what weights make of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.core.judge import judge, pipeline
from stages.core.judge.rank import set_model
from stages.core.judge.rank.set_model import (
    MOST_MEMBERS,
    MOST_TABLES,
    SetContext,
    blended_log_odds,
    features,
    members,
)
from tests.helpers.judge_tables import SCHOOL, ask, table

NAMES = set_model.NAMES
#: Nothing is surer than this, once blended.
SUREST = set_model.BLEND * math.log((1 - 1e-5) / 1e-5)


def weighted(**more: float) -> Any:
    """Weights of our own: one for log-odds, and those given."""
    assert set(more) <= set(NAMES)
    return np.array([{"logit": 1.0, **more}.get(name, 0.0) for name in NAMES])


def around(
    n: int, gain: Any = None, edges: Iterable[tuple[int, int]] = (), **more: Any
) -> SetContext:
    """What n tables say: words they explain, keys between them."""
    joined = np.zeros((n, n), dtype=bool)
    for left, right in edges:
        joined[left, right] = joined[right, left] = True
    none = np.zeros((0, n), dtype=bool)
    held: dict[str, Any] = {
        "alike": np.zeros((n, n), dtype=bool),
        "spelled": none,
        "values": none,
        "n_tables": 100,
    }
    words = np.zeros((0, n)) if gain is None else np.array(gain)
    return SetContext(gain=words.astype(np.float32), joined=joined, **{**held, **more})


def column(logits: Any, near: SetContext, name: str) -> Any:
    """One feature of all sets."""
    return features(np.array(logits, dtype=np.float32), near)[:, NAMES.index(name)]


def sets(n: int) -> list[frozenset[int]]:
    """The sets of n tables as `members` has them."""
    return [frozenset(np.flatnonzero(row).tolist()) for row in members(n)]


@st.composite
def judged(draw: st.DrawFn, least: int = 1) -> tuple[Any, SetContext]:
    """Log-odds, the best first, and what the same tables say; often no word, no key, no value."""
    n = draw(st.integers(least, MOST_TABLES))
    logits = draw(st.lists(st.floats(-30, 30, width=32), min_size=n, max_size=n))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    some = [draw(st.integers(0, most)) for most in (5, 3, 3)]
    near = np.triu(random.random((2, n, n)) < draw(st.sampled_from([0.0, 0.3, 1.0])), 1)
    gain = random.random((some[0], n)) * (random.random((some[0], n)) < 0.5)
    held = SetContext(
        gain=(gain / max(some[0], 1)).astype(np.float32),
        joined=near[0] | near[0].T,
        alike=near[1] | near[1].T,
        spelled=random.random((some[1], n)) < 0.4,
        values=random.random((some[2], n)) < 0.4,
        n_tables=draw(st.sampled_from([n, 50, 100_000])),
    )
    return np.array(sorted(logits, reverse=True), dtype=np.float32), held


FITTED = st.lists(st.floats(-3, 3), min_size=len(NAMES), max_size=len(NAMES)).map(np.array)


def test_weights_and_features_meet_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    logits, near = np.array([2.0, -1.0], dtype=np.float32), around(2, [[0.4, 0.1]])
    by_name = {name: column(logits, near, name) for name in NAMES}
    assert set(NAMES) == set(orjson.loads(set_model.FILE.read_bytes()))
    monkeypatch.setattr(set_model, "NAMES", NAMES[::-1])
    turned = features(logits, near)
    for at, name in enumerate(NAMES[::-1]):
        assert turned[:, at].tolist() == by_name[name].tolist()
    fitted = set_model.weights.__wrapped__()
    assert fitted is not None
    assert fitted.tolist() == [orjson.loads(set_model.FILE.read_bytes())[n] for n in NAMES[::-1]]


@pytest.mark.parametrize("n", range(1, MOST_TABLES + 1))
def test_all_sets_are_there_once(n: int) -> None:
    made = sets(n)
    assert len(made) == sum(math.comb(n, size) for size in range(1, min(n, MOST_MEMBERS) + 1))
    assert len(set(made)) == len(made)
    assert {len(held) for held in made} == set(range(1, min(n, MOST_MEMBERS) + 1))


def test_every_feature_has_its_name() -> None:
    assert len(set(NAMES)) == len(NAMES)
    made = features(np.zeros(3, dtype=np.float32), around(3, [[0.1, 0.2, 0.3]]))
    assert made.shape == (7, len(NAMES))


@given(judged())
@settings(deadline=None)
def test_parts_are_those_of_the_graph(found: tuple[Any, SetContext]) -> None:
    """As many parts as a walk along the keys within each set finds."""
    logits, near = found
    for held, more in zip(sets(len(logits)), column(logits, near, "parts"), strict=True):
        left, parts = set(held), 0
        while left:
            parts += 1
            walk = [left.pop()]
            while walk:
                at = walk.pop()
                step = {to for to in left if near.joined[at, to]}
                left -= step
                walk += step
        assert more == parts - 1


@given(judged())
@settings(deadline=None)
def test_cover_is_the_best_of_each_word(found: tuple[Any, SetContext]) -> None:
    logits, near = found
    for held, cover in zip(sets(len(logits)), column(logits, near, "cover"), strict=True):
        best = near.gain[:, sorted(held)].max(axis=1, initial=0.0)
        assert cover == pytest.approx(best.sum(), abs=1e-5)


@given(judged(), FITTED)
@settings(deadline=None)
def test_all_chances_are_finite_and_bounded(found: tuple[Any, SetContext], fitted: Any) -> None:
    """Whatever the weights: no words, one table, no keys."""
    logits, near = found
    assert np.isfinite(features(logits, near)).all()
    made = blended_log_odds(logits, near, fitted * 100)
    assert made.shape == logits.shape
    assert np.isfinite(made).all()
    own = (1 - set_model.BLEND) * logits
    assert (np.abs(made - own) <= SUREST + 1e-3).all()


@given(judged(), FITTED, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_relabelling_moves_chances_with_their_tables(
    found: tuple[Any, SetContext], fitted: Any, random: Any
) -> None:
    """The best stays the best; the others may come in any order."""
    logits, near = found
    places = list(range(1, len(logits)))
    random.shuffle(places)
    turned = np.array([0, *places])
    straight = blended_log_odds(logits, near, fitted)
    assert blended_log_odds(logits[turned], near.only(turned), fitted) == pytest.approx(
        straight[turned], abs=2e-2
    )


@given(judged(least=2), st.floats(0.1, 3))
@settings(deadline=None)
def test_log_odds_alone_keep_their_order(found: tuple[Any, SetContext], weight: float) -> None:
    logits, near = found
    made = blended_log_odds(logits, near, weighted(logit=weight))
    assert (np.diff(made) <= 1e-3).all()


def test_a_single_table_is_sure_among_sets() -> None:
    """There is one set, so its table is in it."""
    made = blended_log_odds(np.array([-1.0], dtype=np.float32), around(1), weighted())
    assert made[0] == pytest.approx((1 - set_model.BLEND) * -1.0 + SUREST, abs=1e-2)


def test_a_bridge_gains_where_parts_cost() -> None:
    """A join table between two that are needed is worth more than one beside them."""
    logits, fitted = np.array([2.0, 2.0, -1.0], dtype=np.float32), weighted(parts=-2.0, apart=-2.0)
    beside = blended_log_odds(logits, around(3), fitted)
    between = blended_log_odds(logits, around(3, edges=[(0, 2), (1, 2)]), fitted)
    assert between[2] > beside[2] + 0.5
    astray = blended_log_odds(logits, around(3, edges=[(0, 1)]), fitted)
    assert astray[2] < between[2]


def test_an_idle_leaf_loses_and_an_idle_bridge_does_not() -> None:
    """What explains nothing new counts by where it stands."""
    gain = [[0.5, 0.0, 0.0], [0.0, 0.5, 0.0]]
    logits, fitted = np.array([2.0, 2.0, 0.0], dtype=np.float32), weighted(idle_leaf=-3.0)
    leaf = blended_log_odds(logits, around(3, gain, [(0, 2)]), fitted)
    bridge = blended_log_odds(logits, around(3, gain, [(0, 2), (1, 2)]), fitted)
    plain = blended_log_odds(logits, around(3, gain, [(0, 2)]), weighted())
    assert leaf[2] < plain[2] - 0.5
    assert bridge[2] > leaf[2] + 0.5
    assert leaf[:2] == pytest.approx(plain[:2], abs=0.5)


def test_the_only_table_that_explains_a_word_gains() -> None:
    logits, fitted = np.array([2.0, 0.0, 0.0], dtype=np.float32), weighted(unexplained=-2.0)
    made = blended_log_odds(logits, around(3, [[0.3, 0.3, 0.3], [0.0, 0.3, 0.0]]), fitted)
    assert made[1] > made[2] + 0.5
    cover = blended_log_odds(logits, around(3, [[0.0, 0.3, 0.0]]), weighted(cover=5.0))
    assert cover[1] > cover[2] + 0.2


def test_of_two_that_are_alike_each_costs_the_other() -> None:
    logits, fitted = np.array([2.0, 0.5, 0.5], dtype=np.float32), weighted(alike=-3.0)
    alike = np.zeros((3, 3), dtype=bool)
    alike[0, 1] = alike[1, 0] = True
    made = blended_log_odds(logits, around(3, alike=alike), fitted)
    assert made[1] < made[2] - 0.5


@pytest.mark.parametrize("kind", ["spelled", "values"])
def test_who_holds_what_was_spelled_or_quoted_gains(kind: str) -> None:
    logits, fitted = np.zeros(3, dtype=np.float32), weighted(**{f"{kind}_missed": -3.0})
    held = np.array([[False, True, False]])
    made = blended_log_odds(logits, around(3, **{kind: held}), fitted)
    assert made[1] > max(made[0], made[2]) + 0.5
    assert column(logits, around(3, **{kind: held}), f"{kind}_missed").tolist() == [
        float(1 not in each) for each in sets(3)
    ]


def test_only_takes_what_was_said_of_some() -> None:
    near = around(4, [[0.1, 0.2, 0.3, 0.4]], [(0, 3)], spelled=np.eye(4, dtype=bool))
    some = near.only(np.array([3, 0]))
    assert some.gain.tolist() == [[pytest.approx(0.4), pytest.approx(0.1)]]
    assert some.joined.tolist() == [[False, True], [True, False]]
    assert some.spelled.astype(int).tolist() == [[0, 1], [0, 0], [0, 0], [1, 0]]
    assert some.n_tables == 100


def test_what_tables_say_is_read_from_the_match() -> None:
    """Keys, words, alike names, spelled columns and whole values of a real question."""
    tables = [
        *SCHOOL[:3],
        table("student_old", "city"),
        table("menu", "dish", examples={"dish": ["Pea Soup"]}),
    ]
    question = ask("Which `stu_id` of the student had 'Pea Soup'?")
    match = pipeline.matched(question, tables)
    names = [match.index.names[at] for at in match.candidates]
    near = set_model.set_context(match, np.arange(len(names)))
    at = {name: place for place, name in enumerate(names)}
    assert near.joined[at["student"], at["enrolment"]]
    assert not near.joined[at["student"], at["menu"]]
    assert (near.joined == near.joined.T).all()
    assert near.alike[at["student"], at["student_old"]]
    assert not near.alike[at["student"], at["menu"]]
    assert not near.alike.diagonal().any()
    assert near.n_tables == len(tables)
    assert near.values.sum(axis=0)[at["menu"]] == 1
    [spelled] = near.spelled
    assert {names[place] for place in np.flatnonzero(spelled)} == {"student", "enrolment"}
    assert near.gain.sum(axis=0)[at["student"]] > 0
    assert near.gain.max(axis=1).sum() <= 1.0 + 1e-5


@pytest.mark.parametrize("question", ["", "?", "the of and", "\x00"])
def test_a_question_without_words_is_judged(question: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_model, "weights", lambda: weighted(cover=2.0, unexplained=-1.0))
    match = pipeline.matched(ask(question), SCHOOL)
    assert match.best.shape[0] == 0
    assert np.isfinite(
        set_model.judge_together(match, np.zeros(len(SCHOOL), dtype=np.float32))
    ).all()
    assert len(judge(ask(question), SCHOOL).tables) == len(SCHOOL)


def test_only_the_likeliest_are_judged_together(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = [table(f"g{chr(97 + at)}", "roof") for at in range(MOST_TABLES + 4)]
    match = pipeline.matched(ask("roofs"), tables)
    logits = np.linspace(-3, 3, len(tables), dtype=np.float32)
    before = logits.copy()
    monkeypatch.setattr(set_model, "weights", lambda: weighted())
    made = set_model.judge_together(match, logits)
    assert (made[:4] == before[:4]).all()
    assert (made[4:] != before[4:]).all()
    assert (logits == before).all()


def test_nothing_is_refined_without_weights_or_company(monkeypatch: pytest.MonkeyPatch) -> None:
    match = pipeline.matched(ask("roofs"), SCHOOL)
    logits = np.linspace(-3, 3, len(SCHOOL), dtype=np.float32)
    monkeypatch.setattr(set_model, "weights", lambda: None)
    assert set_model.judge_together(match, logits) is logits
    monkeypatch.setattr(set_model, "weights", lambda: weighted())
    single = pipeline.matched(ask("roofs"), SCHOOL[:1])
    assert set_model.judge_together(single, logits[:1]).tolist() == logits[:1].tolist()
    assert len(judge(ask("roofs"), SCHOOL[:1]).tables) == 1


@pytest.mark.parametrize(("without", "asked"), [((), True), (("key",), False), (("neighbour",), False)])  # fmt: skip
def test_without_keys_tables_are_judged_apart(
    without: tuple[str, ...], asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The keys are part of the joint judgment, so it goes when they are switched off."""
    seen: list[int] = []

    def judge_together(match: Any, logits: Any) -> Any:
        seen.append(len(logits))
        return logits

    monkeypatch.setattr(set_model, "judge_together", judge_together)
    judge(ask("Which students take the course Databases?"), SCHOOL, without=without)
    assert bool(seen) is asked


def test_a_bridge_is_lifted_through_the_front_door(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a cost of parts and none of size, the join table gains."""
    question = ask("Which students take the course Databases?")
    monkeypatch.setattr(set_model, "weights", lambda: weighted())
    plain = {ranked.name: ranked.score for ranked in judge(question, SCHOOL).tables}
    monkeypatch.setattr(set_model, "weights", lambda: weighted(parts=-4.0))
    parted = {ranked.name: ranked.score for ranked in judge(question, SCHOOL).tables}
    lift = {name: parted[name] - plain[name] for name in plain}
    assert lift["enrolment"] > lift["building"]
    assert parted["enrolment"] > parted["building"]


def test_weights_are_kept_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written in the order of the features, read in it whatever order the file has."""
    path = tmp_path / "jointly.json"
    monkeypatch.setattr(set_model, "FILE", path)
    assert set_model.weights.__wrapped__() is None
    fitted = [at / 8 for at in range(len(NAMES))]
    set_model.save(fitted, path)
    held = orjson.loads(path.read_bytes())
    assert list(held) == list(NAMES)
    path.write_bytes(orjson.dumps(dict(reversed(held.items()))))
    read = set_model.weights.__wrapped__()
    assert read is not None
    assert read.tolist() == fitted
    with pytest.raises(ValueError, match="shorter"):
        set_model.save(fitted[:-1], path)


def test_shipped_weights_are_of_these_features() -> None:
    """Where there are any yet."""
    found = set_model.weights.__wrapped__()
    if found is not None:
        assert found.shape == (len(NAMES),)
        assert np.isfinite(found).all()


@pytest.mark.parametrize("n", [3, MOST_TABLES + 3])
def test_tables_that_tie_still_tie(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing tells these apart, so they must stand and fall together."""
    tables = [table(f"g{chr(97 + at)}", "roof") for at in range(n)]
    monkeypatch.setattr(set_model, "weights", lambda: weighted(best=1.0))
    question = ask("Which turtles were measured?")
    logits = np.full(n, -2.0, dtype=np.float32)
    made = set_model.judge_together(pipeline.matched(question, tables), logits)
    assert made == pytest.approx(np.full(n, made[0]), abs=1e-3)
