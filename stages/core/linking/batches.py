"""Batches of a large schema, packed by the tokens of the whole prompt (seed 004, 3.2).

Groups are added in a fixed order until a batch has its least number of tokens; one that
would bring it over the most opens the next batch. A group stays together unless it alone is
over the most: then its tables are dealt out, and where a single table is too wide, its
columns (seed 004 lets such a prompt go out unbounded).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from stages.core.linking.packing import fill, halve
from stages.core.linking.render import SchemaPart, Sheet, table_text, whole
from stages.core.text import block, visible

LEAST_TOKENS, MOST_TOKENS = 8_000, 12_000
"""Tokens of one whole prompt (seed 004, 3.2)."""

HEADS_SHARE = 4
"""The part of a prompt, one in so many, that names of a split group's tables may take."""


@dataclass(frozen=True)
class Batch:
    """What one prompt shows.

    Args:
        parts: Parts of groups, in order.
    """

    parts: tuple[SchemaPart, ...]

    @property
    def ids(self) -> dict[str, str]:
        """Short ids by canonical name: ``t1``, ``t2``, … in the order of the batch."""
        names = dict.fromkeys(name for part in self.parts for name in part.names)
        return {name: f"t{number}" for number, name in enumerate(names, start=1)}

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Tables by the short id of their group: ``g1``, …; parts of one table have none."""
        several = [part for part in self.parts if len(part.tables) > 1]
        return {f"g{number}": part.names for number, part in enumerate(several, start=1)}

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """The candidate columns that are shown of each table."""
        found: dict[str, tuple[str, ...]] = {}
        for part in self.parts:
            for name in part.names:
                found[name] = found.get(name, ()) + part.shown
        return found

    @property
    def body(self) -> str:
        """The text of all parts, as a data block."""
        ids, number, texts = self.ids, 0, []
        for part in self.parts:
            number += len(part.tables) > 1
            texts.append(table_text(part, ids, f"g{number}"))
        return block("tables", "\n\n".join(texts))


def packed(
    sheets: Sequence[Sheet], size: Callable[[Batch], int], *, least: int, most: int
) -> tuple[list[Batch], list[str]]:
    """All groups in batches whose prompts stay within ``most`` tokens.

    Args:
        sheets: The groups, in the order in which they are to go.
        size: Tokens of the whole prompt over a batch.
        least, most: Tokens at which a batch is closed, and which none goes over.

    Returns:
        The batches, and a note for each group that had to be split. A table too large to be
        shown even by one column is in no batch, with a note.
    """
    # The last tokens are for what cannot be counted apart: boundaries made from hashes.
    base = size(Batch(())) + 32
    if base * 4 > least * 3:  # a long brief leaves hardly any room below the least
        least = max(least, (base + most) // 2)
    notes: list[str] = []
    parts = [part for made in sheets for part in _parts(made, most - base, notes)]
    batches: list[Batch] = []
    for batch, tokens in _filled(parts, size, base, least, most):
        batches += [batch] if tokens <= most else _within(batch, size, most, notes)
    return batches, list(dict.fromkeys(notes))


def _filled(
    parts: Sequence[SchemaPart], size: Callable[[Batch], int], base: int, least: int, most: int
) -> Iterator[tuple[Batch, int]]:
    """Greedy batches with the tokens of their prompts.

    Costs of parts are added up, and a whole prompt is counted only where it may be closed:
    the sum is a little more than the whole has.
    """
    held: list[SchemaPart] = []
    tokens = base
    for part in parts:
        if held and tokens + part.cost > most:
            yield _measured(held, size)
            held, tokens = [], base
        held.append(part)
        tokens += part.cost
        if tokens >= least:
            batch, tokens = _measured(held, size)
            if tokens >= least:
                yield batch, tokens
                held, tokens = [], base
    if held:
        yield _measured(held, size)


def _measured(parts: Sequence[SchemaPart], size: Callable[[Batch], int]) -> tuple[Batch, int]:
    batch = Batch(tuple(parts))
    return batch, size(batch)


def _parts(made: Sheet, room: int, notes: list[str]) -> Iterator[SchemaPart]:
    """The group as one part, or as several where it alone is over the room."""
    all_of_it = whole(made)
    if all_of_it.cost <= room:
        yield all_of_it
        return
    heads, lines = made.costs
    shelf = room - 24
    tables = fill(heads, max(shelf - sum(lines), shelf // HEADS_SHARE))
    n = 0
    for span in tables:
        for columns in fill(lines, shelf - sum(heads[i] for i in span)) or [range(0)]:
            n += 1
            yield SchemaPart(made, span, columns)
    notes.append(_split(made, n))


def _split(made: Sheet, n: int) -> str:
    name, tables = visible(made.group.names[0], 80), len(made.heads)
    what = f"group of {tables} tables from {name}" if tables > 1 else f"table {name}"
    return f"{what} is over the tokens of one prompt: shown in {n} parts"


def _within(
    batch: Batch, size: Callable[[Batch], int], most: int, notes: list[str]
) -> Iterator[Batch]:
    """The batch, halved until its prompt is within the limit.

    Tokens of a whole are hardly ever more than those of its parts, so this is seldom needed.
    """

    def halves(over: Batch) -> list[Batch]:
        found = _halves(over)
        if not found:
            shown = visible(over.parts[0].names[0], 80)
            notes.append(f"table {shown} has a column too large for a prompt: not asked about")
        return found

    return halve(batch, lambda part: size(part) <= most, halves)


def _halves(batch: Batch) -> list[Batch]:
    """Two batches of half the parts, tables or columns; none where there is one of each."""
    parts = batch.parts
    if len(parts) > 1:
        middle = len(parts) // 2
        return [Batch(parts[:middle]), Batch(parts[middle:])]
    part = parts[0]
    if len(part.tables) > 1:
        return [Batch((replace(part, tables=half),)) for half in _two(part.tables)]
    if len(part.columns) > 1:
        return [Batch((replace(part, columns=half),)) for half in _two(part.columns)]
    return []


def _two(places: range) -> tuple[range, range]:
    middle = len(places) // 2
    return places[:middle], places[middle:]
