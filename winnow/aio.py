"""The functions that may ask a model, for a running loop; as those of `winnow`.

lines = await winnow.aio.vote(lines, model="openai/gpt-4o")
"""

from __future__ import annotations

from stages.core.runtime.library import apply_async
from winnow import Line, Lines, Option


async def link(lines: Lines, *, model: str | None = None, **options: Option) -> list[Line]:
    """As `winnow.link`."""
    return await apply_async("link", lines, {"model": model, **options})


async def plan(lines: Lines, *, model: str | None = None, **options: Option) -> list[Line]:
    """As `winnow.plan`."""
    return await apply_async("plan", lines, {"model": model, **options})


async def prune(lines: Lines, *, model: str | None = None, **options: Option) -> list[Line]:
    """As `winnow.prune`."""
    return await apply_async("prune", lines, {"model": model, **options})


async def summarize(lines: Lines, *, model: str | None = None, **options: Option) -> list[Line]:
    """As `winnow.summarize`."""
    return await apply_async("summarize", lines, {"model": model, **options})


async def explore(lines: Lines, *, model: str | None = None, **options: Option) -> list[Line]:
    """As `winnow.explore`."""
    return await apply_async("explore", lines, {"model": model, **options})


async def refine(lines: Lines, *, model: str | None = None, **options: Option) -> list[Line]:
    """As `winnow.refine`."""
    return await apply_async("refine", lines, {"model": model, **options})


async def vote(lines: Lines, *, model: str | None = None, **options: Option) -> list[Line]:
    """As `winnow.vote`."""
    return await apply_async("vote", lines, {"model": model, **options})
