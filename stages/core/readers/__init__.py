"""One reader for each section: what it says about tables and columns.

A module is named as the stage whose section it reads, and found by that name. Each has a
`READER`, through which `show` and `evaluate` look at any section in one way, and the functions
by which a stage takes what it needs from a section: `vote.voted_tables`, `prune.superset`,
`refine.refined_columns`. A section without a module of its own is read by `PLAIN`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

from stages.core.counts import many
from stages.core.errors import DataError
from stages.core.names import fold, unique
from stages.core.text import listed

if TYPE_CHECKING:
    from stages.core.records import Link, Pin, Table, Vote

Level = Literal["full", "names", "line"]
"""How much of a table is shown."""

LEVELS: tuple[Level, ...] = ("full", "names", "line")

Lists: TypeAlias = Sequence[tuple[str, Sequence[str]]]
"""Lists of tables in words, each with its heading."""

Body = TypeVar("Body", bound=Mapping[str, object])
"""The record of one kind of section."""

Plain: TypeAlias = Mapping[str, object]
"""A section of which nothing but its being an object is known."""


@dataclass(frozen=True)
class KeptColumns:
    """What stays, in canonical names.

    Attributes:
        tables: Tables kept.
        columns: Columns kept by table; None where whole tables are kept.
        rank: Every table that the section ranks, best first; None where it ranks none.
        evidence: By table, the words that spoke for it, for reading by hand.
    """

    tables: frozenset[str]
    columns: Mapping[str, frozenset[str]] | None = None
    rank: tuple[str, ...] | None = None
    evidence: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class Order:
    """The order in which tables are listed: votes, then link scores, then as they stand."""

    scores: Mapping[str, float]
    places: Mapping[str, int]

    @classmethod
    def of(cls, tables: Sequence[Table], vote: Vote | None, link: Link | None) -> Order:
        """The order that the sections of a task give its tables."""
        names = [table["name"] for table in tables]
        return cls(relevance(names, vote, link), {name: place for place, name in enumerate(names)})

    def ranked(self, names: Iterable[str]) -> list[str]:
        """The names, best first; one that is no table of the catalog comes last."""
        last = len(self.places)
        return sorted(names, key=lambda n: (-self.scores.get(n, -1.0), self.places.get(n, last), n))


def _keys(section: Plain) -> str:
    """What stands in a section, by the names of its keys."""
    return ", ".join(key for key in section if key not in ("meta", "error"))


def _entries(section: Plain, table: Table) -> Iterator[str]:
    """What a section holds under the table's name, as JSON."""
    import orjson

    name = table["name"]
    for key, value in section.items():
        if isinstance(value, Mapping) and name in value:
            yield f"{key}: {orjson.dumps(value[name]).decode()}"
        elif isinstance(value, list):
            for item in value:
                if item == name:
                    yield key
                elif isinstance(item, Mapping) and name in (item.get("table"), item.get("name")):
                    yield f"{key}: {orjson.dumps(item).decode()}"


def _changes(before: Plain, after: Plain) -> Iterator[str]:
    """The keys that differ."""
    keys = [
        key for key in {**before, **after} if key != "meta" and before.get(key) != after.get(key)
    ]
    yield f"differs in {', '.join(keys)}"


def nothing(*_: object) -> Iterator[str]:
    """No word: for a question that a section has no answer to."""
    return iter(())


def no_names(_: object) -> Iterable[str]:
    """For a section that names no tables."""
    return ()


def no_lists(_section: object, _order: Order) -> Lists:
    """For a section that keeps no tables."""
    return ()


@dataclass(frozen=True, eq=False, repr=False)
class SectionReader(Generic[Body]):
    """How the section of one stage is read.

    Args:
        summary: What it comes to, in a few words.
        why: Everything it says about one table, a line each; in general what stands under the
            table's name.
        diff: What changed from one to another, a line each; in general the keys that differ.
        kept: The tables and columns that stay; None where it drops none.
        names: Every table that it names, in the order in which it does.
        ranking: The tables by what became of them, best first, in the order given for those
            that it does not rank itself.
        conflicts: What it says twice and not alike, which only an edit by hand makes of it: one
            sentence for each place with what disagrees, what counts, and what to edit.
    """

    summary: Callable[[Body], str]
    why: Callable[[Body, Table], Iterator[str]] = _entries
    diff: Callable[[Body, Body], Iterator[str]] = _changes
    kept: Callable[[Body], KeptColumns] | None = None
    names: Callable[[Body], Iterable[str]] = no_names
    ranking: Callable[[Body, Order], Lists] = no_lists
    conflicts: Callable[[Body, Sequence[Table]], Iterator[str]] = nothing


PLAIN: SectionReader[Plain] = SectionReader(_keys)
"""For sections that have no module here."""


@cache
def _own() -> frozenset[str]:
    """Names of the sections that have a module here."""
    return frozenset(name[:-3] for name in os.listdir(Path(__file__).parent) if name[-3:] == ".py")


def reader_of(name: str) -> SectionReader[Any]:  # Any: the record is known by its name alone
    """The reader of section ``name``."""
    if name not in _own() or name.startswith("_"):
        return PLAIN
    found: SectionReader[Plain] = import_module(f"{__name__}.{name}").READER
    return found


def kept(name: str, section: Plain) -> KeptColumns:
    """What section ``name`` keeps.

    Raises:
        DataError: The section has not the shape that its stage writes, or drops no tables.
    """
    read = reader_of(name).kept
    if read is None:
        raise DataError(
            f"section {name} keeps no tables", hint="link, vote, prune, refine and collapse do"
        )
    try:
        return read(section)
    except (KeyError, TypeError, AttributeError, ValueError):
        raise DataError(
            f"section {name} is not what `winnow {name}` writes", hint=f"rerun `winnow {name}`"
        ) from None


def named(name: str, section: Plain) -> list[str]:
    """Every table that a section names, in the order in which it does, once."""
    return list(dict.fromkeys(reader_of(name).names(section)))


def conflicts(name: str, section: Plain, tables: Iterable[Table]) -> list[str]:
    """What a section says twice and not alike; see `SectionReader`.

    Args:
        name: Name of the section.
        section: It, of the shape that its schema gives.
        tables: The tables of the catalog.
    """
    return list(reader_of(name).conflicts(section, list(tables)))


def key_conflict(
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


def count_of(number: object, one: str) -> str:
    """`many`, where a number stands.

    >>> count_of(2, "table"), count_of(None, "table")
    ('2 tables', '? tables')
    """
    return many(number, one) if isinstance(number, int) else f"? {one}s"


def pinned(pin: Pin, tables: Sequence[Table]) -> tuple[dict[str, set[str]], list[str]]:
    """The pinned tables by canonical name, and notes on pins that are not to be followed.

    A pin is written by hand: it may name a table by an alias or in another case, as long as
    that is one table. A table both kept and folded is kept.
    """
    exact = {table["name"] for table in tables}
    spelt = [
        (fold(name), table["name"])
        for table in tables
        for name in (table["name"], *table.get("aliases", ()))
    ]
    loose, known = unique(spelt), {name for name, _ in spelt}
    notes: list[str] = []
    found: dict[str, set[str]] = {"keep": set(), "fold": set()}
    for kind, wanted in (("keep", pin.get("keep", [])), ("fold", pin.get("fold", []))):
        for name in wanted:
            table = name if name in exact else loose.get(fold(name))
            if table is not None:
                found[kind].add(table)
            else:
                shared = fold(name) in known
                why = "several tables are called" if shared else "no table is called"
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
