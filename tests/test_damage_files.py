"""No file, however damaged, ends a command in an exception: see `tests.helpers.damage_files`."""

from __future__ import annotations

import random

import pytest

from tests.helpers import damage_files
from tests.helpers.damage_files import PLACES, Bench

SEED = 20261201
MOST = {"query": 1, "scan": 3, "cache": 8, "evaluate": 8, "link": 4, "vote": 4}
"""Damaged files for one command in the suite; a query starts a process for each."""

NAMES = (
    *("csv", "tsv", "gz", "zst", "json", "jsonl", "duckdb", "parquet", "sqlite"),
    *("task", "knowledge", "video", "video without times", "questions", "questions lines"),
    *("schema", "sql", "rules", "history", "gold", "replies", "log"),
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return damage_files.bench(tmp_path_factory.mktemp("files"))


def test_every_kind_is_tried(bench: Bench) -> None:
    assert set(NAMES) == set(bench.kinds)


@pytest.mark.parametrize("name", NAMES)
def test_sound_files_are_read(bench: Bench, name: str) -> None:
    kind = bench.kinds[name]
    for command in kind.commands:
        assert not damage_files.fault(bench, kind, command, damage_files.put_bytes(kind.content))


@pytest.mark.parametrize("name", NAMES)
def test_damaged_files_are_told_and_never_a_fault(bench: Bench, name: str) -> None:
    kind = bench.kinds[name]
    for command in kind.commands:
        chance = random.Random(f"{SEED}{name}{command}")
        assert damage_files.trial(bench, kind, command, chance, MOST[command[0]]) == []


@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_file_is_told_and_never_a_fault(bench: Bench, name: str) -> None:
    kind = bench.kinds[name]
    for put in PLACES:
        for command in kind.commands[:1]:
            assert not damage_files.fault(bench, kind, command, put), put.__name__
