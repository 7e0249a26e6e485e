"""Dealing what stands in order into prompts by a budget of tokens; the order never changes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import TypeVar

Batch = TypeVar("Batch")


def fill(costs: Sequence[int], capacity: int) -> list[range]:
    """Consecutive batches filled one after the other, each as full as it goes.

    Args:
        costs: Tokens of each item.
        capacity: Tokens that a batch may hold; an item above it stands alone.

    >>> fill([3, 3, 5, 9, 1], 6)
    [range(0, 2), range(2, 3), range(3, 4), range(4, 5)]
    """
    starts, held = [0], 0
    for place, cost in enumerate(costs):
        if place > starts[-1] and held + cost > capacity:
            starts.append(place)
            held = 0
        held += cost
    return [range(start, end) for start, end in pairwise([*starts, len(costs)]) if start < end]


def split(costs: Sequence[int], capacity: int) -> list[range]:
    """Consecutive batches, as few as the capacity allows, and among these the most even.

    Args:
        costs: Tokens of each item, in order.
        capacity: Tokens that a batch may hold. An item above it stands alone in its batch.

    Returns:
        Ranges of positions that cover all items in order; none where there is no item.

    >>> split([4, 1, 3, 2], 6)
    [range(0, 2), range(2, 4)]
    """
    fewest = len(fill(costs, capacity))
    even = _even(costs, fewest)
    if all(len(batch) == 1 or sum(costs[i] for i in batch) <= capacity for batch in even):
        return even
    low, high = 0, capacity
    while low < high:
        middle = (low + high) // 2
        if len(fill(costs, middle)) <= fewest:
            high = middle
        else:
            low = middle + 1
    return fill(costs, high)


def _even(costs: Sequence[int], parts: int) -> list[range]:
    """So many batches, ending where the running total is nearest to equal shares."""
    sums = list(accumulate(costs))
    ends = [0]
    for part in range(1, parts):
        goal = sums[-1] * part / parts
        place = bisect_left(sums, goal)
        before = place > 0 and goal - sums[place - 1] < sums[place] - goal
        # Every batch holds an item, and leaves one for each batch that follows.
        end = place if before else place + 1
        ends.append(min(max(end, ends[-1] + 1), len(costs) - parts + part))
    return [range(start, end) for start, end in pairwise([*ends, len(costs)]) if start < end]


def halve(
    batch: Batch, fits: Callable[[Batch], bool], halves: Callable[[Batch], Sequence[Batch]]
) -> Iterator[Batch]:
    """The batch, halved until every part fits.

    Args:
        batch: What is to be dealt.
        fits: Whether a part is within the budget.
        halves: The two halves of a part; none where it cannot be halved, and is left out.

    >>> list(halve("abcde", lambda part: len(part) < 3, lambda part: (part[:2], part[2:])))
    ['ab', 'cd', 'e']
    """
    if fits(batch):
        yield batch
        return
    for half in halves(batch):
        yield from halve(half, fits, halves)
