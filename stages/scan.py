"""Read folders, data files, servers or schema files into catalog, table and task lines.

A task folder is a folder with task.json, in it or in its input/; its context/ is read with
all folders below. In a plain folder everything is read. Data files named one by one make
one catalog, and so do the tables of a server (postgresql://… or mysql://…).

With - or without PATH, task lines with a "root" come from stdin; other lines pass through.

Large files are never read whole unless --exact asks for it: types come from a sample of
head, middle and tail, and "checked" says so.
"""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING, Any

import click
import orjson

from stages.core import diagnostics
from stages.core.counts import many
from stages.core.errors import DataError, UsageError, WinnowError
from stages.core.jsontypes import JsonMapping
from stages.core.lines.files import Targets
from stages.core.lines.io import STDIN, inputs, output
from stages.core.lines.lines import Output, dump
from stages.core.params import Options
from stages.core.text import listed

if TYPE_CHECKING:
    from stages.core.catalog.stream import Item, ScanRequest

QUIET_REASONS = (
    "hidden",
    "neither data nor a document",
    "a side file",
    "left out by",
    "a virtual table",
    "a shadow table",
    "a partition of",
)
"""Skipped files that nobody misses: listed in the catalog line, and on stderr under --verbose
only."""


def _encoding(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    if value is not None:
        try:
            codecs.lookup(value)
        except LookupError:
            raise click.BadParameter(f"no encoding is called {value}") from None
    return value


@click.command(help=__doc__)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--question", metavar="TEXT", help="Ask this of every PATH.")
@click.option("--evidence", metavar="TEXT", help="A hint that goes with the question.")
@click.option(
    "--questions",
    metavar="FILE",
    help="Ask these: JSON lines, an array, or a CSV table of question, and where wanted id, "
    "evidence and db_id; a .txt with one on each line; files of BIRD and Spider as they are.",
)
@click.option(
    "--catalog",
    metavar="FILE|DIR",
    help="Schemas without data: a file of JSON or CREATE TABLE, or a folder of them.",
)
@click.option("--task-id", metavar="ID", help="Id of the task, in place of the one it has.")
@click.option("--exact", is_flag=True, help="Count all rows, even where that reads whole files.")
@click.option(
    "--sample-rows",
    type=click.IntRange(0, 1000),
    default=2,
    show_default=True,
    help="First rows to show.",
)
@click.option(
    "--examples",
    type=click.IntRange(0, 1000),
    default=3,
    show_default=True,
    help="Distinct values to show for a column.",
)
@click.option(
    "--cell",
    type=click.IntRange(1),
    default=80,
    show_default=True,
    help="Characters of a value to show.",
)
@click.option(
    "--encoding",
    metavar="NAME",
    callback=_encoding,
    help="Encoding of text files, where the guess is wrong.",
)
@click.option(
    "--hide-values",
    multiple=True,
    metavar="PATTERN",
    help="Show no values of columns like this (column or table.column); repeatable.",
)
@click.option(
    "--show-values",
    is_flag=True,
    help="Show values of columns too whose names say password, token, secret, card, IBAN or SSN.",
)
@click.option("--no-values", is_flag=True, help="Show no values at all.")
@click.option(
    "--include",
    multiple=True,
    metavar="GLOB",
    help="Read only files, or tables of a server, like this; repeatable.",
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="GLOB",
    help="Leave out files or tables like this; repeatable.",
)
@click.option(
    "--schemas",
    multiple=True,
    metavar="GLOB",
    help="Read only schemas of a server like this; repeatable.",
)
@click.option("--no-sample", is_flag=True, help="Look at no rows of a server.")
@click.option(
    "--sql-dialect", metavar="NAME", help="What DDL text is written in, where the guess is wrong."
)
@click.option("--no-cache", is_flag=True, help="Read every file again, changed or not.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of what this writes, and end.")
@click.option(
    "-o", "--output", metavar="FILE", help="Write to FILE, renamed into place at the end."
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
@click.option("-v", "--verbose", is_flag=True, help="Say more: every warning.")
def scan(**values: Any) -> None:  # Any: see `Options`
    """Write the lines of everything named, and end with the status of the worst of it."""
    diagnostics.begin("winnow scan", quiet=values["quiet"], verbose=values["verbose"])
    if values["schema"]:
        click.echo(orjson.dumps(_schema(), option=orjson.OPT_INDENT_2))
        return
    with output(values["output"]) as out:
        write_lines(values, out)
    diagnostics.finish()
    if diagnostics.exit_code():
        raise SystemExit(diagnostics.exit_code())


def write_lines(values: Options, out: Output, asked: tuple[IO[bytes], str] | None = None) -> None:
    """Write the lines of everything named.

    Args:
        values: The options by their names, with ``paths``.
        out: Where to.
        asked: A stream of questions and its name, where ``--questions`` names none.
    """
    request = _request(values)
    with ExitStack() as stack:
        questions = asked or _questions(values, stack)
        _write(_items(request, values, questions), out)


def _schema() -> dict[str, object]:
    from stages.core.lines import schema

    return {"oneOf": [schema.bundle(kind) for kind in ("catalog", "table", "task")]}


def _request(values: Options) -> ScanRequest:
    from stages.core.catalog import ScanOptions
    from stages.core.catalog.schema_only.files import SchemaFolder
    from stages.core.catalog.stream import ScanRequest

    _check(values)
    options = ScanOptions(
        sample_rows=values["sample_rows"],
        examples=values["examples"],
        cell=values["cell"],
        exact=values["exact"],
        encoding=values["encoding"],
        values=not values["no_values"],
        hide=tuple(values["hide_values"]),
        show_secrets=values["show_values"],
        dialect=values["sql_dialect"],
        cache=not values["no_cache"],
    )
    return ScanRequest(
        paths=tuple(path for path in values["paths"] if path != STDIN),
        schemas=SchemaFolder(values["catalog"], options) if values["catalog"] else None,
        question=values["question"] or "",
        evidence=values["evidence"] or "",
        task_id=values["task_id"] or "",
        options=options,
        include=values["include"],
        exclude=values["exclude"],
        server_schemas=values["schemas"],
        sample=not values["no_sample"],
        targets=Targets.of(values["output"]),
    )


def _check(values: Options) -> None:
    """Refuse options that contradict each other."""
    if values["questions"] and (values["question"] or values["task_id"] or values["evidence"]):
        raise UsageError(
            "--questions goes without --question, --evidence and --task-id",
            hint="put them into the file of questions",
        )
    if values["question"] is not None and not values["question"].strip():
        raise UsageError("--question is empty", hint="ask something")
    if values["task_id"] and len(values["paths"]) > 1:
        raise UsageError(
            "--task-id names one task, and there are several PATHs", hint="scan one at a time"
        )
    if _reads_lines(values) and (values["question"] or values["questions"]):
        raise UsageError(
            "a question needs a PATH or a --catalog",
            hint="name a folder, or put the question on the task line",
        )


def _reads_lines(values: Options) -> bool:
    return STDIN in values["paths"] or not (values["paths"] or values["catalog"])


def _questions(values: Options, stack: ExitStack) -> tuple[IO[bytes], str] | None:
    """The file of questions, where one is named."""
    from stages.core.catalog import tasks

    name = values["questions"]
    if not name:
        return None
    if name == STDIN:
        return next(iter(inputs([STDIN])))
    return stack.enter_context(tasks.open_questions(name)), name


def _items(
    request: ScanRequest, values: Options, questions: tuple[IO[bytes], str] | None
) -> Iterator[Item]:
    from stages.core.catalog import stream as catalog_stream
    from stages.core.catalog import tasks

    if questions:
        yield from catalog_stream.many_tasks(request, tasks.questions(*questions))
        return
    yield from catalog_stream.own_tasks(request)
    if _reads_lines(values):
        for stream, name in inputs([STDIN] if values["paths"] else []):
            yield from catalog_stream.from_lines(stream, name, request)


def _write(items: Iterator[Item], out: Output) -> None:
    """Write lines, report the rest, and say in the end how much there was."""
    from stages.core.catalog.stream import Note

    counts: Counter[str] = Counter()
    told: set[str] = set()
    hidden: list[str] = []
    for item in items:
        if isinstance(item, WinnowError):
            diagnostics.error(item)
            told.add(item.place)
        elif isinstance(item, Note):
            diagnostics.note(item.text)
        elif isinstance(item, bytes):
            out.write(item)
        else:
            out.write(_line(item))
            counts[item["kind"]] += 1
            _warn(item, told)
            hidden += _secrets(item)
            diagnostics.progress(counts["table"], None, "tables")
    if hidden:
        diagnostics.note(
            f"no values of {many(len(hidden), 'column')} that may be secret ({listed(hidden)}); "
            "--show-values shows them"
        )
    diagnostics.note(
        f"{many(counts['catalog'], 'catalog')}, {many(counts['table'], 'table')}, "
        f"{many(counts['task'], 'task')}"
    )


def _secrets(record: JsonMapping) -> list[str]:
    """Columns of a table line whose values are not shown for what their names say, or whose
    view passes such values on."""
    if record["kind"] != "table":
        return []
    from stages.core.catalog.hiding import secrecy

    view = record.get("source", {}).get("view", False)
    return [
        f"{record['name']}.{column['name']}"
        for column in record["columns"]
        if "examples" not in column
        if secrecy(column["name"]) or (view and column.get("hidden"))
    ]


def _line(record: Mapping[str, object]) -> bytes:
    try:
        return dump(record)
    except orjson.JSONEncodeError as error:
        raise DataError(
            f"cannot be written as JSON: {error}", place=str(record.get("name", ""))
        ) from None


def _warn(record: JsonMapping, told: set[str]) -> None:
    """Say what was left out or looks odd about a catalog or a table.

    Args:
        record: A line.
        told: Places that an error has been told of.
    """
    for item in record.get("skipped", ()) if record["kind"] == "catalog" else ():
        left = WinnowError(f"skipped: {item['reason']}", place=f"{record['name']}: {item['path']}")
        if left.place in told:
            continue
        if item["reason"].startswith(QUIET_REASONS):
            diagnostics.detail(str(left))
        else:
            diagnostics.warn(left)
    if record["kind"] == "task":
        return
    place = record.get("describe_key") or record["name"]
    if record.get("error"):
        diagnostics.warn(WinnowError(record["error"], place=place))
    for warning in record.get("warnings", ()):
        diagnostics.warn(WinnowError(warning, place=place))
