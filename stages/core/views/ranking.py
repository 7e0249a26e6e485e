"""Which tables a section kept, best first, and which it did not: by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stages.core.counts import many
from stages.core.lines import Asked
from stages.core.sections import section
from stages.core.selection import focused, named, relevance, shown_at, superset, voted

MOST = 20
"""Tables of one list that are named unless all are asked for."""
Section = Mapping[str, Any]
Lists = Sequence[tuple[str, Sequence[str]]]


@dataclass(frozen=True)
class Order:
    """The order in which tables are listed: votes, then link scores, then as they stand."""

    scores: Mapping[str, float]
    places: Mapping[str, int]

    @classmethod
    def of(cls, asked: Asked) -> Order:
        """The order that the sections of a task give its tables."""
        names = [table["name"] for table in asked.tables]
        scores = relevance(names, section(asked.task, "vote"), section(asked.task, "link"))
        return cls(scores, {name: place for place, name in enumerate(names)})

    def ranked(self, names: Iterable[str]) -> list[str]:
        """The names, best first; one that is no table of the catalog comes last."""
        last = len(self.places)
        return sorted(names, key=lambda n: (-self.scores.get(n, -1.0), self.places.get(n, last), n))


def ranking(name: str, section: Section, order: Order) -> Lists:
    """Headed lists of tables; none for a section that keeps no tables.

    Args:
        name: Name of the section.
        section: It, of the shape that its schema gives.
        order: The order of tables that the section itself does not rank.
    """
    reader = _READERS.get(name)
    return (
        [] if reader is None else [(head, items) for head, items in reader(section, order) if items]
    )


def _link(section: Section, order: Order) -> Lists:
    tables = list(enumerate(section["tables"], 1))
    lists = [
        (head, [f"{rank} {t['name']} {t['score']:.3f}" for rank, t in tables if t["keep"] == keep])
        for head, keep in (("kept", True), ("not kept", False))
    ]
    rest = section["n_tables"] - len(tables)
    return [*lists, ("without evidence", [many(rest, "table")] if rest > 0 else [])]


def _vote(section: Section, order: Order) -> Lists:
    names = named("vote", section)
    kept, always = voted(section, names), section.get("always_keep", ())
    tallies = section.get("vote_tally", {})

    def said(name: str) -> str:
        return f"{name} {'always' if name in always else tallies.get(name, '?')}"

    ranked = order.ranked(names)
    return [
        ("kept", [said(name) for name in ranked if name in kept]),
        ("not kept", [said(name) for name in ranked if name not in kept]),
    ]


def _prune(section: Section, order: Order) -> Lists:
    kept = superset(section)
    shown = [f"{name} {many(len(kept[name]), 'column')}" for name in order.ranked(kept)]
    gone = [*section["deleted"]["tables"], *section.get("cut", {}).get("tables", ())]
    return [("kept", shown), ("not kept", order.ranked(gone))]


def _explore(section: Section, order: Order) -> Lists:
    judged = section["table_judgments"]
    ranked = order.ranked(judged)
    return [
        ("relevant", [name for name in ranked if judged[name]["relevant"]]),
        ("not relevant", [name for name in ranked if not judged[name]["relevant"]]),
    ]


def _refine(section: Section, order: Order) -> Lists:
    kept = focused(section)
    return [("kept", [f"{name} ({', '.join(kept[name])})" for name in order.ranked(kept)])]


def _collapse(section: Section, order: Order) -> Lists:
    levels = shown_at(section)
    heads = (("full", "in full"), ("names", "by names"), ("line", "as a line"))
    return [
        (head, order.ranked(name for name, at in levels.items() if at == level))
        for level, head in heads
    ]


_READERS: Mapping[str, Callable[[Section, Order], Lists]] = {
    "link": _link,
    "vote": _vote,
    "prune": _prune,
    "explore": _explore,
    "refine": _refine,
    "collapse": _collapse,
}
