"""Find where a value stands in the data: whole, as a part, or nearly so.

SOURCE is a folder, a data file, the URL of a server, or a file of lines that `winnow scan`
wrote. Case, full and half width and repeated spaces make no difference. A whole value comes
before one that holds TEXT, and that before the nearest spellings, which are looked for where
nothing else is found. Values are read once into an index in winnow's cache, which `link`, `vote`
and the stages after them use too; columns whose values are hidden are never read.

\b
    winnow values examples/orders norway
    winnow values shop.db "Zwickauer Kurbel" --format jsonl | jq -r .table
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from stages.core import diagnostics
from stages.core.lines.io import output, to_terminal
from stages.core.params import (
    FiniteFloatRange,
    catalog_option,
    format_option,
    hide_option,
    output_option,
)
from stages.core.runtime.command import VALUES_SECONDS, privileged_option, reporting_options
from stages.core.sandbox.formats import FORMATS

if TYPE_CHECKING:
    from stages.core.values.find import Finding

MOST = 50
COLUMNS = ("table", "column", "value", "rows", "match")
TYPES = ("VARCHAR", "VARCHAR", "VARCHAR", "BIGINT", "VARCHAR")


@click.command(help=__doc__)
@click.argument("source", metavar="SOURCE")
@click.argument("text", metavar="TEXT")
@click.option(
    "--most",
    type=click.IntRange(1),
    default=MOST,
    show_default=True,
    metavar="N",
    help="Places to show.",
)
@format_option(FORMATS)
@output_option
@catalog_option
@hide_option
@click.option(
    "--values-seconds",
    "seconds",
    type=FiniteFloatRange(min=0),
    default=VALUES_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="Time for reading values that no earlier run has read.",
)
def values(
    source: str,
    text: str,
    most: int,
    form: str | None,
    path: str | None,
    catalog: str | None,
    hide: tuple[str, ...],
    seconds: float,
    privileged: bool,
    quiet: bool,
    verbose: bool,
) -> None:
    """Write the places of one value."""
    from stages.core.sandbox.source import open_source
    from stages.core.values.find import find

    diagnostics.begin("winnow values", quiet=quiet, verbose=verbose)
    opened = open_source(source, name=catalog, hide=hide)
    found = find(*opened, text, most=most, seconds=seconds, privileged=privileged)
    terminal = to_terminal(path)
    _write(found, form or ("table" if terminal else "csv"), path, terminal)
    for note in found.notes:
        diagnostics.note(note)
    diagnostics.finish()


values.params.extend([privileged_option(), *reporting_options()])


def _write(found: Finding, form: str, path: str | None, terminal: bool) -> None:
    from stages.core.sandbox.formats import render
    from stages.core.sandbox.limits import Answer

    rows = [(at.table, at.column, at.value, at.count, how) for how, at in found.places]
    answer = Answer(COLUMNS, TYPES, tuple(rows))
    with output(path) as out:
        out.write(render([answer], form, terminal=terminal))
