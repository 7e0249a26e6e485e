"""What a source says about one table, before the catalog gives it a canonical name.

A kind of source is one module in ``catalog/sources/``; it is found by listing that
folder, so adding a kind is adding a file. The module defines::

    KIND: str                       # "csv"; stands in a table line as source.kind
    SUFFIXES: tuple[str, ...]       # lower case, with the dot: (".csv", ".tsv", ".csv.gz")
    SEVERAL: bool = False           # whether a file may hold several tables
    MAGIC: tuple[int, bytes]        # where files of several kinds share a suffix: what tells this
    def scan(path: Path, options: ScanOptions) -> Iterator[RawTable]: ...
    def load(con, path: Path, table: Table, target: str) -> None: ...

``scan`` reads metadata and a bounded sample, never a whole large file unless
``options.exact``; it raises `core.errors.SourceError` where the file is no source of its
kind (the file is then listed as skipped, with the reason). A table whose schema or sample
cannot be read is handed on with ``error`` set. ``scan`` may run on several threads at once,
each call with a file of its own; it must not keep state that two files share, beside
`threading.local`.

``load`` writes all rows of one table into the DuckDB connection as table ``target`` (a
plain name; ``load`` quotes it), with the types of the table line, widened where the data
disagrees.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from stages.core.jsontypes import JsonObject
from stages.core.records import Column, ForeignKey, Rows

Checked = Literal["full", "sample", "declared", "none"]


@dataclass(frozen=True)
class ScanOptions:
    """How much a scan looks at and shows.

    Args:
        sample_rows: First rows that are shown, at most.
        examples: Distinct values shown for a column, at most.
        cell: Characters of a cell or example that are shown. A source may hand whole cells
            over: the catalog cuts them, and takes out what is not to be shown.
        exact: Count all rows, even where that means reading the whole file.
        encoding: Encoding of text files; None where the source finds out.
        values: Whether any values are shown; False leaves sample and examples out.
        header: Whether text files have a header; None where a source finds out.
        dialect: SQL dialect of DDL text; None where it is to be found out.
        cache: Whether what was read of an unchanged file the last time may stand for it.
        hide: Patterns (``fnmatch``, without regard to case, against ``column`` and
            ``table.column``) of columns that show no values.
        show_secrets: Whether columns whose names say that they are secret show values too.
    """

    sample_rows: int = 2
    examples: int = 3
    cell: int = 80
    exact: bool = False
    encoding: str | None = None
    values: bool = True
    hide: tuple[str, ...] = ()
    show_secrets: bool = False
    dialect: str | None = None
    cache: bool = False
    header: bool | None = None


def unknown_rows() -> Rows:
    """Rows that nobody counted."""
    return {"count": None, "how": "unknown"}


@dataclass
class SourceTable:
    """One table as its source spells it.

    Args:
        name: Original spelling: the file's stem, or the name inside the source.
        columns: In the order of the source; at most ``options.examples`` examples each.
        inner: Name inside the source where the source holds several tables, else None.
        rows: Row count, and how it was got.
        sample: The first rows, cells as text the way DuckDB casts them, null as None.
        primary_key: Column names, in the order of the key.
        foreign_keys: As declared; ``ref_table`` spelt as the source spells it. Empty
            ``ref_columns`` mean the primary key of the other table.
        checked: What the types were read from.
        warnings: What a reader should know, one sentence each.
        error: Why schema or sample could not be read; empty where they could.
        view: Whether it is a view.
        query: The statement of a view, or that made it, where it is known: what it passes on
            of a hidden column is hidden too.
        query_dialect: What sqlglot calls the SQL of it.
        reader: How the file was read, enough for ``load`` to read it the same way; JSON
            values only.
        comment: What the source itself says about the table.
        prepared: Whether the source carries the mark of `catalog.documents`.
        skipped: Why the table is not offered at all (a virtual table, for one); it is then
            listed in the catalog line as skipped, and nothing else of it is read.
    """

    name: str
    columns: list[Column]
    inner: str | None = None
    rows: Rows = field(default_factory=unknown_rows)
    sample: list[dict[str, str | None]] = field(default_factory=list)
    primary_key: list[str] = field(default_factory=list)
    foreign_keys: list[ForeignKey] = field(default_factory=list)
    checked: Checked = "sample"
    warnings: list[str] = field(default_factory=list)
    error: str = ""
    view: bool = False
    query: str = ""
    query_dialect: str = ""
    reader: JsonObject = field(default_factory=dict)
    comment: str = ""
    prepared: bool = False
    skipped: str = ""
