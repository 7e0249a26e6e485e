"""Running a stage that asks a model, for real or dry."""

from __future__ import annotations

import asyncio
import io
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from stages.core import diagnostics
from stages.core.errors import NotCached, Unreachable
from stages.core.lines import Item, Output
from stages.core.model import from_options
from stages.core.runner import Plan
from stages.core.side_by_side import SideBySide

PROGRESS_SECONDS = 0.2
"""Between two looks at how far a run is."""


def ask_all(plan: Plan, items: Iterator[Item], out: Output, common: Mapping[str, Any]) -> None:
    """Work on all tasks with the model that the options name.

    With ``--dry-run`` and ``--dump-prompt`` the stage runs on stand-ins for replies, what it
    makes is thrown away, and only what would be sent goes to ``out``.

    Where no call came through at all, the safe answers are written, and the status says so.
    """
    plan.dry = common["dry_run"] or common["dump_prompt"]
    client = from_options(common, write=lambda text: out.write(text.encode()))
    plan.client = cast("Any", client)
    target = Output(cast("Any", io.BytesIO()), "nowhere") if plan.dry else out
    try:
        asyncio.run(_run(plan, items, target, ahead=max(common["concurrency"], 1)))
    finally:
        if client is not None:
            _report(client.report(), out, to_stdout=bool(common["dry_run"]))
    _say_missing(getattr(client, "missing", []), common["model"])
    if getattr(client, "unreached", False) and not common["offline"]:
        what = f"no call to {common['model']} came through; the safe answers were written"
        hint = "check the model id, the key and --base-url; --verbose shows every error"
        diagnostics.error(Unreachable(what, hint=hint))  # raised, it would undo what -o has written


async def _run(plan: Plan, items: Iterator[Item], out: Output, *, ahead: int) -> None:
    shown = (
        asyncio.create_task(_show(plan)) if diagnostics.shows_progress() and not plan.dry else None
    )
    try:
        await SideBySide(plan, out, ahead).run(items)
    finally:
        if shown is not None:
            shown.cancel()
            diagnostics.clear_progress()
        if plan.client is not None:
            await plan.client.close()


async def _show(plan: Plan) -> None:
    """Keep on the terminal how far the run is; the seconds tell that it is alive."""
    start = time.monotonic()
    while plan.client is not None:
        said = f"requests answered, {f'{plan.told}, ' if plan.told else ''}{time.monotonic() - start:.0f} s"
        if plan.client.begun:
            diagnostics.progress(plan.client.ended, plan.client.begun, said)
        await asyncio.sleep(PROGRESS_SECONDS)


def _say_missing(keys: Sequence[str], model: str) -> None:
    """What had no kept reply; a stage may go on without it, and the sections do not tell."""
    if keys:
        more = f" and {len(set(keys)) - 1:,} more" if len(set(keys)) > 1 else ""
        hint = "run once without --offline; --log FILE names every one"
        diagnostics.error(NotCached(f"no kept reply to request {keys[0]}{more}", place=model, hint=hint))  # fmt: skip


def _report(line: str, out: Output, *, to_stdout: bool) -> None:
    """What asking came to: the result of a dry run, a note of a real one."""
    if to_stdout and sys.exc_info()[0] is None:
        out.write(f"{line}\n".encode())
    else:
        diagnostics.note(line)
