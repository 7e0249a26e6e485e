"""What ``solver.py`` stands on: all tables of a catalog in one connection, and saving an answer.

This is the solver's own process, which may run any code; the walls of `Database` are not for
it. Files, names and types are the same, so what was explored is what is solved.
"""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stages.core.errors import WinnowError
from stages.core.records import Table
from stages.core.sandbox.engine.child import select_columns
from stages.core.sandbox.engine.store import TARGET, Store, table_folder
from stages.core.sandbox.formats import plain
from stages.core.sandbox.limits import Limits
from stages.core.sandbox.names import FRAME, TableNames, hidden
from stages.core.sandbox.source import open_source
from stages.core.text import visible

if TYPE_CHECKING:
    import duckdb

NO_LIMIT = Limits(materialise=1 << 62, load_seconds=3600.0, memory=2048)


class Bench:
    """The tables of a catalog, asked as `winnow query` asks them.

    Args:
        con: Has a view of every table.
        names: What the tables are called.
        limits: For the clock.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, names: TableNames, limits: Limits) -> None:
        self.con, self.names, self.limits = con, names, limits

    def sql(self, sql: str, dialect: str | None = None) -> duckdb.DuckDBPyRelation:
        """A relation; the repairs, the clock and the dialects are those of `winnow query`.

        A statement that is no query runs as it is.

        Raises:
            SqlRefused: `winnow query` would refuse it, too.
        """
        from sqlglot import exp

        from stages.core.sandbox.gate import gate, normal

        tree, notes = gate.read(sql, self.names, self.limits, dialect)
        if not isinstance(tree, exp.Query | exp.Values):
            return self.con.sql(sql)
        checked = gate.check(tree, self.names, self.limits, notes)
        for note in checked.notes:
            _say(note)
        return self.con.sql(normal.write(checked.tree, "duckdb"))


def open_bench(catalog: Path, root: Path) -> Bench:
    """A bench with a view of every table, by canonical name and by every alias of its own.

    A table that cannot be loaded is told on stderr and left out; the others are there.

    Args:
        catalog: A file with one catalog and its tables.
        root: Folder that the table lines are relative to.

    Raises:
        WinnowError: The file holds no catalog.
    """
    import duckdb

    from stages.core.catalog import load_table

    _, tables = open_source(str(catalog))
    store = Store(root, NO_LIMIT, table_folder(), load_table)
    con = duckdb.connect(":memory:")
    con.execute("SET TimeZone = 'UTC'")
    names = TableNames(tables)
    for number, table in enumerate(tables):
        try:
            _attach(con, f"f{number}", table, store, names)
        except WinnowError as error:
            _say(str(error))
    return Bench(con, names, NO_LIMIT)


def _attach(
    con: duckdb.DuckDBPyConnection, handle: str, table: Table, store: Store, names: TableNames
) -> None:
    path = str(store.file(table)).replace("'", "''")
    con.execute(f"ATTACH '{path}' AS {handle} (READ_ONLY)")
    columns = select_columns(len(table["columns"]), hidden(table))
    own = (table["name"], *table.get("aliases", []))
    for name in (*own, *(f"{FRAME}{name}" for name in own)):
        if names.exact(name) is table:
            con.execute(
                f"CREATE OR REPLACE VIEW main.{_identifier(name)} AS "
                f"SELECT {columns} FROM {handle}.main.{TARGET}"
            )


def save(result: object, path: Path) -> None:
    """Write the answer as UTF-8 CSV with a header; null is an empty cell, None writes nothing.

    Args:
        result: None, a DuckDB relation, anything with ``to_csv`` (a pandas frame), dicts, or
            a pair of columns and rows.
        path: The file; it is renamed into place when it is whole.

    Raises:
        TypeError: The result is none of these.
    """
    if result is None:
        _say("result is None: nothing saved")
        return
    part = path.with_name(f".{path.name}.part")
    try:
        if hasattr(result, "to_csv") and not hasattr(result, "fetchall"):
            result.to_csv(part, index=False)
        else:
            _write(part, *_columns_and_rows(result))
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    _say(f"saved {path}")


def _columns_and_rows(result: object) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
    if hasattr(result, "fetchall") and hasattr(result, "columns"):
        return list(result.columns), _texts_of_zones(result).fetchall()
    if isinstance(result, list) and result and all(isinstance(row, dict) for row in result):
        columns = list(dict.fromkeys(key for row in result for key in row))
        return columns, [[row.get(key) for key in columns] for row in result]
    if isinstance(result, tuple) and len(result) == 2:
        return result[0], result[1]
    raise TypeError("result is a relation, a frame, a list of dicts, or (columns, rows)")


# Any: a relation of DuckDB or a frame of pandas, neither of which is imported here
def _texts_of_zones(result: Any) -> Any:
    """The relation with times that have a zone as the texts that `winnow query` shows."""
    kinds = [str(kind) for kind in getattr(result, "types", [])]
    names = list(result.columns)
    if "TIMESTAMP WITH TIME ZONE" not in kinds or len(set(names)) < len(names):
        return result
    quoted = map(_identifier, names)
    return result.project(
        ", ".join(
            f"CAST({name} AS VARCHAR) AS {name}" if kind.endswith("TIME ZONE") else name
            for name, kind in zip(quoted, kinds, strict=True)
        )
    )


def _write(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with open(path, "w", encoding="utf-8", errors="replace", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([plain(cell) for cell in row] for row in rows)


def _say(message: str) -> None:
    print(f"solver.py: {visible(message)}", file=sys.stderr)


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
