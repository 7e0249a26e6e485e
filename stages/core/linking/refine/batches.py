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
    batches = [kept for batch in _packed(parts, room) for kept in _within(batch, size, most)]
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
    return list(_halved(least, room))


def _halved(piece: CandidatePart, room: int) -> Iterator[CandidatePart]:
    """Parts of the columns that fit; a single column that does not is left out."""
    if _cost(piece) <= room:
        yield piece
    elif len(piece.columns) > 1:
        middle = len(piece.columns) // 2
        for part in (piece.columns[:middle], piece.columns[middle:]):
            yield from _halved(replace(piece, columns=part), room)


def _cost(piece: CandidatePart) -> int:
    from stages.core.tokens import count

    return count(piece.text) + 2


def _packed(pieces: Sequence[CandidatePart], room: int) -> Iterator[RefineBatch]:
    """Greedy batches in the order of the pieces."""
    held: list[CandidatePart] = []
    tokens = 0
    for piece in pieces:
        cost = _cost(piece)
        if held and tokens + cost > room:
            yield RefineBatch(tuple(held))
            held, tokens = [], 0
        held.append(piece)
        tokens += cost
    if held:
        yield RefineBatch(tuple(held))


def _within(
    batch: RefineBatch, size: Callable[[RefineBatch], int], most: int
) -> Iterator[RefineBatch]:
    """The batch, halved until its prompt is within the limit."""
    if size(batch) <= most:
        yield batch
        return
    pieces = batch.pieces
    if len(pieces) > 1:
        halves = (pieces[: len(pieces) // 2], pieces[len(pieces) // 2 :])
    elif len(pieces[0].columns) > 1:
        columns = pieces[0].columns
        middle = len(columns) // 2
        halves = tuple(
            (replace(pieces[0], columns=p),) for p in (columns[:middle], columns[middle:])
        )  # type: ignore[assignment]
    else:
        return
    for half in halves:
        yield from _within(RefineBatch(tuple(half)), size, most)


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
