"""No input, however damaged, ends a command in an exception: see `tests.helpers.damage`."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests.helpers import damage
from tests.helpers.damage import COMMANDS, FILE, Sound
from tests.helpers.tools import run

SEED = 20261130


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Sound:
    return damage.sound(tmp_path_factory.mktemp("damage"))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_damaged_lines_are_told_and_never_a_fault(sound: Sound, command: tuple[str, ...]) -> None:
    chance = random.Random(f"{SEED}{command}")
    assert damage.trial(sound, chance, [command], tasks=40) == []


BROKEN = [
    ("link", {"tables": [1]}, "link.tables"),
    ("explore", {"table_judgments": []}, "explore.table_judgments"),
    ("vote", 5, "vote: 5 is not of type 'object'"),
    ("collapse", {"shown": None}, "collapse.shown"),
]


@pytest.mark.parametrize(("name", "value", "told"), BROKEN)
@pytest.mark.parametrize("command", [("show",), ("show", "--why", "staff"), ("show", FILE, FILE)])
def test_show_tells_a_broken_section_and_shows_the_rest(
    sound: Sound, command: tuple[str, ...], name: str, value: object, told: str
) -> None:
    task = sound.task
    old = task[name]
    task[name] = {**old, **value} if isinstance(value, dict) else value
    lines = b"\n".join([*sound.lines[:-1], json.dumps(task).encode(), b""])
    done = damage.run(command, lines, sound.folder)
    assert done.code == 1
    assert told in done.err
    assert f"rerun `winnow {name}`" in done.err
    assert done.out


def test_a_broken_meta_costs_the_meta_alone(sound: Sound) -> None:
    task = sound.task
    task["vote"]["meta"] = {**task["vote"]["meta"], "usd": "much"}
    lines = b"\n".join([*sound.lines[:-1], json.dumps(task).encode(), b""])
    done = damage.run(("show",), lines, sound.folder)
    assert "vote.meta.usd" in done.err
    assert b"vote" in done.out


def test_as_a_process_too(sound: Sound, tmp_path: Path) -> None:
    task = sound.task
    task["link"]["tables"] = [None]
    lines = b"\n".join([*sound.lines[:-1], json.dumps(task).encode(), b""])
    done = run("show", stdin=lines)
    assert done.status == 1
    assert "Traceback" not in done.err
