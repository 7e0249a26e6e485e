"""Ask a question of data: from scan to the prompt in one call.

SOURCE is a folder, a data file, the URL of a server, or a file of lines that `winnow scan`
wrote. Without QUESTION the one of its task.json is asked. What goes to stdout is the solver's
prompt; its messages as JSON, the names of the tables shown in full, or all lines with --out.

\b
    winnow ask examples/orders "Which customers in Norway ordered in 2025?"
    winnow ask shop.db "revenue by month" --out messages | jq '{model: "gpt-4o", messages: .}'
    winnow ask postgresql://reader@db/shop "unpaid orders" --by link --out tables
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
import orjson

from stages.core import diagnostics
from stages.core.errors import DataError, UsageError
from stages.core.lines.files import holds_lines
from stages.core.lines.io import output
from stages.core.lines.lines import dump, split
from stages.core.model.options import MODEL_OPTIONS
from stages.core.params import Options, catalog_option, output_option
from stages.core.runtime.command import (
    privileged_option,
    reporting_options,
    stage_named,
    values_options,
)
from stages.core.runtime.keywords import StageKeywords
from stages.core.runtime.library import LineRecord, LinesOutput, at_once, pass_lines, scan_lines
from stages.core.text import visible

if TYPE_CHECKING:
    from stages.core.records import Collapse

CHAINS = {
    "vote": ("vote",),
    "link": ("link",),
    "refine": ("plan", "prune", "summarize", "explore", "refine"),
}
"""The stages that judge, by the last of them."""
REST = ("collapse", "describe", "prompt")
OUTS = ("prompt", "messages", "tables", "lines")
OF_PROMPT = ("style", "template", "own_rules", "budget")
OF_VOTE = ("recall", "loss_tokens")
OWN = ("source", "question", "evidence", "catalog", "by", "out", "path")
NOT_HERE = ("dry_run", "dump_prompt")


def _unset(option: click.Option) -> click.Option:
    """The option without a value of its own, so that each stage keeps its default."""
    made = copy(option)
    made.default = None
    return made


def _options() -> list[click.Parameter]:
    """Its own options, those of the judge, of the prompt, and of a model."""
    judge = [_unset(o) for o in stage_named("vote").options if o.name in OF_VOTE]
    prompt = [option for option in stage_named("prompt").options if option.name in OF_PROMPT]
    model = [option for option in MODEL_OPTIONS if option.name not in NOT_HERE]
    return [
        click.Argument(["source"], metavar="SOURCE"),
        click.Argument(["question"], required=False, metavar="[QUESTION]"),
        click.Option(["--evidence"], metavar="TEXT", help="A hint that goes with the question."),
        click.Option(
            ["--by"], type=click.Choice(list(CHAINS)), default="vote", show_default=True,
            help="Choose the tables by vote, by link, or down to columns by plan … refine.",
        ),
        click.Option(
            ["--out"], type=click.Choice(OUTS), default="prompt", show_default=True,
            help="What goes to stdout.",
        ),
        *judge,
        *values_options(),
        *prompt,
        *model,
        privileged_option(),
        *reporting_options(),
    ]  # fmt: skip


def lines_of(values: Options) -> list[LineRecord]:
    """All lines, from scan to prompt.

    Args:
        values: The options by their names, with ``source`` and ``question``.

    Raises:
        WinnowError: Nothing could be read, or nothing is asked.
    """
    lines = scanned(values["source"], values["question"], values["evidence"], values["catalog"])
    of_stages = {key: value for key, value in values.items() if key not in OWN}
    return at_once(through(values["by"], lines, of_stages))


def scanned(
    source: str, question: str | None, evidence: str | None, catalog: str | None
) -> list[LineRecord]:
    """The catalog of a source, its tables, and the one task that is asked.

    Args:
        source: A folder, a data file, a URL, or a file of lines.
        question: In place of what its ``task.json`` asks, or of the tasks among the lines.
        evidence: The asker's hint.
        catalog: Which one is asked, where a file of lines holds several.

    Raises:
        DataError: Nothing is asked.
        WinnowError: Nothing could be read.
    """
    path = Path(source)
    if "://" not in source and path.is_file() and holds_lines(path):
        found = _from_lines(source, question, evidence, catalog)
    else:
        given = {"question": question, "evidence": evidence}
        out = LinesOutput()
        scan_lines([source], None, given, out)
        found = out.lines
    if not found and diagnostics.exit_code():  # it has been told why
        raise DataError("nothing could be read", place=source, hint="check the path")
    if not any(line["kind"] == "task" for line in found):
        raise DataError("no question", place=source, hint="give one after SOURCE")
    return found


def _from_lines(
    source: str, question: str | None, evidence: str | None, name: str | None
) -> list[LineRecord]:
    """The lines of a file; with a question its one catalog and that."""
    from stages.core.sandbox.source import open_source

    if question is None:
        with open(source, "rb") as stream:
            return [orjson.loads(raw) for raw, _, _ in split(stream, source)]
    catalog, tables = open_source(source, name=name)
    task: LineRecord = {
        "kind": "task",
        "catalog": catalog["id"],
        "task_id": catalog["name"],
        "question": question,
    }
    hint: LineRecord = {"evidence": evidence} if evidence else {}
    return [dict(catalog), *map(dict, tables), {**task, **hint}]


async def through(by: str, lines: list[LineRecord], options: Options) -> list[LineRecord]:
    """The lines after every stage from judging to the prompt.

    Args:
        by: One of `CHAINS`.
        lines: From `scanned`.
        options: Of the stages, by name; a stage takes those that it has.
    """
    given = {key: value for key, value in options.items() if value is not None}
    for name in (*CHAINS[by], *REST):
        keywords = StageKeywords(stage_named(name))
        own, shared = keywords.values([])
        own = {key: given.get(key, value) for key, value in own.items()}
        shared = {key: given.get(key, value) for key, value in shared.items()}
        out = LinesOutput()
        await pass_lines(keywords.stage, lines, out, own, shared)
        lines = out.lines
    return lines


def shown(lines: Sequence[LineRecord], kind: str) -> bytes:
    """What goes to stdout.

    Args:
        lines: From `through`.
        kind: One of `OUTS`.

    Raises:
        UsageError: There are several tasks.
        DataError: The task came to no prompt.
    """
    if kind == "lines":
        return b"".join(map(dump, lines))
    task, *others = (line for line in lines if line["kind"] == "task")
    if others:
        what = f"{len(others) + 1} tasks, and only --out lines has room for all"
        raise UsageError(what, hint="give a question, or use --out lines")
    if "prompt" not in task or "collapse" not in task:
        raise DataError("it came to no prompt", place=str(task["task_id"]))
    if kind == "tables":
        section = cast("Collapse", task["collapse"])
        return "".join(f"{visible(name)}\n" for name in section["shown"]["full"]).encode()
    option = "text" if kind == "prompt" else kind
    (text,) = (t for t in stage_named("prompt").texts if t.option.name == option)
    return (text.make(task["prompt"]).rstrip("\n") + "\n").encode()


def _ask(source: str, question: str | None, **options: Any) -> None:  # Any: see `Options`
    """Write the prompt, or what else is asked for."""
    diagnostics.begin("winnow ask", quiet=options["quiet"], verbose=options["verbose"])
    lines = lines_of({"source": source, "question": question, **options})
    with output(options["path"]) as out:
        out.write(shown(lines, options["out"]))
    diagnostics.finish()
    if diagnostics.exit_code():
        raise SystemExit(diagnostics.exit_code())


ask = catalog_option(
    output_option(click.Command("ask", params=_options(), callback=_ask, help=__doc__))
)
