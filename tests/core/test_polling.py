"""Rounds in batches: what is asked again, under which sample number, and when that ends."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.core.errors import (
    CallFailed,
    CallTimeout,
    ModelError,
    NotCached,
    NotSent,
    ReplyCut,
    ReplyFiltered,
    ReplyInvalid,
    Unreachable,
)
from stages.core.linking.vote import Rounds, sample_rounds
from stages.core.model.request import Reply, Request


class Script:
    """A model whose answers are a function of the sample number and how often it was asked."""

    name = "script"

    def __init__(
        self, answer: Callable[[int, int], object], delay: Callable[[int], float] | None = None
    ):
        self.answer, self.delay = answer, delay or (lambda sample: 0.0)
        self.asked: Counter[int] = Counter()
        self.order: list[int] = []

    async def ask(self, request: Request, *, timeout: float | None = None) -> Reply:
        times = self.asked[request.sample]
        self.asked[request.sample] += 1
        await asyncio.sleep(self.delay(request.sample))
        self.order.append(request.sample)
        found = self.answer(request.sample, times)
        if isinstance(found, BaseException):
            raise found
        return Reply(found, str(found), 1, 1, None, False, 1)


def run(script: Script, rounds: int = 5) -> Rounds:
    return asyncio.run(sample_rounds(script, Request(messages=()), rounds=rounds))


def fails(plan: dict[int, int]) -> Callable[[int, int], object]:
    """Each sample fails as often as the plan says, and then answers its own number."""
    return lambda sample, times: CallFailed("no") if times < plan.get(sample, 0) else sample


def test_the_example_of_the_seed() -> None:
    script = Script(fails({1: 1, 3: 2}))
    assert run(script) == Rounds((0, 1, 2, 3, 4), 3)
    assert script.asked == {0: 1, 1: 2, 2: 1, 3: 3, 4: 1}


def test_replies_stand_by_sample_number_and_not_by_arrival() -> None:
    script = Script(fails({0: 1}), delay=lambda sample: 0.05 - sample * 0.01)
    assert run(script).replies == (0, 1, 2, 3, 4)
    assert script.order[0] == 4


@pytest.mark.parametrize("rounds", [1, 3, 5])
def test_batches_end_at_two_more_than_the_rounds(rounds: int) -> None:
    script = Script(lambda sample, times: CallTimeout(f"late {sample}"))
    assert run(script, rounds) == Rounds((), rounds + 2, "late 0")
    assert script.asked == dict.fromkeys(range(rounds), rounds + 2)


def test_what_came_through_counts_when_the_batches_are_used_up() -> None:
    assert run(Script(fails({2: 99}))) == Rounds((0, 1, 3, 4), 7, "no")


@pytest.mark.parametrize("rounds", [0, -3])
def test_at_least_one_round(rounds: int) -> None:
    assert run(Script(fails({})), rounds) == Rounds((0,), 1)


def gone() -> Unreachable:
    """The error of a call that was sent again and again."""
    error = Unreachable("gone")
    error.sat_out = True
    return error


@pytest.mark.parametrize("error", [gone(), NotCached("not kept"), NotSent("dry"),
                                   ReplyInvalid("nonsense"), ReplyCut("cut"), ReplyFiltered("no")])  # fmt: skip
def test_what_asking_again_cannot_mend_is_not_asked_again(error: ModelError) -> None:
    script = Script(lambda sample, times: error)
    assert run(script) == Rounds((), 1, str(error))


def refused() -> CallFailed:
    error = CallFailed("refused")
    error.certain = True
    return error


def test_refusal_that_is_certain_to_repeat_is_not_asked_again() -> None:
    assert run(Script(lambda sample, times: refused())) == Rounds((), 1, "refused")


def test_refusal_beside_a_reply_to_the_same_is_asked_again() -> None:
    script = Script(lambda sample, times: refused() if sample < 4 and times == 0 else sample)
    assert run(script) == Rounds((0, 1, 2, 3, 4), 2)


def test_rounds_that_failed_before_the_first_came_through_are_asked_again() -> None:
    def answer(sample: int, times: int) -> object:
        return gone() if sample < 4 and times == 0 else sample

    assert run(Script(answer)) == Rounds((0, 1, 2, 3, 4), 2)


def test_one_failure_that_may_pass_is_asked_again_among_final_ones() -> None:
    def answer(sample: int, times: int) -> object:
        return gone() if sample else CallFailed("no") if times == 0 else 0

    found = run(Script(answer))
    assert found.replies == (0,)
    assert found.batches > 1


def test_a_call_that_was_sent_once_only_is_asked_again_however_it_failed() -> None:
    assert run(Script(lambda sample, times: Unreachable("gone"))) == Rounds((), 7, "gone")


def test_answers_in_vain_are_asked_for_again_only_beside_one_of_use() -> None:
    def answer(sample: int, times: int) -> object:
        if sample == 0:
            return CallFailed("no") if times == 0 else 0
        return ReplyInvalid("nonsense") if times == 0 else sample

    script = Script(answer)
    assert run(script) == Rounds((0, 1, 2, 3, 4), 3)
    assert script.asked == dict.fromkeys(range(5), 2)
    script = Script(lambda sample, times: ReplyInvalid("no") if sample else CallFailed("no"))
    run(script)
    assert script.asked == {0: 7, 1: 1, 2: 1, 3: 1, 4: 1}


def test_other_errors_go_through_after_every_call_was_made() -> None:
    script = Script(lambda sample, times: KeyError("a bug"))
    with pytest.raises(KeyError):
        run(script)
    assert sum(script.asked.values()) == 5


@given(st.dictionaries(st.integers(0, 4), st.integers(0, 9)))
def test_no_round_is_asked_more_than_it_takes(plan: dict[int, int]) -> None:
    script = Script(fails(plan))
    found = run(script)
    assert found.replies == tuple(n for n in range(5) if plan.get(n, 0) < 7)
    assert found.batches == min(7, 1 + max([0, *plan.values()]))
    assert script.asked == {n: min(7, 1 + plan.get(n, 0)) for n in range(5)}
