"""Running a stage that asks a model: tasks side by side, lines in the order they came."""

from __future__ import annotations

import asyncio
import io
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence

from stages.core import diagnostics
from stages.core.errors import NotCached, Unreachable
from stages.core.lines.lines import BadLine, CatalogLines, Item, Output, TaskInput
from stages.core.model import from_options
from stages.core.params import Options
from stages.core.runtime.runner import (
    RunPlan,
    call,
    finish,
    pass_through,
    prepare,
    report_failure,
    totals,
)

LINES_READ_AHEAD = 64

Head = CatalogLines | BadLine | asyncio.Task[bytes]


class AsyncRunner:
    """Works on up to ``ahead`` tasks at once; a finished one is written when its turn comes.

    Where the run is cancelled or fails, every task that had come to its end is written
    before the error goes on.
    """

    def __init__(self, plan: RunPlan, out: Output, ahead: int) -> None:
        self.plan = plan
        self.out = out
        self.places = asyncio.Semaphore(ahead)
        self.heads: asyncio.Queue[Head | Exception | None] = asyncio.Queue()
        self.current: Head | Exception | None = None

    async def run(self, items: Iterator[Item]) -> None:
        """Read all items and write all lines."""
        reader = asyncio.create_task(self._start_all(items))
        try:
            while (head := await self.heads.get()) is not None:
                self.current = head
                await self._write(head)
                self.current = None
                self.places.release()
            totals(self.plan)
        except BaseException:
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)
            await self._rescue()
            raise

    async def _start_all(self, items: Iterator[Item]) -> None:
        """Start each task when there is a place for it; the last thing put is None or an error."""
        try:
            async for item in threaded(items):
                await self.places.acquire()
                started = (
                    asyncio.create_task(self._one(item)) if isinstance(item, TaskInput) else item
                )
                self.heads.put_nowait(started)
        except Exception as error:
            self.heads.put_nowait(error)
        self.heads.put_nowait(None)

    async def _one(self, asked: TaskInput) -> bytes:
        plan = self.plan
        try:
            ready = prepare(plan, asked)
            if ready is not None:
                return ready
            task_id = asked.task["task_id"]
            model = plan.client.for_task(task_id, plan.stage.name) if plan.client else None
            found = call(plan, asked, model)
            return finish(
                plan, asked, await found if isinstance(found, Awaitable) else found, model
            )
        except Exception as error:
            return report_failure(asked, error)

    async def _write(self, head: Head | Exception) -> None:
        if isinstance(head, Exception):
            raise head
        if isinstance(head, asyncio.Task):
            self.out.write(await head)
            self.out.flush()
        else:
            pass_through(head, self.out)

    async def _rescue(self) -> None:
        """Stop what is in flight, and write the tasks that had come to their end."""
        heads = [self.current]
        while not self.heads.empty():
            heads.append(self.heads.get_nowait())
        tasks = [head for head in heads if isinstance(head, asyncio.Task)]
        # The one that was waited for is cancelled by now, and has no result to ask for.
        ended = {head for head in tasks if head.done() and not head.cancelled()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for head in heads:
            if isinstance(head, CatalogLines):
                pass_through(head, self.out)
            elif isinstance(head, asyncio.Task) and head in ended and head.exception() is None:
                self.out.write(head.result())
        self.out.flush()


async def threaded(items: Iterator[Item]) -> AsyncIterator[Item]:
    """The items of a blocking reader, read on a thread that holds up neither the loop nor the
    exit."""
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[Item | BaseException | None] = asyncio.Queue()
    room = threading.Semaphore(LINES_READ_AHEAD)

    def put(value: Item | BaseException | None) -> None:
        try:
            loop.call_soon_threadsafe(queue.put_nowait, value)
        except RuntimeError:  # the loop is closed: nobody waits for more
            return

    def read() -> None:
        try:
            for item in items:
                room.acquire()
                put(item)
            put(None)
        except BaseException as error:
            put(error)

    threading.Thread(target=read, daemon=True).start()
    while (value := await queue.get()) is not None:
        if isinstance(value, BaseException):
            raise value
        room.release()
        yield value


# Running a stage that asks a model, for real or dry.

PROGRESS_SECONDS = 0.2
"""Between two looks at how far a run is."""


async def ask_all(plan: RunPlan, items: Iterator[Item], out: Output, common: Options) -> None:
    """Work on all tasks with the model that the options name.

    With ``--dry-run`` and ``--dump-prompt`` the stage runs on stand-ins for replies, what it
    makes is thrown away, and only what would be sent goes to ``out``.

    Where no call came through at all, the safe answers are written, and the status says so.
    """
    plan.dry = common["dry_run"] or common["dump_prompt"]
    client = from_options(common, write=lambda text: out.write(text.encode()))
    plan.client = client
    target = Output(io.BytesIO(), "nowhere") if plan.dry else out
    try:
        await _run(plan, items, target, ahead=max(common["concurrency"], 1))
    finally:
        if client is not None:
            _report(client.report(), out, to_stdout=bool(common["dry_run"]))
    _say_missing(getattr(client, "missing", []), common["model"])
    if getattr(client, "unreached", False) and not common["offline"]:
        what = f"no call to {common['model']} came through; the safe answers were written"
        hint = "check the model id, the key and --base-url; --verbose shows every error"
        diagnostics.error(Unreachable(what, hint=hint))  # raised, it would undo what -o has written


async def _run(plan: RunPlan, items: Iterator[Item], out: Output, *, ahead: int) -> None:
    shown = None if plan.dry else asyncio.create_task(_show(plan))
    try:
        await AsyncRunner(plan, out, ahead).run(items)
    finally:
        if shown is not None:
            shown.cancel()
            diagnostics.clear_progress()
        if plan.client is not None:
            await plan.client.close()


async def _show(plan: RunPlan) -> None:
    """Tell how far the run is; the seconds tell that it is alive."""
    start = time.monotonic()
    while plan.client is not None:
        told = f"{plan.told}, " if plan.told else ""
        said = f"requests answered, {told}{time.monotonic() - start:.0f} s"
        if plan.client.begun:
            diagnostics.progress(plan.client.ended, plan.client.begun, said)
        await asyncio.sleep(PROGRESS_SECONDS)


def _say_missing(keys: Sequence[str], model: str) -> None:
    """What had no kept reply; a stage may go on without it, and the sections do not tell."""
    if keys:
        more = f" and {len(set(keys)) - 1:,} more" if len(set(keys)) > 1 else ""
        hint = "run once without --offline; --log FILE names every one"
        diagnostics.error(
            NotCached(f"no kept reply to request {keys[0]}{more}", place=model, hint=hint)
        )


def _report(line: str, out: Output, *, to_stdout: bool) -> None:
    """What asking came to: the result of a dry run, a note of a real one."""
    if to_stdout and sys.exc_info()[0] is None:
        out.write(f"{line}\n".encode())
    else:
        diagnostics.note(line)
