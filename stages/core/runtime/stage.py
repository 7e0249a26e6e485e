"""What a stage is: one pure function, and one literal that says what it needs and adds.

`core.runtime.command` makes a click command of it; nothing in a stage reads, writes, prints,
or looks at the clock. These classes are never compared or shown, and making the methods for
that would be a part of every start.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

import click

if TYPE_CHECKING:
    from stages.core.records import Catalog, Table, Task

Section: TypeAlias = Mapping[str, object]

TASK_INPUTS = ("question", "evidence", "knowledge", "video")


class Capability(Enum):
    """What a stage may want of the command around it; the value is the keyword of ``run``.

    `core.runtime.runner` has one provider for each.
    """

    CATALOG = "catalog"
    """The catalog's record."""
    MODEL = "model"
    """A `core.model.Model`; left to the stage for ``builtin``."""
    DATABASE = "database"
    """A `core.sandbox.session.Data` over the catalog, or None where it has no data."""
    VALUES = "values"
    """A `core.judge.judgment.ValueSearch` over the catalog's values; None where no rows are at
    hand, or with ``--no-values``."""
    PROGRESS = "progress"
    """A function of a number done, a number in all, and what; None in a dry run."""
    FOLDER = "folder"
    """The `TaskFolder` that the catalog was made from; None where it lies in no folder that is
    there."""
    LANG = "lang"
    """``--lang`` of a stage that asks a model: the language of its prompts and reasons."""
    TIMEOUT = "timeout"
    """``--timeout``: seconds for one call; left to the stage where it is not given."""
    TEMPERATURE = "temperature"
    """``--temperature``; left to the stage where it is not given."""


ASKS = (Capability.MODEL, Capability.LANG, Capability.TIMEOUT)
"""What every stage wants that may ask a model."""

JUDGES = (*ASKS, Capability.VALUES)
"""What a stage wants that asks a model or the built-in judge."""


@dataclass(frozen=True, eq=False, repr=False)
class TaskFolder:
    """What lies in the folder of a catalog beside data.

    Args:
        task: Whether there is a ``task.json``, so that the solver works in a task's folder.
        solver: Whether `winnow scaffold` has written ``workdir/solver.py``.
    """

    task: bool
    solver: bool


def works_in_task(catalog: Catalog, folder: TaskFolder | None) -> bool:
    """Whether the solver works in a task's folder; believed of a folder that is not there."""
    return "root" in catalog and (folder is None or folder.task)


@dataclass(frozen=True, eq=False, repr=False)
class BareText:
    """What an option prints of a section instead of lines.

    Args:
        option: The option, a flag.
        make: The text, from the section.
        suffix: Ending of the files that ``-o FOLDER/`` writes, by section.
    """

    option: click.Option
    make: Callable[..., str]
    suffix: Callable[..., str]


def text_option(make: Callable[..., str], suffix: Callable[..., str]) -> BareText:
    """``--text``, for stages whose section is text in the end."""
    option = click.Option(
        ["--text"],
        is_flag=True,
        help="Print the bare text instead of lines: one task, or many with -o FOLDER.",
    )
    return BareText(option, make, suffix)


@dataclass(frozen=True, eq=False, repr=False)
class TaskReport:
    """A task as it was written, with its catalog (None where it has none) and its tables."""

    task: Task
    catalog: Catalog | None
    tables: Sequence[Table]


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A file beside the lines, made from all tasks of a run.

    Args:
        option: The option that names the file.
        make: The file's content, from the tasks in their order.
    """

    option: click.Option
    make: Callable[[Sequence[TaskReport]], bytes]


@dataclass(frozen=True, eq=False, repr=False)
class Stage:
    """One stage of the chain.

    Args:
        run: ``run(task, tables, **wanted, **options) -> section``; a coroutine function
            where the stage asks a model. The section comes without ``of``; a ``meta`` in
            it may hold ``lang``, ``prompt`` and ``skipped``, the rest is filled in.
        needs: Sections that have to stand on the task.
        needs_any: Sections of which at least one has to stand.
        uses: Sections that are read where they stand.
        inputs: Keys of the task that the result depends on.
        reads_tables: Whether the result depends on the table lines.
        wants: What is handed to ``run`` by keyword beside the options.
        options: The stage's own click options; their values are keywords of ``run``.
        texts: Options that print something of a section instead of lines.
        report: A file made from all tasks of a run, where an option asks for it.
        counts: The numbers of what one section leaves; they are added up over tasks.
        summary: The sentence for stderr that `counts` fill, with nouns in the singular:
            ``"kept {0} of {1:table}"``.
    """

    run: Callable[..., Section | Awaitable[Section]]
    needs: tuple[str, ...] = ()
    needs_any: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    inputs: tuple[str, ...] = TASK_INPUTS
    reads_tables: bool = True
    wants: tuple[Capability, ...] = ()
    options: tuple[click.Option, ...] = ()
    texts: tuple[BareText, ...] = ()
    report: Report | None = None
    counts: Callable[..., tuple[int, ...]] | None = None
    summary: str = ""

    @property
    def name(self) -> str:
        """The command and the section that it adds."""
        return self.run.__name__

    @property
    def asks(self) -> bool:
        """Whether the stage may ask a model."""
        return Capability.MODEL in self.wants

    @property
    def reads_catalog(self) -> bool:
        """Whether the result depends on the catalog's line."""
        return Capability.CATALOG in self.wants
