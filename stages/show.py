"""Show a file of lines as a person reads it; why a table was kept; what two files differ in.

With one file, or stdin: the catalogs with their tables, then each task with its sections in
short. With two files: what changed from the first to the second.

\b
    winnow show build/task_15.vote.jsonl
    winnow show build/task_15.vote.jsonl --why employee_attendance
    winnow show before.jsonl after.jsonl
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

import click

from stages.core import diagnostics
from stages.core.errors import DataError, UsageError
from stages.core.lines.io import inputs

NARROWEST = 20


@click.command(help=__doc__)
@click.argument("files", nargs=-1, type=click.Path(allow_dash=True), metavar="[FILE [FILE]]")
@click.option("--task", "task_id", metavar="ID", help="Only this task.")
@click.option(
    "--why", "table", metavar="TABLE", help="Everything said about one table, and where it ended."
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def show(files: tuple[str, ...], task_id: str | None, table: str | None, quiet: bool) -> None:
    """Print one of the three views."""
    from stages.core.show import book, compare, overview, why

    diagnostics.begin("winnow show", quiet=quiet)
    if len(files) > 2 or (len(files) == 2 and (table or task_id)):
        raise UsageError("one file, or two to compare", hint="give --task and --why with one file")
    if len(files) == 2:
        _print(compare.compare(*(book.read(inputs([name]), name) for name in files)))
        return
    lines = book.read(inputs(files), files[0] if files else "stdin")
    if task_id is not None and lines.task(task_id) is None:
        raise DataError(
            f"no task {task_id}", place=lines.name, hint="`winnow show FILE` lists them"
        )
    for problem in book.odd(lines, task_id):
        diagnostics.warn(problem)
    _print(why.why(lines, table, task_id) if table else overview.overview(lines, task_id))
    diagnostics.finish()


def _print(parts: Iterable[object]) -> None:
    """Print renderables and lines; nothing in them is read as markup."""
    from rich.console import Console

    if sys.stdout is None:
        raise DataError("stdout is closed", hint="leave it open: a view goes nowhere else")
    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=False)
    if console.width < NARROWEST:  # a terminal that does not know its width says 0
        console.width = NARROWEST
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, str))
