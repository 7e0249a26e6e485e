"""Pin tables on tasks by hand: always keep them, or always fold them.

FILE holds lines with tasks; stdin where it is left out. A pin beats every vote and section: a
table to keep is shown in full, one to fold in a line of its own. Names may be aliases, in any
case, as long as each means one table of the task's catalog; one that means none, or several,
is an error, and that task stays as it was. Where nothing is asked for, the pins are listed.

\b
    winnow pin vote.jsonl --keep employees --fold audit_log -o vote.jsonl
    winnow pin vote.jsonl --task q7 --free employees | winnow collapse
    winnow pin vote.jsonl
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

import click

from stages.core import diagnostics
from stages.core.errors import DataError, UsageError
from stages.core.lines.io import inputs, output
from stages.core.lines.lines import BadLine, CatalogLines, Item, LineReader, Output, TaskInput, dump
from stages.core.params import output_option
from stages.core.readers import pinned
from stages.core.text import visible

if TYPE_CHECKING:
    from stages.core.records import Pin, Table


@dataclass(frozen=True, eq=False, repr=False)
class Edit:
    """Tables to keep, to fold, and to free of a pin; and whether all pins go first."""

    keep: Sequence[str]
    fold: Sequence[str]
    free: Sequence[str]
    clear: bool

    def __bool__(self) -> bool:
        return bool(self.keep or self.fold or self.free or self.clear)


@click.command(help=__doc__)
@click.argument("file", required=False, type=click.Path(allow_dash=True), metavar="[FILE]")
@click.option("--keep", multiple=True, metavar="TABLE", help="Always keep it; may be repeated.")
@click.option("--fold", multiple=True, metavar="TABLE", help="Always fold it; may be repeated.")
@click.option("--free", multiple=True, metavar="TABLE", help="Take its pin off; may be repeated.")
@click.option("--clear", is_flag=True, help="Take all pins off first.")
@click.option(
    "--task", "only", multiple=True, metavar="ID", help="Only this task; may be repeated."
)
@output_option
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
def pin(
    file: str | None,
    keep: tuple[str, ...],
    fold: tuple[str, ...],
    free: tuple[str, ...],
    clear: bool,
    only: tuple[str, ...],
    path: str | None,
    quiet: bool,
) -> None:
    """Write the lines with the pins changed, or list the pins."""
    diagnostics.begin("winnow pin", quiet=quiet)
    if both := {*keep} & {*fold}:
        raise UsageError(f"{min(both)} cannot be kept and folded", hint="give it once")
    edit = Edit(keep, fold, free, clear)
    with output(path) as out:
        seen = _pass(inputs([file] if file else []), only, edit, out)
        if unknown := [name for name in only if name not in seen]:
            hint = "`winnow show FILE` lists the tasks"
            raise DataError(f"no task {unknown[0]}", place=file or "stdin", hint=hint)
    diagnostics.finish()


def _pass(
    sources: Iterable[tuple[IO[bytes], str]], only: Sequence[str], edit: Edit, out: Output
) -> set[str]:
    """Pass the lines on, or list the pins; the ids of the tasks that came."""
    seen: set[str] = set()
    for item in LineReader().read(sources):
        if isinstance(item, BadLine):
            diagnostics.error(item.error)
        if isinstance(item, TaskInput):
            seen.add(item.task["task_id"])
        if not edit:
            out.write(_list(item, only))
        elif isinstance(item, TaskInput):
            out.write(_line(item, only, edit))
        elif isinstance(item, CatalogLines):
            out.write(b"".join(item.lines()))
        elif item.raw is not None:
            out.write(item.raw + b"\n")
    return seen


def _list(item: Item, only: Sequence[str]) -> bytes:
    """The pins of a task for a person: its id, which way, the table; a line each."""
    if not isinstance(item, TaskInput) or (only and item.task["task_id"] not in only):
        return b""
    rows = [
        f"{visible(item.task['task_id'])}\t{kind}\t{visible(name)}\n"
        for kind, names in _lists(item.task.get("pin", {})).items()
        for name in names
    ]
    return "".join(rows).encode("utf-8", "replace")


def _line(asked: TaskInput, only: Sequence[str], edit: Edit) -> bytes:
    """The task's line with its pins changed; as it was where a name means no table."""
    if only and asked.task["task_id"] not in only:
        return asked.line.raw + b"\n"
    try:
        pins = _edited(asked.task.get("pin", {}), edit, asked.tables)
    except DataError as error:
        error.place = asked.task["task_id"]
        diagnostics.error(error)
        return asked.line.raw + b"\n"
    rest = {key: value for key, value in asked.task.items() if key != "pin"}
    return dump({**rest, "pin": pins} if pins else rest)


def _edited(pin: Pin, edit: Edit, tables: Sequence[Table]) -> dict[str, list[str]]:
    """The pins after the edit, by canonical names; what was pinned before and means no table
    stays as it is written.

    Raises:
        DataError: A name of the edit means no table, or several.
    """
    keep, fold, free = (_named(names, tables) for names in (edit.keep, edit.fold, edit.free))
    gone = {*keep, *fold, *free}
    before = {} if edit.clear else _lists(pin)
    after: dict[str, list[str]] = {}
    for kind, more in (("keep", keep), ("fold", fold)):
        stay = [name for name in before.get(kind, []) if not gone & {name, *_meant(name, tables)}]
        after[kind] = list(dict.fromkeys([*stay, *more]))
    return {kind: names for kind, names in after.items() if names}


def _lists(pin: Pin) -> dict[str, list[str]]:
    """The names by which way they are pinned."""
    return {"keep": list(pin.get("keep", [])), "fold": list(pin.get("fold", []))}


def _meant(name: str, tables: Sequence[Table]) -> set[str]:
    """The table that a name means, if it means one."""
    return pinned({"keep": [name]}, tables)[0]["keep"]


def _named(names: Sequence[str], tables: Sequence[Table]) -> list[str]:
    """The canonical names.

    Raises:
        DataError: A name means no table, or several.
    """
    found, notes = pinned({"keep": list(names)}, tables)
    if notes:
        what = f"{notes[0].removeprefix('pin keep: ')}; its pins stay as they were"
        raise DataError(what, hint=r"`winnow query FILE '\tables'` lists them with their aliases")
    return sorted(found["keep"])
