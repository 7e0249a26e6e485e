"""The stream of lines that `scan` writes, and what is said of sources that the user named and
that gave nothing: that is no success.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TypeAlias, cast

from stages.core.catalog import scan_files, scan_root
from stages.core.catalog.build import ScanResult
from stages.core.catalog.discover import NO_TARGETS
from stages.core.catalog.schema_only.files import SchemaFolder, is_ddl
from stages.core.catalog.servers.address import is_server, mask
from stages.core.catalog.source_table import ScanOptions
from stages.core.catalog.tasks import task_from, without_question
from stages.core.errors import DataError, LineError, UsageError, WinnowError
from stages.core.jsontypes import JsonMapping
from stages.core.lines.files import Targets
from stages.core.lines.lines import Line, own, parse
from stages.core.records import Task


def of_files(files: Sequence[str], result: ScanResult, targets: Targets) -> Iterator[DataError]:
    """An error for each file that the user named and no table comes from."""
    name, root = result.catalog["name"], result.catalog.get("root", ".")
    reasons = {item["path"]: item["reason"] for item in result.catalog.get("skipped", ())}
    for table in result.tables:
        path = table.get("source", {}).get("path", "")
        if table["columns"]:
            reasons[path] = ""
        else:
            reasons.setdefault(path, table.get("error", "") or "no column in it")
    for file in files:
        real = Path(os.path.realpath(file))
        if targets.holds(real, real.stat()):
            continue
        near = [Path(os.path.relpath(one, root)).as_posix() for one in (file, real)]
        path = next((path for path in near if path in reasons), near[0])
        reason = reasons.get(path, "no table in it")
        if reason:
            hint = "mend it, or leave it out of the command"
            yield DataError(reason, place=f"{name}: {path}", hint=hint)


def of_place(place: str, result: ScanResult) -> DataError:
    """The error for a folder or a server that gave nothing."""
    if is_server(place):
        return DataError(
            "no table",
            place=mask(place),
            hint="check --schemas, --include and --exclude, and what the role may read",
        )
    left = len(result.catalog.get("skipped", ()))
    hint = "--verbose says what was left out" if left else "check the path"
    return DataError("no table and no document in it", place=place, hint=hint)


# The stream of lines that `scan` writes: each catalog once, its tables, the tasks asked of it.

REMEMBERED = 8
"""Roots whose scan is kept while task lines come in; tasks of one root mostly come together."""


@dataclass(frozen=True)
class Note:
    """Something worth a line on stderr that is no fault."""

    text: str


Item: TypeAlias = JsonMapping | bytes | WinnowError | Note


@dataclass(frozen=True)
class ScanRequest:
    """What one call of `scan` is to do.

    Attributes:
        paths: Folders, server URLs, DDL files and data files; the data files together are one
            catalog.
        schemas: Schema files without data.
        question: Asked of every catalog, in place of what ``task.json`` asks.
        evidence: The asker's hint, in place of any other.
        task_id: Id of the one task.
        options: How much is looked at and shown.
        include: Patterns of the only files to take from folders, and tables from servers.
        exclude: Patterns of files and tables to leave out.
        server_schemas: Patterns of the only schemas to take from servers.
        sample: Whether rows of a server are looked at.
        targets: Files that the call writes, which are no data.
    """

    paths: tuple[str, ...] = ()
    schemas: SchemaFolder | None = None
    question: str = ""
    evidence: str = ""
    task_id: str = ""
    options: ScanOptions = field(default_factory=ScanOptions)
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    server_schemas: tuple[str, ...] = ()
    sample: bool = True
    targets: Targets = NO_TARGETS

    def root(self, folder: str) -> ScanResult:
        """Scan one folder, or the server of a URL, as asked for."""
        if is_server(folder):
            from stages.core.catalog.servers import ServerOptions, scan_server

            which = ServerOptions(self.server_schemas, self.include, self.exclude, self.sample)
            return scan_server(folder, self.options, which)
        return scan_root(
            folder,
            self.options,
            include=self.include,
            exclude=self.exclude,
            targets=self.targets,
        )


@dataclass(frozen=True)
class CatalogBrief:
    """What is kept of a catalog once its lines are written, so that memory does not grow with
    what has gone out: its id, whether a table of it can be used, and the texts of its root."""

    id: str
    usable: bool
    texts: Mapping[str, str]

    @classmethod
    def of(cls, result: ScanResult) -> CatalogBrief:
        """What to keep of one scan."""
        usable = any(table["columns"] for table in result.tables)
        return cls(result.catalog["id"], usable, result.texts)


def catalogs(request: ScanRequest) -> Iterator[ScanResult | WinnowError]:
    """The catalog of each folder, server and DDL file, in order; that of all data files at the
    first of them. Before a catalog comes an error for each thing named that gave it nothing."""
    files = [path for path in request.paths if _is_data(path)]
    seen: set[str] = set()
    for path in request.paths:
        first = files[:1] == [path] and path not in seen
        if path in seen or (path in files and not first):
            continue
        seen.add(path)
        try:
            if first:
                several = list(dict.fromkeys(files))
                result = scan_files(several, request.options, targets=request.targets)
                yield from of_files(several, result, request.targets)
            elif is_ddl(path) and Path(path).is_file():
                from stages.core.catalog.schema_only import ddl

                result = ddl.catalog_of(Path(path), request.options)
            else:
                result = request.root(path)
                if not result.tables and not result.catalog.get("documents"):
                    yield of_place(path, result)
            yield result
        except UsageError:
            raise
        except WinnowError as error:
            yield error


def _is_data(path: str) -> bool:
    return (
        not is_server(path) and Path(path).exists() and not Path(path).is_dir() and not is_ddl(path)
    )


def written(result: ScanResult) -> Iterator[Item]:
    """The catalog line and the table lines of one scan."""
    yield result.catalog
    yield from result.tables


def own_tasks(request: ScanRequest) -> Iterator[Item]:
    """Every catalog, each with the one task that the call or its ``task.json`` asks."""
    for result in catalogs(request):
        if isinstance(result, WinnowError):
            yield result
            continue
        yield from written(result)
        yield from _own_task(result, request)
    if request.schemas:
        for file in request.schemas.files.values():
            try:
                result = request.schemas.read(file)
            except DataError as error:
                yield error
                continue
            yield from written(result)
            yield from _own_task(result, request)


def _own_task(result: ScanResult, request: ScanRequest) -> Iterator[Item]:
    name = result.catalog["name"]
    task: dict[str, object] = dict(result.task or {})
    if request.question:
        task_id = task.get("task_id", name)
        task = {"kind": "task", "task_id": task_id, "question": request.question, **result.texts}
    if not task:
        if not request.schemas:
            yield Note(f"{name}: no question; catalog and tables only (ask with --question)")
        return
    if request.evidence:
        task["evidence"] = request.evidence
    if request.task_id:
        task["task_id"] = request.task_id
    yield from task_line(without_question(cast("Task", task)), CatalogBrief.of(result))


def task_line(task: Task, known: CatalogBrief) -> Iterator[Item]:
    """The task line of a catalog; where there is no usable table the task carries an error."""
    if "error" not in task and not known.usable:
        task = {**task, "error": {"stage": "scan", "message": "no table could be read in its root"}}
    if "error" in task:
        yield DataError(task["error"]["message"], place=task["task_id"])
    yield _ordered(task, known.id)


def _ordered(task: Mapping[str, object], catalog: str) -> dict[str, object]:
    """The task with its fields in the order of the schema; sections stay behind them."""
    order = ("task_id", "question", "difficulty", "evidence", "knowledge", "video")
    head = {"kind": "task", "catalog": catalog} | {key: task[key] for key in order if key in task}
    return head | {key: value for key, value in task.items() if key not in head}


class Directory:
    """Catalogs by the names that questions know them by."""

    def __init__(self, request: ScanRequest) -> None:
        self.schemas = request.schemas
        self.scanned: dict[str, CatalogBrief] = {}
        self.read: dict[Path, CatalogBrief | DataError] = {}

    def add(self, result: ScanResult) -> None:
        """Make a scanned catalog known by its name."""
        self.scanned.setdefault(result.catalog["name"], CatalogBrief.of(result))

    def find(self, question: JsonMapping) -> tuple[CatalogBrief, ScanResult | None]:
        """The catalog of a question, with its lines where it comes up for the first time.

        Raises:
            DataError: There is none, or its file cannot be read.
        """
        name = question.get("db_id") or self._only()
        if name in self.scanned:
            return self.scanned[name], None
        file = self.schemas.find(name) if self.schemas and name else None
        if file is None:
            what = f"no catalog is called {name}" if name else "the question names no db_id"
            raise DataError(what, hint="name the folder or schema file it is asked of")
        result = None if file in self.read else self._read(file)
        known = self.read[file]
        if isinstance(known, DataError):
            raise known
        return known, result

    def _read(self, file: Path) -> ScanResult | None:
        """Read a schema file, once; what is wrong with it is kept too."""
        assert self.schemas is not None
        try:
            result = self.schemas.read(file)
        except DataError as error:
            self.read[file] = error
            return None
        self.read[file] = CatalogBrief.of(result)
        return result

    def _only(self) -> str:
        names = [*self.scanned, *(self.schemas.names() if self.schemas else [])]
        return names[0] if len(names) == 1 else ""


def many_tasks(
    request: ScanRequest, questions: Iterable[dict[str, object] | LineError]
) -> Iterator[Item]:
    """Scanned catalogs first; then every question, a schema's catalog before its first one."""
    directory = Directory(request)
    for result in catalogs(request):
        if isinstance(result, WinnowError):
            yield result
            continue
        directory.add(result)
        yield from written(result)
    yield from _each(questions, directory)
    if request.schemas and len(directory.read) < len(request.schemas.files):
        unused = len(request.schemas.files) - len(directory.read)
        yield Note(f"{unused} schema files that no question is asked of are left out")


def _each(
    questions: Iterable[dict[str, object] | LineError], directory: Directory
) -> Iterator[Item]:
    for question in questions:
        if isinstance(question, LineError):
            yield question
            continue
        try:
            known, result = directory.find(question)
        except DataError as error:
            yield DataError(error.what, place=f"question {question['id']}", hint=error.hint)
            yield {**task_from(question, {}), "error": {"stage": "scan", "message": error.what}}
            continue
        if result is not None:
            yield from written(result)
        yield from task_line(task_from(question, known.texts), known)


def from_lines(stream: IO[bytes], name: str, request: ScanRequest) -> Iterator[Item]:
    """Task lines with a ``root``, each with the catalog of its root before it; other lines as
    they are."""
    scans: dict[str, ScanResult | WinnowError] = {}
    out: set[str] = set()
    for raw, place, cut in own(stream, name):
        try:
            line = parse(raw, place, cut=cut)
        except LineError as error:
            yield error
            if error.record is not None:
                yield raw + b"\n"
            continue
        if line.kind != "task" or not line.record.get("root"):
            yield raw + b"\n"
            continue
        yield from _rooted(line, request, scans, out)


def _rooted(
    line: Line, request: ScanRequest, scans: dict[str, ScanResult | WinnowError], out: set[str]
) -> Iterator[Item]:
    root = line.record["root"]
    if root not in scans:
        if len(scans) >= REMEMBERED:
            del scans[next(iter(scans))]
        try:
            scans[root] = request.root(root)
        except UsageError:
            raise
        except WinnowError as error:
            scans[root] = error
    result = scans[root]
    task = {key: value for key, value in line.record.items() if key != "error"}
    if is_server(root):
        task["root"] = root = mask(root)
    if isinstance(result, WinnowError):
        tried = "" if is_server(root) else os.path.abspath(root)
        place = root if tried in ("", root) else f"{root} ({tried})"
        yield DataError(result.what, place=f"{line.place}: {place}", hint=result.hint)
        yield {**task, "error": {"stage": "scan", "message": str(result)}}
        return
    if result.catalog["id"] not in out:
        out.add(result.catalog["id"])
        yield from written(result)
    merged = {**(result.task or {}), **result.texts, **task}
    yield from task_line(without_question(cast("Task", merged)), CatalogBrief.of(result))
