"""Past SQL: read, counted, and what it adds to a judgment: which tables are used together, and
which columns of them.

Names are kept in the form of canonical names (`core.names.canonical`), once as the whole dotted
name and once as its last part, so that a table is found under either.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from stages.core.errors import DataError, os_words
from stages.core.judge.judgment import EvidencePiece, Judgment, RankedColumn, RankedTable
from stages.core.names import Names, canonical

if TYPE_CHECKING:
    from sqlglot import exp

DOUBT = 2.0
"""Uses without any other table that are imagined for each table, so that one past
statement does not make a certainty."""


@dataclass(frozen=True)
class QueryLog:
    """Counts over the statements that were read.

    Attributes:
        statements: Statements that read at least one table.
        skipped: Statements that could not be read.
        tables: Statements by table.
        pairs: By table, statements in which another table stands too.
        columns: By table, statements by its columns.
        digest: Hash of the file's bytes.
    """

    statements: int = 0
    skipped: int = 0
    tables: Mapping[str, int] = field(default_factory=dict)
    pairs: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    columns: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    digest: str = ""

    def __str__(self) -> str:
        return self.digest

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of how the file was read."""
        if not self.skipped:
            return ()
        return (
            (
                f"history: {self.skipped} of {self.skipped + self.statements} statements could not "
                "be read"
            ),
        )

    def cooccurrence(self, table: str) -> Mapping[str, float]:
        """By other table, the share of the table's statements that use it too.

        Args:
            table: A canonical name, or a dotted one.
        """
        return self._shares(table, self.pairs)

    def column_use(self, table: str) -> Mapping[str, float]:
        """By column (lower case), the share of the table's statements that use it."""
        return self._shares(table, self.columns)

    def knows(self, table: str) -> bool:
        """Whether any statement reads the table."""
        return self._key(table) in self.tables

    def _shares(self, table: str, counts: Mapping[str, Mapping[str, int]]) -> dict[str, float]:
        key = self._key(table)
        whole = self.tables.get(key, 0) + DOUBT
        return {name: n / whole for name, n in counts.get(key, {}).items()}

    def _key(self, table: str) -> str:
        key = canonical(table)
        return key if key in self.tables else canonical(table.rsplit(".", 1)[-1])


@dataclass(frozen=True)
class BoundHistory:
    """A history over one catalog: tables come and go by the catalog's own names."""

    history: QueryLog
    names: Names

    def cooccurrence(self, table: str) -> dict[str, float]:
        """By canonical name, the share of the table's statements that use the other too."""
        shares: dict[str, float] = {}
        for name, share in self.history.cooccurrence(self._known(table)).items():
            other = self.names.table(name)
            if other is not None and other != table:
                shares[other] = max(share, shares.get(other, 0.0))
        return shares

    def column_use(self, table: str) -> Mapping[str, float]:
        """See `History.column_use`."""
        return self.history.column_use(self._known(table))

    def _known(self, table: str) -> str:
        """The spelling of a table under which past SQL knows it; its own where none is."""
        spellings = self.names.spellings(table)
        return next((name for name in spellings if self.history.knows(name)), table)


# Reading past SQL and counting its tables, pairs of tables and columns.

DIALECTS = ("", "mysql", "sqlite", "bigquery", "snowflake", "tsql")
"""Tried in this order; the first one that reads a statement counts."""

LARGEST = 64 << 20
"""Bytes of a history file that are read at most."""

LONGEST = 100_000
"""Characters of one statement; longer ones are loads of data."""

KEYS = ("sql", "query", "gold_sql")

_END = re.compile(r";[ \t]*(?:\r?\n|$)")


def read_history(path: Path) -> QueryLog:
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


def _records(text: str) -> Iterator[object]:
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


def count_statements(found: Iterator[str], *, digest: str = "") -> QueryLog:
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
    return QueryLog(read, skipped, tables, pairs, columns, digest)


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


# What past SQL adds to a judgment: why a table was lifted, and its columns in use.

STRONG = 0.5
"""Score from which a table speaks for those that past SQL uses with it."""

MOST_STRONG = 5
"""Tables that speak at most, the best-ranked."""

LEAST = 0.05
"""Share below which being used together is chance."""

IN_USE = 0.2
"""Share of a table's past statements from which a column of a kept table is kept."""

PULL = 0.5
"""How much of the distance to certainty a column gains that every past statement uses."""


def apply_query_log(
    found: Judgment, history: BoundHistory, wanted: Collection[str] = ()
) -> Judgment:
    """The judgment with co-occurrence among the evidence, and the columns in use lifted.

    Tables keep their scores and their rank, which the judge has set already; columns are
    added and raised, never lowered.

    Args:
        found: What the judge said with this history.
        history: Past SQL over the catalog.
        wanted: Tables that speak whatever their score: a model chose or a rule added them.
    """
    strong = [table for table in found.tables if table.score >= STRONG][:MOST_STRONG]
    loud = {table.name for table in strong}
    strong += [
        replace(table, score=max(table.score, STRONG))
        for table in found.tables
        if table.name in wanted and table.name not in loud
    ]
    beside = {table.name: history.cooccurrence(table.name) for table in strong}
    tables = tuple(_table(table, strong, beside) for table in found.tables)
    columns = {(column.table, column.name): column for column in found.columns}
    for table in tables:
        if table.keep:
            columns |= {(c.table, c.name): c for c in _columns(table, columns, history)}
    ranked = tuple(sorted(columns.values(), key=lambda column: -column.score))
    return replace(found, tables=tables, columns=ranked)


def _table(
    table: RankedTable, strong: list[RankedTable], beside: dict[str, dict[str, float]]
) -> RankedTable:
    """The table with the strong ones that past SQL uses it with."""
    shares = {
        other.name: other.score * beside[other.name].get(table.name, 0.0)
        for other in strong
        if other.name != table.name
    }
    found = sorted((name for name in shares if shares[name] >= LEAST), key=lambda n: -shares[n])
    if not found:
        return table
    piece = EvidencePiece("co-occurrence", tuple(found), round(shares[found[0]], 2), "past SQL")
    return replace(table, evidence=(*table.evidence, piece))


def _columns(
    table: RankedTable, known: dict[tuple[str, str], RankedColumn], history: BoundHistory
) -> Iterator[RankedColumn]:
    """The columns of a kept table that past SQL uses, with that as evidence."""
    for used, share in history.column_use(table.name).items():
        name = history.names.column(table.name, used)
        if name is None or share < LEAST:
            continue
        column = known.get((table.name, name), RankedColumn(table.name, name, 0.0, False))
        score = 1 - (1 - column.score) * (1 - PULL * share * table.score)
        piece = EvidencePiece("co-occurrence", (), round(share, 2), "past SQL")
        keep = column.keep or share >= IN_USE
        yield replace(column, score=score, keep=keep, evidence=(*column.evidence, piece))
