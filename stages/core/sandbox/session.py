"""A catalog's data as a stage sees it: statements in, results out, each kept.

What is asked goes through the sandbox, several statements at once; what came of it is kept
under the statement, the table lines that it touches and the state of their files, so that a
rerun reads no data, and an offline replay needs none.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import orjson

from stages.core.errors import SqlError, SqlUnavailable
from stages.core.records import Catalog, Table
from stages.core.sandbox.result_cache import READ, QueryOutcome, Result, ResultCache, reduced

if TYPE_CHECKING:
    from sqlglot import exp

    from stages.core.sandbox.database import Database
    from stages.core.sandbox.engine.pool import Pool
    from stages.core.sandbox.engine.store import Store
    from stages.core.sandbox.gate.gate import CheckedQuery
    from stages.core.sandbox.limits import Answer, Limits

LAYOUT = 2
"""Part of every key: raised when a change makes older results say something else."""

AHEAD = 48
"""Expected tables that are loaded together, and come with one start of a child process."""

PASSING = frozenset({"SqlLimit", "Died"})
"""Errors that another run may not meet; they are kept for replays alone."""


@dataclass(frozen=True)
class SessionOptions:
    """How the data is read.

    Args:
        size: Statements that run at once.
        kept: Where results are kept; None keeps none.
        offline: Take the latest that is kept, whatever the data has become.
        dry: Run nothing: what is not kept has an empty result.
        tables: Folder for the loaded tables; None is the user's cache folder.
        limits: What a statement may cost; None is the sandbox's own.
        progress: Told the name of each table that has to be loaded.
    """

    size: int = 1
    kept: ResultCache | None = None
    offline: bool = False
    dry: bool = False
    tables: Path | None = None
    limits: Limits | None = None
    progress: Callable[[str], None] | None = None


Made = TypeVar("Made")


class Data:
    """The data of one catalog; safe to share between threads.

    Args:
        catalog: The catalog line.
        tables: Its table lines; their order changes nothing.
        ways: How the data is read.
    """

    def __init__(
        self, catalog: Catalog, tables: Sequence[Table], ways: SessionOptions | None = None
    ) -> None:
        self.catalog = catalog
        # Messages and SHOW TABLES list tables: the order of lines must not tell in them.
        self.tables = sorted(tables, key=lambda table: table["name"])
        self.ways = ways or SessionOptions()
        self._digests: dict[str, bytes] = {}
        self._executor: ThreadPoolExecutor | None = None
        self._expected: list[str] = []
        self._loading = threading.Lock()

    def expect(self, names: Sequence[str]) -> None:
        """Say which tables will be asked for, in about that order: they are loaded together."""
        self._expected = list(names)

    @property
    def dialect(self) -> str:
        """The SQL dialect that statements are to be written in."""
        return self.catalog.get("dialect") or "duckdb"

    def has_data(self, table: Table) -> bool:
        """Whether rows of the table can be asked for; not so in a catalog made from DDL."""
        source = table.get("source", {"kind": ""})
        return "url" in source or ("path" in source and "root" in self.catalog)

    def query(self, sql: str, *, dialect: str | None = None, rows: int | None = None) -> Answer:
        """As `core.sandbox.database.Database.query`: all rows, and nothing is kept."""
        return self._pool.query(sql, dialect=dialect, rows=rows)

    def run_query(self, sql: str, touches: Sequence[Table] | None = None) -> QueryOutcome:
        """What comes of a statement; an error of the statement is an outcome too.

        Args:
            sql: In the catalog's dialect; with ``touches``, in DuckDB's.
            touches: The tables that it reads, where it is a statement of our own that is known
                to be well-formed; None finds them out.

        Raises:
            SqlUnavailable: No statement could be run; nothing of it is kept.
        """
        try:
            text, tables = (sql, touches) if touches is not None else self._understood(sql)
        except SqlError as error:
            return _failed(sql, error)
        key, state = self._key(text, tables), self._state(tables)
        found = self._found(key, state, tables)
        if found is not None:
            return found
        if self.ways.dry:
            return QueryOutcome(text, Result((), (), (), 0))
        if touches is not None:
            made = self._run(*self._own(sql, touches), text, tables)
        else:
            made = self._run(sql, self._source, text, tables)
        if self.ways.kept is not None and state is not None:
            self.ways.kept.put(key, state, made)
        return made

    async def ask(self, sql: str, touches: Sequence[Table] | None = None) -> QueryOutcome:
        """`run_query`, on a thread, so that nothing else waits for it.

        Raises:
            SqlUnavailable: As `run_query`.
        """
        import asyncio

        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self.run_query, sql, touches)

    def each(self, work: Callable[[Table], Made], tables: Sequence[Table]) -> list[Made]:
        """``work`` on every table, side by side; results in the order of the tables."""
        return list(self._threads.map(work, tables))

    def rest(self) -> None:
        """End child processes; they start again when they are needed."""
        pool = self.__dict__.get("_pool")
        if pool is not None:
            pool.close()

    def stop(self) -> None:
        """End the statements that run now, from any thread, at once; none of them is kept."""
        for name in ("_store", "_pool"):
            part = self.__dict__.get(name)
            if part is not None:
                part.stop()

    def close(self) -> None:
        """End child processes and threads."""
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)
            self._executor = None
        self.rest()

    @cached_property
    def _pool(self) -> Pool:
        from stages.core.sandbox.engine.pool import Pool

        return Pool(self._database, self.ways.size, self._ahead)

    def _ahead(self, wanted: Collection[str]) -> list[str]:
        """The expected tables from the first wanted one on, loaded; none where it is not
        expected."""
        places = [self._expected.index(name) for name in wanted if name in self._expected]
        if not places:
            return []
        coming = self._expected[min(places) : min(places) + AHEAD]
        by_name = {table["name"]: table for table in self.tables}
        with self._loading:
            for name in coming:
                with suppress(SqlError):  # whoever asks for this table will be told
                    self._store.file(by_name[name])
        return coming

    @cached_property
    def _store(self) -> Store:
        from stages.core.catalog import load_table
        from stages.core.sandbox.engine.store import Store, table_folder
        from stages.core.sandbox.limits import Limits

        ways, root = self.ways, self.catalog.get("root")
        folder, limits = ways.tables or table_folder(), ways.limits or Limits()
        place = Path(root) if root else None
        return Store(place, limits, folder, load_table, ways.progress, sample=True)

    @cached_property
    def _gate(self) -> Database:
        """For reading statements; it never runs one."""
        return self._database(())

    def _database(self, first: Sequence[str]) -> Database:
        """A database over all tables, some of which come first."""
        from stages.core.sandbox.database import Database

        ways, wanted = self.ways, set(first)
        tables = sorted(self.tables, key=lambda table: table["name"] not in wanted)
        return Database(
            self.catalog,
            tables,
            limits=ways.limits,
            cache=ways.tables,
            progress=ways.progress,
            sample=True,
        )

    @property
    def _threads(self) -> ThreadPoolExecutor:
        if self._executor is None:
            self._executor = ThreadPoolExecutor(self.ways.size, thread_name_prefix="winnow-sql")
        return self._executor

    @cached_property
    def _served(self) -> bool:
        return any("url" in table.get("source", {}) for table in self.tables)

    @property
    def _source(self) -> str | None:
        """The dialect to name to the sandbox; None for the own one of the files or the server."""
        return None if self.dialect == "duckdb" or self._served else self.dialect

    def _understood(self, sql: str) -> tuple[str, Sequence[Table]]:
        """The statement as it will run, and the tables it reads.

        Raises:
            SqlError: The gate refuses it.
        """
        names, limits = self._gate.names, self._gate.limits
        if self._served:
            from stages.core.sandbox import servers
            from stages.core.sandbox.servers import gate as there

            url = servers.route(sql, None, names)
            if url:
                own = servers.dialect_of(url)
                tree, notes = there.read(sql, names, limits, own, None)
                return self._checked(
                    sql, tree, own, lambda query: there.check(query, names, limits, notes, own)
                )
        from stages.core.sandbox.gate import gate

        tree, notes = gate.read(sql, names, limits, self._source)
        return self._checked(
            sql, tree, "duckdb", lambda query: gate.check(query, names, limits, notes)
        )

    def _checked(
        self, sql: str, tree: exp.Expr, own: str, check: Callable[[exp.Expr], CheckedQuery]
    ) -> tuple[str, Sequence[Table]]:
        """A statement that was read; one about the schema stays as it came."""
        from stages.core.sandbox import database

        kind, about = database.schema_request(tree, self._gate.names)
        if kind == "tables":
            return sql, self.tables
        if isinstance(about, dict):  # DESCRIBE or SUMMARIZE of one table
            return sql, [about]
        found = check(tree if about is None else about)
        return (sql if kind else _plain(found.tree, own)), found.tables

    def _own(self, sql: str, touches: Sequence[Table]) -> tuple[str, str | None]:
        """A statement of our own and its dialect: what it calls has the same meaning on servers,
        so that it is written anew for the one that holds its tables."""
        urls = {table.get("source", {}).get("url", "") for table in touches}
        if urls == {""} or len(urls) != 1:
            return sql, "duckdb"
        from stages.core.sandbox import servers
        from stages.core.sandbox.gate import grammar

        own = servers.dialect_of(urls.pop())
        return grammar.parse(sql, "duckdb").sql(dialect=own), None

    def _run(
        self, sql: str, dialect: str | None, text: str, tables: Sequence[Table]
    ) -> QueryOutcome:
        """Run the statement as it came: the sandbox mends it the same way, and says so."""
        try:
            near = [table["name"] for table in tables]
            answer = self._pool.query(sql, dialect=dialect, rows=READ, near=near)
        except SqlUnavailable:
            raise
        except SqlError as error:
            return _failed(text, error)
        return QueryOutcome(text, reduced(answer))

    def _found(self, key: str, state: str | None, tables: Sequence[Table]) -> QueryOutcome | None:
        if self.ways.kept is None:
            return None
        if self.ways.offline or self.ways.dry:
            return self.ways.kept.get(key, None)
        found = self.ways.kept.get(key, state) if state is not None else None
        return None if found is None or self._passing(found, tables) else found

    def _passing(self, found: QueryOutcome, tables: Sequence[Table]) -> bool:
        """Whether another run may find otherwise; the state of a server tells of no repair."""
        there = any("url" in table.get("source", {}) for table in tables)
        return found.kind in PASSING or bool(found.error and there)

    def _key(self, text: str, tables: Sequence[Table]) -> str:
        limits = self._gate.limits
        parts = [LAYOUT, text, self.dialect, READ, limits.cell, limits.clock, limits.answer]
        whole = hashlib.sha256(orjson.dumps(parts))
        for table in sorted(tables, key=lambda table: table["name"]):
            whole.update(self._digest(table))
        return whole.hexdigest()

    def _digest(self, table: Table) -> bytes:
        """A hash of the table line, all but the catalog that it belongs to."""
        name = table["name"]
        if name not in self._digests:
            line = {key: value for key, value in table.items() if key != "catalog"}
            text = orjson.dumps(line, option=orjson.OPT_SORT_KEYS)
            self._digests[name] = hashlib.sha256(text).digest()
        return self._digests[name]

    def _state(self, tables: Sequence[Table]) -> str | None:
        """What identifies the data behind the tables; None where a file is not there."""
        parts: list[object] = []
        for table in sorted(tables, key=lambda table: table["name"]):
            source = table.get("source", {"kind": ""})
            if "path" not in source:
                parts.append(source.get("url", ""))
                continue
            try:
                path = Path(self.catalog.get("root", "")) / source["path"]
                stat = path.stat()
            except OSError:
                return None
            parts.append([str(path.resolve()), stat.st_size, stat.st_mtime_ns, stat.st_ino])
        return hashlib.sha256(orjson.dumps(parts)).hexdigest()


def _plain(tree: exp.Query, dialect: str) -> str:
    """The checked query as text; over files, without the schema that the sandbox gives tables."""
    from sqlglot import exp

    query = tree.copy()
    for table in query.find_all(exp.Table) if dialect == "duckdb" else ():
        table.set("db", None)
        if table.alias.casefold() == table.name.casefold():
            table.set("alias", None)
    return query.sql(dialect=dialect, comments=False)


def _failed(sql: str, error: SqlError) -> QueryOutcome:
    return QueryOutcome(sql, None, str(error), type(error).__name__)
