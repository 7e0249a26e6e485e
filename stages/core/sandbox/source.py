"""From what is named on a command line to one catalog and its tables."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import IO

import orjson

from stages.core.errors import DataError, UsageError
from stages.core.lines.files import Targets, first_line
from stages.core.lines.io import STDIN, inputs
from stages.core.lines.lines import KINDS, BadLine, CatalogLines, LineReader
from stages.core.records import Catalog, Table

Opened = tuple[Catalog, list[Table]]
LISTED = 10


def open_source(
    place: str,
    *,
    name: str | None = None,
    hide: tuple[str, ...] = (),
    show_secrets: bool = False,
    targets: Targets | None = None,
) -> Opened:
    """The catalog of a file of lines, a folder, a data file, or a server.

    Args:
        place: A path, the URL of a server, or ``-`` for lines on stdin.
        name: Name or id of the catalog, where a file of lines holds several.
        hide: Patterns of columns that show no values, for what is scanned here.
        show_secrets: Whether columns whose names say that they are secret can be read.
        targets: Files that the running command writes, which are no data.

    Raises:
        UsageError: Several catalogs and no name; a URL of no known kind of server.
        DataError: Not there, not readable, or no catalog in it.
    """
    hiding = hide, show_secrets
    if "://" in place:
        return _server(place, hiding)
    if place == STDIN:
        return _from_lines(inputs([STDIN]), place, name)
    path = Path(place)
    if path.is_dir():
        return _scanned(path, hiding, targets or Targets())
    if not path.exists():
        raise DataError("no such file or folder", place=place, hint="check the path")
    if _holds_lines(path):
        return _from_lines(inputs([place]), place, name)
    return _scanned(path, hiding, targets or Targets())


def shelves(sources: Iterable[tuple[IO[bytes], str]]) -> list[CatalogLines]:
    """Every catalog of a stream of lines, in order, its tables included.

    Raises:
        LineError: A line is broken; what is queried must not be less than what is there.
    """
    library = LineReader()
    for item in library.read(sources):
        if isinstance(item, BadLine):
            raise item.error
    return [shelf for shelf in library.shelves.values() if shelf.tables or shelf.line]


def _from_lines(sources: Iterable[tuple[IO[bytes], str]], place: str, name: str | None) -> Opened:
    found = shelves(sources)
    if not found:
        raise DataError("no catalog in it", place=place, hint="start with `winnow scan`")
    shelf = _select(found, place, name)
    return shelf.catalog, shelf.records


def _select(found: list[CatalogLines], place: str, name: str | None) -> CatalogLines:
    if name is None and len(found) == 1:
        return found[0]
    names = [shelf.catalog["name"] for shelf in found]
    told = ", ".join(names[:LISTED]) + (", …" if len(names) > LISTED else "")
    if name is None:
        raise UsageError(f"{place} holds {len(found)} catalogs", hint=f"--catalog: {told}")
    fitting = [shelf for shelf in found if name in (shelf.id, shelf.catalog["name"])]
    if len(fitting) != 1:
        what = "no catalog" if not fitting else f"{len(fitting)} catalogs"
        raise UsageError(f"{what} named {name} in {place}", hint=f"--catalog: {told}")
    return fitting[0]


def _holds_lines(path: Path) -> bool:
    """Whether the first line is one of the three kinds of line, broken or not."""
    head = first_line(path)
    try:
        first: object = orjson.loads(head)
    except orjson.JSONDecodeError:
        return b'"kind":"table"' in head[:200] or b'"kind":"catalog"' in head[:200]
    return isinstance(first, dict) and first.get("kind") in KINDS


def _server(url: str, hiding: tuple[tuple[str, ...], bool]) -> Opened:
    """The tables of a server; no row of them is looked at, since a query will."""
    from stages.core.catalog import ScanOptions
    from stages.core.catalog.servers import ServerOptions, scan_server

    options = ScanOptions(hide=hiding[0], show_secrets=hiding[1])
    result = scan_server(url, options, ServerOptions(sample=False))
    if not result.tables:
        raise DataError("no table that the role may read", place=result.catalog["name"])
    return result.catalog, result.tables


def _scanned(path: Path, hiding: tuple[tuple[str, ...], bool], targets: Targets) -> Opened:
    from stages.core.catalog import ScanOptions, scan_files, scan_root

    options = ScanOptions(hide=hiding[0], show_secrets=hiding[1], cache=True)
    if path.is_dir():
        result = scan_root(path, options, targets=targets)
    else:
        result = scan_files([path], options)
    if not result.tables:
        raise DataError(
            "no table in it", place=str(path), hint="`winnow scan` says what was skipped"
        )
    return result.catalog, result.tables
