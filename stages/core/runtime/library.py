"""Commands called from Python: lines in, lines out, as they would go through a pipe.

Nothing is printed. What a command would say on stderr goes to the logger ``winnow``, and what it
would end with another status for is raised once all is done.
"""

from __future__ import annotations

import io
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import copy_context
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import click
import orjson

from stages.core import diagnostics
from stages.core.errors import DataError, PartialResult, UsageError
from stages.core.lines.lines import LineReader, Output, dump
from stages.core.params import Options
from stages.core.runtime.command import data_of, stage_named
from stages.core.runtime.keywords import CommandKeywords, StageKeywords
from stages.core.runtime.runner import RunPlan, run_now
from stages.core.runtime.stage import Stage
from stages.core.text import listed

if TYPE_CHECKING:
    from stages.core.records import Catalog, Table

LineRecord: TypeAlias = dict[str, object]
"""A catalog, a table or a task, as JSON has it."""

Keywords: TypeAlias = Mapping[str, object]
"""Options by keyword."""

LOGGER = "winnow"
OF_STREAMS = frozenset({"output", "path", "schema", "quiet", "verbose", "log"})
OF_ASK = OF_STREAMS | {"out"}
OF_QUERY = OF_STREAMS | {"form", "statement"}
"""Options about streams and messages, which Python has no use for."""

Result = TypeVar("Result")


def apply(name: str, lines: Iterable[Mapping[str, object]], given: Keywords) -> list[LineRecord]:
    """Pass lines through a stage.

    Args:
        name: The stage.
        lines: Catalogs, tables and tasks in the order of a pipe.
        given: Its options.

    Raises:
        UsageError: An option that is none, or a value that cannot be.
        PartialResult: Tasks failed.
        WinnowError: Nothing could be done.
    """
    return at_once(apply_async(name, lines, given))


async def apply_async(
    name: str, lines: Iterable[Mapping[str, object]], given: Keywords
) -> list[LineRecord]:
    """As `apply`, on the running loop; requests to a model run side by side."""
    with collected(name) as out:
        keywords = StageKeywords(stage_named(name))
        own, shared = keywords.values(_words(keywords, given))
        await pass_lines(keywords.stage, lines, out, own, shared)
    return out.lines


async def pass_lines(
    stage: Stage,
    lines: Iterable[Mapping[str, object]],
    out: Output,
    own: Options,
    shared: Options,
) -> None:
    """Pass lines through a stage, into an output.

    Args:
        stage: The stage.
        lines: Catalogs, tables and tasks in the order of a pipe.
        out: Where the lines go.
        own: Values of the stage's own options.
        shared: Values of those that stages share.

    Raises:
        WinnowError: Nothing could be done; what fails on one task is told, and the others go on.
    """
    plan = RunPlan(stage, own, shared=shared if stage.asks else {})
    stream = io.BytesIO(b"".join(map(dump, lines)))
    items = list(LineReader().read([(stream, "lines")]))
    with data_of(plan, shared):
        if stage.asks and shared["model"] != "builtin":
            from stages.core.runtime.async_runner import ask_all

            await ask_all(plan, iter(items), out, shared)
        else:
            run_now(plan, iter(items), out)


def at_once(made: Coroutine[object, object, Result]) -> Result:
    """The result of a coroutine, also where a loop runs already, as in a notebook."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(made)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(copy_context().run, asyncio.run, made).result()


def _words(keywords: CommandKeywords, given: Keywords) -> list[str]:
    return [word for key, value in given.items() for word in keywords.words(key, value)]


class LinesOutput(Output):
    """An output that holds the lines written to it."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), "lines")
        self.lines: list[LineRecord] = []

    def write(self, data: bytes) -> None:
        """Take whole lines."""
        self.lines += [orjson.loads(raw) for raw in data.splitlines()]


@contextmanager
def collected(name: str) -> Iterator[LinesOutput]:
    """An output for one command; see the module for what becomes of its messages.

    Raises:
        PartialResult: Errors were told.
        UsageError: Click refuses an option.
    """
    out = LinesOutput()
    with diagnostics.collecting(f"winnow {name}") as state:
        try:
            yield out
        except click.UsageError as error:
            what = error.format_message().rstrip(".").replace("\n", " ")
            raise UsageError(what, place=name) from None
        finally:
            _log(state.collected or [])
    if state.errors:
        raise PartialResult([str(error) for error in state.errors], out.lines)


def _log(messages: list[str]) -> None:
    if messages:
        import logging

        for message in messages:
            logging.getLogger(LOGGER).info(message)


def scan(
    sources: Iterable[str], asked: Iterable[Mapping[str, object]] | None, given: Keywords
) -> list[LineRecord]:
    """The lines of sources; see `scan_lines`.

    Raises:
        UsageError: An option that is none, or a value that cannot be.
        PartialResult: A source gave nothing, or a question names no catalog.
    """
    with collected("scan") as out:
        scan_lines(sources, asked, given, out)
    return out.lines


def scan_lines(
    sources: Iterable[str],
    asked: Iterable[Mapping[str, object]] | None,
    given: Keywords,
    out: Output,
) -> None:
    """Write the lines of folders, data files, servers or schema files.

    Args:
        sources: Paths and URLs.
        asked: Questions, each with ``question`` and where wanted ``id``, ``evidence``, ``db_id``.
        given: Options of ``winnow scan`` by keyword.
        out: Where the lines go.

    Raises:
        DataError: An option is none of scan's.
        click.UsageError: A value cannot be.
    """
    module = import_module("stages.scan")
    keywords = CommandKeywords(module.scan, OF_STREAMS)
    values = keywords.params([*_words(keywords, given), "--", *sources])
    stream = None
    if asked is not None:
        stream = io.BytesIO(b"".join(map(dump, asked))), "questions"
    module.write_lines(values, out, stream)


def ask(source: str, question: str | None, by: str, given: Keywords) -> list[LineRecord]:
    """All lines from scan to prompt; see `stages.ask.lines_of`.

    Raises:
        UsageError: An option that is none, or a value that cannot be.
        PartialResult: A stage failed.
        WinnowError: Nothing could be read, or nothing is asked.
    """
    module = import_module("stages.ask")
    with collected("ask") as out:
        keywords = CommandKeywords(module.ask, OF_ASK)
        words = _words(keywords, {"by": by, **given})
        values = keywords.params([*words, "--", source, *([question] if question else [])])
        out.lines = module.lines_of(values)
    return out.lines


def messages(lines: Iterable[Mapping[str, object]], task_id: str | None) -> list[dict[str, str]]:
    """The messages of one task; see `winnow.messages`.

    Raises:
        DataError: No such task, several, or one that came to no prompt.
    """
    tasks = [line for line in lines if line["kind"] == "task"]
    found = [task for task in tasks if task_id in (None, task["task_id"])]
    if len(found) != 1:
        what = f"{len(found)} tasks" if task_id is None else f"no task {task_id}"
        raise DataError(what, hint=f"name one of {listed([str(t['task_id']) for t in tasks])}")
    made = found[0].get("prompt")
    if not isinstance(made, Mapping):
        raise DataError("it has no prompt", place=str(found[0]["task_id"]), hint="run prompt first")
    return [dict(message) for message in made["messages"]]


def query(
    source: str | Iterable[Mapping[str, object]], sql: str, given: Keywords
) -> list[LineRecord]:
    """The rows of one statement; see `winnow.query`.

    Raises:
        UsageError: An option that is none, or a value that cannot be.
        SqlError: The statement is refused, fails, or is cut by a limit.
    """
    module = import_module("stages.query")
    with collected("query"):
        keywords = CommandKeywords(module.query, OF_QUERY)
        values = keywords.params([*_words(keywords, given), "lines", sql])
        opened = source if isinstance(source, str) else _opened(source)
        found: list[LineRecord] = module.rows_of(opened, sql, values)
    return found


def _opened(lines: Iterable[Mapping[str, object]]) -> tuple[Catalog, list[Table]]:
    """The one catalog among the lines, and its tables.

    Raises:
        DataError: There is none, or several.
        LineError: A line is broken.
    """
    from stages.core.sandbox.source import shelves

    found = shelves([(io.BytesIO(b"".join(map(dump, lines))), "lines")])
    if len(found) != 1:
        raise DataError(f"{len(found)} catalogs", place="lines", hint="give the lines of one")
    return found[0].catalog, found[0].records


def evaluate(lines: Iterable[Mapping[str, object]], gold: str, section: str) -> LineRecord:
    """The scores of what a section kept; see `winnow.evaluate`.

    Raises:
        DataError: Gold cannot be read, or a task stands twice.
    """
    from stages.core.evaluate.gold import GoldBook, read_gold
    from stages.core.evaluate.report import report

    score = import_module("stages.evaluate").score
    with collected("evaluate"):
        stream = io.BytesIO(b"".join(map(dump, lines)))
        book = GoldBook(list(read_gold(Path(gold))))
        tally = score(LineReader().read([(stream, "lines")]), book, section)
        scores: LineRecord = orjson.loads(report(tally, section, form="json"))
    return scores
