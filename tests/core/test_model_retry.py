"""Waiting, and stopping."""

from __future__ import annotations

import random
from email.utils import formatdate

import pytest

from stages.core.model.sender import LONGEST, Circuit, backoff, retry_after


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "12"}, 12.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "tomorrow"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": formatdate(1000, usegmt=True)}, 100.0),
        ({"retry-after": formatdate(100, usegmt=True)}, 0.0),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers, now=900) == seconds


@pytest.mark.parametrize(
    ("attempt", "most"), [(1, 0.5), (2, 1.0), (4, 4.0), (9, LONGEST), (99, LONGEST)]
)
def test_a_wait_is_drawn_from_the_whole_of_a_growing_range(attempt: int, most: float) -> None:
    waits = [backoff(attempt, 0.5, random.Random(seed)) for seed in range(500)]
    assert 0 <= min(waits) < most * 0.1
    assert most * 0.9 < max(waits) <= most


def test_the_circuit_opens_after_a_row_of_failures_and_says_why() -> None:
    circuit = Circuit(3)
    for _ in range(2):
        circuit.failed("refused", of_the_request=False)
    circuit.passed()
    for _ in range(2):
        circuit.failed("refused", of_the_request=False)
    assert not circuit.reason
    circuit.failed("no key", of_the_request=False)
    assert circuit.reason == "no key"


def test_requests_that_are_too_long_do_not_stop_those_that_are_not() -> None:
    circuit = Circuit(3)
    circuit.passed()
    for _ in range(50):
        circuit.failed("too long", of_the_request=True)
    assert not circuit.reason


def test_a_setting_that_is_wrong_for_all_requests_stops_them() -> None:
    circuit = Circuit(3)
    for _ in range(3):
        circuit.failed("no such parameter", of_the_request=True)
    assert circuit.reason == "no such parameter"
