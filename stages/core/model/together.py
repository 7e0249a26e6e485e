"""Asking several things at once."""

from __future__ import annotations

from collections.abc import Iterable

from stages.core.errors import ModelError
from stages.core.model.request import Model, Reply, Request


async def ask_together(
    model: Model, requests: Iterable[Request], timeout: float | None
) -> list[Reply | ModelError]:
    """One answer for each request, in their order; every call ends before this does.

    Args:
        model: Whom to ask; bounds how many calls run at once.
        requests: What to ask.
        timeout: Seconds for one call.

    Raises:
        Exception: Whatever a call raises that is no `ModelError`, once all have ended.
    """
    import asyncio

    calls = [model.ask(request, timeout=timeout) for request in requests]
    answers: list[Reply | ModelError] = []
    for answer in await asyncio.gather(*calls, return_exceptions=True):
        if isinstance(answer, BaseException) and not isinstance(answer, ModelError):
            raise answer
        answers.append(answer)
    return answers
