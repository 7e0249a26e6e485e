"""Decide how much of each table the solver's prompt shows: all, column names, or a line.

vote decides which tables are shown in full. Where refine has run, its tables are full as
well, and what else is left of prune's superset is shown by column names. Every other table
stands as one line, so that the solver knows of it and can query it. link counts only when
--by names it, or when nothing else has run. A table that no section judges is shown in
full. Tables marked always_keep are full, and a task's pins beat everything:

    winnow collapse voted.jsonl | jq -c 'select(.collapse).collapse.shown'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict, cast

import click

from stages.core.errors import MissingSection
from stages.core.lines.sections import section
from stages.core.readers import named, pinned
from stages.core.readers.link import linked_tables
from stages.core.readers.prune import superset
from stages.core.readers.refine import refined_columns
from stages.core.readers.vote import voted_tables
from stages.core.records import Collapse, Link, Prune, Refine, Table, Task, Vote
from stages.core.runtime.stage import Stage
from stages.core.text import listed

DECIDERS = ("vote", "refine", "prune", "link")


class Deciders(TypedDict, total=False):
    """The sections that decide, by name, in the order of `DECIDERS`."""

    vote: Vote
    refine: Refine
    prune: Prune
    link: Link


def collapse(task: Task, tables: Sequence[Table], *, by: Sequence[str] = ()) -> Collapse:
    """The three lists of canonical names, and the describe keys of the tables to fold.

    Args:
        task: The task with at least one of the sections vote, refine, prune and link.
        tables: The tables of its catalog, in file order; every list keeps that order.
        by: The sections that decide. None named: vote, refine and prune where they stand,
            link where none of them does.

    Returns:
        A ``collapse`` section. Each table of the catalog stands in exactly one list; names
        that are not in the catalog are left out, with a note.

    Raises:
        MissingSection: A section that ``by`` names does not stand.

    >>> vote = {"per_table": {"a": True, "b": False}, "skipped_tables": ["b"]}
    >>> task = {"kind": "task", "task_id": "1", "vote": vote}
    >>> tables = [{"name": "a", "describe_key": "a.csv"}, {"name": "b", "describe_key": "b.csv"}]
    >>> found = collapse(task, tables)
    >>> found["shown"], found["keys"]
    ({'full': ['a'], 'names': [], 'line': ['b']}, ['b.csv'])
    """
    known = [table["name"] for table in tables]
    sections = _sections(task, by)
    full, names = _levels(sections, known)
    pins, notes = pinned(task.get("pin", {}), tables)
    always = {table["name"] for table in tables if table.get("always_keep", False)}
    full = (full | always | pins["keep"]) - pins["fold"]
    names -= full | pins["fold"]
    line = [name for name in known if name not in full and name not in names]
    folded = set(line)
    notes = [*_unknown(sections, known), *notes]
    if not full:
        notes.append("no table is shown in full")
    made: Collapse = {
        "keys": [table["describe_key"] for table in tables if table["name"] in folded],
        "shown": {
            "full": [name for name in known if name in full],
            "names": [name for name in known if name in names],
            "line": line,
        },
        "by": list(sections),
    }
    if decided := _decided(pins, known):
        made["pinned"] = decided
    if notes:
        made["notes"] = notes
    made["meta"] = {"from": _sources(by, sections)}
    return made


def _decided(pins: Mapping[str, set[str]], known: Sequence[str]) -> list[str]:
    """The tables that pins decided on."""
    return [name for name in known if name in pins["keep"] or name in pins["fold"]]


def _sections(task: Task, by: Sequence[str]) -> Deciders:
    """The sections that decide."""
    found = {name: part for name in DECIDERS if (part := section(task, name)) is not None}
    if not by:
        strong = {name: part for name, part in found.items() if name != "link"}
        return cast("Deciders", strong or found)
    for name in by:
        if name not in found:
            hint = f"run `winnow {name}` first, or leave it out of --by"
            raise MissingSection(f"no section {name}", place=task["task_id"], hint=hint)
    return cast("Deciders", {name: part for name, part in found.items() if name in by})


def _levels(sections: Deciders, known: Sequence[str]) -> tuple[set[str], set[str]]:
    """The tables shown in full and by column names, before pins.

    The superset alone is shown in full, since nothing has looked more closely.
    """
    picks: list[set[str]] = []
    if "vote" in sections:
        picks.append(voted_tables(sections["vote"], known))
    if "refine" in sections:
        picks.append(set(refined_columns(sections["refine"])))
    if "link" in sections:
        picks.append(linked_tables(sections["link"]))
    kept = set(superset(sections["prune"])) if "prune" in sections else set()
    full = set().union(*picks) if picks else kept
    return full & set(known), (kept - full) & set(known)


def _unknown(sections: Deciders, known: Sequence[str]) -> list[str]:
    """One note for each section that names tables outside the catalog."""
    have = set(known)
    notes = []
    for name, part in sections.items():
        strange = [
            table for table in named(name, cast("Mapping[str, object]", part)) if table not in have
        ]
        if strange:
            notes.append(f"{name} names what is no table of the catalog: {listed(strange)}")
    return notes


def _sources(by: Sequence[str], sections: Deciders) -> list[str]:
    """What the result was made from: a section that would count were it there is among it."""
    names = [name for name in DECIDERS if name in by] if by else ["vote", "refine", "prune"]
    return ["pin", "tables", *dict.fromkeys([*names, *sections])]


def _names(_context: click.Context, _option: click.Parameter, value: str | None) -> tuple[str, ...]:
    """The value of ``--by``: names with commas between them."""
    names = tuple(name.strip() for name in (value or "").split(",") if name.strip())
    for name in names:
        if name not in DECIDERS:
            raise click.BadParameter(f"{name!r} is none of {', '.join(DECIDERS)}")
    return names


BY = click.Option(
    ["--by"],
    metavar="NAME,…",
    callback=_names,
    help=f"Sections that decide, of {', '.join(DECIDERS)}. [default: those that stand; link only "
    "alone]",
)


def _counts(found: Collapse) -> tuple[int, ...]:
    shown = found["shown"]
    every = sum(map(len, (shown["full"], shown["names"], shown["line"])))
    return len(shown["full"]), every, len(shown["names"]), len(shown["line"])


STAGE = Stage(
    collapse,
    needs_any=DECIDERS,
    inputs=("pin",),
    options=(BY,),
    counts=_counts,
    summary="{0} of {1:table} in full, {2} by column names, {3} as a line",
)
