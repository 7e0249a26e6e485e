"""Everything that goes to stderr, and the exit status that goes with it.

One line per message: ``winnow COMMAND: place: what; what to do``. Nothing else in the
package writes to stderr, so `--quiet`, `--verbose` and the escaping of hostile text are
settled here once.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from stages.core import signals
from stages.core.errors import UsageError, WinnowError, os_words
from stages.core.text import redact, visible

LONGEST_LINE = 600
SAME_KIND_SHOWN = 5
KIND_SHOWN = 60
"""Characters of a message that stands in full above."""
PROGRESS_EVERY = 0.1
TOLD_EVERY = 30.0
"""Seconds between two lines on how far a long command is, where stderr is no terminal."""


@dataclass
class State:
    """How the running command reports; set once by the command line."""

    command: str = "winnow"
    quiet: bool = False
    verbose: bool = False
    exit_code: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    hidden: Counter[str] = field(default_factory=Counter)
    progress_at: float = 0.0
    progress_width: int = 0
    told_at: float = field(default_factory=time.monotonic)
    collected: list[str] | None = None
    errors: list[WinnowError | str] = field(default_factory=list)


_state = State()
_own: ContextVar[State | None] = ContextVar("own", default=None)
"""The state of what is called from Python, each call its own."""


def _current() -> State:
    return _own.get() or _state


@contextmanager
def collecting(command: str) -> Iterator[State]:
    """Collect what is said within, in place of stderr: ``collected`` holds every message and
    ``errors`` every error. What was said outside is untouched."""
    state = State(command=command, collected=[])
    token = _own.set(state)
    try:
        yield state
    finally:
        _own.reset(token)


def begin(command: str, *, quiet: bool = False, verbose: bool = False) -> None:
    """Start reporting for one command; forgets what an earlier one said."""
    global _state
    _state = State(command=command, quiet=quiet, verbose=verbose)


def exit_code() -> int:
    """The status the command ends with, judging by the errors reported so far."""
    return _current().exit_code


def note(message: str) -> None:
    """What a run left or did; silent under ``--quiet``."""
    if not _current().quiet:
        _write(message)


def detail(message: str) -> None:
    """What only ``--verbose`` shows."""
    if _current().verbose:
        _write(message)


def warn(problem: WinnowError | str) -> None:
    """Something was left out or looks wrong, and the run is still all well."""
    if not _current().quiet:
        _limited(problem, "warning: ")


def error(problem: WinnowError | str, *, shown: int = SAME_KIND_SHOWN) -> None:
    """Something failed and the run goes on; it will end with that error's status.

    Args:
        problem: What failed.
        shown: How many of the same kind are shown one by one; `finish` counts the rest.
    """
    code = problem.exit_code if isinstance(problem, WinnowError) else 1
    state = _current()
    if state.collected is not None:
        state.errors.append(problem)
    state.exit_code = max(state.exit_code, code)
    _limited(problem, "", shown)


def traceback(problem: BaseException) -> None:
    """Where an unexpected error came from, under ``--verbose``."""
    if _current().verbose:
        import traceback as python

        for part in python.format_exception(problem):
            for line in part.rstrip().splitlines():
                _write(line)


def fatal(problem: BaseException) -> int:
    """Report the error that ends the run, and give its exit status."""
    if isinstance(problem, KeyboardInterrupt):
        _write(signals.word())
        return signals.STATUS
    if isinstance(problem, OSError):
        problem = WinnowError(os_message(problem), place=str(problem.filename or ""))
    _write(str(problem))
    return max(_current().exit_code, getattr(problem, "exit_code", 1))


def usage(text: str) -> int:
    """Print the help of a command that needs more words, and give the exit status."""
    _raw(f"{text.rstrip()}\n")
    return UsageError.exit_code


def os_message(problem: OSError) -> str:
    """The operating system's words for an error, and what to do where that is known."""
    words = os_words(problem)
    hints = {
        errno.ENOSPC: "make room, or write elsewhere with -o",
        errno.ENOENT: "check the path",
        errno.EACCES: "check its permissions",
        errno.EISDIR: "name a file",
        errno.EBADF: "was it closed?",
    }
    hint = hints.get(problem.errno or 0)
    return f"{words}; {hint}" if hint else words


def finish() -> None:
    """Say how many messages of a kind were not shown; call once at the end.

    The first of a kind is told when it happens and the count is known at the end, so these
    are two lines; the second says as much as is needed to know which kind it is.
    """
    for kind, times in _current().hidden.items():
        _write(f"{times} more like: {visible(kind, KIND_SHOWN)} (--verbose shows all)")


def shows_progress() -> bool:
    """Whether a counter is seen at all: stderr is a terminal, wherever stdout goes."""
    state = _current()
    return not state.quiet and state.collected is None and _is_terminal()


def progress(done: int, total: int | None, what: str) -> None:
    """A counter on a terminal, at most ten times a second; elsewhere a line every half minute,
    so that a log tells a command that works from one that hangs."""
    _progress(_current(), done, total, what)


def progress_from_threads() -> Callable[[int, int | None, str], None]:
    """`progress` of the call that runs here, for threads of its own."""
    state = _current()
    return lambda done, total, what: _progress(state, done, total, what)


def _progress(state: State, done: int, total: int | None, what: str) -> None:
    now = time.monotonic()
    if state.collected is not None or now - state.progress_at < PROGRESS_EVERY:
        return
    state.progress_at = now
    counted = f"{done}{f'/{total}' if total else ''} {what}"
    if not shows_progress():
        if now - state.told_at >= TOLD_EVERY:
            state.told_at = now
            note(counted)
        return
    text = f"{state.command}: {counted}"
    _raw("\r" + text.ljust(state.progress_width))
    state.progress_width = len(text)


def _limited(problem: WinnowError | str, prefix: str, shown: int = SAME_KIND_SHOWN) -> None:
    """Show the first few of a kind; `finish` counts the rest."""
    kind = problem.what if isinstance(problem, WinnowError) else problem
    _current().kinds[prefix + kind] += 1
    if _current().verbose or _current().kinds[prefix + kind] <= shown:
        _write(prefix + str(problem))
    else:
        _current().hidden[prefix + kind] += 1


def _write(message: str) -> None:
    state = _current()
    if state.collected is not None:
        state.collected.append(visible(redact(message), LONGEST_LINE))
        return
    clear_progress()
    _raw(f"{state.command}: {visible(redact(message), LONGEST_LINE)}\n")


def clear_progress() -> None:
    """Take the counter off the terminal, before anything else goes there."""
    if _current().progress_width:
        _raw("\r" + " " * _current().progress_width + "\r")
        _current().progress_width = 0


def _raw(text: str) -> None:
    """Write to stderr, or nowhere where it is closed: a message must not become an error."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        pass


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
