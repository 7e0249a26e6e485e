"""Candidates in batches whose prompts stay within a budget of tokens.

Where all of them do not fit, tables that are marked irrelevant show their columns by name
only; where that is not enough, tables are dealt out to several prompts. One table too large
for a prompt shows less and less of its columns, and in the end is dealt out by columns.
Nothing is left out without a note.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from stages.core.lang import Lang
from stages.core.linking.column_refs import ColumnRef
from stages.core.linking.packing import fill, halve
from stages.core.linking.refine.candidates import Candidate, CandidatePart, TableDetail
from stages.core.text import block, visible

MOST_TOKENS = 32_000
"""Tokens of the prompt that opens a round: all candidates in one (seed 004, 5.2), as
`summarize`."""


@dataclass(frozen=True)
class RefineBatch:
    """What one prompt shows.

    Args:
        pieces: Tables, or parts of them, by name.
    """

    pieces: tuple[CandidatePart, ...]

    @property
    def body(self) -> str:
        """The text of all pieces, as a data block; empty without any."""
        return block("candidates", "\n\n".join(p.text for p in self.pieces)) if self.pieces else ""

    @property
    def units(self) -> list[ColumnRef]:
        """The candidate columns shown."""
        return [(piece.candidate.name, name) for piece in self.pieces for name in piece.columns]

    @property
    def tables(self) -> list[str]:
        """The tables shown."""
        return list(dict.fromkeys(piece.candidate.name for piece in self.pieces))


@dataclass(frozen=True)
class RefineBatches:
    """All batches of a round.

    Args:
        batches: One for each prompt; at least one.
        unshown: Candidate columns that no prompt has room for.
        notes: What is not shown in full.
    """

    batches: tuple[RefineBatch, ...]
    unshown: tuple[ColumnRef, ...] = ()
    notes: tuple[str, ...] = ()


def pack(
    shown: Sequence[tuple[Candidate, Sequence[str]]],
    size: Callable[[RefineBatch], int],
    *,
    most: int,
    lang: Lang,
) -> RefineBatches:
    """The candidates in as few batches as they need.

    Args:
        shown: Candidates with the columns to show of each, by name.
        size: Tokens of the whole prompt over a batch.
        most: Tokens that no prompt goes over.
        lang: Language of the few words of our own.
    """
    for brief in (TableDetail.FULL, TableDetail.NAMES):
        pieces = [_piece(item, columns, brief, lang) for item, columns in shown]
        if size(RefineBatch(tuple(pieces))) <= most:
            notes = _brief_note(pieces) if brief is TableDetail.NAMES else []
            return RefineBatches((RefineBatch(tuple(pieces)),), notes=tuple(notes))
    room = most - size(RefineBatch(())) - 32  # boundaries made from hashes are not counted apart
    parts: list[CandidatePart] = []
    for piece in pieces:
        parts += _fitting(piece, room)
    fits: Callable[[RefineBatch], bool] = lambda batch: size(batch) <= most  # noqa: E731
    batches = [kept for batch in _packed(parts, room) for kept in halve(batch, fits, _parts)]
    have = {unit for batch in batches for unit in batch.units}
    missing = [unit for unit in RefineBatch(tuple(pieces)).units if unit not in have]
    notes = [
        f"candidates are over --max-tokens: shown in {len(batches)} prompts",
        *_brief_note(parts),
    ]
    if missing:
        names = ", ".join(dict.fromkeys(visible(table, 80) for table, _ in missing))
        notes.append(f"no prompt has room for columns of {names}: they stay")
    return RefineBatches(tuple(batches) or (RefineBatch(()),), tuple(missing), tuple(notes))


def _piece(
    item: Candidate, columns: Sequence[str], brief: TableDetail, lang: Lang
) -> CandidatePart:
    detail = TableDetail.FULL if item.relevant else brief
    return CandidatePart(item, tuple(columns), detail, lang)


def _brief_note(pieces: Sequence[CandidatePart]) -> list[str]:
    n = len({p.candidate.name for p in pieces if p.detail is not TableDetail.FULL})
    return (
        [f"{n} tables are shown with column names only, to stay within --max-tokens"] if n else []
    )


def _fitting(piece: CandidatePart, room: int) -> list[CandidatePart]:
    """The piece in as much detail as fits, or in parts of its columns."""
    for detail in sorted(TableDetail, reverse=True):
        if detail <= piece.detail:
            less = replace(piece, detail=detail)
            if _cost(less) <= room:
                return [less]
    least = replace(piece, detail=TableDetail.NAMES)
    return list(halve(least, lambda part: _cost(part) <= room, _halves))


def _halves(piece: CandidatePart) -> list[CandidatePart]:
    """Two parts of the columns; none of a single one, which is left out where it does not fit."""
    columns, middle = piece.columns, len(piece.columns) // 2
    halves = (columns[:middle], columns[middle:]) if middle else ()
    return [replace(piece, columns=half) for half in halves]


def _cost(piece: CandidatePart) -> int:
    from stages.core.tokens import count

    return count(piece.text) + 2


def _packed(pieces: Sequence[CandidatePart], room: int) -> Iterator[RefineBatch]:
    """Greedy batches in the order of the pieces."""
    for span in fill([_cost(piece) for piece in pieces], room):
        yield RefineBatch(tuple(pieces[place] for place in span))


def _parts(batch: RefineBatch) -> list[RefineBatch]:
    """Two batches of half the pieces, or of half the columns of the only one."""
    pieces, middle = batch.pieces, len(batch.pieces) // 2
    if middle:
        return [RefineBatch(pieces[:middle]), RefineBatch(pieces[middle:])]
    return [RefineBatch((half,)) for half in _halves(pieces[0])]


def listed_columns(chosen: Mapping[str, Sequence[str]], room: int) -> str:
    """Chosen columns as lines, one a table, within about so many tokens; the rest is counted."""
    from stages.core.tokens import counts

    lines = [
        f"{visible(table, 200)}: {', '.join(visible(name, 200) for name in names)}"
        for table, names in chosen.items()
    ]
    kept: list[str] = []
    for line, cost in zip(lines, counts(lines), strict=True):
        room -= cost + 1
        if room < 0:
            break
        kept.append(line)
    rest = list(chosen.items())[len(kept) :]
    if rest:
        kept.append(f"(+{sum(len(names) for _, names in rest)} columns of {len(rest)} tables)")
    return "\n".join(kept)
