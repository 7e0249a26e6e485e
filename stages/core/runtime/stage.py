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
    PROGRESS = "progress"
    """A function of a number done, a number in all, and what; None in a dry run."""
    SCAFFOLDED = "scaffolded"
    """Whether `winnow scaffold` has written a solver for the task."""
    LANG = "lang"
    """``--lang`` of a stage that asks a model: the language of its prompts and reasons."""
    TIMEOUT = "timeout"
    """``--timeout``: seconds for one call; left to the stage where it is not given."""
    TEMPERATURE = "temperature"
    """``--temperature``; left to the stage where it is not given."""


ASKS = (Capability.MODEL, Capability.LANG, Capability.TIMEOUT)
"""What every stage wants that may ask a model."""


def _markdown(made: Section) -> str:
    return ".md"


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
        text: What ``--text`` prints of a section; None where there is no such option.
        text_suffix: Ending of the files that ``--text -o FOLDER/`` writes, by section.
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
    text: Callable[..., str] | None = None
    text_suffix: Callable[..., str] = _markdown
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
