"""What the sections of a task say about tables and columns, each read through one function.

`collapse` and `describe` know the sections only by these functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from stages.core.text import visible

LISTED = 5
"""Names that a note lists before it only counts."""

Columns = Mapping[str, str]
"""Column name to the reason it was selected for; the reason may be empty."""


def voted(section: Mapping[str, Any], tables: Iterable[str]) -> set[str]:
    """The tables that vote keeps: all that it does not skip.

    A table that no verdict is about is kept, and so are all where no round succeeded.

    Args:
        section: The ``vote`` section.
        tables: Canonical names of the catalog.
    """
    if section.get("error") and not section.get("n_rounds_ok"):
        return set(tables)
    verdicts: Mapping[str, bool] = section.get("per_table", {})
    relevant = {*section.get("relevant_tables", ()), *section.get("always_keep", ())}
    skipped = {*section.get("skipped_tables", ()), *(n for n, yes in verdicts.items() if not yes)}
    return {name for name in tables if name in relevant or name not in skipped}


def superset(section: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    """The tables and columns that survive pruning, from the ``prune`` section."""
    kept: Mapping[str, Iterable[str]] = section.get("kept", {})
    return {table: frozenset(columns) for table, columns in kept.items()}


def focused(section: Mapping[str, Any]) -> dict[str, Columns]:
    """The tables and columns of the refined schema, from the ``refine`` section."""
    refined: Mapping[str, Mapping[str, Any]] = section.get("refined_schema", {})
    return {
        table: {
            column["column_name"]: column.get("relevance_reason", "")
            for column in chosen.get("relevant_columns", ())
        }
        for table, chosen in refined.items()
    }


def linked(section: Mapping[str, Any]) -> set[str]:
    """The tables that ``link`` keeps."""
    return {table["name"] for table in section.get("tables", ()) if table["keep"]}


def named(name: str, section: Mapping[str, Any]) -> list[str]:
    """Every table that a section names, in the order in which it does."""
    if name == "vote":
        keys = ("all_tables", "relevant_tables", "skipped_tables", "always_keep", "per_table")
        found = [table for key in keys for table in section.get(key, ())]
    elif name == "prune":
        found = list(superset(section))
    elif name == "refine":
        found = list(focused(section))
    else:
        found = [table["name"] for table in section.get("tables", ())]
    return list(dict.fromkeys(found))


def relevance(
    tables: Iterable[str], vote: Mapping[str, Any] | None, link: Mapping[str, Any] | None
) -> dict[str, float]:
    """How needed each table is held to be, from 0 to 1: nine parts votes, one part link score.

    So the score only orders tables with like votes; where nobody voted it stands alone. A
    table that nobody judged counts as wholly needed.
    """
    scores = {table["name"]: float(table["score"]) for table in (link or {}).get("tables", ())}
    if vote is None:
        return {name: scores.get(name, 0.0) if link is not None else 1.0 for name in tables}
    tallies: Mapping[str, str] = vote.get("vote_tally", {})
    return {
        name: 0.9 * _share(str(tallies.get(name, ""))) + 0.1 * scores.get(name, 0.0)
        for name in tables
    }


def _share(tally: str) -> float:
    """``yes/n`` as a number; 1 where there is no such tally, or no vote in it."""
    yes, _, n = tally.partition("/")
    if not (yes.isdigit() and n.isdigit() and int(n)):
        return 1.0
    return min(1.0, int(yes) / int(n))


def listed(names: Iterable[str], more: str = " and {n} more") -> str:
    """A few names and the count of the rest, for a note.

    >>> listed("abcdefg")
    'a, b, c, d, e and 2 more'
    """
    every = list(names)
    shown = ", ".join(visible(name, 80) for name in every[:LISTED])
    return shown if len(every) <= LISTED else shown + more.format(n=len(every) - LISTED)
