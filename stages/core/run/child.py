"""A process that works on one task after the other until its parent ends it or goes away.

It is started where a task has a limit of time: only a process can be ended whatever it does.
The model is asked through the parent; see `model_link`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import cast

from stages.core.errors import WinnowError
from stages.core.jsontypes import JsonMapping
from stages.core.run.chain import Chain, chain_of
from stages.core.run.config import RunConfig
from stages.core.run.dataset import Assignment
from stages.core.run.model_link import (
    LONGEST_LINE,
    ClientPool,
    ModelLink,
    read_message,
    write_message,
)
from stages.core.run.outcome import TaskOutcome
from stages.core.run.store import open_store
from stages.core.run.worker import TaskWorker

GRACE = 5.0
"""Seconds in which a child that was told to end may do so."""


class ChildEnded(Exception):
    """The child went away in the middle of a task; says how."""


class Child:
    """The parent's side of one child.

    Args:
        setup: What a child needs to know of the run; see `setup_of`.
        pool: The clients that it asks.
    """

    def __init__(self, setup: Mapping[str, object], pool: ClientPool) -> None:
        self._setup, self._pool = setup, pool
        self._process: asyncio.subprocess.Process | None = None
        self._asked: set[asyncio.Task[None]] = set()
        self.stage = ""

    async def work(
        self, one: Assignment, seconds: float, begun: Callable[[str], None]
    ) -> TaskOutcome:
        """Have a task done.

        Raises:
            TimeoutError: It took longer than ``seconds``; the child is ended.
            ChildEnded: The child ended by itself.
            WinnowError: The result cannot be written.
        """
        if self._process is None:
            await self._start()
        self.stage = ""
        write_message(self._writer, {"task": assigned(one)})
        try:
            async with asyncio.timeout(seconds or None):
                return await self._result(begun)
        except BaseException:
            await self.end()
            raise

    async def _result(self, begun: Callable[[str], None]) -> TaskOutcome:
        while (message := await read_message(self._reader)) is not None:
            if "ask" in message:
                self._answer(message)
            elif "begun" in message:
                self.stage = message["begun"]
                begun(self.stage)
            elif "done" in message:
                return cast("TaskOutcome", message["done"])
            else:
                raise WinnowError(message["failed"])
        code = await self._process.wait() if self._process else 0
        how = f"by signal {-code}" if code < 0 else f"with status {code}"
        raise ChildEnded(f"its process ended {how}")

    def _answer(self, message: JsonMapping) -> None:
        """Ask the model; the call goes on to its end, and is kept, even if the child does not."""
        writer = self._writer

        async def ask() -> None:
            answer = await self._pool.answer(message)
            if not writer.is_closing():
                write_message(writer, answer)

        asking = asyncio.create_task(ask())
        self._asked.add(asking)
        asking.add_done_callback(self._asked.discard)

    async def _start(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                __name__,
                str(theirs.fileno()),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._reader, self._writer = await asyncio.open_connection(sock=ours, limit=LONGEST_LINE)
        write_message(self._writer, self._setup)

    async def end(self) -> None:
        """End the child and all that it started; another task starts another."""
        process, self._process = self._process, None
        if process is None:
            return
        self._writer.close()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


def setup_of(config: RunConfig, run_id: str, place: str) -> dict[str, object]:
    """What another process has to know of a run.

    Args:
        config: The configuration.
        run_id: The run.
        place: Its folder.
    """
    return {"config": config.dump(), "run_id": run_id, "place": place}


def assigned(one: Assignment) -> dict[str, str]:
    """An assignment as a message; `assignment` reads it."""
    return {**one.__dict__, "line": one.line.decode()}


def assignment(message: Mapping[str, str]) -> Assignment:
    """What `assigned` wrote."""
    fields = {key: value for key, value in message.items() if key != "line"}
    return Assignment(line=message["line"].encode(), **fields)


async def serve(number: int) -> None:
    """Be the child, over the socket of that descriptor."""
    connection = socket.socket(fileno=number)
    reader, writer = await asyncio.open_connection(sock=connection, limit=LONGEST_LINE)
    setup = await read_message(reader)
    if setup is None:
        return
    link = ModelLink(lambda message: write_message(writer, message))
    chain = Chain(chain_of(RunConfig.load(setup["config"])), link.client)
    worker = TaskWorker(setup["run_id"], open_store(setup["place"]), chain)
    current: asyncio.Task[None] | None = None
    while (message := await read_message(reader)) is not None:
        if "reply" in message:
            link.take(message)
        else:
            current = asyncio.create_task(_work(worker, assignment(message["task"]), writer))
    if current is not None:
        current.cancel()
    os._exit(0)  # the parent has gone: threads and what they wait for go too


async def _work(worker: TaskWorker, one: Assignment, writer: asyncio.StreamWriter) -> None:
    try:
        record = await worker.work(one, lambda stage: write_message(writer, {"begun": stage}))
        write_message(writer, {"done": record})
    except (OSError, WinnowError) as error:
        write_message(writer, {"failed": str(error)})


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asyncio.run(serve(int(sys.argv[1])))
