"""Write workdir/solver.py for a task: every table registered, one place to edit.

SOURCE is a file of lines that `winnow scan` wrote, a folder, or - for lines on stdin. For each
catalog two files are written into workdir/ under its root: catalog.jsonl, its lines, and
solver.py, which registers every table under its names (the folded ones too), has run_sql(), and
saves prediction.csv. Unedited it runs and saves nothing. A solver.py that was edited is left
alone unless --force. The paths of the files go to stdout.

\b
    winnow scaffold build/task_15.scan.jsonl
    winnow scaffold build/all.scan.jsonl -o solvers
"""

from __future__ import annotations

import hashlib
import os
from importlib import resources
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import click

from stages.core import diagnostics
from stages.core.catalog.documents import WORKDIR
from stages.core.errors import DataError, WinnowError
from stages.core.lines.io import STDIN, inputs, output, replace_file

if TYPE_CHECKING:
    from stages.core.lines.lines import CatalogLines

SOLVER = "solver.py"
CATALOG = "catalog.jsonl"
SEAL = "# winnow scaffold sha256:"


@click.command(help=__doc__)
@click.argument("source", type=click.Path(allow_dash=True), default=STDIN, metavar="SOURCE")
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write here instead; with several catalogs, into a folder for each.",
)
@click.option(
    "--root",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder that the catalog's paths are relative to, where it has moved.",
)
@click.option("--force", is_flag=True, help="Write over a solver.py that was edited.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
@click.option("-v", "--verbose", is_flag=True, help="Say more.")
def scaffold(
    source: str, folder: Path | None, root: Path | None, force: bool, quiet: bool, verbose: bool
) -> None:
    """Write the files of every catalog in the source."""
    diagnostics.begin("winnow scaffold", quiet=quiet, verbose=verbose)
    found = _shelves(source)
    if not found:
        raise DataError("no catalog in it", place=source, hint="start with `winnow scan`")
    with output(None) as out:
        for shelf in found:
            try:
                place = _folder(shelf, folder, root, len(found) > 1)
                out.write(
                    f"{_write(shelf, place, root, force)}\n".encode("utf-8", "surrogateescape")
                )
            except WinnowError as error:
                diagnostics.error(error)


def _shelves(source: str) -> list[CatalogLines]:
    from stages.core.lines.lines import CatalogLines, Line, dump
    from stages.core.sandbox.source import open_source, shelves

    if source != STDIN and Path(source).is_dir():
        catalog, tables = open_source(source)
        lines = {table["name"]: Line(dump(table)[:-1], dict(table), source) for table in tables}
        return [CatalogLines(catalog["id"], Line(dump(catalog)[:-1], dict(catalog), source), lines)]
    return shelves(inputs([source]))


def _folder(shelf: CatalogLines, folder: Path | None, root: Path | None, several: bool) -> Path:
    """Where the files of a catalog go.

    Raises:
        DataError: The catalog has no root, so there is no data to solve with here.
    """
    base = root or (Path(shelf.catalog["root"]) if "root" in shelf.catalog else None)
    if base is None and any("url" in table.get("source", {}) for table in shelf.records):
        raise DataError(
            "its tables lie on a server, which is queried in place; a solver reads files",
            place=shelf.catalog["name"],
            hint="ask with `winnow query`",
        )
    if base is None or not base.is_dir():
        what = "the catalog has no data" if base is None else f"no folder {base}"
        raise DataError(what, place=shelf.catalog["name"], hint="scan the data, or give --root")
    if folder is None:
        return base / WORKDIR
    return folder / shelf.catalog["name"] if several else folder


def _write(shelf: CatalogLines, place: Path, root: Path | None, force: bool) -> Path:
    """Write both files; the path of the solver.

    Raises:
        DataError: The solver was edited, or the folder cannot be made.
    """
    solver = place / SOLVER
    if solver.exists() and not force and not is_unedited(solver.read_bytes()):
        raise DataError(
            "was edited, left as it is", place=str(solver), hint="--force writes it anew"
        )
    place.mkdir(parents=True, exist_ok=True)
    base = root or Path(shelf.catalog.get("root", "."))
    with replace_file(place / CATALOG) as stream:
        stream.writelines(shelf.lines())
    with replace_file(solver) as stream:
        stream.write(solver_text(shelf.catalog["name"], os.path.relpath(base, place)))
    return solver


def solver_text(name: str, root: str) -> bytes:
    """The whole of ``solver.py``, sealed with a hash of itself.

    Args:
        name: The catalog's name, for the title.
        root: The catalog's root, relative to the folder of the file.
    """
    from stages.core.text import visible

    template = resources.files("stages.core.sandbox").joinpath("solver.template").read_text("utf-8")
    title = visible(f"Solver of {name}.").replace("\\", "/").replace('"', "'")
    package = str(Path(__file__).resolve().parents[1])
    body = (
        Template(template).substitute(title=title, root=repr(root), package=repr(package)).encode()
    )
    return body + f"{SEAL}{hashlib.sha256(body).hexdigest()}\n".encode()


def is_unedited(content: bytes) -> bool:
    """Whether a ``solver.py`` is as it was written.

    >>> is_unedited(solver_text("task", "..")), is_unedited(solver_text("task", "..") + b"x = 1\\n")
    (True, False)
    """
    body, mark, seal = content.rpartition(SEAL.encode())
    return (
        bool(mark) and seal.strip().decode("ascii", "replace") == hashlib.sha256(body).hexdigest()
    )
