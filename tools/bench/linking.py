"""Measure table linking: winnow beside plain BM25 and schemagate, on the same questions.

    python tools/bench/linking.py --data ../shared/data [--sets NAME,…] [--limit N] [--floor]

Every contender sees the same catalogs (names, natural names, descriptions, keys, example
values) and the same text (question and evidence). Counted is strict table recall at k: the
share of questions all of whose gold tables are among the first k. schemagate also adds
tables along foreign keys beyond k; what that brings stands in a row of its own, with the
number of tables it took. It is installed from the package index into an environment of its
own under .bench/; where that fails, it is left out, and the output says so.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from stages.core.judge import judge
from stages.core.records import Table
from tools.bench.bm25 import Bm25, strict
from tools.bench.data import Case, Data

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / ".bench" / "schemagate"
KS = (1, 3, 5, 10, 20)
SETS = ("spider-dev", "cspider-dev", "bird-train", "snails-native", "spider2-lite", "spider-union")
FLOOR = {
    "spider-dev": (49, 93, 99, 100, 100),
    "cspider-dev": (20, 73, 91, 100, 100),
    "bird-train": (19, 74, 90, 97, 100),
    "snails-native": (26, 50, 62, 77, 86),
    "spider2-lite": (15, 38, 51, 69, 81),
    "spider-union": (18, 38, 52, 61, 70),
}
"""What plain BM25 has to come to on all questions, in percent at `KS`, within 1.2 points."""


@dataclass
class Row:
    """One contender on one set.

    Attributes:
        hits: Questions with all gold tables, by k.
        tables: Tables chosen at each k, summed over questions.
        seconds: Spent on answering; making indexes is not counted.
    """

    name: str
    n: int = 0
    hits: dict[int, int] = field(default_factory=lambda: dict.fromkeys(KS, 0))
    tables: dict[int, int] = field(default_factory=lambda: dict.fromkeys(KS, 0))
    seconds: float = 0.0

    def add(self, chosen: Mapping[int, Sequence[str]], gold: Iterable[str], seconds: float) -> None:
        """Count one question."""
        wanted = list(gold)
        self.n += 1
        self.seconds += seconds
        for k in KS:
            self.hits[k] += strict(chosen[k], wanted, len(chosen[k]))
            self.tables[k] += len(chosen[k])

    def percent(self, k: int) -> float:
        """Strict table recall at ``k``."""
        return 100 * self.hits[k] / self.n if self.n else 0.0


Answer = tuple[str, Mapping[int, Sequence[str]], float]
Contender = Callable[[Case], Iterable[Answer]]


def asked(case: Case) -> str:
    """The text that every contender is given."""
    return f"{case.task['question']} {case.task.get('evidence', '')}".strip()


def by_bm25(tables: Sequence[Table]) -> Contender:
    """Plain BM25 over one catalog."""
    index = Bm25(tables)

    def answer(case: Case) -> Iterator[Answer]:
        begun = time.perf_counter()
        ranked = index.rank(asked(case))
        yield "BM25", {k: ranked[:k] for k in KS}, time.perf_counter() - begun

    return answer


def by_winnow(tables: Sequence[Table]) -> Contender:
    """The built-in judge over one catalog; its index is made by a first question."""
    judge({"kind": "task", "task_id": "warm", "question": "warm up"}, tables)

    def answer(case: Case) -> Iterator[Answer]:
        begun = time.perf_counter()
        ranked = [table.name for table in judge(case.task, tables).tables]
        yield "winnow", {k: ranked[:k] for k in KS}, time.perf_counter() - begun

    return answer


class Schemagate:
    """schemagate in a process of its own environment."""

    def __init__(self) -> None:
        python = installed()
        script = str(Path(__file__).with_name("schemagate.py"))
        self.process = subprocess.Popen(
            [str(python), script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def over(self, tables: Sequence[Table]) -> Contender:
        """schemagate over one catalog."""
        self._say({"catalog": list(tables)})
        return self._answer

    def _answer(self, case: Case) -> Iterator[Answer]:
        self._say({"question": asked(case), "ks": KS})
        assert self.process.stdout is not None
        reply = json.loads(self.process.stdout.readline())
        chosen = {int(k): pair for k, pair in reply["chosen"].items()}
        yield "schemagate", {k: own for k, (own, _) in chosen.items()}, reply["seconds"]
        with_keys = {k: [*own, *more] for k, (own, more) in chosen.items()}
        yield "schemagate with its keys", with_keys, reply["seconds"]

    def _say(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def close(self) -> None:
        """End the process."""
        self.process.communicate()


def installed() -> Path:
    """The Python of the environment that has schemagate, made where there is none.

    Raises:
        subprocess.CalledProcessError: It cannot be installed.
    """
    python = HOME / "bin" / "python"
    if not python.exists():
        venv.create(HOME, with_pip=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.run(
        [str(python), "-c", "import schemagate"], capture_output=True, check=False
    ).returncode:
        subprocess.run([*pip, "schemagate"], check=True)
    return python


def measured(
    data: Data, name: str, limit: int | None, gate: Schemagate | None, floor: bool
) -> list[Row]:
    """All contenders on one set, catalog by catalog."""
    rows: dict[str, Row] = {}
    cases = data.cases(name)
    if limit is not None and limit < len(cases):
        cases = random.Random(1).sample(cases, limit)
    cases.sort(key=lambda case: case.db)
    for db, group in groupby(cases, key=lambda case: case.db):
        found = list(group)
        tables = data.tables_of(found[0])
        makers = [by_bm25] if floor else [by_bm25, by_winnow, *([gate.over] if gate else [])]
        for contender in [make(tables) for make in makers]:
            for case in found:
                for who, chosen, seconds in contender(case):
                    rows.setdefault(who, Row(who)).add(chosen, case.gold, seconds)
        progress(f"{name}: {db}")
    return list(rows.values())


def progress(text: str) -> None:
    """One line on a terminal, written over again and again; nothing elsewhere."""
    if sys.stderr.isatty():
        print(f"\r{text.ljust(78)}\r", end="", file=sys.stderr, flush=True)


def table(name: str, rows: Sequence[Row]) -> Iterator[str]:
    """Markdown rows of one set."""
    for row in rows:
        recalls = " | ".join(f"{row.percent(k):.1f}" for k in KS)
        spent = 1000 * row.seconds / row.n if row.n else 0.0
        counts = f"{row.tables[5] / row.n:.1f} | {row.tables[20] / row.n:.1f}" if row.n else " | "
        yield f"| {name} | {row.n} | {row.name} | {recalls} | {counts} | {spent:.1f} |"


def off_floor(name: str, rows: Sequence[Row]) -> list[str]:
    """Where BM25 does not come to the reference floor."""
    bm25 = next(row for row in rows if row.name == "BM25")
    pairs = zip(KS, FLOOR.get(name, ()), strict=False)
    return [
        f"{name} at {k}: {bm25.percent(k):.1f}, reference {wanted}"
        for k, wanted in pairs
        if abs(bm25.percent(k) - wanted) > 1.2
    ]


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of benchmark data")
    parser.add_argument("--sets", default=",".join(SETS), help="of INDEX.json in the data")
    parser.add_argument(
        "--limit", type=int, default=200, help="questions a set, drawn once; 0 is all"
    )
    parser.add_argument(
        "--floor", action="store_true", help="BM25 alone, against the reference floor"
    )
    parser.add_argument("--without-schemagate", action="store_true")
    given = parser.parse_args()
    try:
        known = json.loads((given.data / "INDEX.json").read_bytes())
    except OSError as error:
        parser.error(f"--data: {error}")
    unknown = [name for name in given.sets.split(",") if name not in known]
    if unknown:
        parser.error(f"--sets: no {', '.join(unknown)}; there are {', '.join(known)}")
    if given.limit < 0:
        parser.error("--limit: 0 is all, less is nothing")
    return given


def main() -> int:
    """Print the table; 1 where a full run of BM25 is off the reference floor."""
    given = options()
    limit = None if given.floor or given.limit == 0 else given.limit
    gate, missing = opened(given.floor or given.without_schemagate)
    data, wrong = Data(given.data), []
    print(
        "| set | questions | contender | "
        + " | ".join(f"at {k}" for k in KS)
        + " | tables at 5 | at 20 | ms |"
    )
    print("|---|---:|---|" + "---:|" * (len(KS) + 3))
    for name in given.sets.split(","):
        rows = measured(data, name, limit, gate, given.floor)
        progress("")
        print("\n".join(table(name, rows)), flush=True)
        wrong += off_floor(name, rows) if limit is None else []
    if gate:
        gate.close()
    print("\nstrict table recall in percent at k; ms a question without making the index.")
    print(
        "winnow: the weights as shipped, which may have seen these databases in training; "
        "tools/train/evaluate.py measures unseen ones."
    )
    if missing:
        print(f"schemagate is left out: {missing}")
    for line in wrong:
        print(f"off the floor: {line}")
    return 1 if wrong else 0


def opened(skip: bool) -> tuple[Schemagate | None, str]:
    """schemagate ready to be asked, or why it is not."""
    if skip:
        return None, ""
    try:
        return Schemagate(), ""
    except (OSError, subprocess.CalledProcessError) as error:
        return None, f"it could not be installed ({error})"


if __name__ == "__main__":
    sys.exit(main())
