"""What the sections of a task say about tables and columns, each read through one function.

`collapse` and `describe` know the sections only by these functions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, cast

from stages.core.names import fold
from stages.core.text import visible

if TYPE_CHECKING:
    from stages.core.records import Collapse, Link, Pin, Prune, Refine, Table, Vote

LISTED = 5
"""Names that a note lists before it only counts."""

Level = Literal["full", "names", "line"]
"""How much of a table is shown."""

LEVELS: tuple[Level, ...] = ("full", "names", "line")

Columns = Mapping[str, str]
"""Column name to the reason it was selected for; the reason may be empty."""


def voted(section: Vote, tables: Iterable[str]) -> set[str]:
    """The tables that vote keeps: all that it does not skip.

    A table that no verdict is about is kept, and so are all where no round succeeded. Where
    the places of a verdict contradict each other, the table is kept; see `conflicts`.

    Args:
        section: The ``vote`` section.
        tables: Canonical names of the catalog.
    """
    if section.get("error") and not section.get("n_rounds_ok"):
        return set(tables)
    said = _verdicts(section)
    always = section.get("always_keep", ())
    return {name for name in tables if name in always or said.get(name) != {False}}


def _verdicts(section: Vote) -> dict[str, set[bool]]:
    """What the places of a ``vote`` section say of each table; both where they contradict."""
    relevant, skipped = section.get("relevant_tables"), section.get("skipped_tables")
    said: dict[str, set[bool]] = {name: set() for name in _of_vote(section)}
    for name, verdict in section.get("per_table", {}).items():
        said[name].add(verdict)
    whole = relevant is not None and skipped is not None
    for listing, meaning in ((relevant, True), (skipped, False)):
        inside = frozenset(listing or ())
        for name, found in said.items():
            if name in inside:
                found.add(meaning)
            elif whole:
                found.add(not meaning)
    return said


def shown_at(section: Collapse) -> dict[str, Level]:
    """Each table that a ``collapse`` section lists, at the fullest level it is listed at."""
    shown = section.get("shown", {})
    return {name: level for level in reversed(LEVELS) for name in shown.get(level, ())}


def conflicts(name: str, section: Mapping[str, object], tables: Iterable[Table]) -> list[str]:
    """What a section says twice and not alike, which only an edit by hand makes of it.

    Args:
        name: Name of the section.
        section: It, of the shape that its schema gives.
        tables: The tables of the catalog.

    Returns:
        One sentence for each place: what disagrees, what counts, and what to edit.
    """
    every = list(tables)
    if name == "vote":
        return list(_vote_conflicts(cast("Vote", section), every))
    if name == "collapse":
        return list(_collapse_conflicts(cast("Collapse", section), every))
    return list(_prune_conflicts(cast("Prune", section), every)) if name == "prune" else []


def _vote_conflicts(section: Vote, tables: Sequence[Table]) -> Iterator[str]:
    odd = [name for name, said in _verdicts(section).items() if len(said) > 1]
    if odd:
        yield (
            f"vote: per_table, relevant_tables and skipped_tables disagree on {listed(odd)}; "
            "kept, unless all three say otherwise: set pin.fold or pin.keep instead"
        )
    elif "skipped_describe_keys" in section:
        where = "skipped_describe_keys and skipped_tables"
        keys, skipped = section["skipped_describe_keys"], section.get("skipped_tables", ())
        yield from _key_conflict("vote", where, keys, skipped, tables)


def _collapse_conflicts(section: Collapse, tables: Sequence[Table]) -> Iterator[str]:
    shown = section.get("shown", {})
    times = Counter(name for level in LEVELS for name in shown.get(level, ()))
    odd = [table["name"] for table in tables if times[table["name"]] != 1]
    if odd:
        yield (
            f"collapse: shown lists {listed(odd)} twice or nowhere; the fullest counts, and full "
            "where it stands nowhere: list each once, or set pin.fold or pin.keep"
        )
    elif "keys" in section:
        where = "keys and shown.line"
        yield from _key_conflict("collapse", where, section["keys"], shown.get("line", ()), tables)


def _key_conflict(
    name: str, where: str, keys: Iterable[str], folded: Iterable[str], tables: Sequence[Table]
) -> Iterator[str]:
    """Where the describe keys of a section are not those of the tables that it folds."""
    names = frozenset(folded)
    wanted = {table["describe_key"] for table in tables if table["name"] in names}
    odd = sorted(wanted ^ set(keys))
    if odd:
        yield (
            f"{name}: {where} disagree on {listed(odd)}; the tables count, not the keys: "
            "set pin.fold or pin.keep instead"
        )


def _prune_conflicts(section: Prune, tables: Sequence[Table]) -> Iterator[str]:
    gone = {
        *section.get("deleted", {}).get("tables", ()),
        *section.get("cut", {}).get("tables", ()),
    }
    kept = section.get("kept", {})
    odd = [table["name"] for table in tables if (table["name"] in kept) == (table["name"] in gone)]
    if odd and gone:
        yield (
            f"prune: kept and deleted.tables disagree on {listed(odd)}; kept is what counts: "
            "list the table there, or set pin.keep"
        )


def superset(section: Prune) -> dict[str, frozenset[str]]:
    """The tables and columns that survive pruning, from the ``prune`` section."""
    kept: Mapping[str, Iterable[str]] = section.get("kept", {})
    return {table: frozenset(columns) for table, columns in kept.items()}


def focused(section: Refine) -> dict[str, Columns]:
    """The tables and columns of the refined schema, from the ``refine`` section."""
    refined = section.get("refined_schema", {})
    return {
        table: {
            column["column_name"]: column.get("relevance_reason", "")
            for column in chosen.get("relevant_columns", ())
        }
        for table, chosen in refined.items()
    }


def linked(section: Link) -> set[str]:
    """The tables that ``link`` keeps."""
    return {table["name"] for table in section.get("tables", ()) if table["keep"]}


def named(name: str, section: Mapping[str, object]) -> list[str]:
    """Every table that a section names, in the order in which it does."""
    if name == "vote":
        found = _of_vote(cast("Vote", section))
    elif name == "prune":
        found = list(superset(cast("Prune", section)))
    elif name == "refine":
        found = list(focused(cast("Refine", section)))
    else:
        found = [table["name"] for table in cast("Link", section).get("tables", ())]
    return list(dict.fromkeys(found))


def _of_vote(section: Vote) -> list[str]:
    """Every table that a ``vote`` section names, as often as it does."""
    return [
        *section.get("all_tables", ()),
        *section.get("relevant_tables", ()),
        *section.get("skipped_tables", ()),
        *section.get("always_keep", ()),
        *section.get("per_table", ()),
    ]


def pinned(pin: Pin, tables: Sequence[Table]) -> tuple[dict[str, set[str]], list[str]]:
    """The pinned tables by canonical name, and notes on pins that are not to be followed.

    A pin is written by hand: it may name a table by an alias or in another case, as long as
    that is one table. A table both kept and folded is kept.
    """
    exact = {table["name"]: table["name"] for table in tables}
    loose: dict[str, set[str]] = {}
    for table in tables:
        for name in (table["name"], *table.get("aliases", ())):
            loose.setdefault(fold(name), set()).add(table["name"])
    notes: list[str] = []
    found: dict[str, set[str]] = {"keep": set(), "fold": set()}
    for kind, wanted in (("keep", pin.get("keep", [])), ("fold", pin.get("fold", []))):
        for name in wanted:
            alike = {exact[name]} if name in exact else loose.get(fold(name), set())
            if len(alike) == 1:
                found[kind] |= alike
            else:
                why = "several tables are called" if alike else "no table is called"
                notes.append(f"pin {kind}: {why} {listed([name])}")
    both = found["keep"] & found["fold"]
    if both:
        notes.append(f"pinned both ways, so kept: {listed(sorted(both))}")
        found["fold"] -= both
    return found, notes


def relevance(tables: Iterable[str], vote: Vote | None, link: Link | None) -> dict[str, float]:
    """How needed each table is held to be, from 0 to 1: nine parts votes, one part link score.

    So the score only orders tables with like votes; where nobody voted it stands alone. A
    table that nobody judged counts as wholly needed.
    """
    judged = link.get("tables", ()) if link is not None else ()
    scores = {table["name"]: float(table["score"]) for table in judged}
    if vote is None:
        return {name: scores.get(name, 0.0) if link is not None else 1.0 for name in tables}
    tallies = vote.get("vote_tally", {})
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
