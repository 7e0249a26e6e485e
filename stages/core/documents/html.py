"""HTML to lines and grids: headings, lists and paragraphs as text, spans of tables repeated."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from stages.core.documents.content import CellGrid, Reading

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_LEFT_OUT = {"script", "style", "head", "template", "svg", "math", "noscript", "iframe", "object"}
_INLINE = frozenset(
    re.findall(
        r"\w+",
        "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark q s "
        "samp small span strike strong sub sup time tt u var wbr",
    )
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_DEEP = re.compile(
    r"</?(?:div|span|font|section|article|b|i|em|strong|ul|ol|li|p|a|center)\b[^<>]*>", re.I
)
_BLANKS = re.compile(r"[ \t\r\n\f\u00a0]+")
_WIDEST = 1_000
"""Columns that a cell may span, as HTML has it."""


def read_html(text: str, most_cells: int) -> Reading:
    """Lines and grids of a page.

    Args:
        text: HTML; broken markup is mended as libxml2 does.
        most_cells: Cells of all tables together; tables beyond are left out and told.
    """
    root, flat = _parsed(text)
    page = _PageText(most_cells)
    if root is not None:
        page.walk(root)
    if flat:
        page.reading.warnings.append("nested too deep; read without its blocks")
    return page.reading


def _parsed(text: str) -> tuple[HtmlElement | None, bool]:
    """The tree, and whether it was too deep to be read with all its blocks."""
    from lxml import etree, html

    for flat in (False, True):
        parser = html.HTMLParser(huge_tree=True, remove_pis=True, encoding="utf-8")
        data = (_DEEP.sub("\n", text) if flat else text).encode("utf-8", "replace")
        try:
            root = html.document_fromstring(data or b"<p>", parser=parser)
        except etree.XMLSyntaxError:  # the parser mends everything else
            raise MemoryError from None
        except etree.ParserError:
            return None, False
        if not any("depth" in error.message for error in parser.error_log):
            break
    return root, flat


class _PageText:
    """Text and tables as they come."""

    def __init__(self, most_cells: int) -> None:
        self.reading = Reading()
        self.left = most_cells
        self.title = ""
        self._parts: list[str] = []

    def walk(self, root: HtmlElement) -> None:
        """All that stands below an element, in order."""
        from lxml import etree

        walker = etree.iterwalk(root, events=("start", "end", "comment"))
        skipped = None
        for event, element in walker:
            tag = element.tag if isinstance(element.tag, str) else ""
            if event == "start" and skipped is None:
                if tag in _LEFT_OUT or (tag == "table" and self._take_table(element)):
                    walker.skip_subtree()
                    skipped = element
                else:
                    self._start(tag, element)
            elif event == "end" or not tag:
                if element is skipped:
                    skipped = None
                elif tag:
                    self._end(tag)
                self._parts.append(element.tail or "" if element is not root else "")
        self._flush()

    def _start(self, tag: str, element: HtmlElement) -> None:
        if tag == "br" or tag not in _INLINE:
            self._flush()
        if tag in _HEADINGS:
            self._parts.append("#" * _HEADINGS[tag] + " ")
        elif tag == "li":
            self._parts.append("- ")
        self._parts.append(element.text or "")

    def _end(self, tag: str) -> None:
        if tag not in _INLINE and tag != "br":
            line = self._flush()
            if tag in _HEADINGS and line:
                self.title = line.lstrip("# ")

    def _flush(self) -> str:
        line = _BLANKS.sub(" ", "".join(self._parts)).strip()
        self._parts.clear()
        if line in ("", "-") or not line.strip("# "):
            return ""
        self.reading.lines.append(line)
        return line

    def _take_table(self, table: HtmlElement) -> bool:
        """Take a table as lines and a grid; False where it only lays the page out."""
        if _is_layout(table):
            return False
        self._flush()
        caption = table.find("caption")
        title = cell_text(caption) if caption is not None else ""
        if title:
            self.reading.lines.append(title)
        cells, header = grid_of(table, self.left)
        self.left -= sum(map(len, cells))
        if len(cells) < len(list(rows_of(table))):
            self.reading.truncated = True
            self.reading.warnings.append(
                "tables are larger than the limit of cells; rows are left out"
            )
        first = len(self.reading.lines) + 1
        self.reading.lines += ["| " + " | ".join(row) + " |" for row in cells]
        if cells:
            lines = list(range(first, first + len(cells)))
            self.reading.grids.append(CellGrid(cells, lines, header, title=title or self.title))
        return True


_TABLE = re.compile(r"<table\b|</table\s*>", re.I)


def tables_in_text(lines: Sequence[str], most_cells: int) -> list[CellGrid]:
    """Tables in HTML that stand in Markdown, each row with its own line.

    Args:
        lines: Of the text.
        most_cells: Cells of all tables together; rows beyond are left out.
    """
    grids: list[CellGrid] = []
    for start, end in _table_lines(lines):
        root, _ = _parsed("\n".join(lines[start:end]))
        for table in root.iter("table") if root is not None else ():
            cells, header = ([], None) if _is_layout(table) else grid_of(table, most_cells)
            most_cells -= sum(map(len, cells))
            numbers = [start + min(row.sourceline or 1, end - start) for row in rows_of(table)]
            caption = table.find("caption")
            title = cell_text(caption) if caption is not None else ""
            if cells:
                grids.append(CellGrid(cells, numbers[: len(cells)], header, title=title))
    return grids


def _table_lines(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Runs of lines, as indexes, from where a table begins to where it and those in it end."""
    depth, start = 0, 0
    for at, line in enumerate(lines):
        for found in _TABLE.finditer(line):
            if found[0][1] != "/":
                start = at if depth == 0 else start
                depth += 1
            elif depth:
                depth -= 1
                if depth == 0:
                    yield start, at + 1


def _is_layout(table: HtmlElement) -> bool:
    """Whether a table holds others and no headings of its own."""
    if table.find(".//table") is None:
        return False
    return not any(cell.tag == "th" for row in rows_of(table) for cell in row)


def rows_of(table: HtmlElement) -> Iterator[HtmlElement]:
    """The rows of a table, without those of tables in its cells."""
    for child in table:
        if child.tag == "tr":
            yield child
        elif child.tag in ("thead", "tbody", "tfoot"):
            yield from (row for row in child if row.tag == "tr")


def cell_text(cell: HtmlElement) -> str:
    """The text of a cell on one line, without tables in it."""
    parts: list[str] = []
    stack: list[HtmlElement | str] = [cell]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            parts.append(node)
            continue
        tag = node.tag if isinstance(node.tag, str) else ""
        if node is not cell:
            stack.append(node.tail or "")
        if not tag or tag in _LEFT_OUT or (tag == "table" and node is not cell):
            continue
        edge = "" if tag in _INLINE else " "
        stack += [edge, *reversed(list(node)), (node.text or ""), edge]
    return _BLANKS.sub(" ", "".join(parts)).strip()


def grid_of(table: HtmlElement, most: int) -> tuple[list[list[str]], int | None]:
    """The cells with spans repeated, and the rows of headings, None where none is marked.

    Spans are dealt as HTML 4.9.12 ("forming a table") has it.

    Args:
        table: The element.
        most: Cells at most; rows beyond are left out.
    """
    rows = list(rows_of(table))
    cells: list[list[str]] = []
    kinds: list[bool] = []
    below: dict[int, tuple[str, int]] = {}
    for row in rows:
        made, below = _row(row, below, most)
        most -= len(made)
        if most < 0:
            break
        cells.append(made)
        kinds.append(_is_heading(row))
    width = max(map(len, cells), default=0)
    for made in cells:
        made += [""] * min(width - len(made), _WIDEST)
    header = next((at for at, kind in enumerate(kinds) if not kind), len(kinds))
    return cells, header or None


def _is_heading(row: HtmlElement) -> bool:
    parent = row.getparent()
    if parent is not None and parent.tag == "thead":
        return True
    tags = [cell.tag for cell in row if cell.tag in ("td", "th")]
    return bool(tags) and "td" not in tags


def _row(
    row: HtmlElement, above: dict[int, tuple[str, int]], most: int
) -> tuple[list[str], dict[int, tuple[str, int]]]:
    """One row with what spans into it, and what spans into the next: text and rows left."""
    made: dict[int, str] = {at: text for at, (text, _) in above.items()}
    below = {at: (text, left - 1) for at, (text, left) in above.items() if left > 1}
    at = 0
    for cell in row:
        if cell.tag not in ("td", "th"):
            continue
        while at in made:
            at += 1
        text = cell_text(cell)
        down = _span(cell, "rowspan", 65_534) or len(row.getparent())
        for _ in range(min(_span(cell, "colspan", _WIDEST) or 1, max(most, 1))):
            made[at] = text
            if down > 1:
                below[at] = (text, down - 1)
            at += 1
    width = max(made, default=-1) + 1
    return [made.get(at, "") for at in range(width)], below


def _span(cell: HtmlElement, name: str, most: int) -> int:
    found = re.match(r"\s*\+?(\d{1,6})", cell.get(name) or "1")
    return min(int(found[1]), most) if found else 1
