"""The one reader of data: roots to catalog and table lines, and table lines back to rows.

`scan_root`, `scan_files` and `schema_only.files.SchemaFolder` make lines; `load_table` reads the
rows that a table line stands for. Nothing else in the package opens a file as data.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stages.core.catalog import partitions
from stages.core.catalog.build import FoundTable, ScanResult, build, with_id
from stages.core.catalog.discover import (
    NO_TARGETS,
    DataFile,
    Findings,
    inside,
    loose,
    module_of,
    walk,
)
from stages.core.catalog.documents import DOCUMENT_TABLES, document, is_prepared
from stages.core.catalog.naming import Origin
from stages.core.catalog.pool import in_order
from stages.core.catalog.scan_cache import Job, Result, ScanCache, ScanMemory, bounded
from stages.core.catalog.source_table import ScanOptions, SourceTable
from stages.core.catalog.tasks import TaskRoot, locate, surroundings, task_of
from stages.core.errors import SourceError, os_words
from stages.core.lines.files import Targets
from stages.core.records import Catalog, Table

if TYPE_CHECKING:
    import duckdb

DIALECT = "duckdb"


def scan_root(
    folder: str | Path,
    options: ScanOptions | None = None,
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    targets: Targets = NO_TARGETS,
) -> ScanResult:
    """Scan a task folder or a plain folder.

    Args:
        folder: The folder; `tasks.locate` finds the task root in it.
        options: How much is looked at and shown.
        include: Patterns of the only files to take.
        exclude: Patterns of files to leave out.
        targets: Files that the running command writes.

    Returns:
        The catalog, its tables in the order of paths, and the task if there is one.

    Raises:
        SourceError: There is no such folder, or it cannot be listed.
    """
    options = options or ScanOptions()
    path = Path(folder)
    if not path.is_dir():
        raise SourceError("no such folder", place=str(folder), hint="check the path")
    try:
        os.scandir(path).close()
    except OSError as error:
        raise SourceError(f"cannot be listed: {os_words(error)}", place=str(folder)) from None
    place = locate(path)
    found = walk(place.root, place.top, include=include, exclude=exclude, targets=targets)
    found.data += _of_documents(place, found)
    texts, warnings = surroundings(place, path)
    tables = _tables(found, options)
    catalog = _catalog(place, found, [*place.warnings, *warnings], options)
    return ScanResult(with_id(catalog, tables), tables, task_of(place, texts), texts)


def _of_documents(place: TaskRoot, found: Findings) -> list[DataFile]:
    """The file of tables that were made of the root's documents, where the walk met it not."""
    path = place.root / DOCUMENT_TABLES
    known = {item.full for item in found.data}
    if path in known or path.is_symlink() or not path.is_file():
        return []
    return [DataFile(DOCUMENT_TABLES, path, module_of("sqlite"))]


def scan_files(
    paths: Sequence[str | Path],
    options: ScanOptions | None = None,
    *,
    targets: Targets = NO_TARGETS,
) -> ScanResult:
    """Scan data files named one by one, as one catalog.

    Its name is the file's stem, or the name of the folder that holds all of them, which is
    its root.

    Raises:
        SourceError: A file is not there or no file can be read as data.
    """
    options = options or ScanOptions()
    files = [_plain_file(Path(path)) for path in paths]
    root = (
        Path(os.path.commonpath([file.parent for file in files]))
        if len(files) > 1
        else files[0].parent
    )
    found = Findings()
    for item in loose(files, root, targets):
        if isinstance(item, DataFile):
            found.data.append(item)
        else:
            found.skipped.append(item)
    if not found.data:
        reason = found.skipped[0]["reason"] if found.skipped else "the file that is written"
        raise SourceError(reason, place=str(files[0]))
    name = files[0].name.split(".", 1)[0] if len(files) == 1 else Path(os.path.abspath(root)).name
    tables = _tables(found, options)
    catalog = _catalog(TaskRoot(root, root, name or "root"), found, [], options)
    return ScanResult(with_id(catalog, tables), tables)


def _plain_file(path: Path) -> Path:
    """The file itself; a link that the user named is followed here, once."""
    if not path.is_file():
        what = "neither a file nor a folder" if path.exists() else "no such file or folder"
        raise SourceError(what, place=str(path), hint="check the path")
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _catalog(
    place: TaskRoot, found: Findings, warnings: list[str], options: ScanOptions
) -> Catalog:
    catalog: Catalog = {"kind": "catalog", "v": 1, "id": "", "name": place.name}
    catalog["root"] = str(place.root).encode("utf-8", "replace").decode()
    catalog["dialect"] = DIALECT
    catalog["documents"] = []
    for path, full in found.documents:
        try:
            catalog["documents"].append(document(path, full, values=options.values))
        except OSError as error:
            found.skip(path, f"cannot be read: {os_words(error)}")
    catalog["skipped"] = sorted(found.skipped, key=lambda item: item["path"])
    if warnings:
        catalog["warnings"] = warnings
    return catalog


def _tables(found: Findings, options: ScanOptions) -> list[Table]:
    """Table records of all data files, in the order of paths; what fails is listed as skipped."""
    unnamed: list[FoundTable] = []
    jobs = [(item.module.KIND, item.full, options) for item in found.data]
    memory = ScanMemory(jobs, ScanCache()) if options.cache else None
    results = memory.results(_read) if memory else _read(jobs)
    for item, raws in zip(found.data, results, strict=True):
        if isinstance(raws, str):
            found.skip(item.path, raws)
            continue
        for raw in raws:
            if raw.skipped:
                found.skip(f"{item.path}::{raw.name}", raw.skipped)
            else:
                unnamed.append(_unnamed(item, raw))
    tables = build(unnamed, options)
    if memory:
        memory.keep({id(item.raw): table for item, table in zip(unnamed, tables, strict=True)})
    return tables


def _read(jobs: Sequence[Job]) -> Iterator[Result]:
    return in_order(_raws, jobs)


def _unnamed(item: DataFile, raw: SourceTable) -> FoundTable:
    origin = Origin(item.path, item.module.KIND, raw.name, item.several or raw.inner is not None)
    return FoundTable(origin, raw, partitions.size(item.full), is_prepared(item.full))


def _raws(job: Job) -> Result:
    """The tables of one file, or why there are none.

    Whatever a reader stumbles over concerns this file alone.
    """
    kind, path, options = job
    try:
        return [bounded(raw, options) for raw in module_of(kind).scan(path, options)]
    except SourceError as error:
        return error.what
    except Exception as error:
        first = str(error).strip().splitlines()[:1] or [""]
        return f"cannot be read: {type(error).__name__}: {first[0][:300]}"


def load_table(con: duckdb.DuckDBPyConnection, root: str | Path, table: Table, target: str) -> None:
    """Write all rows of a table line's source into ``con`` as table ``target``.

    Args:
        con: A connection that the caller trusts with reading files.
        root: The catalog's root folder.
        table: The table line.
        target: Plain name of the table to make.

    Raises:
        SourceError: The line has no data behind it, or the file is gone, leaves the root, or
            cannot be read.
    """
    source = table.get("source")
    if source is None or "path" not in source:
        raise SourceError("there is no data behind this table", place=table["name"])
    path = Path(root) / source["path"]
    if not path.exists():
        raise SourceError("the file is gone", place=str(path), hint="run winnow scan again")
    if not inside(Path(root), path):
        raise SourceError("no plain file within the root", place=str(path))
    module_of(source["kind"]).load(con, path, table, target)
