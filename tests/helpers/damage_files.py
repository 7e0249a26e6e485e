"""Damaged files that are no lines: data, task folders, schemas, and all that options name.

As `tests.helpers.damage` does with lines: a command may refuse such a file or read what it can of it,
each in one line on stderr; it may not end in an exception, nor call the damage its own fault.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import zstandard

from tests.helpers import damage
from tests.helpers.damage import FILE

DATA = "context/{}"
"""Where data files lie in a task folder."""

CSV = b'id;name;share;day\n1;Ann;0,5;2024-01-02\n2;B\xc3\xb6;1,25;2024-01-03\n3;"C; ""D""";;\n'
RULES = b"""- name: pay
  when: {words: [staff, pay], regex: "per (share|unit)"}
  add: {tables: [staff], columns: {staff: [name]}}
- when: {words: [law]}
  forbid: {tables: [dept]}
"""
DDL = b"""CREATE TABLE dept (id INT PRIMARY KEY, title VARCHAR(20) NOT NULL COMMENT 'of it');
CREATE TABLE staff (id INT, dept INT REFERENCES dept(id), pay DECIMAL(10,2) DEFAULT 0.5,
  CONSTRAINT k PRIMARY KEY (id), CHECK (pay > 0)) PARTITION BY RANGE (id);
COPY dept FROM stdin;
1\tSales
\\.
ALTER TABLE staff ADD COLUMN day DATE; INSERT INTO dept VALUES (1, 'a;b'), (2, NULL);
"""
HISTORY = b"""SELECT s.name FROM staff s JOIN dept d ON s.dept_id = d.dept_id WHERE d.title = 'Law';
SELECT COUNT(*) FROM staff; -- how many
"""
SCHEMA = {
    "db_id": "firm", "dialect": "sqlite",
    "tables": [
        {"name": "dept", "nl_name": "Department", "description": "of them", "family": 1, "primary_key": ["id"],
         "columns": [{"name": "id", "type": "INT", "nullable": False, "samples": [1, None, "x"]}]},
        {"name": "staff", "columns": [
            {"name": "dept", "type": "INT", "nl_name": "of", "description": "d", "samples": ["1"]},
            {"name": "at", "type": "STRUCT", "fields": ["x", {"name": "y", "type": "INT", "description": "z"}]}],
         "foreign_keys": [{"columns": ["dept"], "ref_table": "dept", "ref_columns": ["id"]}]},
    ],
}  # fmt: skip
ROWS = [
    {"at": {"x": 1, "y": [2, {"z": "a"}]}, "note": "a", "day": "2024-01-02"},
    {"at": {"x": 1.5, "y": []}, "note": None, "day": "2024-01-03"},
]
VIDEO = {
    "timeline": [{"type": "frame", "t_start": 0.5, "path": "f1.png", "hiccup": ["div", {"box": [1, 2]}, ["p", "Total 5"]]},
                 {"type": "speech", "t_start": 1.0, "t_end": 2.0, "text": "five of them"}],
    "hiccup": {"a/f1.png": ["div", {}, "Total 5"], "f2.png": ["p", ["b", "x"], 1]},
    "frames": [{"path": "f2.png", "burst_start": 0.0}],
    "transcript": {"text": "five", "segments": [
        {"text": "five of", "start": 1.0, "end": 2.0, "words": [{"word": "five", "start": 1.0, "end": 1.5}]}]},
}  # fmt: skip
UNTIMED = {key: value for key, value in VIDEO.items() if key != "timeline"}
QUESTIONS = [
    {
        "id": 1,
        "question": "Which staff?",
        "evidence": "none",
        "db_id": "firm",
        "difficulty": "easy",
    },
    {"question_id": "2", "question": "Which dept?", "query": "SELECT 1", "query_toks": ["x"]},
]
GOLD = [
    {"id": "t", "db_id": "t", "gold_tables": ["staff"], "gold_columns": [["staff", "name"]]},
    {"id": "u", "gold_tables": ["dept"], "gold_columns": None},
]
KEPT = [
    {
        "request": {"model": "openai/x", "messages": [{"role": "user", "content": "q"}], "n": 1,
                    "response_format": {"type": "json_schema", "json_schema": {"schema": {}}}},
        "reply": {"text": "{}", "finish_reason": "stop", "input_tokens": 3, "output_tokens": 1},
    }
]  # fmt: skip
LOG = [{"task": "t", "stage": "vote", "request": "sha256:0123", "sent": 1, "usd": 0.5}]


@dataclass(frozen=True)
class Kind:
    """A kind of file: where it lies in a folder, what it holds, and who reads it.

    ``value`` stands where the content is JSON, whose places can then be made wrong; ``lines``
    says that each item of it has a line.
    """

    place: str
    content: bytes
    commands: tuple[tuple[str, ...], ...]
    value: Any = None
    lines: bool = False


SCAN = ("scan", "FOLDER", "--no-cache")
QUERY = ("query", FILE, "SELECT * FROM t")
"""Whatever the table is called: where it is not found, its file was read all the same."""


def kinds(folder: Path) -> dict[str, Kind]:
    """Every kind of file, sound.

    Args:
        folder: Where databases are made.
    """
    made = {
        "csv": Kind(DATA.format("t.csv"), CSV, (SCAN, QUERY)),
        "tsv": Kind(DATA.format("t.tsv"), CSV.replace(b";", b"\t"), (SCAN,)),
        "gz": Kind(DATA.format("t.csv.gz"), gzip.compress(CSV, mtime=0), (SCAN, QUERY)),
        "zst": Kind(DATA.format("t.csv.zst"), zstandard.compress(CSV), (SCAN, QUERY)),
        "knowledge": Kind(DATA.format("knowledge.md"), b"# Staff\r\n| a | b |\n|---|---|\n", (SCAN,)),
        "sql": Kind("shop.sql", DDL, (("scan", "--catalog", FILE), ("scan", FILE))),
        "rules": Kind("rules.yaml", RULES, (("link", "SOUND", "--rules", FILE),)),
        "history": Kind("past.sql", HISTORY, (("link", "SOUND", "--history", FILE),)),
    }  # fmt: skip
    made |= {name: _json(*given) for name, given in _VALUES.items()}
    made |= {
        name: Kind(DATA.format(f"t.{name}"), raw, (SCAN, QUERY)) for name, raw in _binary(folder)
    }
    return made


_CACHES = (
    ("cache", "ls", "--cache", FILE), ("cache", "show", "sha256", "--cache", FILE), ("cache", "stats", "--cache", FILE),
    ("cache", "export", "--cache", FILE), ("vote", "SOUND", "--stale", "--model", "openai/x", "--cache", FILE, "--offline"),
)  # fmt: skip
_VALUES: dict[str, tuple[str, Any, bool, tuple[tuple[str, ...], ...]]] = {
    "json": (DATA.format("t.json"), ROWS, False, (SCAN, QUERY)),
    "jsonl": (DATA.format("t.jsonl"), ROWS, True, (SCAN, QUERY)),
    "task": ("task.json", {"task_id": "t", "question": "Which?", "difficulty": "easy", "evidence": ["a"]}, False, (SCAN,)),
    "video": ("video_input.json", VIDEO, False, (SCAN,)),
    "video without times": ("workdir/video_input.json", UNTIMED, False, (SCAN,)),
    "schema": ("firm.json", SCHEMA, False, (("scan", "--catalog", FILE),)),
    "questions": ("asked.json", QUESTIONS, False, (("scan", "SMALL", "--questions", FILE),)),
    "questions lines": ("asked.jsonl", QUESTIONS, True, (("scan", "SMALL", "--questions", FILE),)),
    "gold": ("gold.jsonl", GOLD, True, (("evaluate", "linking", "SOUND", "--gold", FILE),)),
    "replies": ("kept.jsonl", KEPT, True, _CACHES),
    "log": ("log.jsonl", LOG, True, (("cache", "ls", "--cache", "REPLIES", "--log", FILE),)),
}  # fmt: skip


def _json(place: str, value: Any, lines: bool, commands: tuple[tuple[str, ...], ...]) -> Kind:
    return Kind(place, written(value, lines), commands, value, lines)


def written(value: Any, lines: bool) -> bytes:
    """The value as a file holds it."""
    if lines and isinstance(value, list):
        return b"".join(json.dumps(item).encode() + b"\n" for item in value)
    return json.dumps(value).encode()


def _binary(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Files of databases and Parquet."""
    rows = "SELECT i AS id, 'n' || i AS name, i / 7 AS share, {'x': [i]} AS at, DATE '2024-01-02' + i::INT AS day FROM range(40) r(i)"
    with closing(duckdb.connect(str(folder / "t.duckdb"))) as con:
        con.execute(f"CREATE TABLE t AS {rows}")
        con.execute("CREATE VIEW v AS SELECT id FROM t; CREATE TABLE u (id INTEGER PRIMARY KEY)")
        con.execute(f"COPY t TO '{folder / 't.parquet'}' (FORMAT parquet)")
    with closing(sqlite3.connect(folder / "t.sqlite")) as base:
        base.executescript(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, share REAL, raw BLOB);"
            "CREATE VIEW v AS SELECT id, name FROM t; CREATE INDEX i ON t (name);"
            "CREATE TABLE u (id INT PRIMARY KEY, t INT REFERENCES t(id)) WITHOUT ROWID;"
            "CREATE VIRTUAL TABLE f USING fts5(words);"
        )
        base.executemany(
            "INSERT INTO t VALUES (?, ?, ?, ?)", [(i, f"n{i}", i / 7, b"\xff") for i in range(90)]
        )
        base.execute("INSERT INTO f VALUES ('of them')")
        base.commit()
    for name in ("duckdb", "parquet", "sqlite"):
        yield name, (folder / f"t.{name}").read_bytes()


def mangled(raw: bytes, chance: random.Random) -> bytes:
    """The bytes with a piece cut, flipped, moved, doubled or left out."""
    if not raw:
        return raw
    at, other = sorted((chance.randrange(len(raw)), chance.randrange(len(raw))))
    piece = raw[at : at + chance.choice((1, 8, 200))]
    made: Sequence[Callable[[], bytes]] = (
        lambda: raw[:at],
        lambda: raw[at:],
        lambda: _flipped(raw, chance, 1),
        lambda: _flipped(raw, chance, 1),
        lambda: _flipped(raw, chance, chance.choice((3, 30))),
        lambda: _flipped(raw[:120], chance, 2) + raw[120:],
        lambda: raw[:other] + piece + raw[other:],
        lambda: raw[:at] + raw[at + len(piece) :],
        lambda: raw[other:] + raw[:other],
        lambda: raw + raw,
        lambda: raw[:at] + chance.choice(STRANGE) + raw[at:],
        lambda: _words_moved(raw, chance),
        lambda: _words_moved(raw, chance),
        lambda: raw.replace(piece[:1], chance.choice(STRANGE)),
    )
    return chance.choice(made)()


STRANGE = (
    b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b'"', b"'", b"\n", b"\r", b"\\", b"{", b"[" * 3000, b"}", b"(", b"\xed\xa0\x80",
    b"\\ud800", b"/*", b"--", b"$$", b"%", b"1e999", b"NaN", b"&a ", b"*a ", b"!!int ", b"9" * 400, b";", b",", b"\x1b[2J",
)  # fmt: skip


def _flipped(raw: bytes, chance: random.Random, times: int) -> bytes:
    made = bytearray(raw)
    for _ in range(times if made else 0):
        made[chance.randrange(len(made))] = chance.randrange(256)
    return bytes(made)


def _words_moved(raw: bytes, chance: random.Random) -> bytes:
    """The bytes with a few words or marks left out, doubled or swapped, where there are any."""
    words = re.findall(rb"\w+|\s+|[^\w\s]", raw[:4000])
    for _ in range(chance.choice((1, 2, 5)) if words else 0):
        at, other, kind = (
            chance.randrange(len(words)),
            chance.randrange(len(words)),
            chance.random(),
        )
        if kind < 0.5:
            words[at] = b""
        elif kind < 0.7:
            words[at] *= 2
        else:
            words[at], words[other] = words[other], words[at]
    return b"".join(words) + raw[4000:]


def wrong(kind: Kind, chance: random.Random) -> bytes:
    """The JSON of a kind with something else at one place, or as a whole."""
    every = list(damage.paths(kind.value))
    if chance.random() < 0.05:
        return written(
            chance.choice([*damage.WRONG, [kind.value], {"data": kind.value}]), kind.lines
        )
    return written(damage.changed(kind.value, chance.choice(every), chance), kind.lines)


def put_bytes(raw: bytes) -> Callable[[Path], None]:
    """Puts a file with these bytes."""

    def put(path: Path) -> None:
        path.write_bytes(raw)

    return put


def put_nested(path: Path) -> None:
    """A folder with a file of the same name in it, where a file was."""
    path.mkdir()
    (path / path.name).write_bytes(b"x")


def put_loop(path: Path) -> None:
    """A link to itself."""
    path.symlink_to(path.name)


def put_fault(path: Path) -> None:
    """A file that opens, and whose first byte the system does not give, not even to root."""
    path.symlink_to("/proc/self/mem")


def put_locked(path: Path) -> None:
    """A file that nobody may read, but root."""
    path.write_bytes(b"x")
    path.chmod(0)


PLACES: tuple[Callable[[Path], None], ...] = (
    put_bytes(b""), put_bytes(b"\n"), put_bytes(b"\0" * 5000), Path.mkdir, put_nested, put_loop, put_fault, put_locked,
)  # fmt: skip


@dataclass(frozen=True)
class Bench:
    """A folder to damage files in, and what lies beside them."""

    folder: Path
    kinds: dict[str, Kind]


def bench(folder: Path) -> Bench:
    """Sound lines, a small folder and kept replies, and every kind of file."""
    sound = damage.sound(folder)
    made = kinds(sound.folder)
    (folder / "replies.jsonl").write_bytes(made["replies"].content)
    small = folder / "small"
    small.mkdir()
    (small / "t.csv").write_bytes(b"a,b\n1,2\n")
    return Bench(folder, made)


def fault(bench: Bench, kind: Kind, command: Sequence[str], put: Callable[[Path], None]) -> str:
    """What a command does wrong with a file that was put so; empty where all is well."""
    root = bench.folder / "damaged"
    shutil.rmtree(root, ignore_errors=True)
    path = root / kind.place
    path.parent.mkdir(parents=True, exist_ok=True)
    put(path)
    names = {
        FILE: path,
        "FOLDER": root,
        "SOUND": bench.folder / "sound.jsonl",
        "SMALL": bench.folder / "small",
        "REPLIES": bench.folder / "replies.jsonl",
    }
    argv = [str(names.get(word, word)) for word in command]
    found = damage.run(argv, b"", bench.folder).fault
    if not found:
        return ""
    kept = bench.folder / f"fault-{abs(hash(found)):x}"
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(root, kept, symlinks=True, ignore_dangling_symlinks=True)
    return f"{' '.join(command)}: {kept}\n{found}"


def trial(
    bench: Bench, kind: Kind, command: Sequence[str], chance: random.Random, most: int
) -> list[str]:
    """Faults of a command with a kind of file, damaged in as many ways."""
    found = []
    for _ in range(most):
        typed = kind.value is not None and chance.random() < 0.6
        raw = wrong(kind, chance) if typed else mangled(kind.content, chance)
        found.append(fault(bench, kind, command, put_bytes(raw)))
    return [one for one in found if one]


def main() -> None:
    """Look for faults in every kind for a while, and print them."""
    options = damage.options(main.__doc__)
    chance, seen = random.Random(options.seed), set()
    made = bench(Path(tempfile.mkdtemp(prefix="winnow-damage-files-")))
    cases = [(name, command) for name, kind in made.kinds.items() for command in kind.commands]
    end, rounds = time.monotonic() + options.seconds, 0
    print(f"seed {options.seed}, in {made.folder}")
    while time.monotonic() < end:
        rounds += 1
        for name, command in cases:
            for found in trial(made, made.kinds[name], command, chance, options.tasks // 6):
                last = [line for line in found.splitlines() if line.strip()][-1]
                if (name, command, last[:80]) not in seen:
                    seen.add((name, command, last[:80]))
                    print(f"{'-' * 78}\n{found[-3500:]}", flush=True)
            if time.monotonic() > end:
                break
    print(f"{rounds} rounds, {len(seen)} faults")
    sys.exit(bool(seen))


if __name__ == "__main__":
    main()
