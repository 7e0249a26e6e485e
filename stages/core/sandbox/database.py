"""`Database`: one catalog's tables, open to one read-only statement at a time."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import CancelledError
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from stages.core.errors import SqlError, SqlRefused, UsageError
from stages.core.records import Catalog, Table
from stages.core.sandbox.limits import Answer, Limits
from stages.core.sandbox.names import Names

if TYPE_CHECKING:
    from sqlglot import exp

    from stages.core.sandbox.engine import Engine
    from stages.core.sandbox.gate import Checked
    from stages.core.sandbox.store import Load, Progress

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
        self.names = Names(tables)
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
        """All tables, from the catalog."""
        from stages.core.sandbox import dictionary

        return dictionary.tables(self.names)

    def schema(self, name: str) -> tuple[Answer, Answer | None]:
        """The columns of one table from the catalog, and its first rows where there is data.

        Raises:
            SqlRefused: There is no such table; with the nearest names.
            SqlError: The rows cannot be read.
        """
        from stages.core.sandbox import dictionary

        table = dictionary.named([name.strip().strip('"`')], self.names)
        columns = dictionary.columns(table)
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
        from stages.core.sandbox import dictionary, gate

        url = self._server(sql, dialect)
        if url:
            return self._answer_there(url, sql, dialect, rows)
        tree, notes = gate.read(sql, self.names, self.limits, dialect)
        kind, about = dictionary.asked(tree, self.names)
        if kind == "tables":
            return _first(dictionary.tables(self.names), rows)
        if kind == "columns" and isinstance(about, dict):
            return _first(dictionary.columns(about), rows)
        query = tree if not kind else _selected(about)
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
        from stages.core.sandbox import dictionary
        from stages.core.sandbox.servers import dialect_of
        from stages.core.sandbox.servers import gate as server_gate

        own = dialect_of(url)
        tree, notes = server_gate.read(sql, self.names, self.limits, own, dialect)
        kind, about = dictionary.asked(tree, self.names)
        if kind == "tables":
            return _first(dictionary.tables(self.names), rows)
        if kind == "columns" and isinstance(about, dict):
            return _first(dictionary.columns(about), rows)
        if kind == "summary":
            raise SqlRefused("SUMMARIZE runs over files only", hint="ask for count, min and max")
        query = tree if not kind else _selected(about)
        checked = server_gate.check(query, self.names, self.limits, notes, own)
        return self._run(checked, kind, rows, url)

    def _run(self, checked: Checked, kind: str, rows: int, url: str = "") -> Answer:
        """Run a checked query, or describe or sum up its columns."""
        from stages.core.sandbox import dictionary, messages
        from stages.core.sandbox.worker import EngineError

        engine = self._engine_for(url)
        try:
            if not kind:
                return engine.run(checked, rows)
            head, types = engine.describe(checked)
            if kind == "columns":
                pairs = tuple(zip(head, types, strict=True))
                return _first(Answer(("column", "type"), ("VARCHAR", "VARCHAR"), pairs), rows)
            return engine.run(
                replace(checked, tree=dictionary.summary(checked.tree, head, types)), rows
            )
        except EngineError as error:
            raise messages.fit(error, self.names, checked.tables, _given(checked)) from None

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
        from stages.core.sandbox.engine import DuckEngine
        from stages.core.sandbox.store import Store, table_folder

        load = self._load or load_table
        cache = self._cache or table_folder()
        store = Store(self._root, self.limits, cache, load, self._progress, self._sample)
        return DuckEngine(store, self.names.tables, self.limits)


def _selected(about: Any) -> exp.Expr:
    """The query that reads all of what DESCRIBE or SUMMARIZE is about."""
    from sqlglot import exp

    if isinstance(about, dict):
        return exp.select("*").from_(exp.Table(this=exp.to_identifier(about["name"], quoted=True)))
    tree: exp.Expr = about
    return tree


def _given(checked: Checked) -> list[str]:
    """Names that the statement gives to columns."""
    from sqlglot import exp

    return [alias.alias for alias in checked.tree.find_all(exp.Alias) if alias.alias]


def _first(answer: Answer, rows: int) -> Answer:
    return replace(answer, rows=answer.rows[:rows], truncated=len(answer.rows) > rows)
