"""No garbage collection while one question is judged or one catalog indexed.

Nothing that is made there is in a cycle, and every full collection walks the whole catalog: with
90,000 columns they took more time than the judging.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def calm() -> Iterator[None]:
    """Put collections off until the end; where they are off already they stay off."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
