"""A server as catalog and table records."""

from __future__ import annotations

from contextlib import closing
from importlib import import_module
from typing import cast

from stages.core.catalog.build import ScanResult, built, key, place, with_id
from stages.core.catalog.bytes.cells import spread
from stages.core.catalog.servers.address import Address, address, connect
from stages.core.catalog.servers.inventory import (
    SAMPLE_CELLS,
    SAMPLE_ROWS,
    Inventory,
    Row,
    ServerOptions,
    ServerReader,
    ServerTable,
)
from stages.core.catalog.source_table import ScanOptions
from stages.core.errors import SourceError
from stages.core.records import Catalog


def scan_server(
    place: str, options: ScanOptions | None = None, which: ServerOptions | None = None
) -> ScanResult:
    """Scan the tables and views that the role may read.

    Args:
        place: URL of a server.
        options: How much is shown. ``exact`` counts rows, which may take long.
        which: The tables to take, and whether their rows are looked at.

    Returns:
        The catalog, whose tables carry the URL without a password, and the tables in the
        order of schema and name.

    Raises:
        UsageError: No URL of a known kind.
        SourceError: The server cannot be reached, or refuses.
    """
    options, which = options or ScanOptions(), which or ServerOptions()
    where = address(place)
    reader = reader_of(where.kind)
    with closing(connect(where)) as con:
        try:
            found = reader.inventory(con, which, options)
        except Exception as error:
            raise _failed(where, error) from None
        sampled = which.sample and options.values
        for seen in found.tables:
            if sampled and (options.sample_rows or options.examples):
                _sample(con, reader, where, seen, options)
            if options.exact:
                _count(con, reader, where, seen)
    return _result(where, found, options)


def reader_of(kind: str) -> ServerReader:
    """The module that reads a kind of server."""
    return cast("ServerReader", import_module(f"stages.core.catalog.servers.{kind}"))


def _failed(where: Address, error: Exception) -> SourceError:
    return SourceError(
        f"the server's own tables cannot be read: {_told(where, error)}",
        place=where.safe,
        hint="check what the role may read",
    )


def _told(where: Address, error: Exception) -> str:
    words = error.args[1] if len(error.args) > 1 and isinstance(error.args[1], str) else str(error)
    first = (words.strip().splitlines() or [type(error).__name__])[0]
    return where.scrubbed(first)[:300]


def _sample(
    con: object, reader: ServerReader, where: Address, seen: ServerTable, options: ScanOptions
) -> None:
    """The first rows of a table; what goes wrong is its own error."""
    raw = seen.raw
    limit = max(options.sample_rows, min(SAMPLE_ROWS, SAMPLE_CELLS // max(1, len(raw.columns))))
    try:
        rows = reader.rows(con, seen, limit)
    except Exception as error:
        if not reader.too_late(error):
            raw.error = f"its rows cannot be read: {_told(where, error)}"
        elif raw.view:
            raw.error = "its rows take too long to compute"
        else:
            raw.error = "its rows take too long to read"
        return
    raw.checked = "declared"
    _fill(seen, rows, options)
    if len(rows) < limit:
        raw.rows = {"count": len(rows), "how": "exact"}


def _fill(seen: ServerTable, rows: list[Row], options: ScanOptions) -> None:
    columns = seen.raw.columns
    cells = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
    for column, values in zip(columns, cells, strict=True):
        column["examples"] = spread([v for v in values if v is not None], options.examples)
    names = [column["name"] for column in columns]
    seen.raw.sample = [dict(zip(names, row, strict=True)) for row in rows[: options.sample_rows]]


def _count(con: object, reader: ServerReader, where: Address, seen: ServerTable) -> None:
    try:
        seen.raw.rows = {"count": reader.count(con, seen), "how": "exact"}
    except Exception as error:
        seen.raw.warnings.append(f"its rows were not counted: {_told(where, error)}")


def _result(where: Address, found: Inventory, options: ScanOptions) -> ScanResult:
    items = []
    for seen in found.tables:
        source: dict[str, object] = {
            "kind": where.kind,
            "url": where.safe,
            "table": key(seen.schema, seen.raw.name),
        }
        if seen.raw.view:
            source |= {"view": True}
        source |= {"reader": {"schema": seen.schema, "name": seen.raw.name}}
        items.append(place(seen.schema, where.kind, seen.raw, source=source))
    tables = built(items, options)
    for table in tables:
        for column in table["columns"]:
            if (column.get("hidden") or not options.values) and "(" in column.get("declared", ""):
                column["declared"] = column["declared"].partition("(")[0]
    catalog: Catalog = {"kind": "catalog", "v": 1, "id": "", "name": found.name or where.kind}
    catalog["dialect"] = where.dialect.sql
    catalog["documents"] = []
    catalog["skipped"] = sorted(found.skipped, key=lambda item: item["path"])
    if found.warnings:
        catalog["warnings"] = found.warnings
    return ScanResult(with_id(catalog, tables), tables)
