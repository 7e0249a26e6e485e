"""The ``collapse`` section: how much of each table is shown, and the keys of those folded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from stages.core.readers import (
    LEVELS,
    KeptColumns,
    Level,
    Lists,
    Order,
    SectionReader,
    key_conflict,
)
from stages.core.text import listed

if TYPE_CHECKING:
    from stages.core.records import Collapse, Table

WORDS: Mapping[Level, str] = {
    "full": "shown in full",
    "names": "shown by column names",
    "line": "folded to a line",
}
SHORT: Mapping[Level, str] = {"full": "in full", "names": "by names", "line": "as a line"}


def shown_at(section: Collapse) -> dict[str, Level]:
    """Each table that a ``collapse`` section lists, at the fullest level it is listed at."""
    shown = section.get("shown", {})
    return {name: level for level in reversed(LEVELS) for name in shown.get(level, ())}


def outcome(section: Collapse | None, name: str) -> str:
    """Where a table stands after `collapse`."""
    if section is None or "shown" not in section:
        return "not collapsed yet; run `winnow collapse`"
    shown = section["shown"]
    return next(
        (words for level, words in WORDS.items() if name in shown.get(level, ())),
        "shown in full (unjudged)",
    )


def _conflicts(section: Collapse, tables: Sequence[Table]) -> Iterator[str]:
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
        yield from key_conflict("collapse", where, section["keys"], shown.get("line", ()), tables)


def _kept(section: Collapse) -> KeptColumns:
    levels = shown_at({**section, "shown": section["shown"]})
    return KeptColumns(frozenset(name for name, level in levels.items() if level != "line"))


def _summary(section: Collapse) -> str:
    shown = section.get("shown", {})
    counts = ", ".join(f"{len(shown.get(level, ()))} {words}" for level, words in SHORT.items())
    return f"{counts}, by {' and '.join(section.get('by', ())) or 'pins'}"


def _ranking(section: Collapse, order: Order) -> Lists:
    levels = shown_at(section)
    return [
        (head, order.ranked(name for name, at in levels.items() if at == level))
        for level, head in SHORT.items()
    ]


def _why(section: Collapse, table: Table) -> Iterator[str]:
    """The level, and what decided on it: a pin, the mark on the table, or the sections."""
    name = table["name"]
    for level, words in WORDS.items():
        if name not in section.get("shown", {}).get(level, ()):
            continue
        if name in section.get("pinned", ()):
            yield f"{words}, by a pin"
        elif level == "full" and table.get("always_keep"):
            yield f"{words}, as it is always kept"
        else:
            yield f"{words}, by {' and '.join(section.get('by', ())) or 'pins'}"


def _diff(before: Collapse, after: Collapse) -> Iterator[str]:
    old = {name: level for level in WORDS for name in before.get("shown", {}).get(level, ())}
    for level, words in WORDS.items():
        for name in after.get("shown", {}).get(level, ()):
            was = old.get(name)
            if was != level:
                yield f"{name}: {words}, was {WORDS[was] if was else 'not there'}"


READER: SectionReader[Collapse] = SectionReader(
    _summary, _why, _diff, kept=_kept, names=shown_at, ranking=_ranking, conflicts=_conflicts
)
