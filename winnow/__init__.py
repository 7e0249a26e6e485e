"""winnow for Python: the commands as functions, on the same lines as dicts.

>>> import winnow
>>> lines = winnow.vote(winnow.scan("examples/orders"), recall=0.97)
>>> lines[-1]["vote"]["relevant_tables"]
['customers', 'order_items', 'orders']

A function takes the lines of the one before it and gives them on with its section added. Options
are those of the command, by keyword with ``_``: ``vote(lines, model="openai/gpt-4o", rounds=3)``.
Where a model is asked, `winnow.aio` has the same functions for a running loop. What a command says
on stderr goes to the logger ``winnow``; where tasks fail, `PartialResult` is raised at the end,
and its ``lines`` hold what was made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from typing import TypeAlias

from stages import __version__
from stages.core.errors import (
    DataError,
    ModelError,
    PartialResult,
    SqlError,
    UsageError,
    WinnowError,
)
from stages.core.runtime import library

Line: TypeAlias = dict[str, object]
"""A catalog, a table or a task, as the schemas in docs/ say."""

Lines: TypeAlias = Iterable[Mapping[str, object]]

Option: TypeAlias = str | int | float | bool | PathLike[str] | list[str] | tuple[str, ...] | None
"""The value of an option; None leaves it as it is."""

__all__ = [
    "DataError",
    "Line",
    "Lines",
    "ModelError",
    "Option",
    "PartialResult",
    "SqlError",
    "UsageError",
    "WinnowError",
    "__version__",
    "ask",
    "collapse",
    "describe",
    "evaluate",
    "explore",
    "link",
    "messages",
    "plan",
    "prompt",
    "prune",
    "query",
    "refine",
    "scan",
    "summarize",
    "vote",
]


def scan(
    *sources: str | PathLike[str],
    question: str | None = None,
    evidence: str | None = None,
    questions: Iterable[Mapping[str, object]] | None = None,
    **options: Option,
) -> list[Line]:
    """Read folders, data files, servers or schema files into lines.

    Args:
        sources: Paths and URLs; a task folder brings its own question.
        question: Asked of every source.
        evidence: A hint that goes with the question.
        questions: Many: each with ``question`` and where wanted ``id``, ``evidence``, ``db_id``.
        options: Those of ``winnow scan``, such as ``hide_values`` or ``include``.

    Raises:
        UsageError: An option that is none, or a value that cannot be.
        PartialResult: A source gave nothing, or a question names no catalog.

    >>> [line["kind"] for line in scan("examples/orders")].count("table")
    9
    """
    given = {"question": question, "evidence": evidence, **options}
    return library.scan([fspath(source) for source in sources], questions, given)


def link(lines: Lines, *, model: str | None = None, **options: Option) -> list[Line]:
    """Rank the tables and columns that each question needs, with evidence; adds ``link``.

    ``model`` is a litellm id, or None for ``WINNOW_MODEL``, else the built-in judge; ``options``
    are those of ``winnow link``.
    """
    return library.apply("link", lines, {"model": model, **options})


def plan(lines: Lines, *, model: str | None = None, **options: Option) -> list[Line]:
    """Plan what each question needs, from the question alone; adds ``plan``.

    ``model`` is a litellm id, or None for ``WINNOW_MODEL``, else the built-in judge; ``options``
    are those of ``winnow plan``.
    """
    return library.apply("plan", lines, {"model": model, **options})


def prune(lines: Lines, *, model: str | None = None, **options: Option) -> list[Line]:
    """Prune what each question plainly does not need, down to columns; adds ``prune``.

    ``model`` is a litellm id, or None for ``WINNOW_MODEL``, else the built-in judge; ``options``
    are those of ``winnow prune``.
    """
    return library.apply("prune", lines, {"model": model, **options})


def summarize(lines: Lines, *, model: str | None = None, **options: Option) -> list[Line]:
    """Say what each surviving table does for the question; adds ``summarize``.

    ``model`` is a litellm id, or None for ``WINNOW_MODEL``, else the built-in judge; ``options``
    are those of ``winnow summarize``.
    """
    return library.apply("summarize", lines, {"model": model, **options})


def explore(lines: Lines, *, model: str | None = None, **options: Option) -> list[Line]:
    """Explore every candidate table in the data itself; adds ``explore``.

    ``model`` is a litellm id, or None for ``WINNOW_MODEL``, else the built-in judge; ``options``
    are those of ``winnow explore``.
    """
    return library.apply("explore", lines, {"model": model, **options})


def refine(lines: Lines, *, model: str | None = None, **options: Option) -> list[Line]:
    """Choose one connected schema for each question; adds ``refine``.

    ``model`` is a litellm id, or None for ``WINNOW_MODEL``, else the built-in judge; ``options``
    are those of ``winnow refine``.
    """
    return library.apply("refine", lines, {"model": model, **options})


def vote(lines: Lines, *, model: str | None = None, **options: Option) -> list[Line]:
    """Vote on which tables each question needs; adds ``vote``.

    ``model`` is a litellm id, or None for ``WINNOW_MODEL``, else the built-in judge; ``options``
    are those of ``winnow vote``.
    """
    return library.apply("vote", lines, {"model": model, **options})


def collapse(lines: Lines, **options: Option) -> list[Line]:
    """Decide how much of each table is shown; adds ``collapse``.

    ``options`` are those of ``winnow collapse``.
    """
    return library.apply("collapse", lines, options)


def describe(lines: Lines, **options: Option) -> list[Line]:
    """Write the context description; adds ``describe``.

    ``options`` are those of ``winnow describe``.
    """
    return library.apply("describe", lines, options)


def prompt(lines: Lines, **options: Option) -> list[Line]:
    """Write the solver's messages; adds ``prompt``, see `messages`.

    ``options`` are those of ``winnow prompt``.
    """
    return library.apply("prompt", lines, options)


def ask(
    source: str | PathLike[str],
    question: str | None = None,
    *,
    by: str = "vote",
    evidence: str | None = None,
    **options: Option,
) -> list[Line]:
    """All lines from scan to prompt, for one question of one source.

    Args:
        source: A folder, a data file, the URL of a server, or a file of lines.
        question: In place of what its ``task.json`` asks.
        by: ``vote``, ``link``, or ``refine`` for columns too.
        evidence: A hint that goes with the question.
        options: Those of ``winnow ask``, such as ``model`` or ``budget``.

    >>> messages(ask("examples/orders"))[0]["role"]
    'system'
    """
    return library.ask(fspath(source), question, by, {"evidence": evidence, **options})


def messages(lines: Lines, task_id: str | None = None) -> list[dict[str, str]]:
    """The messages for the solver, as a model's client takes them.

    Args:
        lines: From `prompt` or `ask`.
        task_id: Which task; where there is one it need not be named.

    Raises:
        DataError: No such task, several, or one that came to no prompt.
    """
    return library.messages(lines, task_id)


def query(source: str | PathLike[str] | Lines, sql: str, **options: Option) -> list[Line]:
    """The rows of one read-only statement, as dicts by column.

    Args:
        source: Lines, or what ``winnow query`` takes: a file of lines, a folder, a data file, a
            URL.
        sql: DuckDB SQL, or what ``dialect`` names.
        options: Those of ``winnow query``: ``dialect``, ``timeout``, ``clock`` and others.

    Raises:
        SqlError: The statement is refused, fails, or is cut by a limit.

    >>> query("examples/orders", "SELECT count(*) AS n FROM customers")
    [{'n': 12}]
    """
    place = fspath(source) if isinstance(source, str | PathLike) else source
    return library.query(place, sql, options)


def evaluate(lines: Lines, gold: str | PathLike[str], *, section: str = "link") -> Line:
    """The scores of what a section kept, as ``winnow evaluate linking --format json`` has them.

    Args:
        lines: With the section.
        gold: A file of JSON lines with id, gold_tables and gold_columns.
        section: ``link``, ``prune``, ``refine``, ``vote`` or ``collapse``.
    """
    return library.evaluate(lines, fspath(gold), section)
