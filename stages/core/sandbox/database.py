"""`Database`: one catalog's tables, open to one read-only statement at a time.

The engine's errors as one short line, with the nearest real names and without the statement.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from concurrent.futures import CancelledError
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from sqlglot import exp

from stages.core.counts import many
from stages.core.errors import SqlError, SqlFailed, SqlRefused, UsageError
from stages.core.records import Catalog, Column, Table
from stages.core.sandbox.engine.worker import EngineError
from stages.core.sandbox.gate import grammar
from stages.core.sandbox.limits import Answer, Limits
from stages.core.sandbox.names import TableNames, fold, hidden, nearest, seen, shown
from stages.core.text import visible

if TYPE_CHECKING:
    from sqlglot import exp

    from stages.core.sandbox.engine.engine import Engine
    from stages.core.sandbox.engine.store import Load, Progress
    from stages.core.sandbox.gate.gate import CheckedQuery

LONGEST = 240
_PARTS = re.compile(r'"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|[^.]+')
_SYNTAX = "syntax error: "
_PREFIX = re.compile(r"^(?:[A-Z][A-Za-z ]*Error|INTERRUPT Error): ")
_ECHO = re.compile(
    r"\s*(?:LINE \d+:|Candidate bindings:|Candidate functions:|Either add|Use TRY|Did you mean|Possible ).*",  # noqa: E501
    re.DOTALL,
)
_NO_COLUMN = re.compile(
    r'(?:Referenced column "(?P<a>[^"]+)" (?:was )?not found'
    r'|Values list "(?P<table>[^"]*)" does not have a column named "(?P<b>[^"]+)"'
    r'|[Tt]able "(?P<owner>[^"]*)" does not have a column named "(?P<c>[^"]+)")'
)
_NO_OWNER = re.compile(r'Referenced table "(?P<name>[^"]+)" not found')
_NO_FUNCTION = re.compile(r"Function with name \"?(?P<name>\w+)\"? does not exist", re.IGNORECASE)


def fit(
    error: EngineError, names: TableNames, used: Sequence[Table], columns: Sequence[str] = ()
) -> SqlError:
    """The error as a model should read it.

    Args:
        error: What the engine said.
        names: All tables of the catalog.
        used: The tables of the statement.
        columns: Names that the statement itself gives to columns or tables.
    """
    message = error.what
    syntax = message.removeprefix(_SYNTAX)
    if error.kind == "refused" and syntax != message:
        return SqlFailed(f"{_SYNTAX}{visible(syntax, LONGEST)}", hint=_hint(message))
    if error.kind == "refused":
        return SqlRefused(
            f"{visible(message, LONGEST)} refused",
            hint="only queries over the tables of the catalog",
        )
    found = _NO_COLUMN.search(message)
    if found:
        return _no_column(found["a"] or found["b"] or found["c"], names, used, columns)
    found = _NO_OWNER.search(message)
    if found:
        return SqlFailed(
            f"no table {shown(found['name'])} in FROM",
            hint=f"in FROM: {_some([table['name'] for table in used])}",
        )
    what = _ECHO.sub("", _PREFIX.sub("", message)).strip()
    return SqlFailed(visible(" ".join(what.split()), LONGEST), hint=_hint(message))


def _no_column(
    name: str, names: TableNames, used: Sequence[Table], given: Sequence[str]
) -> SqlFailed:
    """No such column: the nearest in the statement's tables, or the tables that do have it."""
    here = [word for table in used for word in seen(table)]
    near = nearest(name, [*here, *given])
    word = fold(name)
    owners = [table["name"] for table in names.tables if word in map(fold, seen(table))]
    if any(word in map(fold, hidden(table)) for table in used):
        hint = "its values are hidden; winnow scan --show-values and --hide-values say which are"
    elif owners and word not in map(fold, here):
        hint = f"{_some(owners)} {'has' if len(owners) == 1 else 'have'} it"
    elif near:
        hint = f"did you mean {near}?"
    else:
        hint = f"columns: {_some(here)}" if here else "name a column of a table in FROM"
        hint += "; text stands in single quotes"
    return SqlFailed(f"no column {shown(name)}", hint=hint)


def _some(words: Sequence[str], most: int = 5) -> str:
    told = ", ".join(shown(word) for word in words[:most])
    return f"{told} and {len(words) - most} more" if len(words) > most else told


def _hint(message: str) -> str:
    """What to do about the commonest errors of the engine."""
    if "must appear in the GROUP BY" in message:
        return "add it to GROUP BY, or use any_value()"
    if message.startswith("Conversion Error"):
        return "use TRY_CAST where some values do not fit"
    if "Division by zero" in message:
        return "divide by nullif(x, 0)"
    if "Cannot compare values" in message or "No function matches" in message:
        return "add a cast"
    return "" if _NO_FUNCTION.search(message) else "write the statement differently"


# Questions about the schema, answered from the catalog: SHOW, DESCRIBE, SUMMARIZE.

SHOWN_EXAMPLES = 3


def tables(names: TableNames) -> Answer:
    """All tables: name, rows where they are known, columns, and where each comes from."""
    rows = tuple(
        (
            table["name"],
            table.get("rows", {"count": None})["count"],
            len(table["columns"]),
            table["describe_key"],
        )
        for table in names.tables
    )
    types = ("VARCHAR", "BIGINT", "BIGINT", "VARCHAR")
    return Answer(("table", "rows", "columns", "source"), types, rows)


def overview(names: TableNames) -> Answer:
    """All tables with all their names and those of their columns."""
    short = tables(names)
    rows = tuple(
        (
            *row,
            ", ".join(table.get("aliases", [])),
            ", ".join(column["name"] for column in table["columns"]),
        )
        for row, table in zip(short.rows, names.tables, strict=True)
    )
    head = (*short.columns, "aliases", "column_names")
    return Answer(head, (*short.types, "VARCHAR", "VARCHAR"), rows)


def totals(names: TableNames) -> str:
    """How many tables, columns and known rows the catalog has."""
    counts = [table.get("rows", {"count": None})["count"] for table in names.tables]
    unknown = sum(count is None for count in counts)
    told = f" and those of {unknown} not counted" if unknown else ""
    every = sum(len(table["columns"]) for table in names.tables)
    rows = sum(count or 0 for count in counts)
    return f"{many(len(counts), 'table')}, {many(every, 'column')}, {many(rows, 'row')}{told}"


def table_columns(table: Table) -> Answer:
    """The columns of one table: name, type, whether nulls were seen, key, examples, meaning."""
    rows = tuple(
        (
            column["name"],
            column["type"],
            _nullable(column),
            _key(table, column),
            ", ".join(column.get("examples", [])[:SHOWN_EXAMPLES]),
            _meaning(column),
        )
        for column in table["columns"]
    )
    head = ("column", "type", "null", "key", "examples", "description")
    return Answer(head, ("VARCHAR",) * len(head), rows)


def _meaning(column: Column) -> str:
    said = column.get("description") or column.get("comment") or ""
    return f"(values hidden) {said}".rstrip() if column.get("hidden") else said


def _nullable(column: Column) -> str | None:
    nullable = column.get("nullable")
    return None if nullable is None else ("yes" if nullable else "no")


def _key(table: Table, column: Column) -> str:
    name = column["name"]
    foreign = [
        f"-> {key['ref_table']}({', '.join(key['ref_columns'])})"
        for key in table.get("foreign_keys", [])
        if name in key["columns"]
    ]
    primary = ["primary"] if name in table.get("primary_key", []) else []
    return ", ".join([*primary, *foreign]) or column.get("key", "")


def schema_request(tree: exp.Expr, names: TableNames) -> tuple[str, Table | exp.Expr | None]:
    """What a statement about the schema is about.

    Returns:
        ``"tables"`` and None; ``"columns"`` or ``"summary"`` with a table, or with a query to
        be checked; ``""`` and None where the statement is none of these.

    Raises:
        SqlRefused: SHOW of anything but tables and columns; a name that is no table.
    """
    if isinstance(tree, exp.Show):
        return _show(tree, names)
    if isinstance(tree, exp.Describe | exp.Summarize):
        kind = "columns" if isinstance(tree, exp.Describe) else "summary"
        inner = tree.this
        if isinstance(inner, exp.Table) and isinstance(inner.this, exp.Identifier):
            return kind, find_table([part.name for part in inner.parts], names)
        return kind, inner
    return "", None


def _show(tree: exp.Show, names: TableNames) -> tuple[str, Table | None]:
    what = str(tree.name or tree.this).upper()
    if what in ("TABLES", "ALL TABLES"):
        return "tables", None
    raise SqlRefused(f"SHOW {what} refused", hint="SHOW TABLES, or DESCRIBE a table")


def find_table(parts: Sequence[str], names: TableNames) -> Table:
    """The table of this name.

    Raises:
        SqlRefused: There is none; with the nearest names.
    """
    table, _ = names.find(parts)
    if table is None and len(parts) == 1:  # one name, or a dotted path that nobody has cut yet
        table, _ = names.find([_plain(part) for part in _PARTS.findall(parts[0])])
    if table is None:
        raise SqlRefused(names.no_table(".".join(parts)))
    return table


def _plain(part: str) -> str:
    part = part.strip()
    quotes = ('""', "``", "[]")
    return part[1:-1].replace('""', '"') if part[:1] + part[-1:] in quotes else part


def summary(query: exp.Query, head: Sequence[str], types: Sequence[str]) -> exp.Query:
    """A query that sums up each column of a checked query, in one pass over it."""
    cells = ", ".join(
        _summed(number, name, type_)
        for number, (name, type_) in enumerate(zip(head, types, strict=True), 1)
    )
    given = ", ".join(f"c{number}" for number in range(1, len(head) + 1))
    outer = grammar.parse(
        f"SELECT s.* FROM (SELECT unnest([{cells}]) AS s FROM (SELECT 1) AS q({given})) AS sums "
        "ORDER BY 1"
    )
    for subquery in outer.find_all(exp.Subquery):
        if subquery.alias == "q":
            subquery.set("this", query.copy())
    assert isinstance(outer, exp.Query)
    return outer


def _summed(number: int, name: str, type_: str) -> str:
    column = f"c{number}"
    text = "'" + name.replace("'", "''") + "'"
    return (
        f"{{'position': {number}, 'column': {text}, 'type': '{type_.replace(chr(39), chr(39) * 2)}', "  # noqa: E501
        f"'min': CAST(min({column}) AS VARCHAR), 'max': CAST(max({column}) AS VARCHAR), "
        f"'distinct_about': approx_count_distinct({column}), 'nulls': count(*) - count({column}), "
        f"'rows': count(*)}}"
    )


# `Database`: one catalog's tables, open to one read-only statement at a time.

FIRST_ROWS = 5


class Database:
    """Runs model-written SQL over the tables of one catalog, without trusting it.

    Every table answers, folded or not, by its canonical name and its aliases. Safe to share
    between threads: statements run one after the other. A statement that is stopped costs
    the next one the start of a process, about 0.15 s, and nothing else.

    Args:
        catalog: The catalog line.
        tables: Its table lines.
        limits: What a statement may cost.
        cache: Folder for the loaded tables; None is the user's cache folder.
        root: Folder that the table lines are relative to; None is the catalog's own.
        load: Loads one table; None is the catalog reader, so that what is queried is what
            was scanned.
        progress: Told the name of each table that has to be loaded.
        sample: Whether tables of sources over `Limits.materialise` answer with the sample rows
            of their lines, which ``repairs`` then says, instead of being refused.
    """

    def __init__(
        self,
        catalog: Catalog,
        tables: Sequence[Table],
        *,
        limits: Limits | None = None,
        cache: Path | None = None,
        root: Path | None = None,
        load: Load | None = None,
        progress: Progress | None = None,
        sample: bool = False,
    ) -> None:
        self.catalog = catalog
        self.names = TableNames(tables)
        self.limits = limits or Limits()
        given = catalog.get("root")
        self._root = root or (Path(given) if given else None)
        self._cache, self._load, self._progress, self._sample = cache, load, progress, sample
        self._engine: Engine | None = None
        self._servers: dict[str, Engine] = {}
        self._lock = threading.Lock()
        self._stopped = False

    def query(self, sql: str, *, dialect: str | None = None, rows: int | None = None) -> Answer:
        """The rows of one query, or the answer to DESCRIBE, SHOW TABLES or SUMMARIZE.

        Args:
            sql: One statement.
            dialect: What it is written in, when not in DuckDB's dialect.
            rows: Most rows to give back; None is the limit's default.

        Returns:
            Rows in a full order; the same statement gives the same answer every time.

        Raises:
            SqlRefused: It is not one harmless query over the catalog's tables.
            SqlFailed: The engine cannot run it.
            SqlLimit: It passed a limit; the next statement runs all the same.
            UsageError: More rows than the limits allow, or an unknown dialect.
            CancelledError: It was stopped by `stop`.
        """
        count = self.limits.rows if rows is None else rows
        if not 0 <= count <= self.limits.max_rows:
            raise UsageError(f"{count} rows asked for", hint=f"0 to {self.limits.max_rows}")
        with self._lock:
            try:
                self._go_on()
                return self._answer(sql, dialect, count)
            except SqlError:
                self._go_on()
                raise

    def tables(self) -> Answer:
        """All tables with their aliases and columns, from the catalog."""
        return overview(self.names)

    def totals(self) -> str:
        """How much there is, in one line."""
        return totals(self.names)

    def schema(self, name: str) -> tuple[Answer, Answer | None]:
        """The columns of one table from the catalog, and its first rows where there is data.

        Raises:
            SqlRefused: There is no such table; with the nearest names.
            SqlError: The rows cannot be read.
        """

        table = find_table([name.strip()], self.names)
        columns = table_columns(table)
        if not self.has_data(table):
            return columns, None
        quoted = table["name"].replace('"', '""')
        sql = f'SELECT * FROM "{quoted}" LIMIT {FIRST_ROWS}'
        return columns, replace(self.query(sql, dialect="duckdb"), repairs=())

    def has_data(self, table: Table) -> bool:
        """Whether rows of the table can be asked for; not so in a catalog made from DDL."""
        source = table.get("source", {})
        return "url" in source or (self._root is not None and "path" in source)

    def stop(self) -> None:
        """End the statement that runs now, from any thread, at once; no other runs after it."""
        self._stopped = True
        for engine in [self._engine, *self._servers.values()]:
            if engine is not None:
                engine.stop()

    def _go_on(self) -> None:
        """Do nothing, unless stopped; what came of a stopped statement is no result."""
        if self._stopped:
            raise CancelledError

    def close(self) -> None:
        """End the child process and the connections, where there are any."""
        with self._lock:
            if self._engine is not None:
                self._engine.close()
                self._engine = None
            for engine in self._servers.values():
                engine.close()
            self._servers.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.stop()
        self.close()

    def _answer(self, sql: str, dialect: str | None, rows: int) -> Answer:
        from stages.core.sandbox.gate import gate

        url = self._server(sql, dialect)
        if url:
            return self._answer_there(url, sql, dialect, rows)
        tree, notes = gate.read(sql, self.names, self.limits, dialect)
        kind, about = schema_request(tree, self.names)
        if kind == "tables":
            return _first(tables(self.names), rows)
        if kind == "columns" and isinstance(about, dict):
            return _first(table_columns(about), rows)
        query = _selected(about) if kind and about is not None else tree
        checked = gate.check(query, self.names, self.limits, notes)
        return self._run(checked, kind, rows)

    def _server(self, sql: str, dialect: str | None) -> str:
        """The server that the statement runs on; empty where it runs over files.

        Raises:
            SqlRefused: It mixes the two.
        """
        if not any("url" in table.get("source", {}) for table in self.names.tables):
            return ""
        from stages.core.sandbox.servers import route

        return route(sql, dialect, self.names)

    def _answer_there(self, url: str, sql: str, dialect: str | None, rows: int) -> Answer:
        """The answer of a server, to a statement of its own dialect."""
        from stages.core.sandbox.servers import dialect_of
        from stages.core.sandbox.servers import gate as server_gate

        own = dialect_of(url)
        tree, notes = server_gate.read(sql, self.names, self.limits, own, dialect)
        kind, about = schema_request(tree, self.names)
        if kind == "tables":
            return _first(tables(self.names), rows)
        if kind == "columns" and isinstance(about, dict):
            return _first(table_columns(about), rows)
        if kind == "summary":
            raise SqlRefused("SUMMARIZE runs over files only", hint="ask for count, min and max")
        query = _selected(about) if kind and about is not None else tree
        checked = server_gate.check(query, self.names, self.limits, notes, own)
        return self._run(checked, kind, rows, url)

    def _run(self, checked: CheckedQuery, kind: str, rows: int, url: str = "") -> Answer:
        """Run a checked query, or describe or sum up its columns."""
        from stages.core.sandbox.engine.worker import EngineError

        engine = self._engine_for(url)
        try:
            if not kind:
                return engine.run(checked, rows)
            head, types = engine.describe(checked)
            if kind == "columns":
                pairs = tuple(zip(head, types, strict=True))
                return _first(Answer(("column", "type"), ("VARCHAR", "VARCHAR"), pairs), rows)
            return engine.run(replace(checked, tree=summary(checked.tree, head, types)), rows)
        except EngineError as error:
            raise fit(error, self.names, checked.tables, _given(checked)) from None

    def _engine_for(self, url: str) -> Engine:
        """The engine of a server, or of the files where no server is named."""
        if url:
            if url not in self._servers:
                from stages.core.sandbox.servers import engine_for

                self._servers[url] = engine_for(url, self.limits)
                self._go_on()
            return self._servers[url]
        if self._engine is None:
            self._engine = self._duck_engine()
            self._go_on()
        return self._engine

    def _duck_engine(self) -> Engine:
        from stages.core.catalog import load_table
        from stages.core.sandbox.engine.engine import DuckEngine
        from stages.core.sandbox.engine.store import Store, table_folder

        load = self._load or load_table
        cache = self._cache or table_folder()
        store = Store(self._root, self.limits, cache, load, self._progress, self._sample)
        return DuckEngine(store, self.names.tables, self.limits)


def _selected(about: Table | exp.Expr) -> exp.Expr:
    """The query that reads all of what DESCRIBE or SUMMARIZE is about."""
    from sqlglot import exp

    if isinstance(about, dict):
        return exp.select("*").from_(exp.Table(this=exp.to_identifier(about["name"], quoted=True)))
    tree: exp.Expr = about
    return tree


def _given(checked: CheckedQuery) -> list[str]:
    """Names that the statement gives to columns."""
    from sqlglot import exp

    return [alias.alias for alias in checked.tree.find_all(exp.Alias) if alias.alias]


def _first(answer: Answer, rows: int) -> Answer:
    return replace(answer, rows=answer.rows[:rows], truncated=len(answer.rows) > rows)
