"""An end to work in Python that would go on: reading some short statements takes forever.

sqlglot tries ``date(`` as a type and then as a function, and writes some arguments twice, so
that thirty brackets cost a day. Nothing in it can be told to stop; an exception can be raised
in its thread.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

AGAIN = 0.1
"""Seconds after which an alarm that was not heard rings again."""
_state = threading.local()
_raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc


class Late(BaseException):
    """The time is over; no handler for errors may take it for one."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `Late` in the block when its time is over; within another such block, nothing.

    Args:
        seconds: Time for the block, where it runs in Python.

    Raises:
        Late: It took longer.
    """
    if getattr(_state, "armed", False):
        yield
        return
    alarm = _Alarm(threading.get_ident(), seconds)
    _state.armed = True
    try:
        alarm.start()
        yield
    finally:
        _state.armed = False
        while not alarm.over.is_set():
            with suppress(Late):
                alarm.settle()


class _Alarm(threading.Thread):
    """Rings in one thread until it is settled, and never after.

    Once is not enough: what is raised inside a callback of the garbage collector is lost.
    """

    def __init__(self, thread: int, seconds: float) -> None:
        super().__init__(daemon=True)
        self._thread, self._seconds = ctypes.c_ulong(thread), seconds
        self._lock = threading.Lock()
        self.over = threading.Event()

    def run(self) -> None:
        """Wait, and ring."""
        wait = self._seconds
        while not self.over.wait(wait):
            with self._lock:
                if not self.over.is_set():
                    _raise_in(self._thread, ctypes.py_object(Late))
            wait = AGAIN

    def settle(self) -> None:
        """Ring no more; what has rung and not been heard is taken back."""
        with self._lock:
            self.over.set()
            _raise_in(self._thread, None)
