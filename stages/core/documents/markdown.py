"""Tables of Markdown and plain text: pipes, boxes, tabs and fixed width."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stages.core.documents.content import CellGrid, Reading

_DELIMITER = re.compile(r"\s{0,3}\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_RULE = re.compile(r"[\s+\-=_|:─━│┃┼├┤┌┐└┘┬┴╪═╞╡╔╗╚╝╠╣╦╩╬║]+")
_BAR = re.compile(r"[|│┃║]")
_HEADING = re.compile(r" {0,3}#{1,6}\s+(.*?)\s*#*\s*$")
_CAPTION = re.compile(
    r"(?i)\**(?:table|tab\.|表|附表)\s*[0-9一二三四五六七八九十]*\s*[:：.、 ].{0,120}"
)
_MARKUP = re.compile(r"[*_`]+")
_FEWEST_ROWS = 3
"""Lines that a table without a rule has, its heading among them."""
_WIDEST = 2_000
"""Characters of a line of fixed width; longer ones are prose or data of another kind."""


def read_markdown(lines: list[str]) -> Reading:
    """The tables of a text, each with the caption or heading above it."""
    reading = Reading(lines)
    for start, end in _blocks(lines):
        grids = list(_pipe_tables(lines, start, end))
        taken = {number for grid in grids for number in grid.lines}
        for grid in (*grids, *_plain_tables(lines, start, end, taken)):
            grid.title = grid.title or title_above(lines, grid.lines[0] - 1)
            reading.grids.append(grid)
    return reading


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Runs of lines that are not blank, as indexes."""
    start = None
    for at, line in enumerate(lines):
        if line.strip():
            start = at if start is None else start
        elif start is not None:
            yield start, at
            start = None
    if start is not None:
        yield start, len(lines)


def title_above(lines: Sequence[str], at: int) -> str:
    """The caption right above a line, or the last heading before it; empty where neither is.

    Args:
        lines: Of the document.
        at: Index of the first line of the table.
    """
    above = at - 1
    while above >= 0 and at - above <= 4 and (not lines[above].strip() or _is_rule(lines[above])):
        above -= 1
    if above >= 0 and at - above <= 4 and _CAPTION.fullmatch(lines[above].strip()):
        return _MARKUP.sub("", lines[above].strip())
    for line in reversed(lines[max(0, at - 200) : at]):
        if found := _HEADING.match(line):
            return _MARKUP.sub("", found[1])
    return ""


def _pipe_tables(lines: list[str], start: int, end: int) -> Iterator[CellGrid]:
    """Tables of Markdown within a block, as markdown-it reads them."""
    at = start
    while at < end - 1:
        if "|" in lines[at] and "-" in lines[at + 1] and _DELIMITER.fullmatch(lines[at + 1]):
            grid = _pipe_table(lines, at, end)
            if grid:
                yield grid
                at = grid.lines[-1]
                continue
        at += 1


def _pipe_table(lines: list[str], at: int, end: int) -> CellGrid | None:
    from markdown_it import MarkdownIt

    text = "\n".join(line.strip() for line in lines[at:end])
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    cells: list[list[str]] = []
    numbers: list[int] = []
    for token in tokens:
        if token.type == "table_close":
            break
        if token.type == "tr_open":
            cells.append([])
            numbers.append(at + (token.map or [0])[0] + 1)
        elif token.type == "inline" and cells:
            cells[-1].append(_plain(token.children or []))
    return CellGrid(cells, numbers, header=1) if len(cells) > 1 else None


def _plain(tokens: Sequence[object]) -> str:
    """The text of inline tokens without their markup."""
    parts = []
    for token in tokens:
        kind, content = getattr(token, "type", ""), getattr(token, "content", "")
        if kind in ("text", "code_inline"):
            parts.append(content)
        elif kind in ("softbreak", "hardbreak") or content.lower().startswith("<br"):
            parts.append(" ")
    return "".join(parts).strip()


def _plain_tables(
    lines: Sequence[str], start: int, end: int, taken: set[int]
) -> Iterator[CellGrid]:
    """A block that is a table drawn with bars, parted by tabs, or of fixed width."""
    numbers = [at for at in range(start, end) if at + 1 not in taken]
    start = next((at for at, number in enumerate(numbers) if _parted(lines[number])), len(numbers))
    del numbers[:start]
    while numbers and not _parted(lines[numbers[-1]]):
        numbers.pop()
    block = [(at + 1, lines[at]) for at in numbers]
    if len(block) < 2 or any(len(line) > _WIDEST for _, line in block):
        return
    for reader in (_bars, _tabs, _fixed):
        grid = reader(block)
        if grid:
            yield grid
            return


def _parted(line: str) -> bool:
    return bool(_BAR.search(line) or "\t" in line.strip() or re.search(r"\S {2,}\S", line)) or (
        _is_rule(line)
    )


def _is_rule(line: str) -> bool:
    """Whether a line only draws."""
    return bool(_RULE.fullmatch(line)) and any(char not in " |│" for char in line)


def _bars(block: Sequence[tuple[int, str]]) -> CellGrid | None:
    """Rows between bars, with or without rules between them."""
    rows = [(number, line.strip()) for number, line in block if not _is_rule(line)]
    if len(rows) < 2 or not all(_BAR.match(text) and _BAR.match(text[-1]) for _, text in rows):
        return None
    cells = [[cell.strip() for cell in _BAR.split(text[1:-1])] for _, text in rows]
    return _even(cells, [number for number, _ in rows], 1 if _ruled_second(block) else None)


def _ruled_second(block: Sequence[tuple[int, str]]) -> bool:
    """Whether a rule follows the first row."""
    kinds = [_is_rule(line) for _, line in block]
    return True in kinds[kinds.index(False) + 1 :][:1]


def _tabs(block: Sequence[tuple[int, str]]) -> CellGrid | None:
    """Rows parted by tabs, as many in each line."""
    if len(block) < _FEWEST_ROWS or not all("\t" in line for _, line in block):
        return None
    cells = [[cell.strip() for cell in line.split("\t")] for _, line in block]
    return _even(cells, [number for number, _ in block], None)


def _even(cells: list[list[str]], numbers: list[int], header: int | None) -> CellGrid | None:
    width = len(cells[0])
    if width < 2 or any(len(row) != width for row in cells):
        return None
    return CellGrid(cells, numbers, header)


@dataclass(frozen=True)
class _Spaced:
    """A line as columns of the screen: a wide character takes two, the second one NUL."""

    number: int
    text: str


def _fixed(block: Sequence[tuple[int, str]]) -> CellGrid | None:
    """Rows of fixed width: blank columns of the screen, two wide, run through all of them."""
    ruled = any(_is_rule(line) for _, line in block)
    rows = [_Spaced(number, _screen(line)) for number, line in block if not _is_rule(line)]
    if len(rows) < (2 if ruled else _FEWEST_ROWS):
        return None
    spans = _spans([row.text for row in rows])
    if len(spans) < 2:
        return None
    cells = [[_cell(row.text, *span) for span in spans] for row in rows]
    full = sum(bool(cell) for row in cells for cell in row)
    if not all(cells[0]) or full * 4 < 3 * len(cells) * len(spans):
        return None
    if not ruled and not _is_tabular(cells):
        return None
    return CellGrid(cells, [row.number for row in rows], 1)


def _screen(line: str) -> str:
    wide = (
        char + "\0" if unicodedata.east_asian_width(char) in "WF" else char
        for char in line.expandtabs(8).rstrip().replace("\u3000", "  ")
    )
    return "".join(wide)


def _spans(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Where the columns stand: parted by two blanks or more that no line writes in."""
    width = max(map(len, texts))
    used = [any(len(text) > at and text[at] != " " for text in texts) for at in range(width)]
    spans: list[tuple[int, int]] = []
    at = 0
    while at < width:
        if not used[at]:
            at += 1
            continue
        end = at
        while end < width and any(used[end : end + 2]):
            end += 1
        spans.append((at, end))
        at = end
    return spans


def _cell(text: str, start: int, end: int) -> str:
    return text[start:end].replace("\0", "").strip()


def _is_tabular(cells: Sequence[Sequence[str]]) -> bool:
    """Whether a column holds numbers below a heading that is none: columns of prose do not."""
    digits = re.compile(r"[-+¥$€£]?[\d.,:/\-]*\d[\d.,:/\-]*%?")
    columns = list(zip(*cells, strict=True))
    return any(
        not digits.fullmatch(column[0]) and all(digits.fullmatch(c) for c in column[1:] if c)
        for column in columns
    )
