"""How a command ends from outside: Ctrl-C.

While a command loads, Ctrl-C ends it at once and in silence: nothing has begun, and what is
half imported makes no good error. Once it runs, it unwinds as a KeyboardInterrupt does, so that
what was finished is written and what was begun is removed.

Only `quietly` switches any of this on, so that whoever imports the package keeps their own.
"""

from __future__ import annotations

import os
import signal
from types import FrameType

STATUS = 130
"""The exit status after Ctrl-C."""

_ours = False


def quietly() -> None:
    """From here on Ctrl-C ends the process in silence; where it is ignored, it stays so."""
    global _ours
    _ours = True
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def unwinding() -> None:
    """From here on Ctrl-C raises KeyboardInterrupt where the command stands."""
    if _ours and signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def settle() -> None:
    """The last thing a command does: exit undisturbed."""
    if _ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def _leave(_number: int, _frame: FrameType | None) -> None:
    os._exit(STATUS)
