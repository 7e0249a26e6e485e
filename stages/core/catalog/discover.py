"""What lies in a root: data files by kind, documents, and all that is left out, with the reason.

A folder may come from anyone, so nothing in it is trusted: a link that leaves the root is
refused (an engine follows it wherever it points), pipes, sockets and devices are never
opened, and links to folders that are walked anyway are not walked twice, which also ends
loops. Nothing is opened here but the first bytes of a database file.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from types import ModuleType

from stages.core.catalog import partitions, sources
from stages.core.catalog.documents import MARK_FILE
from stages.core.errors import SourceError, os_words
from stages.core.lines.files import PART, Targets, holds_lines
from stages.core.records import Skipped

DOCUMENT_SUFFIXES = (".md", ".markdown", ".txt", ".rst", ".pdf", ".html", ".htm", ".docx", ".doc")
OWN_FILES = ("task.json", "video_input.json", MARK_FILE)
OWN_FOLDERS = ("_video_frames",)
SOLVER_FOLDER = "workdir"
"""Directly under a root: what a solver writes is no data of the task."""
LINE_SUFFIXES = (".json", ".jsonl", ".ndjson")
NO_TARGETS = Targets()
SQLITE_SIDE_FILES = ("-wal", "-shm", "-journal")
DEEPEST = 64
HEAD_BYTES = 32
SPECIAL = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


@dataclass(frozen=True)
class DataFile:
    """One data file: its path relative to the root, and the module that reads its kind."""

    path: str
    full: Path
    module: ModuleType

    @property
    def several(self) -> bool:
        """Whether a file of this kind may hold several tables."""
        return bool(getattr(self.module, "SEVERAL", False))


@dataclass
class Findings:
    """What a walk met, each list in the order of paths."""

    data: list[DataFile] = field(default_factory=list)
    documents: list[tuple[str, Path]] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)

    def skip(self, path: str, reason: str) -> None:
        """List ``path`` as left out."""
        self.skipped.append({"path": path, "reason": reason})


@cache
def kinds() -> dict[str, ModuleType]:
    """Modules of `catalog.sources` by the suffixes that they read, found by listing the folder."""
    found: dict[str, ModuleType] = {}
    for info in sorted(pkgutil.iter_modules(sources.__path__), key=lambda info: info.name):
        module = importlib.import_module(f"{sources.__name__}.{info.name}")
        for suffix in getattr(module, "SUFFIXES", ()):
            found.setdefault(suffix, module)
    return found


def module_of(kind: str) -> ModuleType:
    """The module that reads a kind of source.

    Raises:
        SourceError: No module reads it.
    """
    for module in kinds().values():
        if kind == module.KIND:
            return module
    raise SourceError(f"no reader for a source of kind {kind}")


def module_for(name: str) -> ModuleType | None:
    """The module for a file name; the longest suffix decides (``.csv.gz`` before ``.gz``)."""
    lower = name.lower()
    fitting = [suffix for suffix in kinds() if lower.endswith(suffix)]
    return kinds()[max(fitting, key=len)] if fitting else None


def module_at(path: Path, *, named: bool = False) -> ModuleType | None:
    """The module for a file: by its name, but a database by its first bytes.

    ``.db`` may be SQLite's or DuckDB's; what is neither goes to the reader of its name, which
    says what is wrong.

    Args:
        path: The file.
        named: Whether the user named the file itself: then its first bytes tell a database
            under any name. In a folder they do not, since a copy may lie beside it.
    """
    module = module_for(path.name)
    if not hasattr(module, "MAGIC") and not (named and module is None):
        return module
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return module
    for other in kinds().values():
        offset, magic = getattr(other, "MAGIC", (0, b""))
        if magic and head[offset : offset + len(magic)] == magic:
            return other
    return module


def walk(
    root: Path,
    top: Path,
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    targets: Targets = NO_TARGETS,
) -> Findings:
    """Everything below ``top``, which lies in ``root``; paths are relative to ``root``.

    Args:
        root: Links may not lead out of it.
        top: Folder to walk, with all folders below.
        include: Patterns (``fnmatch``) of paths or names; only these data files and
            documents are taken. Empty takes all.
        exclude: Patterns of paths or names that are left out.
        targets: Files that the running command writes; like what winnow wrote before, they
            are not even listed, so that scanning again gives the same.

    Returns:
        The findings, sorted by path; scanning twice meets all in the same order.
    """
    real = Path(os.path.realpath(root))
    walker = _Walker(real, root, Findings(), tuple(include), tuple(exclude), targets)
    start = Path(os.path.realpath(top))
    if not start.is_relative_to(walker.real_root):
        walker.found.skip(walker.relative(top), "a link that leaves the folder")
        return walker.found
    walker.seen.add(start)
    walker.start = start
    walker.folder(top)
    return walker.found


@dataclass
class _Walker:
    real_root: Path
    root: Path
    found: Findings
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    targets: Targets
    seen: set[Path] = field(default_factory=set)
    start: Path = Path()

    def relative(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def folder(self, folder: Path) -> None:
        if len(folder.parts) - len(self.root.parts) > DEEPEST:
            self.found.skip(self.relative(folder), f"more than {DEEPEST} folders deep")
            return
        members = self.parts(folder)
        for path in self.entries(folder):
            if path.name in members:
                continue
            name = self.relative(path)
            if not printable(name):
                self.found.skip(name.encode("utf-8", "replace").decode(), "its name is not UTF-8")
            elif path.name.startswith("."):
                if path.name != MARK_FILE and not PART.fullmatch(path.name):
                    self.found.skip(name, "hidden")
            else:
                self.entry(path, name)

    def parts(self, folder: Path) -> set[str]:
        """Names in a folder that are parts of one table, which is listed as such."""
        found, name = partitions.members(folder), self.relative(folder)
        if not found or not printable(name) or not self.includes(name):
            return set()
        if any(not printable(part.path.name) for part in partitions.parts(folder)):
            return set()
        self.found.data.append(DataFile(name, folder, module_of("parts")))
        return found

    def entries(self, folder: Path) -> list[Path]:
        try:
            return sorted(folder.iterdir(), key=lambda path: path.name)
        except OSError as error:
            self.found.skip(self.relative(folder), _reason(error))
            return []

    def entry(self, path: Path, name: str) -> None:
        try:
            info = path.lstat()
            if stat.S_ISLNK(info.st_mode):
                if self.refused_link(path, name):
                    return
                info = path.stat()
        except OSError as error:
            self.found.skip(name, _reason(error))
            return
        if stat.S_ISDIR(info.st_mode):
            if name == SOLVER_FOLDER:
                self.found.skip(name, "the solver's own folder")
            elif path.name not in OWN_FOLDERS:
                self.folder(path)
            return
        if self.targets.holds(path, info):
            return
        special = next((words for test, words in SPECIAL if test(info.st_mode)), "")
        if special:
            self.found.skip(name, special)
        else:
            self.file(path, name, info.st_size)

    def refused_link(self, path: Path, name: str) -> bool:
        real = Path(os.path.realpath(path))
        if not real.is_relative_to(self.real_root):
            self.found.skip(name, "a link that leaves the folder")
            return True
        if not real.is_dir():
            return False
        if self.start.is_relative_to(real):
            self.found.skip(name, "a link that loops")
            return True
        if real.is_relative_to(self.start) or real in self.seen:
            self.found.skip(name, "a link to a folder that is read anyway")
            return True
        self.seen.add(real)
        return False

    def file(self, path: Path, name: str, size: int) -> None:
        if path.name in OWN_FILES:
            return
        if not self.includes(name):
            self.found.skip(name, "left out by --include or --exclude")
            return
        module = module_at(path)
        if _may_be_lines(path) and holds_lines(path):
            return
        document = path.suffix.lower() in DOCUMENT_SUFFIXES
        reason = self.why_not(path, size, known=document or module is not None)
        if reason:
            self.found.skip(name, reason)
        elif module is not None:
            self.found.data.append(DataFile(name, path, module))
        else:
            self.found.documents.append((name, path))

    def includes(self, name: str) -> bool:
        if any(_matches(name, pattern) for pattern in self.exclude):
            return False
        return not self.include or any(_matches(name, pattern) for pattern in self.include)

    def why_not(self, path: Path, size: int, *, known: bool) -> str:
        if path.name.endswith(SQLITE_SIDE_FILES):
            return "a side file of an SQLite database"
        if not known:
            return "neither data nor a document of a known kind"
        if size == 0:
            return "0 bytes"
        return unreadable(path)


def unreadable(path: Path) -> str:
    """Why a file cannot be opened for reading; empty where it can."""
    try:
        with open(path, "rb"):
            return ""
    except OSError as error:
        return _reason(error)


def printable(name: str) -> bool:
    """Whether a file name is text that a line can hold."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def inside(root: Path, path: Path) -> bool:
    """Whether ``path``, all links followed, is a plain file within ``root``, or a folder that
    is one table."""
    real = Path(os.path.realpath(path))
    return (real.is_file() or bool(partitions.members(real))) and real.is_relative_to(
        os.path.realpath(root)
    )


def _may_be_lines(path: Path) -> bool:
    return path.suffix.lower() in LINE_SUFFIXES


def _matches(name: str, pattern: str) -> bool:
    return fnmatch(name, pattern) or fnmatch(name.rsplit("/", 1)[-1], pattern)


def _reason(error: OSError) -> str:
    return f"cannot be read: {os_words(error)}"


def loose(
    files: Sequence[Path], root: Path, targets: Targets = NO_TARGETS
) -> Iterator[DataFile | Skipped]:
    """Data files that were named one by one, in their order; no links are refused here,
    since the user named them. Files that the running command writes are passed over."""
    for path in files:
        if targets.holds(path, path.stat()):
            continue
        name = Path(os.path.relpath(path, root)).as_posix()
        module = module_at(path, named=True)
        if module is None:
            yield {"path": name, "reason": "not data of a known kind"}
        elif path.stat().st_size == 0:
            yield {"path": name, "reason": "0 bytes"}
        elif reason := unreadable(path):
            yield {"path": name, "reason": reason}
        elif _may_be_lines(path) and holds_lines(path):
            yield {"path": name, "reason": "lines of winnow, which other commands read"}
        else:
            yield DataFile(name, path, module)
