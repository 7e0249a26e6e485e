"""Tables and paragraphs of a page from where its characters and rules stand.

Coordinates are points, x to the right and y down from the top left corner of the page.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from stages.core.documents.grids import is_value

_NEAR = 2.5
"""Points within which two rules are one, and within which a rule's end touches another."""
_PART = 0.7
"""Line heights between two characters from which on they stand in different columns."""
_SPACE = 0.18
_FEWEST_LINES = 3
_MOST_WRAPPED = 8
"""Lines of one column between two lines of several."""
_WIDE = re.compile(
    "[\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60]"
)


class NoLibrary(Exception):
    """The library that reads PDF, or recognises characters, is not installed."""


class Box(NamedTuple):
    """A character, a run of them, or a rule; a character has its blank before it in ``text``."""

    left: float
    top: float
    right: float
    bottom: float
    text: str = ""

    @property
    def height(self) -> float:
        """From top to bottom."""
        return self.bottom - self.top


@dataclass
class PageLine:
    """Runs of characters beside each other, from left to right."""

    runs: list[Box]

    @property
    def box(self) -> Box:
        """All runs as one, parted by two blanks."""
        return Box(
            self.runs[0].left,
            min(run.top for run in self.runs),
            max(run.right for run in self.runs),
            max(run.bottom for run in self.runs),
            "  ".join(run.text for run in self.runs),
        )


@dataclass
class PageTable:
    """Cells of a table on a page, spans repeated, and how many rows are headings if it is seen."""

    top: float
    bottom: float
    cells: list[list[str]]
    header: int | None = None


@dataclass
class PageLayout:
    """What stands on a page from top to bottom: lines of text and tables."""

    parts: list[Box | PageTable] = field(default_factory=list)


def page_layout(chars: Sequence[Box], rules: Sequence[Box]) -> PageLayout:
    """Lines and tables of a page.

    Args:
        chars: Characters in the order of the file, blanks left out.
        rules: Lines and thin boxes; each is horizontal or vertical.
    """
    tables: list[PageTable] = []
    left = list(chars)
    for grid in _ruled_grids(rules):
        inside = [char for char in left if grid.holds(char)]
        table = grid.table(inside)
        if table:
            tables.append(table)
            left = [char for char in left if not grid.holds(char)]
    across = [rule for rule in rules if rule.right - rule.left > rule.height]
    lines = lines_of(left)
    gutter = _gutter(lines)
    bands = [lines] if gutter is None else _bands(lines, gutter)
    tops = [band[0].box.top for band in bands[1:]]
    placed: list[tuple[tuple[int, int, float], Box | PageTable]] = [
        ((_index([-1.0, *tops, 1e9], table.top), 0, table.top), table) for table in tables
    ]
    for band, column, part in _band_parts(bands, gutter, across):
        placed.append(((band, column, part.top), part))
    return PageLayout([part for _, part in sorted(placed, key=lambda item: item[0])])


def _band_parts(
    bands: Sequence[Sequence[PageLine]], gutter: float | None, rules: Sequence[Box]
) -> Iterator[tuple[int, int, Box | PageTable]]:
    """The parts of each band: its left column, then its right one."""
    for number, band in enumerate(bands):
        runs = [run for line in band for run in line.runs]
        sides: Sequence[Sequence[PageLine]] = [band]
        if gutter is not None and not _crossed(band[0], gutter):
            sides = [
                _as_lines([run for run in runs if run.right <= gutter]),
                _as_lines([run for run in runs if run.right > gutter]),
            ]
        for column, side in enumerate(sides):
            for block in _blocks(side):
                for part in _block_parts(block, rules):
                    yield number, column, part


def _as_lines(runs: Sequence[Box]) -> list[PageLine]:
    """Runs beside each other as lines again."""
    lines: list[PageLine] = []
    for run in sorted(runs, key=lambda run: ((run.top + run.bottom) / 2, run.left)):
        if lines and abs(_middle([run]) - _middle(lines[-1].runs)) < 0.4 * run.height:
            lines[-1].runs.append(run)
        else:
            lines.append(PageLine([run]))
    return lines


def _gutter(lines: Sequence[PageLine]) -> float | None:
    """Where a page of two columns of prose parts; None where it has one, or holds a table."""
    gaps = [
        (left.right, right.left)
        for line in lines
        for left, right in pairwise(line.runs)
        if len(line.runs) == 2 and len(left.text) + len(right.text) > 30
    ]
    places = [(start + end) / 2 for start, end in gaps]
    best = max(places, default=None, key=lambda x: sum(start < x < end for start, end in gaps))
    if best is None or len(gaps) < 2 * _FEWEST_LINES:
        return None
    parted = sum(start < best < end for start, end in gaps)
    crossed = sum(_crossed(line, best) for line in lines)
    sides = [
        [len(run.text) for line in lines for run in line.runs if (run.right <= best) == side]
        for side in (True, False)
    ]
    if parted < 2 * _FEWEST_LINES or crossed > 0.7 * parted or not all(sides):
        return None
    return best if min(statistics.median(side) for side in sides) >= 16 else None


def _crossed(line: PageLine, gutter: float) -> bool:
    return any(run.left < gutter < run.right for run in line.runs)


def _bands(lines: Sequence[PageLine], gutter: float) -> list[list[PageLine]]:
    """Lines in two columns, parted by those that run across."""
    bands: list[list[PageLine]] = []
    for line in lines:
        if not bands or _crossed(line, gutter) != _crossed(bands[-1][0], gutter):
            bands.append([])
        bands[-1].append(line)
    return bands


# Characters to lines.


def lines_of(chars: Sequence[Box]) -> list[PageLine]:
    """Characters that stand beside each other as lines, from top to bottom."""
    rows: list[list[Box]] = []
    total = 0.0  # of the doubled middles of the last row
    for char in sorted(chars, key=lambda char: char.top + char.bottom):
        middle = char.top + char.bottom
        row = rows[-1] if rows else []
        if row and middle - total / len(row) <= 0.8 * min(char.height, row[0].height):
            row.append(char)
            total += middle
        else:
            rows.append([char])
            total = middle
    return [PageLine(runs_of(row)) for row in rows]


def _middle(row: Sequence[Box]) -> float:
    last = row[-8:]
    return sum(char.top + char.bottom for char in last) / (2 * len(last))


def runs_of(chars: Sequence[Box]) -> list[Box]:
    """Characters of one line as runs, parted where the gap is wide; blanks where it is less."""
    ordered = sorted(chars, key=lambda char: char.left)
    runs: list[list[Box]] = []
    for char in ordered:
        last = runs[-1][-1] if runs else None
        if last is None or char.left - last.right > _PART * min(char.height, last.height):
            runs.append([char])
        else:
            runs[-1].append(char)
    return [_run(run) for run in runs]


def _run(chars: Sequence[Box]) -> Box:
    text = chars[0].text.lstrip()
    for last, char in pairwise(chars):
        gap = (char.left - last.right) / max(min(char.height, last.height), 0.1)
        own = char.text.lstrip()
        if _WIDE.match(text[-1]) and _WIDE.match(own):
            blank = gap > 0.5
        else:
            blank = gap > _SPACE or own != char.text
        text += f" {own}" if blank else own
    return Box(
        chars[0].left,
        min(char.top for char in chars),
        max(char.right for char in chars),
        max(char.bottom for char in chars),
        text,
    )


# Ruled grids.


@dataclass
class _RuledGrid:
    """A grid of rules: where its columns and rows part, and which parts of the rules are there."""

    xs: list[float]
    ys: list[float]
    across: list[Box]
    down: list[Box]

    def holds(self, char: Box) -> bool:
        """Whether the middle of a character is inside."""
        x, y = (char.left + char.right) / 2, (char.top + char.bottom) / 2
        return self.xs[0] < x < self.xs[-1] and self.ys[0] < y < self.ys[-1]

    def table(self, chars: Sequence[Box]) -> PageTable | None:
        """The cells with their texts; None where they hold next to nothing."""
        rows, columns = len(self.ys) - 1, len(self.xs) - 1
        owner = self._owners()
        held: dict[tuple[int, int], list[Box]] = {}
        for char in chars:
            row = _index(self.ys, (char.top + char.bottom) / 2)
            column = _index(self.xs, (char.left + char.right) / 2)
            held.setdefault(owner[row, column], []).append(char)
        texts = {at: _cell_text(inside) for at, inside in held.items()}
        cells = [
            [texts.get(owner[row, column], "") for column in range(columns)] for row in range(rows)
        ]
        if sum(bool(text) for row in cells for text in row) < 4:
            return None
        return PageTable(self.ys[0], self.ys[-1], cells)

    def _owners(self) -> dict[tuple[int, int], tuple[int, int]]:
        """For each cell the first one of those it is merged with."""
        owner: dict[tuple[int, int], tuple[int, int]] = {}
        for row in range(len(self.ys) - 1):
            y = (self.ys[row] + self.ys[row + 1]) / 2
            for column in range(len(self.xs) - 1):
                x = (self.xs[column] + self.xs[column + 1]) / 2
                owner[row, column] = (row, column)
                if row and not _crosses(self.across, x, self.ys[row], True):
                    owner[row, column] = owner[row - 1, column]
                elif column and not _crosses(self.down, y, self.xs[column], False):
                    owner[row, column] = owner[row, column - 1]
        return owner


def _index(edges: Sequence[float], at: float) -> int:
    return max(0, min(sum(edge <= at for edge in edges) - 1, len(edges) - 2))


def _crosses(rules: Sequence[Box], along: float, at: float, across: bool) -> bool:
    """Whether a rule runs by ``along`` at a height, or a distance from the left, ``at``."""
    for rule in rules:
        start, end = (rule.left, rule.right) if across else (rule.top, rule.bottom)
        place = (rule.top + rule.bottom) / 2 if across else (rule.left + rule.right) / 2
        if abs(place - at) <= _NEAR and start - _NEAR <= along <= end + _NEAR:
            return True
    return False


def _cell_text(chars: Sequence[Box]) -> str:
    """The lines of a cell as one; Chinese ones without a blank between."""
    text = ""
    for line in lines_of(chars):
        text = joined_text(text, " ".join(run.text for run in line.runs))
    return text


def joined_text(text: str, more: str) -> str:
    """Two lines as one: a blank between them, none in Chinese."""
    wide = text and _WIDE.match(text[-1]) and _WIDE.match(more[:1])
    return text + more if not text or wide else f"{text} {more}"


def _ruled_grids(rules: Sequence[Box]) -> Iterator[_RuledGrid]:
    """Rules that touch each other, where they part at least two columns and two rows."""
    for group in _touching(rules):
        across = [rule for rule in group if rule.right - rule.left > rule.height]
        down = [rule for rule in group if rule.right - rule.left <= rule.height]
        xs = _edges([(rule.left + rule.right) / 2 for rule in down])
        ys = _edges([(rule.top + rule.bottom) / 2 for rule in across])
        if len(xs) >= 3 and len(ys) >= 3 and len(xs) * len(ys) < 100_000:
            yield _RuledGrid(xs, ys, across, down)


def _touching(rules: Sequence[Box]) -> list[list[Box]]:
    """Groups of rules that meet, found along y; rules that run apart are groups of their own."""
    groups: list[tuple[list[Box], Box]] = []
    for rule in sorted(rules, key=lambda rule: (rule.top, rule.left)):
        met = [at for at, (_, box) in enumerate(groups) if _meet(box, rule)]
        members = [rule, *(member for at in met for member in groups[at][0])]
        boxes = [rule, *(groups[at][1] for at in met)]
        whole = Box(
            min(box.left for box in boxes),
            min(box.top for box in boxes),
            max(box.right for box in boxes),
            max(box.bottom for box in boxes),
        )
        groups = [group for at, group in enumerate(groups) if at not in met]
        groups.append((members, whole))
    return [members for members, _ in groups]


def _meet(one: Box, other: Box) -> bool:
    return (
        one.left - _NEAR <= other.right
        and other.left - _NEAR <= one.right
        and one.top - _NEAR <= other.bottom
        and other.top - _NEAR <= one.bottom
    )


def _edges(places: Sequence[float]) -> list[float]:
    """Distinct places; those that are near each other are one."""
    edges: list[float] = []
    for place in sorted(places):
        if not edges or place - edges[-1] > _NEAR:
            edges.append(place)
    return edges


# Columns without rules.


def _blocks(lines: Sequence[PageLine]) -> list[list[PageLine]]:
    """Lines that follow each other, parted where lines with columns meet lines without.

    Lines of one run that continue cells of a table around them do not part it.
    """
    blocks: list[list[PageLine]] = []
    for line in lines:
        if not blocks or (len(blocks[-1][-1].runs) > 1) != (len(line.runs) > 1):
            blocks.append([])
        blocks[-1].append(line)
    whole: list[list[PageLine]] = []
    for block in blocks:
        if len(whole) > 1 and len(block[0].runs) > 1 and _continues(whole[-2], whole[-1], block):
            block = [*whole.pop(-2), *whole.pop(-1), *block]
        whole.append(block)
    for above, below in pairwise(whole):
        if len(above) > 1 and len(above[-1].runs) > 1 and len(below[0].runs) == 1:
            count = _wrapped_end(above, below)
            above += below[:count]
            del below[:count]
    return [block for block in whole if block]


def _continues(
    above: Sequence[PageLine], between: Sequence[PageLine], below: Sequence[PageLine]
) -> bool:
    """Whether a few lines between two blocks stand within their columns and near to both."""
    if len(between) > _MOST_WRAPPED or len(between[0].runs) > 1 or len(above[0].runs) < 2:
        return False
    spans = _spans([line for line in (*above, *below) if len(line.runs) > 1])
    ends = [above[-1], *between, below[0]]
    if len(spans) < 2 or any(
        after.box.top - before.box.bottom > 2.0 * before.box.height
        for before, after in pairwise(ends)
    ):
        return False
    return all(_reach(line.runs[0], spans) <= 1 for line in between)


def _reach(run: Box, spans: Sequence[tuple[float, float]]) -> int:
    """How many columns a run reaches into."""
    return sum(run.left < right and left < run.right for left, right in spans)


def _wrapped_end(above: Sequence[PageLine], below: Sequence[PageLine]) -> int:
    """How many lines of one run below a table go on with cells of its last row."""
    spans = _spans([line for line in above if len(line.runs) > 1])
    count, last = 0, above[-1].box
    for line in below[:_MOST_WRAPPED]:
        run = line.runs[0]
        near = run.top - last.bottom < 0.3 * last.height
        if not near or len(spans) < 2 or run.left < spans[0][1] or _reach(run, spans) > 1:
            break
        count, last = count + 1, run
    return count


def _block_parts(block: Sequence[PageLine], rules: Sequence[Box]) -> Iterator[Box | PageTable]:
    """A block as one table, or as its lines."""
    full = [line for line in block if len(line.runs) > 1]
    spans = _spans(full) if len(block) >= _FEWEST_LINES and full else []
    if len(spans) >= 2:
        top = next((at for at, line in enumerate(block) if len(line.runs) >= len(spans) - 1), 0)
        rows = _rows(block, spans)
        cells = [_row(PageLine([run for line in row for run in line.runs]), spans) for row in rows]
        if _is_tabular(block, cells, rules, wrapped=len(rows) < len(block)):
            header = 1 + top if top and len(rows) == len(block) else None
            yield PageTable(block[0].box.top, block[-1].box.bottom, cells, header)
            return
    yield from (line.box for line in block)


def _rows(
    block: Sequence[PageLine], spans: Sequence[tuple[float, float]]
) -> list[Sequence[PageLine]]:
    """The lines of each row: one, or several where cells are wrapped.

    Rows part where the gap is wider than between the lines of a cell; where all gaps are alike,
    at lines that have a text in the first column.
    """
    if all(len(line.runs) > 1 for line in block):
        return [[line] for line in block]
    gaps = [after.box.top - before.box.bottom for before, after in pairwise(block)]
    height = statistics.median(line.box.height for line in block)
    apart = [gap > min(gaps) + 0.25 * height for gap in gaps]
    if not any(apart):
        apart = [line.runs[0].left < spans[0][1] for line in block[1:]]
    rows: list[list[PageLine]] = [[block[0]]]
    for line, new in zip(block[1:], apart, strict=True):
        if new:
            rows.append([])
        rows[-1].append(line)
    return list(rows)


def _spans(block: Sequence[PageLine]) -> list[tuple[float, float]]:
    """Where the columns stand, by the lines that have most of them."""
    most = statistics.mode(len(line.runs) for line in block)
    runs = [run for line in block if len(line.runs) >= most for run in line.runs]
    spans: list[tuple[float, float]] = []
    for run in sorted(runs, key=lambda run: run.left):
        if spans and run.left <= spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], max(spans[-1][1], run.right))
        else:
            spans.append((run.left, run.right))
    return spans


def _row(line: PageLine, spans: Sequence[tuple[float, float]]) -> list[str]:
    """The cells of a line; a run over several columns is repeated in each."""
    cells = [""] * len(spans)
    for run in line.runs:
        met = [
            at for at, (left, right) in enumerate(spans) if run.left < right and left < run.right
        ]
        if not met:
            middle = (run.left + run.right) / 2
            met = [min(range(len(spans)), key=lambda at: abs(sum(spans[at]) / 2 - middle))]
        for at in met:
            cells[at] = f"{cells[at]} {run.text}".strip()
    return cells


def _is_tabular(
    block: Sequence[PageLine],
    cells: Sequence[Sequence[str]],
    rules: Sequence[Box],
    *,
    wrapped: bool,
) -> bool:
    """Whether columns hold values, or short texts between rules: columns of prose do not."""
    lengths = [len(text) for row in cells for text in row if text]
    if len(cells) < 2 or statistics.mean(lengths) > (60 if wrapped else 30):
        return False
    if sum(row[0].endswith((":", "：")) for row in cells) * 2 > len(cells):
        return False  # labels of a form
    first, last = block[0].box, block[-1].box
    near = [rule for rule in rules if first.top - 12 < rule.top < last.bottom + 12]
    if any(rule.right - rule.left > 0.8 * (first.right - first.left) for rule in near):
        return True
    columns = list(zip(*cells[1:], strict=True))
    values = [sum(map(is_value, column)) * 10 >= 6 * len(column) for column in columns]
    return any(values) or (len(columns) >= 3 and statistics.mean(lengths) < 15)
