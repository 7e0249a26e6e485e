"""The documents of one task root, read and written as tables into its work folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from stages.core.catalog.discover import walk
from stages.core.catalog.documents import DOCUMENT_TABLES, WORKDIR
from stages.core.catalog.tasks import KNOWLEDGE, TaskRoot
from stages.core.documents import (
    KINDS,
    DocumentTable,
    ReadLimits,
    read_document,
    tables_of_prose,
    write_tables,
)
from stages.core.errors import SourceError
from stages.core.records import Prepare, PreparedDocument, PreparedTable

VIDEO = "video"
"""Folder whose texts come with the task, and are no documents."""


@dataclass(frozen=True)
class ReadTables:
    """A document as it was read, with its tables."""

    record: PreparedDocument
    tables: Sequence[DocumentTable]


def prepare_root(place: TaskRoot, limits: ReadLimits | None = None) -> Prepare:
    """Read every document of a root and write their tables into its work folder.

    A document that cannot be read is listed with the reason, and stops no other. The file of
    tables is replaced whole; where no document has a table there is none.

    Args:
        place: The root; ``place.top`` is walked.
        limits: What a document may cost.

    Raises:
        DataError: The work folder cannot be written.
    """
    read = [_read(path, full, limits) for path, full in documents_of(place)]
    found: Prepare = {"documents": [one.record for one in read]}
    database = place.root / DOCUMENT_TABLES
    if not any(one.tables for one in read):
        database.unlink(missing_ok=True)
        return found
    names = write_tables(database, {one.record["path"]: one.tables for one in read})
    for one in read:
        for table, name in zip(one.record["tables"], names[one.record["path"]], strict=True):
            table["name"] = name
    found["database"] = DOCUMENT_TABLES
    return found


def documents_of(place: TaskRoot) -> Iterator[tuple[str, Path]]:
    """The documents of a root with their paths in it: not knowledge, nor what a video says."""
    found = walk(place.root, place.top)
    listed = dict(found.documents)
    for item in found.skipped:
        if Path(item["path"]).suffix.lower() in KINDS:
            listed.setdefault(item["path"], place.root / item["path"])
    for path, full in sorted(listed.items()):
        parts = Path(path).parts
        known = full.suffix.lower() in KINDS and full.is_file() and not full.is_symlink()
        if known and full.name != KNOWLEDGE and VIDEO not in parts and WORKDIR not in parts:
            yield path, full


def _read(path: str, full: Path, limits: ReadLimits | None) -> ReadTables:
    kind = KINDS[full.suffix.lower()]
    try:
        content = read_document(full, limits)
    except SourceError as error:
        record: PreparedDocument = {"path": path, "kind": kind, "lines": 0, "tables": []}
        record["error"] = error.what
        return ReadTables(record, [])
    tables = [*content.tables, *tables_of_prose(content)]
    record = {
        "path": path,
        "kind": kind,
        "lines": len(content.lines),
        "tables": [_described(table) for table in tables],
    }
    if content.warnings:
        record["warnings"] = list(content.warnings)
    return ReadTables(record, tables)


def _described(table: DocumentTable) -> PreparedTable:
    made: PreparedTable = {
        "name": table.name,
        "rows": len(table.rows),
        "columns": [column.name for column in table.columns],
        "failed": len(table.failed),
    }
    if table.notes:
        made["notes"] = list(table.notes)
    return made
