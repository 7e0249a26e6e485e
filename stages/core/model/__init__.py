"""Asking a model: cached, offline, priced, and hard to break.

A stage is handed a `Model` and knows nothing else::

    request = Request(messages=(system, user), schema=VERDICT, name="verdict", sample=3)
    reply = await model.ask(request, timeout=90)
    reply.data                          # fits the schema, or a ModelError was raised

The command around it makes one client for the process, and a counting view of it for each
task::

    client = from_options(values)       # values of MODEL_OPTIONS; None where it is builtin
    model = client.for_task("task_15", "vote")
    section = await vote(task, tables, model=model)
    section["meta"] |= model.meta()     # model, calls, tokens, cost: the same on a replay
    print(client.report(), file=sys.stderr)
    await client.close()

``--dry-run`` and ``--dump-prompt`` give clients that send nothing and answer with kept
replies or placeholders (see `dry`); a stage runs to its end as always, and the command
throws its sections away. `core.errors.NotSent` is raised only where no placeholder fits the
schema: a stage that asks again what failed does not ask again after it.

Errors are `core.errors.ModelError` and its subclasses. The client sends again what may pass;
a stage need not, unless it wants another sample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from stages.core.model.options import BUILTIN, MODEL_OPTIONS, ModelOptions, model_options
from stages.core.model.request import Model, Reply, Request

if TYPE_CHECKING:
    from stages.core.model.base import TaskModel
    from stages.core.model.client import Client
    from stages.core.model.dry_run import DryRun, DumpPrompt

__all__ = [
    "BUILTIN", "MODEL_OPTIONS", "Client", "DryRun", "DumpPrompt", "Model", "ModelOptions",
    "Reply", "Request", "TaskModel", "from_options",
]  # fmt: skip


def from_options(
    values: Mapping[str, object], *, write: Callable[[str], object] = print
) -> Client | DryRun | DumpPrompt | None:
    """The model that the options ask for; None where it is ``builtin``.

    Args:
        values: Values of `MODEL_OPTIONS`, by their parameter names.
        write: Where ``--dump-prompt`` prints to, piece by piece.

    Raises:
        UsageError: The options contradict each other, or name a cache or log that cannot be
            used.
        DataError: ``--cache FILE`` is no exported cache.
    """
    if values["model"] == BUILTIN:
        return None
    options = model_options(values)
    if values.get("dump_prompt"):
        from stages.core.model.dry_run import DumpPrompt

        return DumpPrompt(options, write)
    if values.get("dry_run"):
        from stages.core.model.dry_run import DryRun

        return DryRun(options)
    from stages.core.model.client import Client

    return Client(options)


def __getattr__(name: str) -> object:
    """The classes that need asyncio are loaded when they are asked for."""
    import importlib

    homes = {"Client": "client", "DryRun": "dry_run", "DumpPrompt": "dry_run", "TaskModel": "base"}
    if name in homes:
        return getattr(importlib.import_module(f"{__name__}.{homes[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
