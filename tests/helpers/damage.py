"""Damaged lines, made at random from sound ones, and commands run on them in this process.

A command may refuse a damaged line or pass it on, with one line on stderr; it may not end in
an exception, nor call the damage a fault of its own. Run this file to look for longer than
the tests do: ``make fuzz``.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import io
import json
import os
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from stages.cli import status

FILE = "FILE"
"""Stands in a command for the damaged file; without it the command reads stdin."""

CHAIN = ("link", "plan", "prune", "summarize", "explore", "refine", "vote", "collapse", "describe", "prompt")  # fmt: skip
STAGES: tuple[tuple[str, ...], ...] = tuple((name, "--stale") for name in CHAIN)
VIEWS: tuple[tuple[str, ...], ...] = (
    ("show",),
    ("show", "--task", "t"),
    ("show", "--why", "staff"),
    ("show", FILE, "SOUND"),
    ("show", "SOUND", FILE),
)
OTHERS: tuple[tuple[str, ...], ...] = (
    ("prompt", "--text", "--stale"),
    ("describe", "--format", "json", "--columns", "superset", "--stale"),
    ("describe", "--format", "ddl", "--columns", "refined", "--stale"),
    ("describe", "--budget", "60", "--stale"),
    ("collapse", "--by", "link,prune", "--stale"),
    ("refine", "--apex", os.devnull, "--stale"),
    ("vote", "--model", "openai/x", "--dry-run", "--stale"),
    ("link", "--model", "openai/x", "--dump-prompt", "--stale"),
    ("prune", "--model", "openai/x", "--dump-prompt", "--stale"),
    ("summarize", "--model", "openai/x", "--dump-prompt", "--stale"),
    ("explore", "--model", "openai/x", "--dump-prompt", "--stale"),
    ("refine", "--model", "openai/x", "--dump-prompt", "--stale"),
    ("plan", "--model", "openai/x", "--dump-prompt", "--stale"),
    ("vote", "--retry-failed"),
    ("query", FILE, "\\tables"),
    ("query", FILE, "\\schema staff"),
    ("query", FILE, "SELECT name FROM staff LIMIT 1"),
    ("scaffold", FILE, "-o", "OUT"),
    ("evaluate", "linking", FILE, "--gold", "GOLD"),
)
COMMANDS = (*STAGES, *VIEWS, *OTHERS)

WRONG: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 10**19, "", "x", "\u0000\ud7ff\u202e", [], [None], ["x"], [[]], [{}], {}, {"x": None},
    {"x": {}}, {"": []},
)  # fmt: skip


@dataclass(frozen=True)
class Sound:
    """Sound lines with every section, and the folder that they are of."""

    folder: Path
    lines: tuple[bytes, ...]

    @property
    def task(self) -> Any:
        """The task line, decoded."""
        return json.loads(self.lines[-1])


def sound(folder: Path) -> Sound:
    """The whole chain over a small folder, with knowledge and a gold file beside it.

    Args:
        folder: Where everything is written.
    """
    data = folder / "t"
    context = data / "context"
    context.mkdir(parents=True)
    (context / "staff.csv").write_text(
        "id,name,dept_id,day\n1,Ann,1,2024-01-02\n2,Bo,2,2024-01-03\n"
    )
    (context / "dept.csv").write_text("dept_id,title\n1,Sales\n2,Law\n")
    (context / "log.json").write_text('[{"at": {"x": 1, "y": [2]}, "note": "a"}]')
    (context / "knowledge.md").write_text("# Staff\nA member of staff has a name.\n")
    (data / "task.json").write_text('{"task_id": "t", "question": "Which staff are in Sales?"}')
    lines = run(("scan", str(data)), b"", folder).out
    for name in CHAIN:
        done = run((name,), lines, folder)
        assert done.code == 0, (name, done.err)
        lines = done.out
    lines = _with_passages(lines)
    (folder / "sound.jsonl").write_bytes(lines)
    gold = {"id": "t", "gold_tables": ["staff"], "gold_columns": [["staff", "name"]]}
    (folder / "gold.jsonl").write_text(json.dumps(gold) + "\n")
    return Sound(folder, tuple(lines.splitlines()))


def _with_passages(lines: bytes) -> bytes:
    """The lines with the section ``prepare``, which no command of winnow's own makes."""
    *others, last = lines.splitlines()
    task = {
        **json.loads(last),
        "prepare": {"passages": ["of staff", {"text": "of Sales", "file": "a.md"}]},
    }
    return b"\n".join([*others, _dumped(task), b""])


@dataclass(frozen=True)
class Done:
    """How a command ended; ``trace`` is empty unless it was an exception."""

    code: int
    out: bytes
    err: str
    trace: str

    @property
    def fault(self) -> str:
        """What must not be; empty where all is well."""
        if self.trace:
            return self.trace
        if "a fault of winnow" in self.err or "Traceback" in self.err:
            return self.err
        return "" if self.code in (0, 1, 2, 3) else f"status {self.code}: {self.err}"


def run(command: Sequence[str], lines: bytes, folder: Path) -> Done:
    """Run a command in this process, with bytes in and out."""
    names = {FILE: "damaged.jsonl", "SOUND": "sound.jsonl", "GOLD": "gold.jsonl", "OUT": "out"}
    if FILE in command:
        (folder / names[FILE]).write_bytes(lines)
    argv = [str(folder / names[word]) if word in names else word for word in command]
    stdin, stdout, stderr = (io.TextIOWrapper(io.BytesIO(data)) for data in (lines, b"", b""))
    code, trace = 1, ""
    env = {"WINNOW_CACHE": str(folder / "cache"), "XDG_CACHE_HOME": str(folder / "home")}
    with (
        mock.patch.dict(os.environ, env),
        mock.patch.object(sys, "stdin", stdin),
        mock.patch("stages.core.signals.unwind"),  # it would take over this process's signals
        contextlib.redirect_stdout(stdout),
        contextlib.redirect_stderr(stderr),
    ):
        verbose = [] if command[0] in ("show", "evaluate", "scaffold", "cache") else ["--verbose"]
        try:
            code = status([argv[0], *argv[1:], *verbose])
        except BaseException:
            trace = traceback.format_exc()
    stdout.flush()
    stderr.flush()
    out, err = stdout.buffer.getvalue(), stderr.buffer.getvalue()  # type: ignore[attr-defined]
    return Done(code, out, err.decode(errors="replace"), trace)


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value but its root."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, item in inner:
        yield (*at, key)
        yield from paths(item, (*at, key))


def changed(record: Any, path: Sequence[Any], chance: random.Random) -> Any:
    """The record with something else at a place: another type, nothing, or a neighbour's value."""
    made = copy.deepcopy(record)
    holder = made
    for key in path[:-1]:
        holder = holder[key]
    key, kind = path[-1], chance.randrange(6)
    if kind == 0:
        del holder[key]
    elif kind == 1:
        holder[key] = copy.deepcopy(holder[chance.choice(_keys(holder))])
    elif kind == 2 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    elif kind == 2:
        holder[f"{key}x"] = holder.pop(key)
    else:
        holder[key] = copy.deepcopy(chance.choice(WRONG))
    return made


def _keys(holder: Any) -> list[Any]:
    return list(holder) if isinstance(holder, dict) else list(range(len(holder)))


def wrong_tasks(sound: Sound, chance: random.Random, most: int) -> list[bytes]:
    """Task lines with one wrong thing in each, ids apart, evenly over their places."""
    record = sound.task
    every = [path for path in paths(record) if path[0] not in ("kind", "v", "catalog")]
    chance.shuffle(every)
    found = []
    for number in range(most):
        made = changed(record, every[number % len(every)], chance)
        if made.get("task_id") == record["task_id"]:
            made["task_id"] = f"t{number}" if chance.random() < 0.9 else "t"
        found.append(_dumped(made))
    return found


def wrong_tables(sound: Sound, chance: random.Random) -> list[bytes]:
    """All lines, with one wrong thing in the catalog or a table."""
    lines = list(sound.lines)
    at = chance.randrange(len(lines) - 1)
    record = json.loads(lines[at])
    lines[at] = _dumped(changed(record, chance.choice(list(paths(record))), chance))
    return lines


def broken_bytes(sound: Sound, chance: random.Random) -> list[bytes]:
    """All lines, with bytes cut, flipped or moved, and lines doubled, swapped or left out."""
    lines = list(sound.lines)
    at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    line = lines[at]
    place = chance.randrange(len(line))
    kind = chance.randrange(8)
    if kind == 0:
        lines[at] = line[:place]
    elif kind == 1:
        lines[at] = line[:place] + bytes([chance.randrange(256)]) + line[place + 1 :]
    elif kind == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif kind == 3:
        lines.insert(other, line)
    elif kind == 4:
        del lines[at]
    elif kind == 5:
        lines[at] = line[:place] + line[place : place + 40] * 3 + line[place:]
    elif kind == 6:
        lines[at] = line[place:] + line[:place]
    else:
        lines[at] = line[:place] + lines[other][place:]
    return lines


def _dumped(record: Any) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode()


def culprit(
    command: Sequence[str], head: Sequence[bytes], tasks: Sequence[bytes], folder: Path
) -> str:
    """The fault of one command over many tasks, narrowed to a single one; empty without any."""
    fault = run(command, b"\n".join([*head, *tasks, b""]), folder).fault
    if not fault or len(tasks) == 1:
        return fault and f"{' '.join(command)}\n{tasks[0][:2000].decode(errors='replace')}\n{fault}"
    for half in (tasks[: len(tasks) // 2], tasks[len(tasks) // 2 :]):
        found = culprit(command, head, half, folder)
        if found:
            return found
    return f"{' '.join(command)}: only all together\n{fault}"


def trial(
    sound: Sound, chance: random.Random, commands: Sequence[Sequence[str]], tasks: int
) -> list[str]:
    """Faults of some commands on damaged lines of all kinds."""
    found = []
    wrong = wrong_tasks(sound, chance, tasks)
    files = [broken_bytes(sound, chance) for _ in range(2)] + [wrong_tables(sound, chance)]
    for command in commands:
        found.append(culprit(command, sound.lines[:-1], wrong, sound.folder))
        for lines in files:
            fault = run(command, b"\n".join([*lines, b""]), sound.folder).fault
            if fault:
                kept = sound.folder / f"fault{chance.randrange(10**9)}.jsonl"
                kept.write_bytes(b"\n".join([*lines, b""]))
                found.append(f"{' '.join(command)} < {kept}\n{fault}")
    return [fault for fault in found if fault]


def options(about: str | None) -> argparse.Namespace:
    """How long to look, from which seed, with how many damaged pieces at once."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--tasks", type=int, default=60)
    return parser.parse_args()


def main() -> None:
    """Look for faults for a while, and print them."""
    chosen = options(main.__doc__)
    chance, end, trials, seen = (
        random.Random(chosen.seed),
        time.monotonic() + chosen.seconds,
        0,
        set(),
    )
    base = sound(Path(tempfile.mkdtemp(prefix="winnow-damage-")))
    print(f"seed {chosen.seed}, in {base.folder}")
    while time.monotonic() < end:
        trials += 1
        for command in COMMANDS:
            for fault in trial(base, chance, [command], chosen.tasks):
                last = [line for line in fault.splitlines() if line.strip()][-1]
                if (command, last[:120]) not in seen:
                    seen.add((command, last[:120]))
                    print(f"{'-' * 78}\n{fault[-3500:]}")
            if time.monotonic() > end:
                break
    print(f"{trials} rounds, {len(seen)} faults")
    sys.exit(bool(seen))


if __name__ == "__main__":
    main()
