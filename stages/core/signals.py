"""How a command ends from outside: Ctrl-C, SIGTERM and SIGHUP.

While a command loads, Ctrl-C ends it at once and in silence: nothing has begun, and what is
half imported makes no good error. Once it runs, all three unwind it as a KeyboardInterrupt
does, so that what was finished is written and what was begun is removed. After SIGTERM and
SIGHUP the process then ends by that signal, as whoever sent it expects.

Only `quietly` switches any of this on, so that whoever imports the package keeps their own.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

STATUS = 130
"""The exit status after Ctrl-C."""

ENDINGS = {signal.SIGTERM: "terminated"}
if sys.platform != "win32":
    ENDINGS[signal.SIGHUP] = "hung up"

PATIENCE = 1.0
"""Seconds in which a signal that comes again is the same one: `timeout` and a closing terminal
both send theirs twice. After that it means now."""

_ours = False
_by: signal.Signals | None = None
_since = 0.0


def quietly() -> None:
    """From here on Ctrl-C ends the process in silence; where it is ignored, it stays so."""
    global _ours
    _ours = True
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def unwind() -> None:
    """From here on Ctrl-C, SIGTERM and SIGHUP raise KeyboardInterrupt where the command stands.

    What the caller has ignored, as nohup does, stays ignored.
    """
    if not _ours:
        return
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in ENDINGS:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _unwind)


@contextmanager
def hold() -> Iterator[None]:
    """Let signals wait, where what they raise would be lost or taken for something else."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, *ENDINGS})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def inherit() -> None:
    """In a worker forked under `hold`: Ctrl-C is the parent's business, the others just end it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in ENDINGS:
        if signal.getsignal(number) is _unwind:
            signal.signal(number, signal.SIG_DFL)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, *ENDINGS})


def word() -> str:
    """What ended the command, for its last message."""
    return "interrupted" if _by is None else ENDINGS[_by]


def settle() -> None:
    """The last thing a command does: end by the signal that ended it, or exit undisturbed."""
    if not _ours:
        return
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    for number in ENDINGS:
        if signal.getsignal(number) in (_unwind, _again):
            signal.signal(number, signal.SIG_DFL)
    if _by is not None:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os.kill(os.getpid(), _by)


def _leave(_number: int, _frame: FrameType | None) -> None:
    os._exit(STATUS)


def _unwind(number: int, frame: FrameType | None) -> None:
    """Do what Ctrl-C does, under another name."""
    global _by, _since
    _by, _since = signal.Signals(number), time.monotonic()
    for each in ENDINGS:
        if signal.getsignal(each) is _unwind:
            signal.signal(each, _again)
    # Sent to a whole group, it has ended the workers too, and threads that wait for them complain.
    threading.excepthook = lambda _args: None
    interrupt = signal.getsignal(signal.SIGINT)
    if callable(interrupt):  # the event loop has a handler of its own
        interrupt(signal.SIGINT, frame)
    else:  # a job in the background ignores Ctrl-C
        raise KeyboardInterrupt


def _again(number: int, _frame: FrameType | None) -> None:
    """End at once where the unwinding takes too long, as behind a pipe that nobody reads."""
    if time.monotonic() - _since > PATIENCE:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
