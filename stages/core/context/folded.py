"""The tables that are folded, as one compact list: by source, each by its name.

First seed, 5.2, says of every folded table that it exists, who judged it irrelevant and how
it is queried. Where hundreds are folded, that sentence costs more than what it stands for, so
it stands once above the list, and a table is its name and a few words of what is said of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from stages.core.context import values
from stages.core.context.values import say
from stages.core.context.view import Page, TableView
from stages.core.names import fold
from stages.core.records import Table
from stages.core.text import visible

WORDS = 40
"""Characters shown of what is said of a folded table."""


def sentence(page: Page) -> str:
    """Who folded the tables, and how they are found again; empty where none is folded."""
    views = page.at("line")
    if not views:
        return ""
    words = values.WORDS[page.lang]
    it = words["it" if len(views) == 1 else "each"]
    who = []
    if not all(view.pinned for view in views):
        by = words["and"].join(page.by) or "collapse"
        who.append(say(page.lang, "judged", by=visible(by, 80), it=it))
    if any(view.pinned for view in views):
        who.append(say(page.lang, "pinned", it=it))
    found = say(page.lang, "found", tool=page.tool, it=it) if page.tool else ""
    return say(page.lang, "folded", who=words["or"].join(who), found=found)


def by_source(page: Page) -> Iterator[tuple[str, list[TableView]]]:
    """The folded tables of each source, in file order: a file that holds several, a server, or
    the files of one kind in a folder; empty for tables without a source."""
    groups: dict[str, list[TableView]] = {}
    for view in page.at("line"):
        groups.setdefault(_group(view.table), []).append(view)
    yield from groups.items()


def about(table: Table) -> str:
    """A few words of what is said of the table, whole words where there are spaces.

    >>> about({"name": "t", "description": "clock-in times of the staff of every shop and office"})
    'clock-in times of the staff of every…'
    """
    text = values.about(table)
    if len(text) <= WORDS:
        return text
    cut = text[:WORDS]
    return (cut.rsplit(" ", 1)[0] if " " in cut else cut).rstrip(" ,;:") + "…"


def origin(table: Table) -> str:
    """What tells where in its source the table lies, where its name does not."""
    if "source" not in table:
        return ""
    path, _, inner = table["describe_key"].partition("::")
    own = inner or PurePosixPath(path).stem
    return (
        "" if fold(own) == fold(table["name"]) else values.path(inner or PurePosixPath(path).name)
    )


def _group(table: Table) -> str:
    if "source" not in table:
        return ""
    if source := values.source(table):
        return source
    path = PurePosixPath(table["describe_key"])
    return str(path.parent / f"*{path.suffix}")
