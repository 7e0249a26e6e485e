"""Run one read-only SQL statement over a catalog, or look at its tables.

SOURCE is a file of lines that `winnow scan` wrote, a folder, a data file, the URL of a server,
or - for lines on stdin. Every table answers, folded or not, by its canonical name and its
aliases.

The statement is DuckDB SQL, the server's own, or of another --dialect. It comes from --sql,
after SOURCE, or from stdin where - stands in its place or nothing does. Instead of a statement:

\b
    \\tables         all tables, their aliases and columns; totals on stderr
    \\schema NAME    columns of one table, and its first rows

A terminal is shown the first rows and short cells; a file or a pipe gets all of them whole.
One query at a time, with no way to files, settings or anything that changes data. Rows come in
a full order, now() and current_date stand at a fixed time and samples and random numbers are
refused, so that the same statement gives the same answer every time. What was mended in a
statement is told on stderr.

\b
    winnow query build/task_15.scan.jsonl '\\tables'
    winnow query examples/task_15 "SELECT day, count(*) FROM employee_attendance GROUP BY day"
    winnow scan examples/task_15 | winnow query --sql 'SELECT * FROM employees' --format jsonl
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stages.core import diagnostics
from stages.core.dialects import WRITTEN_IN
from stages.core.errors import SqlLimit, UsageError
from stages.core.lines.io import STDIN, output, to_terminal
from stages.core.params import (
    FiniteFloatRange,
    Options,
    catalog_option,
    format_option,
    hide_option,
    output_option,
)
from stages.core.runtime.command import privileged_option
from stages.core.sandbox.formats import FORMATS, columns_on_terminal, records, render
from stages.core.sandbox.limits import ALL, Answer, Limits

if TYPE_CHECKING:
    from stages.core.sandbox.source import Opened

MEMORY_OF_TEXT = 4
"""Bytes of memory that one byte of an answer's text takes, held as rows."""
_DEFAULT = Limits()


def _limit(
    name: str, help_: str, *, metavar: str = "N", least: int = 1, option: str = ""
) -> click.Option:
    """An option that sets one limit; its default is the limit's own."""
    default = getattr(_DEFAULT, name)
    kind = FiniteFloatRange(0.1) if isinstance(default, float) else click.IntRange(least)
    flag = option or f"--{name.replace('_', '-')}"
    return click.Option(
        [flag, name], type=kind, default=default, show_default=True, metavar=metavar, help=help_
    )


def _most(name: str, help_: str) -> click.Option:
    """An option for what only a terminal has a limit of: 0 and no word elsewhere are all."""
    shown = f"{getattr(_DEFAULT, name)} on a terminal, all elsewhere"
    kind = click.IntRange(0, ALL)
    return click.Option(
        [f"--{name}"], type=kind, metavar="N", help=f"{help_}; 0 for all.  [default: {shown}]"
    )


def _time(_context: click.Context, _param: click.Parameter, given: str) -> str:
    """The time of --clock as the sandbox writes it."""
    if given == "now":
        return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
    try:
        return datetime.fromisoformat(given).strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        what = f"{given!r} is neither now nor a time like {_DEFAULT.clock}"
        raise click.BadParameter(what) from None


LIMITS = (
    _most("rows", "Most rows to show"),
    _most("cell", "Most characters of a cell"),
    _limit("seconds", "Time for the statement.", metavar="SECONDS", option="--timeout"),
    _limit("memory", "Memory for the statement.", metavar="MB", least=64),
    _limit("sql", "Most characters of the statement.", option="--max-sql"),
    _limit("tables", "Most table references in the statement.", option="--max-tables"),
    _limit("materialise", "Largest source that is loaded.", metavar="BYTES"),
    _limit(
        "load_seconds",
        "Time for loading a table, once.",
        metavar="SECONDS",
        option="--load-timeout",
    ),
    click.Option(
        ["--clock"],
        default=_DEFAULT.clock,
        show_default=True,
        metavar="TIME",
        callback=_time,
        help="What now() and current_date say, UTC; now for the time of the call.",
    ),
)


def _with_limits(command: click.Command) -> click.Command:
    command.params.extend([*LIMITS, privileged_option()])
    return command


@_with_limits
@click.command(help=__doc__)
@click.argument("source", nargs=-1, type=click.Path(allow_dash=True), metavar="SOURCE [SQL | -]")
@click.option("--sql", "statement", metavar="SQL", help="The statement.")
@click.option("--dialect", type=click.Choice(WRITTEN_IN), help="What the statement is written in.")
@format_option(FORMATS)
@output_option
@click.option(
    "--root",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder that the catalog's paths are relative to, where it has moved.",
)
@catalog_option
@hide_option
@click.option(
    "--show-values",
    is_flag=True,
    help="Let columns be read whose names say that they are secret, where SOURCE is scanned now.",
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
@click.option("-v", "--verbose", is_flag=True, help="Say more.")
def query(
    source: tuple[str, ...],
    statement: str | None,
    quiet: bool,
    verbose: bool,
    **options: Any,  # Any: see `Options`
) -> None:
    """Answer one statement."""
    diagnostics.begin("winnow query", quiet=quiet, verbose=verbose)
    place, sql = _source_and_statement(source, statement)
    terminal = to_terminal(options["path"])
    limits = _limits(options, terminal)
    answers = _answers(place, sql, options, limits)
    if not terminal:
        _whole(answers, limits)
    form = options["form"] or ("table" if terminal else "csv")
    _write(answers, form, options["path"], terminal)
    _tell(answers, in_columns=terminal and form == "table")


def _limits(options: Options, terminal: bool) -> Limits:
    """The limits that the options give; what a program reads is cut nowhere unless it is asked
    for."""
    given = {item.name: options.get(item.name) for item in fields(Limits)}
    for name in ("rows", "cell"):
        if given[name] is None and terminal:
            continue
        given[name] = given[name] or ALL
    limits = replace(
        _DEFAULT, **{name: value for name, value in given.items() if value is not None}
    )
    answer = max(limits.answer, limits.memory * 2**20 // MEMORY_OF_TEXT)
    return replace(limits, max_rows=max(limits.max_rows, limits.rows), answer=answer)


def _whole(answers: list[Answer], limits: Limits) -> None:
    """Refuse an answer that its size cut: a file or a pipe gets all that was asked for.

    Raises:
        SqlLimit: Fewer rows came than there are and were asked for.
    """
    for answer in answers:
        if answer.truncated and len(answer.rows) < limits.rows:
            what = f"the answer is larger than {limits.answer // 2**20} MB"
            raise SqlLimit(what, hint="raise --memory, or ask for fewer rows or columns")


def _source_and_statement(source: tuple[str, ...], statement: str | None) -> tuple[str, str]:
    """The source and the statement, wherever each of them came from.

    Raises:
        UsageError: Too much, too little, or both from stdin.
    """
    if len(source) > (1 if statement is not None else 2):
        raise UsageError("one source and one statement", hint="put the statement in quotes")
    if statement is not None:
        return (source[0] if source else STDIN), statement
    if not source or source == (STDIN,):
        raise UsageError("no statement", hint="give --sql, or a source")
    if source == (STDIN, STDIN):
        raise UsageError("source and statement cannot both come from stdin", hint="give --sql")
    place, *given = source
    if given and given != [STDIN]:
        return place, given[0]
    return place, _from_stdin(bool(given))


def _from_stdin(asked_for: bool) -> str:
    """The statement from stdin."""
    if sys.stdin is None or (sys.stdin.isatty() and not asked_for):
        raise UsageError("no statement", hint="give it with --sql, after the source, or on stdin")
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def rows_of(source: str | Opened, sql: str, options: Options) -> list[dict[str, object]]:
    """The rows of a statement as dicts by column; all of them unless ``rows`` says otherwise.

    Raises:
        SqlError: The statement is refused, fails, or is cut by a limit.
    """
    limits = _limits(options, terminal=False)
    answers = _answers(source, sql, options, limits)
    _whole(answers, limits)
    return [row for answer in answers for row in records(answer)]


def _answers(source: str | Opened, sql: str, options: Options, limits: Limits) -> list[Answer]:
    from stages.core.lines.files import Targets
    from stages.core.sandbox.database import Database
    from stages.core.sandbox.source import open_source

    catalog, tables = (
        source
        if not isinstance(source, str)
        else open_source(
            source,
            name=options["catalog"],
            hide=options["hide"],
            show_secrets=options["show_values"],
            targets=Targets.of(options["path"]),
        )
    )
    with Database(
        catalog, tables, limits=limits, root=options["root"], progress=_loading()
    ) as database:
        word, *after = sql.strip().rstrip(";").split(None, 1) or [""]
        rest = "".join(after)
        if word == "\\tables":
            diagnostics.note(database.totals())
            return [database.tables()]
        if word == "\\schema":
            if not rest.strip():
                raise UsageError("\\schema needs the name of a table", hint="\\tables lists them")
            return [answer for answer in database.schema(rest) if answer is not None]
        if word.startswith("\\"):
            raise UsageError(f"no command {word}", hint="\\tables or \\schema NAME")
        return [database.query(sql, dialect=options["dialect"])]


def _loading() -> Callable[[str], None]:
    """What tells, on a terminal, which table is being loaded."""
    loaded = count()
    return lambda name: diagnostics.progress(next(loaded), None, f"tables loaded, now {name}")


def _write(answers: list[Answer], form: str, path: str | None, terminal: bool) -> None:
    with output(path) as out:
        out.write(render(answers, form, terminal=terminal))


def _tell(answers: list[Answer], *, in_columns: bool) -> None:
    """Say on stderr what was mended, and that there is more."""
    for answer in answers:
        for repair in answer.repairs:
            diagnostics.note(repair)
        if answer.truncated:
            diagnostics.note(f"the first {len(answer.rows)} rows; --rows shows more")
        shown = columns_on_terminal(answer) if in_columns else len(answer.columns)
        if shown < len(answer.columns):
            diagnostics.note(
                f"the first {shown} of {len(answer.columns)} columns; --format vertical shows all"
            )
