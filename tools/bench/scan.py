"""Time `winnow scan` as whole processes beside reading the same files whole.

    python tools/bench/scan.py [--small] [--csvs 1000] [--csv-mb 1000] [--json-mb 300]
                               [--sqlite-mb 200] [--only NAME]... [--keep DIR]

Makes the data in a temporary folder, runs each way once to warm the file cache and three
times for the median, and prints milliseconds by the clock and of processor time, peak memory
and the ratio to the first way.
Ways that need a package which is not installed are left out. It never fails: a way that
breaks is printed as such.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
RUNS = 3
TIMEOUT = 600
SCAN = [sys.executable, "-m", "stages", "scan", "--no-cache", "--quiet", "-o", os.devnull]

PANDAS_CSV = "import pandas, pathlib, sys\nfor p in sorted(pathlib.Path(sys.argv[1]).rglob('*.csv')): pandas.read_csv(p)"  # noqa: E501
PANDAS_JSON = "import pandas, sys\npandas.read_json(sys.argv[1], lines=sys.argv[1].endswith('l'))"
PANDAS_SQL = (
    "import pandas, sqlite3, sys\ncon = sqlite3.connect(sys.argv[1])\n"
    "for (n,) in con.execute(\"SELECT name FROM sqlite_master WHERE type = 'table'\").fetchall():"
    " pandas.read_sql(f'SELECT * FROM \"{n}\"', con)"
)
DUCKDB_CSV = (
    "import duckdb, pathlib, sys\n"
    "for p in sorted(pathlib.Path(sys.argv[1]).rglob('*.csv')):"
    " duckdb.connect().execute('CREATE TABLE t AS SELECT * FROM read_csv($p)', {'p': "
    "str(p)}).fetchall()"
)
DUCKDB_JSON = (
    "import duckdb, sys\nduckdb.connect().execute('CREATE TABLE t AS SELECT * FROM read_json($p, "
    "maximum_object_size=1000000000)', {'p': sys.argv[1]}).fetchall()"
)
STDLIB_CSV = (
    "import collections, csv, pathlib, sys\n"
    "for p in sorted(pathlib.Path(sys.argv[1]).rglob('*.csv')):"
    " collections.deque(csv.reader(open(p, newline='')), maxlen=0)"
)
STDLIB_JSON = "import json, sys\nf = open(sys.argv[1])\nlist(map(json.loads, f)) if sys.argv[1].endswith('l') else json.load(f)"  # noqa: E501
STDLIB_SQL = (
    "import sqlite3, sys\ncon = sqlite3.connect(sys.argv[1])\n"
    "for (n,) in con.execute(\"SELECT name FROM sqlite_master WHERE type = 'table'\").fetchall():"
    " list(con.execute(f'SELECT * FROM \"{n}\"'))"
)


@dataclass(frozen=True)
class Case:
    """One kind of data, how it is made, and the ways to read it."""

    name: str
    make: Callable[[Path], Path]
    others: dict[str, tuple[str | None, str]]
    files: int = 1


def csvs(folder: Path, count: int, rows: int = 200, columns: int = 20) -> Path:
    """``count`` CSVs of 20 columns and 200 rows."""
    root = folder / "csvs"
    root.mkdir(exist_ok=True)
    draw = random.Random(1)
    head = ",".join(f"col_{i}" for i in range(columns))
    for number in range(count):
        lines = [head, *(",".join(_cell(draw, i) for i in range(columns)) for _ in range(rows))]
        (root / f"table_{number}.csv").write_text("\n".join(lines) + "\n", "utf-8")
    return root


def _cell(draw: random.Random, column: int) -> str:
    kinds = (
        lambda: str(draw.randrange(10**6)),
        lambda: f"{draw.random():.4f}",
        lambda: f"name {draw.randrange(999)}",
    )
    return kinds[column % 3]()


def large_csv(folder: Path, megabytes: int) -> Path:
    """One CSV of that size, in a folder of its own."""
    root = folder / "large"
    root.mkdir(exist_ok=True)
    draw = random.Random(2)
    block = "".join(
        ",".join(_cell(draw, i) for i in range(20)) + "\n" for _ in range(5_000)
    ).encode()
    with open(root / "large.csv", "wb") as out:
        out.write((",".join(f"col_{i}" for i in range(20)) + "\n").encode())
        for _ in range(max(1, megabytes * 1_000_000 // len(block))):
            out.write(block)
    return root


def large_json(folder: Path, megabytes: int, shape: str) -> Path:
    """JSON of that size: ``array``, ``wrapped`` ({"table", "records"}), ``lines`` or ``nested``."""
    path = folder / f"{shape}.{'jsonl' if shape == 'lines' else 'json'}"
    draw = random.Random(3)
    block = [_record(draw, i, nested=shape == "nested") for i in range(2_000)]
    comma, head, tail = ("\n", "", "\n") if shape == "lines" else (",\n", "[", "]")
    if shape == "wrapped":
        head, tail = '{"table": "t", "records": [', "]}"
    text = comma.join(json.dumps(record) for record in block).encode()
    with open(path, "wb") as out:
        out.write(head.encode())
        for number in range(max(1, megabytes * 1_000_000 // len(text))):
            out.write((comma.encode() if number else b"") + text)
        out.write(tail.encode())
    return path


def _record(draw: random.Random, number: int, *, nested: bool) -> dict[str, object]:
    record: dict[str, object] = {f"field_{i}": _cell(draw, i) for i in range(8)} | {"id": number}
    if nested:
        record["address"] = {
            "city": f"city {number % 50}",
            "geo": {"lat": draw.random(), "lon": draw.random()},
        }
        record["tags"] = [{"k": "a", "v": i} for i in range(number % 4)]
    return record


def large_sqlite(folder: Path, megabytes: int) -> Path:
    """One SQLite file of that size with eight tables."""
    path = folder / "large.sqlite"
    path.unlink(missing_ok=True)
    draw = random.Random(4)
    columns = ", ".join(f"c{i} {('INTEGER', 'REAL', 'TEXT')[i % 3]}" for i in range(12))
    block = [tuple(_cell(draw, i) for i in range(12)) for _ in range(5_000)]
    with sqlite3.connect(path) as con:
        for table in range(8):
            con.execute(f"CREATE TABLE t{table} (id INTEGER PRIMARY KEY, {columns})")
            while path.stat().st_size < (table + 1) * megabytes * 1_000_000 // 8:
                con.executemany(f"INSERT INTO t{table} VALUES (NULL, {', '.join('?' * 12)})", block)
                con.commit()
    con.close()
    return path


def cases(args: argparse.Namespace) -> Iterator[Case]:
    """Every kind of data, in the sizes asked for."""
    csv_ways = {
        "duckdb": ("duckdb", DUCKDB_CSV),
        "pandas": ("pandas", PANDAS_CSV),
        "csv module": (None, STDLIB_CSV),
    }
    json_ways = {
        "duckdb": ("duckdb", DUCKDB_JSON),
        "pandas": ("pandas", PANDAS_JSON),
        "json module": (None, STDLIB_JSON),
    }
    yield Case(f"{args.csvs} CSVs of 20 x 200", lambda f: csvs(f, args.csvs), csv_ways, args.csvs)
    yield Case(f"CSV of {args.csv_mb} MB", lambda f: large_csv(f, args.csv_mb), csv_ways)
    for shape in ("array", "wrapped", "lines", "nested"):
        make = partial(large_json, megabytes=args.json_mb, shape=shape)
        yield Case(f"JSON {shape} of {args.json_mb} MB", make, json_ways)
    sql_ways = {"sqlite3": (None, STDLIB_SQL), "pandas": ("pandas", PANDAS_SQL)}
    yield Case(
        f"SQLite of {args.sqlite_mb} MB", lambda f: large_sqlite(f, args.sqlite_mb), sql_ways
    )


Measure = tuple[float, float, float]
"""Seconds by the clock, peak megabytes, seconds of processor time."""


def run(command: list[str]) -> Measure | str:
    """What one process took, or why it broke."""
    waiter = (
        "import resource, subprocess, sys, time\nt = time.perf_counter()\n"
        "code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, "
        "stderr=subprocess.DEVNULL).returncode\n"
        "wall, use = time.perf_counter() - t, resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(code, wall, use.ru_maxrss, use.ru_utime + use.ru_stime)"
    )
    env = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    try:
        done = subprocess.run(
            [sys.executable, "-c", waiter, *command],
            capture_output=True,
            text=True,
            env=env,
            timeout=TIMEOUT,
        )
        code, seconds, kilobytes, busy = done.stdout.split()
    except (subprocess.TimeoutExpired, ValueError) as error:
        return f"broke: {type(error).__name__}"
    return (
        (float(seconds), int(kilobytes) / 1024, float(busy))
        if code == "0"
        else f"broke with status {code}"
    )


def measure(command: list[str], runs: int) -> Measure | str:
    """Medians of the seconds and greatest peak of some runs after one to warm up."""
    found = [run(command) for _ in range(runs + 1)][1:]
    broken = [result for result in found if isinstance(result, str)]
    if broken:
        return broken[0]
    good = [result for result in found if not isinstance(result, str)]
    seconds, megabytes, busy = zip(*good, strict=True)
    return statistics.median(seconds), max(megabytes), statistics.median(busy)


def show(name: str, result: Measure | str, base: float | None, files: int) -> float | None:
    """Print one line; the seconds where there are any."""
    if isinstance(result, str):
        print(f"  {name:<26}{result}", flush=True)
        return None
    seconds, megabytes, busy = result
    each = f"{seconds * 1000 / files:6.2f} ms a file" if files > 1 else ""
    ratio = f"{seconds / base:6.1f} x" if base else "        "
    print(
        f"  {name:<26}{seconds * 1000:9.0f} ms {busy * 1000:9.0f} ms cpu {megabytes:7.0f} MB "
        f"{ratio} {each}",
        flush=True,
    )
    return seconds


def bench(case: Case, folder: Path) -> None:
    """Make the data of one case, and time every way to read it."""
    started = time.perf_counter()
    path = case.make(folder)
    print(f"{case.name} (made in {time.perf_counter() - started:.0f} s)", flush=True)
    base = show("winnow scan", measure([*SCAN, str(path)], RUNS), None, case.files)
    show("winnow scan --exact", measure([*SCAN, "--exact", str(path)], 1), base, case.files)
    for name, (package, code) in case.others.items():
        if package and find_spec(package) is None:
            print(f"  {name:<26}not installed")
            continue
        show(
            f"{name}, read whole",
            measure([sys.executable, "-c", code, str(path)], 1),
            base,
            case.files,
        )


def main() -> int:
    """Run what the options name; always status 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--csvs", type=int, default=1000)
    parser.add_argument("--csv-mb", type=int, default=1000)
    parser.add_argument("--json-mb", type=int, default=300)
    parser.add_argument("--sqlite-mb", type=int, default=200)
    parser.add_argument(
        "--small", action="store_true", help="a hundredth of everything, to try the tool itself"
    )
    parser.add_argument(
        "--only", action="append", default=[], help="cases whose name holds this word"
    )
    parser.add_argument("--keep", help="folder for the data, instead of one that is removed")
    args = parser.parse_args()
    if args.small:
        args.csvs, args.csv_mb, args.json_mb, args.sqlite_mb = 10, 10, 3, 2
    with tempfile.TemporaryDirectory(prefix="winnow-bench-") as temporary:
        folder = Path(args.keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for case in cases(args):
            if args.only and not any(word.lower() in case.name.lower() for word in args.only):
                continue
            try:
                bench(case, folder)
            except Exception as error:
                print(f"  {case.name}: {type(error).__name__}: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
