"""Folders that are one table: the parts that Hive and Spark write, by ``key=value`` folders.

A part is ``part-00000``, ``part-r-00000``, ``part-00000-….snappy.parquet`` or ``000000_0``; what
starts with a dot or an underscore (``_SUCCESS``, ``_metadata``) is none. Links are not followed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

NULL = "__HIVE_DEFAULT_PARTITION__"
DONE = "_SUCCESS"
DEEPEST = 20
_PART = re.compile(
    r"part-(?:[mr]-)?[0-9]{4,}(?:[-._].*)?|[0-9]{6}_[0-9]+(?:_copy_[0-9]+)?(?:\..*)?"
)
_KEY = re.compile(r"([^=/.][^=/]*)=([^/]*)")


@dataclass(frozen=True)
class PartFile:
    """One file of a table, and the values of the partition columns of its rows."""

    path: Path
    keys: tuple[tuple[str, str | None], ...] = ()


def is_part(name: str) -> bool:
    """Whether a file's name is that of a part.

    >>> is_part("part-00000"), is_part("000000_0"), is_part("part-list.csv")
    (True, True, False)
    """
    return bool(_PART.fullmatch(name))


def is_key(name: str) -> bool:
    """Whether a folder's name is that of a partition."""
    return bool(_KEY.fullmatch(name))


def members(folder: Path) -> set[str]:
    """Names of what makes a folder one table: its parts, or its partitions; empty where it is
    none."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return set()
    files = {e.name for e in entries if is_part(e.name) and e.is_file(follow_symlinks=False)}
    keys = {e.name for e in entries if is_key(e.name) and e.is_dir(follow_symlinks=False)}
    done = any(entry.name == DONE for entry in entries)
    bare = any("." not in name for name in files)
    if len({_KEY.sub(r"\1", name).casefold() for name in keys}) == 1 and next(
        _below(folder, keys), None
    ):
        return keys | files | ({DONE} if done else set())
    if len(files) > 1 or (files and (done or bare)):
        return files | ({DONE} if done else set())
    return set()


def _below(folder: Path, keys: set[str]) -> Iterator[PartFile]:
    for key in sorted(keys):
        yield from parts(folder / key, ((_named(key)),), anything=True)


def parts(
    folder: Path, keys: tuple[tuple[str, str | None], ...] = (), *, anything: bool = False
) -> Iterator[PartFile]:
    """The files of a folder that is one table, in the order of their paths, empty ones left out.

    Args:
        keys: Partition columns of the folder itself.
        anything: Whether files of any name count, as they do in a partition.
    """
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith((".", "_")):
            continue
        if entry.is_dir(follow_symlinks=False):
            if is_key(entry.name) and len(keys) < DEEPEST:
                yield from parts(Path(entry.path), (*keys, _named(entry.name)), anything=True)
        elif entry.is_file(follow_symlinks=False) and (anything or is_part(entry.name)):
            some = entry.stat(follow_symlinks=False).st_size > 0
            yield from [PartFile(Path(entry.path), keys)] * some


def _named(name: str) -> tuple[str, str | None]:
    key, _, value = name.partition("=")
    return unquote(key), None if value == NULL else unquote(value)


def size(path: Path) -> int:
    """Bytes of a source: a file, or all files of a folder that is one table."""
    if not path.is_dir():
        return path.stat().st_size
    return sum(part.path.stat().st_size for part in parts(path))


def state(path: Path) -> list[int | str]:
    """What tells one state of a source from another."""
    if not path.is_dir():
        info = path.stat()
        return [info.st_size, info.st_mtime_ns, info.st_ino]
    found: list[int | str] = []
    for part in parts(path):
        info = part.path.stat()
        found += [str(part.path.relative_to(path)), info.st_size, info.st_mtime_ns, info.st_ino]
    return found
