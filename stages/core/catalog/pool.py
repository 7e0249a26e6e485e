"""Many small files on two workers, results in the order of the files.

Reading a small CSV is all Python, so threads would wait for each other: many files go to two
forked processes. Where forking is not safe (threads run already, an engine is loaded) or not
worth it, threads do the work.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import TypeVar

from stages.core import signals

WORKERS = 2
"""More gain nothing on two cores, and the time of one file is small."""
WORTH_FORKING = 24
"""Files below which starting processes costs more than it saves (about 15 ms)."""
CHUNK = 8
UNSAFE = ("duckdb", "litellm")

Task = TypeVar("Task")
Result = TypeVar("Result")


def in_order(function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
    """``function`` of each task, in order, on two workers.

    Args:
        function: Has to be at the top level of a module, and must not raise.
        tasks: Have to be picklable, and so do the results.
    """
    if len(tasks) < 2:
        yield from map(function, tasks)
    elif len(tasks) < WORTH_FORKING or not _may_fork():
        with ThreadPoolExecutor(WORKERS) as pool:
            yield from pool.map(function, tasks)
    else:
        yield from _forked(function, tasks)


def _may_fork() -> bool:
    loaded = any(name in sys.modules for name in UNSAFE)
    return sys.platform == "linux" and threading.active_count() == 1 and not loaded


def _forked(function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
    """On processes; where one dies (of memory, say) the rest is done here."""
    import multiprocessing

    done = 0
    try:
        with ProcessPoolExecutor(
            WORKERS,
            mp_context=multiprocessing.get_context("fork"),
            initializer=signals.inherit,
        ) as pool:
            with signals.hold():  # they start here, and the hooks of a fork lose what is raised
                results = pool.map(function, tasks, chunksize=CHUNK)
            for result in results:
                done += 1
                yield result
    except BrokenExecutor:
        yield from map(function, tasks[done:])
