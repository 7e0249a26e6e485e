"""Make tables of documents before scan: PDF, Word, HTML, sheets, slides, Markdown and text.

DIR is a task folder or a plain folder; with - or without DIR, task lines with a "root" come from
stdin, and other lines pass through. The tables that stand in documents, and those of prose that
is written by one pattern, go to workdir/_doc_extracted.db under the root, where scan finds them:
such tables are always kept. Nothing is guessed: what is no table stays a document. What comes out
are the tasks, for scan, with a section prepare: every document, its tables, and what was left out.

\b
    winnow prepare examples/orders | winnow scan | winnow vote | winnow show
    winnow prepare reports --question "Which site used most water?" | winnow scan
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stages.core import diagnostics
from stages.core.counts import many
from stages.core.errors import LineError, SourceError, UsageError, WinnowError
from stages.core.lines.io import STDIN, inputs, output
from stages.core.lines.lines import Output, dump, own, parse
from stages.core.params import output_option
from stages.core.runtime.command import reporting_options

if TYPE_CHECKING:
    from stages.core.catalog.tasks import TaskRoot
    from stages.core.records import Prepare


@click.command(help=__doc__)
@click.argument("folders", nargs=-1, metavar="[DIR]...")
@click.option("--question", metavar="TEXT", help="Ask this of every DIR.")
@output_option
def prepare(
    folders: tuple[str, ...], question: str | None, path: str | None, quiet: bool, verbose: bool
) -> None:
    """Write the task lines."""
    diagnostics.begin("winnow prepare", quiet=quiet, verbose=verbose)
    lines = STDIN in folders or not folders
    if lines and question:
        raise UsageError("a question needs a DIR", hint="name a folder, or put it on the line")
    with output(path) as out:
        for folder in folders:
            if folder != STDIN:
                _folder(folder, question, out)
        if lines:
            for raw in _from_lines([STDIN] if folders else []):
                out.write(raw)
    diagnostics.finish()
    if diagnostics.exit_code():
        raise SystemExit(diagnostics.exit_code())


prepare.params.extend(reporting_options())


def _folder(folder: str, question: str | None, out: Output) -> None:
    """The task line of one folder; none where nothing is asked."""
    from stages.core.catalog.tasks import surroundings, task_of

    try:
        place, found = _prepared(folder)
    except WinnowError as error:
        diagnostics.error(error)
        return
    own_task = task_of(place, surroundings(place, Path(folder))[0])
    task: dict[str, object] = dict(own_task or {})
    if question:
        task = {"kind": "task", "task_id": place.name, **task, "question": question}
    if not task:
        diagnostics.note(f"{place.name}: no question; the tables are made, and scan finds them")
        return
    out.write(dump({**task, "root": folder, "prepare": found}))


def _from_lines(names: Sequence[str]) -> Iterator[bytes]:
    """Task lines with a root and what their documents came to; other lines as they are."""
    known: dict[str, Mapping[str, object]] = {}
    for stream, name in inputs(names):
        for raw, place, cut in own(stream, name):
            try:
                line = parse(raw, place, cut=cut)
                root = line.record.get("root") if line.kind == "task" else None
                if root and root not in known:
                    known[root] = _prepared(root)[1]
            except WinnowError as error:
                diagnostics.error(error)
                if not isinstance(error, LineError) or error.record is not None:
                    yield raw + b"\n"
                continue
            yield dump({**line.record, "prepare": known[root]}) if root else raw + b"\n"


def _prepared(folder: str) -> tuple[TaskRoot, Prepare]:
    """The root in a folder, and what its documents came to, which is told.

    Raises:
        SourceError: There is no such folder.
        DataError: Its work folder cannot be written.
    """
    from stages.core.catalog.tasks import locate
    from stages.core.documents.task import prepare_root

    if not Path(folder).is_dir():
        raise SourceError("no such folder", place=folder, hint="check the path")
    place = locate(Path(folder))
    try:
        found = prepare_root(place)
    except WinnowError as error:
        error.place = error.place or folder
        raise
    for document in found["documents"]:
        for text in [*document.get("warnings", ()), *filter(None, [document.get("error")])]:
            diagnostics.warn(WinnowError(text, place=f"{place.name}: {document['path']}"))
    tables = [table for document in found["documents"] for table in document["tables"]]
    rows = sum(table["rows"] for table in tables)
    diagnostics.note(
        f"{place.name}: {many(len(found['documents']), 'document')}, "
        f"{many(len(tables), 'table')} of {many(rows, 'row')}"
    )
    return place, found
