"""Tables of generated documents, cell by cell, beside markitdown, pdfplumber and liteparse.

    python tools/bench/documents.py [--only READER]... [--keep DIR] [FILE...]

Writes the files of `tests/helpers/document_files.py`, lets each reader take each file in a process
of its own, and prints cells that are exact, tables that are none, seconds and megabytes. What
another reader gives is made into tables by winnow's own code (headings, types, page breaks), so
that only the reading differs. Readers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT))

from stages.core.documents import KINDS, DocumentTable, read_document  # noqa: E402
from stages.core.documents.content import CellGrid  # noqa: E402
from stages.core.documents.grids import tables_of  # noqa: E402
from stages.core.documents.markdown import read_markdown  # noqa: E402
from stages.core.errors import SourceError  # noqa: E402
from tests.helpers.document_files import Found, Score, build, score  # noqa: E402

_LAUNCH = (
    "import resource, subprocess, sys; "
    "done = subprocess.run([sys.executable, *sys.argv[1:]], stderr=subprocess.DEVNULL); "
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr); "
    "sys.exit(done.returncode)"
)
"""A small process between: a process's peak counts from the one it was forked from."""


def winnow(path: Path) -> list[DocumentTable]:
    """This project's reader."""
    try:
        return read_document(path).tables
    except SourceError as error:
        print(error, file=sys.stderr)
        return []


def markitdown(path: Path) -> list[DocumentTable]:
    """Markdown, whose tables are read as ours."""
    from markitdown import MarkItDown

    text = MarkItDown(enable_plugins=False).convert(str(path)).text_content
    return tables_of(read_markdown(text.split("\n")).grids, path.stem)


def pdfplumber(path: Path) -> list[DocumentTable]:
    """Tables between rules, which is its default."""
    import pdfplumber as library

    grids = []
    with library.open(path) as document:
        for number, page in enumerate(document.pages, start=1):
            for table in page.extract_tables():
                cells = [[" ".join((text or "").split()) for text in row] for row in table]
                pages = [number] * len(cells)
                grids.append(CellGrid(cells, [*range(1, len(cells) + 1)], None, pages))
    return tables_of(grids, path.stem)


def liteparse(path: Path) -> list[DocumentTable]:
    """Markdown of each page, whose tables are read as ours."""
    from liteparse import LiteParse

    grids = []
    parser = LiteParse(ocr_enabled=False, quiet=True, output_format="markdown")
    for page in parser.parse(str(path)).pages:
        for grid in read_markdown(page.markdown.split("\n")).grids:
            grid.pages = [page.page_num] * len(grid.cells)
            grid.header = None
            grids.append(grid)
    return tables_of(grids, path.stem)


READERS: dict[str, tuple[Callable[[Path], list[DocumentTable]], frozenset[str]]] = {
    "winnow": (winnow, frozenset(KINDS)),
    "markitdown": (markitdown, frozenset(KINDS) - {".txt", ".md"}),
    "pdfplumber": (pdfplumber, frozenset({".pdf"})),
    "liteparse": (liteparse, frozenset({".pdf"})),
}
"""Readers and the endings of the files they read."""


def measured(reader: str, path: Path) -> tuple[list[Found] | None, float, float]:
    """Tables of one file, seconds by the clock and megabytes at the peak; None where it broke."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-S", "-c", _LAUNCH, __file__, "--read", reader, str(path)],
        capture_output=True,
        check=False,
    )
    seconds = time.perf_counter() - started
    found = json.loads(done.stdout) if done.returncode == 0 else None
    return found, seconds, int(done.stderr.split()[-1]) / 1024


def report(folder: Path, readers: Sequence[str], wanted: Sequence[str]) -> None:
    """Print a line for each file and reader, and the sums for the kinds of files."""
    sums: dict[tuple[str, str], list[tuple[Score, float, float]]] = {}
    print(f"{'file':<22}{'reader':<12}{'cells exact':>14}{'invented':>10}{'s':>8}{'MB':>8}")
    for name, truth in build(folder).items():
        ending = Path(name).suffix
        if wanted and name not in wanted:
            continue
        for reader in readers:
            if ending not in READERS[reader][1]:
                continue
            found, seconds, megabytes = measured(reader, folder / name)
            result = score(truth, found or [])
            sums.setdefault((ending, reader), []).append((result, seconds, megabytes))
            print(_line(name, reader, result, seconds, megabytes, broken=found is None))
    print()
    for (ending, reader), results in sorted(sums.items()):
        total = sum((result for result, _, _ in results), Score())
        seconds = sum(second for _, second, _ in results) / len(results)
        print(_line(f"all *{ending}", reader, total, seconds, max(m for *_, m in results)))


def _line(
    name: str, reader: str, result: Score, seconds: float, megabytes: float, *, broken: bool = False
) -> str:
    cells = "broke" if broken else f"{result.right}/{result.cells}"
    numbers = f"{result.invented:>10}{seconds:>8.2f}{megabytes:>8.0f}"
    return f"{name:<22}{reader:<12}{cells:>14}{numbers}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, or be the process that reads one file."""
    parser = argparse.ArgumentParser(description=re.split(r"\n\n", __doc__ or "")[0])
    parser.add_argument("--only", action="append", choices=READERS, help="a reader")
    parser.add_argument("--keep", type=Path, help="write the files here and leave them")
    parser.add_argument("--read", nargs=2, metavar=("READER", "FILE"), help=argparse.SUPPRESS)
    parser.add_argument("files", nargs="*", metavar="FILE", help="names of files; else all")
    options = parser.parse_args(arguments)
    if options.read:
        tables = READERS[options.read[0]][0](Path(options.read[1]))
        print(json.dumps([([column.name for column in t.columns], t.rows) for t in tables]))
        return
    readers = [
        reader
        for reader in options.only or READERS
        if reader == "winnow" or find_spec(reader) is not None
    ]
    with tempfile.TemporaryDirectory() as folder:
        kept = options.keep or Path(folder)
        kept.mkdir(parents=True, exist_ok=True)
        report(kept, readers, options.files)


if __name__ == "__main__":
    main()
