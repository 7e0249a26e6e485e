"""Where the files of a catalog lie, for lines that say it by a relative path."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def root_of(root: str, place: str, paths: Iterable[str]) -> str:
    """The root as seen from here.

    A relative root is first looked for beside the file of lines that names it, so that a
    folder can be moved with its lines, then in the working folder, where `scan` wrote it. A
    place counts where one of the catalog's files lies in it.

    Args:
        root: As the catalog line says it.
        place: ``file:number`` of that line.
        paths: Paths of the catalog's files, relative to the root.

    Returns:
        The first that counts; the root as it is where none does.
    """
    name = place.rpartition(":")[0]
    if not name or name == "stdin" or Path(root).is_absolute():
        return root
    beside = Path(name).parent / root
    some = [path for path, _ in zip(paths, range(3), strict=False)]
    for base in (beside, Path(root)):
        if any((base / path).exists() for path in some):
            return str(base)
    return root
