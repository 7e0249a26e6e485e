"""The command around a stage: options, input and output, model, exit status.

Every stage gets the same manners from here and knows nothing of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from typing import cast

import click
import orjson

from stages.core import diagnostics
from stages.core.errors import UsageError
from stages.core.lines import schema
from stages.core.lines.io import inputs, output
from stages.core.lines.lines import LineReader, Output
from stages.core.params import Options
from stages.core.runtime.runner import RunPlan, run_now
from stages.core.runtime.stage import Capability, Stage

VALUES_SECONDS = 20.0
"""Time for building what is missing of a value index, unless told otherwise."""


def common_options() -> list[click.Parameter]:
    """Options that every stage has."""
    return [
        click.Argument(["files"], nargs=-1, type=click.Path(allow_dash=True), metavar="[FILE]..."),
        click.Option(
            ["-o", "--output"],
            type=click.Path(allow_dash=True),
            metavar="FILE",
            help="Write to FILE, renamed into place at the end.",
        ),
        click.Option(
            ["--tasks"], metavar="ID,…", help="Work on these tasks and pass the others through."
        ),
        click.Option(
            ["--retry-failed"], is_flag=True, help="Work only on tasks whose last run here failed."
        ),
        click.Option(
            ["--stale"], is_flag=True, help="Go on although a section was made from other data."
        ),
        click.Option(
            ["--last-wins"], is_flag=True, help="Of two lines for one table, take the last."
        ),
        click.Option(
            ["--schema"], is_flag=True, help="Print the JSON Schema of what this adds, and end."
        ),
        *reporting_options(),
    ]


def reporting_options() -> list[click.Parameter]:
    """``--quiet`` and ``--verbose``, which every command has."""
    return [
        click.Option(["-q", "--quiet"], is_flag=True, help="Say nothing but errors."),
        click.Option(
            ["-v", "--verbose"], is_flag=True, help="Say more: every task, every warning."
        ),
    ]


def privileged_option() -> click.Option:
    """``--allow-privileged``, for commands that run queries on a server."""
    return click.Option(
        ["--allow-privileged", "privileged"],
        is_flag=True,
        help="Query a server as a role that can do more than read, and say what it can do.",
    )


def stage_named(name: str) -> Stage:
    """The stage of a command, found by its name as the command line finds it."""
    stage: Stage = import_module(f"stages.{name}").STAGE
    return stage


def command(stage: Stage, doc: str) -> click.Command:
    """The click command of a stage.

    Args:
        stage: The stage.
        doc: The docstring of its module, which is the help.
    """
    params = [*common_options(), *(text.option for text in stage.texts)]
    params[1:1] = [*stage.options, *([stage.report.option] if stage.report else [])]
    params += _model_options() if stage.asks else []
    params += values_options() if Capability.VALUES in stage.wants else []
    if {Capability.DATABASE, Capability.VALUES} & {*stage.wants}:
        params.append(privileged_option())
    own = [str(option.name) for option in stage.options]

    def callback(**values: object) -> None:
        run(stage, {name: values.pop(name) for name in own}, values)

    return click.Command(stage.name, params=params, callback=callback, help=doc)


def values_options() -> list[click.Parameter]:
    """``--values`` and how long its index may take, for stages that ask the built-in judge."""
    from stages.core.params import FiniteFloatRange

    return [
        click.Option(
            ["--values/--no-values"],
            default=None,
            help="Look the question's words up in the data.  [default: in files and local "
            "databases; on a server only with --values]",
        ),
        click.Option(
            ["--values-seconds"],
            type=FiniteFloatRange(min=0),
            default=VALUES_SECONDS,
            show_default=True,
            metavar="SECONDS",
            help="Time for reading values that no earlier run has read.",
        ),
    ]


def _model_options() -> list[click.Parameter]:
    from stages.core.model.options import MODEL_OPTIONS

    return list(MODEL_OPTIONS)


def run(stage: Stage, options: Options, common: Options) -> None:
    """Run the stage as the options say.

    Raises:
        SystemExit: Where the status is not 0.
    """
    diagnostics.begin(f"winnow {stage.name}", quiet=common["quiet"], verbose=common["verbose"])
    if common["schema"]:
        click.echo(orjson.dumps(schema.bundle(stage.name), option=orjson.OPT_INDENT_2))
        return
    plan = RunPlan(
        stage,
        options,
        _ids(common["tasks"]),
        common["retry_failed"],
        unnamed=_is_default("model"),
        stale_ok=common["stale"],
        shared=common if stage.asks else {},
    )
    with _output(stage, common) as out, data_of(plan, common):
        if stage.asks and common["model"] != "builtin":
            _with_model(plan, common, out)
        else:
            run_now(
                plan, LineReader(last_wins=common["last_wins"]).read(inputs(common["files"])), out
            )
        if not plan.tasks and not diagnostics.exit_code():
            diagnostics.note("no task came in")
    diagnostics.finish()
    if diagnostics.exit_code():
        raise SystemExit(diagnostics.exit_code())


def _is_default(option: str) -> bool:
    """Whether neither the command line nor the environment gives the option."""
    from click.core import ParameterSource

    context = click.get_current_context(silent=True)
    return context is not None and context.get_parameter_source(option) is ParameterSource.DEFAULT


def _ids(given: str | None) -> frozenset[str] | None:
    if given is None:
        return None
    ids = frozenset(part.strip() for part in given.split(",") if part.strip())
    if not ids:
        raise UsageError("--tasks names no task", hint="give ids with commas between them")
    return ids


@contextmanager
def data_of(plan: RunPlan, common: Mapping[str, object]) -> Iterator[None]:
    """Hand the data of catalogs to a stage that wants it; opened on demand, closed at the end."""
    if not {Capability.DATABASE, Capability.VALUES} & {*plan.stage.wants}:
        yield
        return
    from stages.core.runtime.sessions import live

    with live(common) as opened:
        plan.database, plan.values = opened.of, opened.values_of
        yield


def _output(stage: Stage, common: Options) -> AbstractContextManager[Output]:
    if stage.report:
        from stages.core.runtime.outputs import with_report

        return with_report(stage, common, output(common["output"]))
    wanted = [text for text in stage.texts if common[str(text.option.name)]]
    if len(wanted) > 1:
        raise UsageError(
            " and ".join(text.option.opts[0] for text in wanted) + " print different things",
            hint="give one of them",
        )
    if wanted:
        from stages.core.runtime.outputs import texts

        return texts(stage.name, wanted[0], cast("str | None", common["output"]))
    return output(common["output"])


def _with_model(plan: RunPlan, common: Options, out: Output) -> None:
    """Run the stage with a model: on an event loop, or dry."""
    import asyncio

    from stages.core.runtime.async_runner import ask_all

    items = LineReader(last_wins=common["last_wins"]).read(inputs(common["files"]))
    asyncio.run(ask_all(plan, items, out, common))
