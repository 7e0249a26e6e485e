"""Results of statements as a model sees them and as a log keeps them, small and safe to show;
and those of exploring as they are kept between runs.

A result of up to 30 rows is shown whole. A longer one is shown as its first 10 rows, the row
count, and of each column its type, its distinct values and its share of nulls (APEX-SQL,
parameters: "results shown").
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from stages.core.jsontypes import JsonMapping
from stages.core.keyvalue import KeyValueFile, KeyValueTable, unusable
from stages.core.paths import CACHES
from stages.core.records import Statement
from stages.core.text import cell, visible

if TYPE_CHECKING:
    from stages.core.sandbox.limits import Answer

WHOLE = 30
"""Rows up to which a result is shown whole."""

FIRST = 10
"""Rows shown of a longer one."""

READ = 10_000
"""Rows read of a result, to count them and the distinct values of their columns."""

CELL = 80
"""Characters shown of a cell."""

LONGEST = 4_000
"""Characters of a result as it is shown and kept in a log."""

COLUMNS = 60
"""Columns shown of a result; more are told."""


@dataclass(frozen=True)
class Profile:
    """One column of a long result.

    Args:
        distinct: Values that differ, nulls left out, among the rows read.
        nulls: Share of rows that are null, 0 to 1.
    """

    distinct: int
    nulls: float


@dataclass(frozen=True)
class Result:
    """What is kept of the rows of one statement.

    Args:
        columns, types: Names and DuckDB types.
        rows: All rows, or the first of a long result; cells as text, None for null.
        count: Rows read.
        more: Whether there were more than were read.
        profiles: One for each column of a long result; empty where all rows stand.
        notes: What was mended in the statement.
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    count: int
    more: bool = False
    profiles: tuple[Profile, ...] = ()
    notes: tuple[str, ...] = ()


def reduced(answer: Answer) -> Result:
    """The result of an answer for which `READ` rows were asked."""
    from stages.core.sandbox.formats import plain

    count = len(answer.rows)
    long = count > WHOLE or answer.truncated
    rows = tuple(
        tuple(None if value is None else plain(value) for value in row)
        for row in answer.rows[: FIRST if long else WHOLE]
    )
    profiles = tuple(_profile(answer.rows, at) for at in range(len(answer.columns))) if long else ()
    return Result(
        answer.columns, answer.types, rows, count, answer.truncated, profiles, answer.repairs
    )


def _profile(rows: Sequence[Sequence[object]], at: int) -> Profile:
    values = [row[at] for row in rows if row[at] is not None]
    nulls = round(1 - len(values) / len(rows), 4) if rows else 0.0
    return Profile(len(set(map(str, values))), nulls)


def shown(result: Result, limit: int = LONGEST) -> str:
    """The result as lines: names, rows, and where it is long what it holds in all.

    Cells are neutralised; a bar in one is written ``\\|``.

    >>> print(shown(Result(("month", "n"), ("VARCHAR", "BIGINT"), (("201712", None),), 1)))
    month | n
    201712 | NULL
    """
    head = _line(result.columns)
    tail = [] if result.rows else ["(no rows)"]
    if result.profiles:
        least = "at least " if result.more else ""
        tail = [f"({len(result.rows)} of {least}{result.count} rows)", *_profiles(result)]
    lines = [_line(row) for row in result.rows]
    room = limit - sum(len(line) + 1 for line in (head, *tail))
    kept = _fitting(lines, room)
    if len(kept) < len(lines):
        tail.insert(0, f"({len(lines) - len(kept)} more rows do not fit here)")
    return _bounded("\n".join([head, *kept, *tail]), limit)


def _line(cells: Sequence[str | None]) -> str:
    """One row; only the first columns of a very wide one."""
    told = ["NULL" if c is None else cell(c, CELL).replace("|", "\\|") for c in cells[:COLUMNS]]
    more = [f"(+{len(cells) - COLUMNS} columns)"] if len(cells) > COLUMNS else []
    return " | ".join(told + more)


def _profiles(result: Result) -> list[str]:
    """One line for each column that is shown."""
    named = zip(result.columns, result.types, result.profiles, strict=True)
    return [
        f"{visible(name, CELL)}: {visible(type_, CELL)}, {found.distinct} distinct, "
        f"{found.nulls:.1%} null"
        for name, type_, found in list(named)[:COLUMNS]
    ]


def _fitting(lines: Sequence[str], room: int) -> list[str]:
    """The first lines that fit into so many characters, one at least."""
    kept: list[str] = []
    for line in lines:
        room -= len(line) + 1
        if kept and room < 0:
            break
        kept.append(line)
    return kept


def _bounded(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…(+{len(text) - limit})"


@dataclass(frozen=True)
class QueryOutcome:
    """What came of one statement.

    Args:
        sql: The statement as it ran, names resolved and mended; as it came where it did not.
        result: Its result; None where there is none.
        error: Why there is none; empty where there is one.
        kind: Class of the error, such as ``SqlLimit``.
    """

    sql: str
    result: Result | None = None
    error: str = ""
    kind: str = ""

    @property
    def res(self) -> str:
        """The result or the error, as a log keeps it."""
        if self.result is None:
            return _bounded(f"error: {visible(self.error)}", LONGEST)
        return shown(self.result)

    @property
    def log(self) -> Statement:
        """The entry of an exploration log."""
        return {"sql": visible_sql(self.sql), "res": self.res}


def visible_sql(sql: str) -> str:
    """The statement on one line, nothing in it that cannot be seen."""
    return visible(sql, LONGEST)


def packed(tried: QueryOutcome) -> dict[str, object]:
    """For keeping as JSON."""
    return asdict(tried)


def unpacked(kept: JsonMapping) -> QueryOutcome:
    """What `packed` packed.

    Raises:
        KeyError, TypeError: It was written by another version.
    """
    made = kept["result"]
    result = None
    if made is not None:
        result = Result(
            columns=tuple(made["columns"]),
            types=tuple(made["types"]),
            rows=tuple(tuple(row) for row in made["rows"]),
            count=made["count"],
            more=made["more"],
            profiles=tuple(Profile(**profile) for profile in made["profiles"]),
            notes=tuple(made["notes"]),
        )
    return QueryOutcome(kept["sql"], result, kept["error"], kept["kind"])


# Results of exploring that are kept, so that a rerun reads no data and a replay needs none.

FILE = CACHES["results"]
RESULTS = KeyValueTable(
    "results",
    """
    key TEXT NOT NULL,         -- sha256 of statement, table lines and limits
    state TEXT NOT NULL,       -- sha256 of what identifies the data
    created REAL NOT NULL,     -- seconds since 1970
    tried TEXT NOT NULL,       -- JSON: statement, result or error
    PRIMARY KEY (key, state)
    """,
)


class ResultCache:
    """The SQLite file in a folder, opened when it is needed; shared by threads and processes.

    Args:
        folder: Where the file is, or is made when a first result is kept.
    """

    def __init__(self, folder: Path) -> None:
        self.file = KeyValueFile(folder / FILE, RESULTS)
        self.path = self.file.path

    def get(self, key: str, state: str | None) -> QueryOutcome | None:
        """What is kept for this state of the data; the latest of any state where it is None.

        Raises:
            UsageError: The file cannot be used.
        """
        if not self.file.exists():
            return None
        where, values = "key = ?", [key]
        if state is not None:
            where, values = "key = ? AND state = ?", [key, state]
        row = self._one(f"SELECT tried FROM results WHERE {where} ORDER BY created DESC", values)
        try:
            return None if row is None else unpacked(orjson.loads(row))
        except (orjson.JSONDecodeError, KeyError, TypeError):
            return None

    def put(self, key: str, state: str, tried: QueryOutcome) -> None:
        """Keep it in the place of what was kept for the same state; a full disk is no error.

        Raises:
            UsageError: The folder or the file in it cannot be used.
        """
        text = orjson.dumps(packed(tried)).decode()
        self._one("REPLACE INTO results VALUES (?, ?, ?, ?)", [key, state, time.time(), text])

    def count(self) -> int:
        """How many results are kept; no file is made where there is none.

        Raises:
            UsageError: The file cannot be used.
        """
        with suppress(sqlite3.Error):
            return self._ready().count() if self.file.exists() else 0
        return 0

    def size(self) -> int:
        """Bytes of the file and of what SQLite keeps beside it."""
        return self.file.size()

    def forget(self) -> int:
        """Forget all results; how many there were.

        Raises:
            UsageError: The file cannot be used.
        """
        with suppress(sqlite3.Error):
            return self._ready().clear() if self.file.exists() else 0
        return 0

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def _one(self, sql: str, values: Sequence[str | int | float]) -> str | None:
        """The first cell; None where there is no row, or the statement fails."""
        store = self._ready()
        try:
            row = store.row(sql, values)
        except sqlite3.Error:
            return None
        return None if row is None else str(row[0])

    def _ready(self) -> KeyValueFile:
        """The store, open."""
        try:
            self.file.connection()
        except (OSError, sqlite3.Error) as error:
            raise unusable(self.path, error) from None
        return self.file
