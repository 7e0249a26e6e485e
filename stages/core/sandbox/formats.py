"""Answers as text: for a terminal, for a spreadsheet, for jq, for a page."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

import orjson

from stages.core.sandbox.limits import Answer
from stages.core.text import visible

if TYPE_CHECKING:
    from rich.table import Table as RichTable

FORMATS = ("table", "vertical", "csv", "json", "jsonl", "markdown")
PLAIN_WIDTH = 100_000
BETWEEN = 3
"""Characters between two columns of a table."""
LONGEST_WORD = 40
"""Characters of a word that a terminal's table breaks only beyond; a UUID has 36."""
ELIDED = "…"
_NUMBERS = (int, float, Decimal)
_LARGEST = 2**63


def render(answers: Sequence[Answer], form: str, *, terminal: bool = False) -> bytes:
    """One answer or more in one of the `FORMATS`.

    Args:
        answers: Several are set apart by an empty line; in JSON they are an array of arrays.
        form: Where values are read by programs (csv, json, jsonl) they come as they are;
            where they are read by people they are neutralised.
        terminal: Whether a table may be as wide as the terminal and coloured.
    """
    if form == "json":
        arrays = [list(_objects(answer)) for answer in answers]
        whole = arrays[0] if len(arrays) == 1 else arrays
        return orjson.dumps(whole, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    makers = {"csv": _csv, "jsonl": _json_lines, "markdown": _markdown, "vertical": _vertical}
    if form == "table":
        return b"\n".join(_table(answer, terminal) for answer in answers)
    apart = b"" if form == "jsonl" else b"\n"
    return apart.join(makers[form](answer) for answer in answers)


def plain(cell: object) -> str:
    """A cell as text: numbers in full, true and false, nothing for null."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return str(cell)


def _csv(answer: Answer) -> bytes:
    """RFC 4180 with line feeds; null is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(answer.columns)
    writer.writerows([plain(cell) for cell in row] for row in answer.rows)
    return _encoded(text.getvalue())


def _json_lines(answer: Answer) -> bytes:
    return b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in _objects(answer))


def _objects(answer: Answer) -> Iterator[dict[str, object]]:
    for row in records(answer):
        yield {name: _json(cell) for name, cell in row.items()}


def records(answer: Answer) -> Iterator[dict[str, object]]:
    """The rows by column, as Python has them; a repeated name of a column gets a number."""
    names = list(_distinct(answer.columns))
    for row in answer.rows:
        yield dict(zip(names, row, strict=True))


def _distinct(names: Sequence[str]) -> Iterator[str]:
    """Names as keys: a repeated one gets ``_2``, ``_3`` and so on."""
    used: set[str] = set()
    for name in names:
        key, number = name, 1
        while key in used:
            number += 1
            key = f"{name}_{number}"
        used.add(key)
        yield key


def _json(cell: object) -> object:
    """A cell for orjson: exact numbers as they are written, what JSON has no number for as text."""
    if isinstance(cell, bool) or cell is None:
        return cell
    if isinstance(cell, Decimal) or (isinstance(cell, int) and not -_LARGEST <= cell < _LARGEST):
        return orjson.Fragment(str(cell))
    if isinstance(cell, float) and not math.isfinite(cell):
        return str(cell)
    return cell if isinstance(cell, _NUMBERS) else _encoded(str(cell)).decode()


def _markdown(answer: Answer) -> bytes:
    lines = [_markdown_row(answer.columns), "|" + " --- |" * len(answer.columns)]
    lines += [_markdown_row([plain(cell) for cell in row]) for row in answer.rows]
    return "".join(line + "\n" for line in lines).encode()


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(visible(cell).replace("|", "\\|") for cell in cells) + " |"


def _vertical(answer: Answer) -> bytes:
    """A line for each cell below the number of its row, for rows that no terminal is as wide as."""
    names = [visible(name) for name in answer.columns]
    width = max(map(_cells, names), default=0)
    lines = []
    for number, row in enumerate(answer.rows, 1):
        lines.append(f"-[ row {number} ]-")
        for name, cell in zip(names, row, strict=True):
            shown = "NULL" if cell is None else visible(plain(cell))
            lines.append(f"{' ' * (width - _cells(name))}{name}: {shown}")
    return "".join(line + "\n" for line in lines).encode()


def _table(answer: Answer, terminal: bool) -> bytes:
    from rich.console import Console

    out = io.StringIO()
    width = None if terminal else PLAIN_WIDTH
    colour = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    console = Console(file=out, width=width, force_terminal=colour, highlight=False, markup=False)
    console.print(_grid(answer, console.width if terminal else None))
    return out.getvalue().encode()


def _grid(answer: Answer, width: int | None) -> RichTable:
    """The table, within ``width`` characters where there is one."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    grid = RichTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    widths = [None] * len(answer.columns) if width is None else _column_widths(answer, width)
    for number, (name, own) in enumerate(zip(answer.columns, widths, strict=False)):
        cells = [row[number] for row in answer.rows if row[number] is not None]
        right = bool(cells) and all(isinstance(cell, _NUMBERS) for cell in cells)
        grid.add_column(
            Text(visible(name)), justify="right" if right else "left", overflow="fold", width=own
        )
    elided = len(widths) < len(answer.columns)
    if elided:
        grid.add_column(ELIDED)
    for row in answer.rows:
        shown = [
            Text("NULL", "dim") if cell is None else Text(visible(plain(cell)))
            for cell in row[: len(widths)]
        ]
        grid.add_row(*shown, *([Text(ELIDED)] if elided else []))
    return grid


def columns_on_terminal(answer: Answer) -> int:
    """How many columns of a table the terminal is wide enough for; the others are elided."""
    from rich.console import Console

    return len(_column_widths(answer, Console().width))


def _column_widths(answer: Answer, width: int) -> list[int]:
    """Widths of the first columns, as many as fit with words whole.

    A column needs its longest word, at most `LONGEST_WORD`; what is left goes to texts that
    would else be wrapped, the narrowest first. One column at least is shown.
    """
    least, natural = _needed(answer, width)
    count = _fitting(least, width)
    if count < len(least):
        width -= BETWEEN + len(ELIDED)
    room = width - BETWEEN * (count - 1)
    widths = [min(need, room) for need in least[:count]]
    spare = room - sum(widths)
    for number in sorted(range(count), key=lambda number: natural[number] - widths[number]):
        more = min(natural[number] - widths[number], spare)
        widths[number] += max(0, more)
        spare -= max(0, more)
    return widths


def _needed(answer: Answer, width: int) -> tuple[list[int], list[int]]:
    """For each column the width of its longest word, and of its longest text, in characters."""
    least, natural = [], []
    for number, name in enumerate(answer.columns):
        cells = (row[number] for row in answer.rows)
        texts = [
            visible(name),
            *("NULL" if cell is None else visible(plain(cell)) for cell in cells),
        ]
        words = max((_cells(word) for text in texts for word in text.split()), default=1)
        least.append(max(1, min(words, LONGEST_WORD)))
        natural.append(min(max(map(_cells, texts)), width))
    return least, natural


def _fitting(least: Sequence[int], width: int) -> int:
    """How many columns fit, with one for what is elided where not all do."""
    whole = sum(least) + BETWEEN * (len(least) - 1)
    if whole <= width:
        return len(least)
    count, used = 0, len(ELIDED)
    for need in least:
        used += need + BETWEEN
        if used > width:
            break
        count += 1
    return max(1, count)


def _cells(text: str) -> int:
    """How many cells of a terminal a text takes; a Chinese character takes two."""
    from rich.cells import cell_len

    return cell_len(text)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")
