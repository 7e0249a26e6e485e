"""Reading past SQL and counting its tables, pairs of tables and columns.

The file holds SQL statements that end with ``;``, or JSON lines (or one JSON array) of
statements or of objects with the statement under ``sql``, ``query`` or ``gold_sql``.
Statements in any of the dialects below are read; those
that cannot be are counted and left out.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from stages.core.errors import DataError, os_words
from stages.core.judge.history import History
from stages.core.lookup import canonical

if TYPE_CHECKING:
    from sqlglot import exp

DIALECTS = ("", "mysql", "sqlite", "bigquery", "snowflake", "tsql")
"""Tried in this order; the first one that reads a statement counts."""

LARGEST = 64 << 20
"""Bytes of a history file that are read at most."""

LONGEST = 100_000
"""Characters of one statement; longer ones are loads of data."""

KEYS = ("sql", "query", "gold_sql")

_END = re.compile(r";[ \t]*(?:\r?\n|$)")


def read_history(path: Path) -> History:
    """Count the statements of a file.

    Raises:
        DataError: The file cannot be read, is too large, or holds no statement that can
            be read.
    """
    try:
        with path.open("rb") as stream:
            raw = stream.read(LARGEST + 1)
    except OSError as error:
        raise DataError(os_words(error), place=str(path)) from None
    if len(raw) > LARGEST:
        raise DataError(
            f"larger than {LARGEST >> 20} MB", place=str(path), hint="give the newest part of it"
        )
    found = count_statements(statements(raw.decode("utf-8-sig", "replace")), digest=_digest(raw))
    if raw.strip() and not found.statements:
        raise DataError(
            "no statement in it could be read",
            place=str(path),
            hint="SQL ending with ;, or JSON with the key sql",
        )
    return found


def _digest(raw: bytes) -> str:
    return "sha256:" + hashlib.sha256(raw).hexdigest()


def statements(text: str) -> Iterator[str]:
    """The statements of a file's text, without their ends."""
    found = _from_json(text) if text.lstrip().startswith(("{", "[", '"')) else _from_sql(text)
    return (statement.strip() for statement in found if statement.strip())


def _from_json(text: str) -> Iterator[str]:
    for record in _records(text):
        if isinstance(record, dict):
            record = next((record[key] for key in KEYS if isinstance(record.get(key), str)), "")
        if isinstance(record, str):
            yield from _from_sql(record)


def _records(text: str) -> Iterator[Any]:
    """The items of one JSON array, or the JSON of each line."""
    with suppress(orjson.JSONDecodeError):
        whole = orjson.loads(text)
        yield from whole if isinstance(whole, list) else [whole]
        return
    for line in text.split("\n"):
        try:
            yield orjson.loads(line) if line.strip() else {}
        except orjson.JSONDecodeError:
            yield "("  # reads as no statement, and is counted so


def _from_sql(text: str) -> list[str]:
    """Split at semicolons outside quotes and comments; at ends of lines where quotes do
    not come in pairs."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        ends = [
            token.start for token in sqlglot.tokenize(text) if token.token_type.name == "SEMICOLON"
        ]
    except SqlglotError:
        return _END.split(text)
    starts = [0, *(end + 1 for end in ends)]
    return [text[start:end] for start, end in zip(starts, [*ends, len(text)], strict=True)]


def count_statements(found: Iterator[str], *, digest: str = "") -> History:
    """Count tables, pairs and columns; a statement that stands twice counts twice."""
    tables: Counter[str] = Counter()
    pairs: dict[str, Counter[str]] = {}
    columns: dict[str, Counter[str]] = {}
    read = skipped = 0
    with _quiet():
        for statement, n in Counter(found).items():
            used = _used(statement)
            if used is None:
                skipped += n
            elif used:
                read += n
                _add(used, n, tables, pairs, columns)
    return History(read, skipped, tables, pairs, columns, digest)


def _add(
    used: Mapping[tuple[str, ...], set[str]],
    n: int,
    tables: Counter[str],
    pairs: dict[str, Counter[str]],
    columns: dict[str, Counter[str]],
) -> None:
    """Add one statement; ``used`` has, by the names of each table, its columns."""
    for name in {name for names in used for name in names}:
        tables[name] += n
    for names, found in used.items():
        for name in names:
            columns.setdefault(name, Counter()).update(dict.fromkeys(found, n))
    together = {
        (a, b) for left, right in permutations(used, 2) for a in left for b in right if a != b
    }
    for a, b in together:
        pairs.setdefault(a, Counter())[b] += n


def _used(statement: str) -> dict[tuple[str, ...], set[str]] | None:
    """By the names of each table read, the columns of it; None where it is not understood."""
    tree = _parsed(statement)
    if tree is None:
        return None
    from sqlglot import exp

    common = {canonical(cte.alias) for cte in tree.find_all(exp.CTE)}
    used: dict[tuple[str, ...], set[str]] = {}
    for table in tree.find_all(exp.Table):
        names = _names(table)
        if names and not (len(names) == 1 and names[0] in common):
            used.setdefault(names, set())
    for column in tree.find_all(exp.Column):
        owner = _owner(column)
        if owner in used:
            used[owner].add(column.name.lower())
    return used


def _parsed(statement: str) -> exp.Expr | None:
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    if len(statement) > LONGEST:
        return None
    for dialect in DIALECTS:
        try:
            tree = sqlglot.parse_one(statement, dialect=dialect or None)
        except (SqlglotError, RecursionError, ValueError):
            continue
        return None if isinstance(tree, exp.Command) else tree
    return None


def _names(table: exp.Table) -> tuple[str, ...]:
    """The whole name and its last part, in the form of canonical names."""
    parts = [part.name for part in table.parts if part.name]
    if not parts:
        return ()
    return tuple(dict.fromkeys((canonical(".".join(parts)), canonical(parts[-1]))))


def _owner(column: exp.Column) -> tuple[str, ...] | None:
    """The names of the table that a column belongs to, by its alias, going outwards;
    a bare column belongs to the only table of its query, if there is only one."""
    from sqlglot import exp

    select = column.find_ancestor(exp.Select)
    wanted = column.table.lower()
    while select is not None:
        sources = _sources(select)
        if wanted and wanted in sources:
            return sources[wanted]
        if not wanted and len(sources) == 1:
            return next(iter(sources.values()))
        select = select.find_ancestor(exp.Select) if wanted else None
    return None


def _sources(select: exp.Select) -> dict[str, tuple[str, ...]]:
    """The tables in FROM and JOIN of one query, by alias."""
    from sqlglot import exp

    joined = [
        select.args.get("from") or select.args.get("from_"),
        *(select.args.get("joins") or []),
    ]
    tables = [part.this for part in joined if part is not None]
    return {t.alias_or_name.lower(): _names(t) for t in tables if isinstance(t, exp.Table)}


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep sqlglot's warnings about statements it does not know off stderr."""
    log = logging.getLogger("sqlglot")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)
