"""Measure results against gold; `winnow evaluate linking` scores what a section kept."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from stages.core.evaluate.gold import GoldBook
    from stages.core.evaluate.metrics import CatalogFacts, Measure, MeasureTally
    from stages.core.lines.lines import Item, TaskInput

SECTIONS = ("link", "prune", "refine", "vote", "collapse")
NO_GOLD = "tasks without gold"
NO_SECTION = "tasks without the section"
FAILED = "tasks with an error and no section"
NOT_THERE = "questions whose gold tables are not all in the catalog, or name none"


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def evaluate() -> None:
    """Measure results against gold."""


@evaluate.command()
@click.argument("files", nargs=-1, type=click.Path(allow_dash=True), metavar="[FILE]...")
@click.option(
    "--gold",
    "gold",
    multiple=True,
    required=True,
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSON lines with id, gold_tables and gold_columns; give it again for more sets.",
)
@click.option(
    "--section",
    default="link",
    show_default=True,
    type=click.Choice(SECTIONS),
    help="The section whose choice is measured.",
)
@click.option(
    "--format",
    "form",
    default="text",
    show_default=True,
    type=click.Choice(("text", "json", "markdown")),
)
@click.option(
    "--worst",
    "n_worst",
    default=0,
    metavar="N",
    type=click.IntRange(0),
    help="List the N questions that lost most, and what spoke for the lost tables.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(allow_dash=True),
    help="Write to FILE, renamed into place at the end.",
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
@click.option("-v", "--verbose", is_flag=True, help="Say more: every warning.")
def linking(
    files: tuple[str, ...],
    gold: tuple[Path, ...],
    section: str,
    form: str,
    n_worst: int,
    output: str | None,
    quiet: bool,
    verbose: bool,
) -> None:
    """Score the tables and columns that a section kept.

    Lines come from FILE or stdin; gold is matched on the task id, and where one id stands
    in several gold files the catalog tells which one is meant.

    \b
        winnow link lines.jsonl | winnow evaluate linking --gold spider-dev.jsonl --worst 20
    """
    from stages.core import diagnostics
    from stages.core.evaluate.gold import GoldBook, read_gold
    from stages.core.evaluate.report import report
    from stages.core.lines import io
    from stages.core.lines.lines import LineReader

    diagnostics.begin("winnow evaluate linking", quiet=quiet, verbose=verbose)
    book = GoldBook([found for path in gold for found in read_gold(path)])
    tally = score(LineReader().read(io.inputs(files)), book, section)
    if not tally.measures:
        diagnostics.note(
            "no question could be scored: " + (", ".join(tally.left_out) or "no task came in")
        )
    with io.output(output) as out:
        out.write(report(tally, section, form=form, n_worst=n_worst).encode())
    diagnostics.finish()
    if diagnostics.exit_code():
        raise SystemExit(diagnostics.exit_code())


def score(items: Iterable[Item], book: GoldBook, section: str) -> MeasureTally:
    """Measure every task among the items that has gold and the section.

    Broken lines, and sections of another shape, are reported and left out.

    Raises:
        DataError: A task stands twice, as where two runs of one set are given: the figures of
            both together would be those of neither.
    """
    from stages.core import diagnostics
    from stages.core.errors import DataError
    from stages.core.evaluate.metrics import MeasureTally
    from stages.core.lines.lines import BadLine, TaskInput

    tally, known, asked = MeasureTally(), _TaskRegister(), set()
    for item in items:
        if isinstance(item, BadLine):
            diagnostics.error(item.error)
        elif isinstance(item, TaskInput):
            asked.add(item.task["task_id"])
            known.once(item)
            try:
                found, reason = _measured(item, book, section, known)
                tally.add(found, reason)
                tally.stale += found is not None and not _stands(item, section)
            except DataError as error:
                error.place = error.place or item.line.place
                diagnostics.error(error)
    tally.unasked = len(book.by_id.keys() - asked)
    return tally


def _measured(
    asked: TaskInput, book: GoldBook, name: str, known: _TaskRegister
) -> tuple[Measure | None, str]:
    """The measure of one task, or None and the reason why there is none."""
    from stages.core.evaluate.metrics import measure
    from stages.core.lines.sections import section
    from stages.core.readers import kept

    task = asked.task
    if task["task_id"] not in book.by_id:
        return None, NO_GOLD
    found = section(task, name)
    if found is None:
        return None, FAILED if task.get("error") else NO_SECTION
    facts = known.of(asked)
    gold = book.find(task["task_id"], facts.names)
    if gold is None:
        return None, NO_GOLD
    return measure(kept(name, found), gold, facts, task.get("question", "")), NOT_THERE


def _stands(asked: TaskInput, name: str) -> bool:
    """Whether the section was made from the task and the tables as they are."""
    from stages.core.lines.sections import Check

    return Check(asked.task, asked.hashes, asked.line.place).stands(name)


class _TaskRegister:
    """The facts of each catalog met, made anew only where its table lines changed, and where
    each task stood."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[str, CatalogFacts]] = {}
        self._places: dict[tuple[str, str], str] = {}

    def once(self, asked: TaskInput) -> None:
        """Refuse a task that was met before under its id and catalog."""
        from stages.core.errors import DataError

        name = asked.task["task_id"]
        first = self._places.get((name, asked.shelf.id))
        self._places[name, asked.shelf.id] = asked.line.place
        if first is not None:
            what, hint = f"task {name} stands at {first} already", "measure one run at a time"
            raise DataError(what, place=asked.line.place, hint=hint)

    def of(self, asked: TaskInput) -> CatalogFacts:
        """The facts of the catalog that a task is asked of."""
        from stages.core.evaluate.metrics import CatalogFacts

        shelf = asked.shelf
        made = self._made.get(shelf.id)
        if made is None or made[0] != shelf.tables_hash:
            made = (
                shelf.tables_hash,
                CatalogFacts(asked.tables, f"{shelf.catalog['name']} {shelf.id[7:15]}"),
            )
            self._made[shelf.id] = made
        return made[1]
