"""Run the whole chain over many tasks in one process, from one file, and resume it.

The file is strict YAML: a dataset (task folders, or questions over data), the stages with
their options, and who is asked. Everything goes below artifacts/runs/RUN_ID: what the run was
made of, a summary, and for each task the lines of every stage, its trace and its answer.

\b
    winnow run --config run.yaml
    winnow run --config run.yaml --resume          goes on where it was interrupted
    cat RUN/catalogs/*.jsonl RUN/*/vote.jsonl | winnow show

What is finished is never done again. The folder of the run is printed at the end.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from stages.core import diagnostics
from stages.core.errors import UsageError
from stages.core.params import Options

if TYPE_CHECKING:
    from stages.core.run.config import RunConfig
    from stages.core.run.dataset import Assignment
    from stages.core.run.driver import Run, Workers

LATEST = "\0latest"
"""The value of ``--resume`` without an id."""


@click.command(help=__doc__)
@click.option(
    "--config",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="What to run; schemas/inputs/run.json says what may stand in it.",
)
@click.option("--run-id", metavar="ID", help="Name of the run.  [default: NAME-DATE-TIME]")
@click.option(
    "--resume",
    is_flag=False,
    flag_value=LATEST,
    default=None,
    metavar="[ID]",
    help="Go on with a run: the latest of this file, or the one named.",
)
@click.option("--retry-failed", is_flag=True, help="With --resume: do failed tasks again too.")
@click.option("--store", metavar="DIR|URL", help="Write runs below this, in place of the file's.")
@click.option(
    "--max-workers",
    type=click.IntRange(1),
    metavar="N",
    help="Tasks at once, in place of the file's.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Check the file and the dataset, say what would run, and end.",
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors.")
@click.option("-v", "--verbose", is_flag=True, help="Say more: every failure, every warning.")
def run(**values: object) -> None:
    """Do a run, and end with the status of the worst of it."""
    diagnostics.begin("winnow run", quiet=bool(values["quiet"]), verbose=bool(values["verbose"]))
    if values["retry_failed"] and not values["resume"]:
        raise UsageError("--retry-failed goes with --resume", hint="name the run to go on with")
    if values["resume"] and values["run_id"]:
        raise UsageError("--resume names the run itself", hint="leave --run-id out")
    config = _config(values)
    made = _prepared(config, values)
    if values["dry_run"]:
        _say_dry(made)
    else:
        todo = made.open(resume=bool(values["resume"]))
        if made.finished:
            diagnostics.note(f"{len(made.finished)} of {len(made.dataset.assignments)} are done")
        _done(made, todo, _workers(config))
    diagnostics.finish()
    if diagnostics.exit_code():
        raise SystemExit(diagnostics.exit_code())


def _config(values: Options) -> RunConfig:
    """The configuration, with what the command line says in its place."""
    from dataclasses import replace

    from stages.core.lines import schema
    from stages.core.run.config import read_config

    config = read_config(values["config"], schema.sections())
    given = {key: values[key] for key in ("store", "max_workers") if values[key]}
    return replace(config, record={**config.record, **given})


def _prepared(config: RunConfig, values: Options) -> Run:
    """The run, with its chain checked and its dataset scanned; nothing is written yet."""
    from stages.core.run.chain import chain_of, check_model
    from stages.core.run.dataset import read_dataset
    from stages.core.run.driver import Run, new_id, newest
    from stages.core.run.schema_mode import pins
    from stages.core.run.store import open_store

    chain = chain_of(config)
    check_model(chain)
    store = open_store(str(config.record["store"]))
    run_id = values["resume"] or values["run_id"] or new_id(config.name)
    run_id = newest(store, config.name) if run_id == LATEST else run_id
    if "/" in run_id or run_id.startswith("."):
        raise UsageError(f"{run_id} is no name of a folder", hint="a run id has no / in it")
    dataset = read_dataset(config, pins(config))
    return Run(config, chain, dataset, store.below(run_id), run_id, bool(values["retry_failed"]))


def _workers(config: RunConfig) -> Workers:
    """Who works on the tasks: this process, or child processes where there is a limit of time."""
    from stages.core.run.driver import work_here, work_in_children

    return work_in_children if config.record["task_timeout"] else work_here


def _done(made: Run, todo: list[Assignment], workers: Workers) -> None:
    """Do what is left, and write what came of it, whatever happens in between."""
    from stages.core.run.driver import execute, told

    state = "interrupted"
    try:
        execute(made, todo, workers)
        state = "finished"
    except KeyboardInterrupt:
        hint = f"winnow run --config {made.config.path} --resume {made.run_id}"
        diagnostics.note(f"what was finished is kept; go on with `{hint}`")
        raise
    finally:
        summary = made.close(state, {})
        diagnostics.note(told(summary, made.progress.records))
    click.echo(made.store.place)


def _say_dry(made: Run) -> None:
    names = " | ".join(each.stage.name for each in made.chain)
    models = {str(each.common["model"]) for each in made.chain if each.stage.asks} or {"none"}
    click.echo(
        f"{len(made.dataset.assignments)} tasks over {len(made.dataset.catalogs)} catalogs: "
        f"{names}; model {', '.join(sorted(models))}; into {made.store.place}"
    )
