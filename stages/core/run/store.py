"""Where a run is written: a folder, or any place that fsspec knows.

A file is written under a temporary name and renamed; a task is finished where its marker,
`MARKER`, stands, which is written after all its other files. So a process may be killed at any
moment, and what is there is whole.
"""

from __future__ import annotations

import os
import posixpath
import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from stages.core.errors import DataError, UsageError, os_words
from stages.core.lines.io import replace_file

if TYPE_CHECKING:
    from stages.core.jsontypes import JsonValue

MARKER = "result.json"


class RunStore(ABC):
    """A folder of files, by paths with ``/`` below it.

    Attributes:
        place: The folder or URL, for messages.
    """

    def __init__(self, place: str) -> None:
        self.place = place

    @abstractmethod
    def read(self, path: str) -> bytes | None:
        """The bytes of a file; None where there is none."""

    @abstractmethod
    def write(self, path: str, data: bytes) -> None:
        """Write a file, whole or not at all."""

    def write_all(self, files: Mapping[str, bytes]) -> None:
        """Write several files; none of them counts before its marker stands."""
        for path, data in files.items():
            self.write(path, data)

    @abstractmethod
    def remove(self, path: str) -> None:
        """Remove a file that may be there."""

    @abstractmethod
    def folders(self) -> list[str]:
        """Names of the folders in it, sorted; none where it does not exist."""

    @abstractmethod
    def below(self, name: str) -> RunStore:
        """A folder in it."""


class LocalStore(RunStore):
    """A folder of this machine."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.path = path

    def read(self, path: str) -> bytes | None:
        """See `RunStore`.

        Raises:
            DataError: It is there and cannot be read.
        """
        try:
            return (self.path / path).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DataError(os_words(error), place=str(self.path / path)) from None

    def write(self, path: str, data: bytes) -> None:
        """See `RunStore`.

        Raises:
            OSError: The folder or the file cannot be written.
        """
        target = self.path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(target) as stream:
            stream.write(data)

    def remove(self, path: str) -> None:
        """See `RunStore`."""
        (self.path / path).unlink(missing_ok=True)

    def folders(self) -> list[str]:
        """See `RunStore`."""
        if not self.path.is_dir():
            return []
        return sorted(entry.name for entry in os.scandir(self.path) if entry.is_dir())

    def below(self, name: str) -> LocalStore:
        """See `RunStore`."""
        return LocalStore(self.path / name)


class RemoteStore(RunStore):
    """A place that fsspec knows, such as ``s3://bucket/runs``.

    Raises:
        UsageError: fsspec, or what it needs for this kind of place, is not installed, or it
            knows no such kind.
    """

    def __init__(self, url: str) -> None:
        super().__init__(url)
        try:
            self._files, self._root = import_module("fsspec.core").url_to_fs(url)
        except ImportError as error:
            hint = "pip install 'winnow-tables[cluster]'"
            raise UsageError(f"not installed: {error}", place=url, hint=hint) from None
        except ValueError as error:
            raise UsageError(str(error), place=url, hint="a folder, or a URL as in s3://") from None

    def _at(self, path: str) -> str:
        return posixpath.join(self._root, path)

    def read(self, path: str) -> bytes | None:
        """See `RunStore`."""
        try:
            found: JsonValue = self._files.cat_file(self._at(path))
        except FileNotFoundError:
            return None
        return cast("bytes", found)

    def write(self, path: str, data: bytes) -> None:
        """See `RunStore`."""
        part = self._at(f"{path}.{uuid.uuid4().hex}.part")
        self._files.makedirs(posixpath.dirname(part), exist_ok=True)
        self._files.pipe_file(part, data)
        self._files.mv(part, self._at(path))

    def write_all(self, files: Mapping[str, bytes]) -> None:
        """See `RunStore`; at once, where the place can do several things at once."""
        parts = {self._at(f"{path}.{uuid.uuid4().hex}.part"): path for path in files}
        for folder in {posixpath.dirname(part) for part in parts}:
            self._files.makedirs(folder, exist_ok=True)
        self._files.pipe({part: files[path] for part, path in parts.items()})
        for part, path in parts.items():
            self._files.mv(part, self._at(path))

    def remove(self, path: str) -> None:
        """See `RunStore`."""
        if self._files.exists(self._at(path)):
            self._files.rm_file(self._at(path))

    def folders(self) -> list[str]:
        """See `RunStore`."""
        try:
            found = self._files.ls(self._root, detail=True, refresh=True)
        except FileNotFoundError:
            return []
        return sorted(posixpath.basename(e["name"].rstrip("/")) for e in found if _is_folder(e))

    def below(self, name: str) -> RemoteStore:
        """See `RunStore`."""
        return RemoteStore(posixpath.join(self.place, name))


def _is_folder(entry: Mapping[str, object]) -> bool:
    return entry["type"] == "directory"


def open_store(place: str) -> RunStore:
    """The store at a folder or a URL; nothing is made before something is written.

    Raises:
        UsageError: See `RemoteStore`.
    """
    return RemoteStore(place) if "://" in place else LocalStore(Path(place))
