"""Document files with known tables: PDFs of five layouts, Word, HTML, a workbook, slides, decoys.

`build` writes them from a seed; what it returns is the truth, cell by cell.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Rows = list[list[str | None]]


@dataclass
class Truth:
    """One table of a document: names of columns, units where a heading has one, cells."""

    columns: list[str]
    rows: Rows
    units: dict[str, str] = field(default_factory=dict)
    pages: list[int] | None = None


WORDS = {
    "en": [
        "North Harbour",
        "Mill Lane",
        "East Quay",
        "Old Town",
        "Ridge View",
        "St. Anne",
        "Low Fen",
    ],
    "zh": ["东湖区", "高新技术开发区", "南山", "滨江新城", "老城", "西岭镇", "北关街道"],
}
HEADS = {
    "en": ["Site", "Code", "Output (kg)", "Price (USD)", "Opened"],
    "zh": ["站点", "编号", "产量（吨）", "价格（元）", "启用日期"],
}
UNITS = {"en": ["kg", "USD"], "zh": ["吨", "元"]}
NAMES = {
    "en": ["Site", "Code", "Output", "Price", "Opened"],
    "zh": ["站点", "编号", "产量", "价格", "启用日期"],
}
PROSE = {
    "en": (
        "The works were opened in 1987 with 42 hands and closed 12 years later. Nobody kept a list, "
        "and what is said here rests on letters. In 2003 a fire took the north wing; 3,400 pounds "
        "were collected, of which 1,250 came from the parish. See also pages 12 to 19."
    ),
    "zh": (
        "该厂于1987年建成，当时有职工42人，12年后停产。当年没有留下名册，以下所述主要依据来往信件。"
        "2003年北侧厂房失火，共募集3400元，其中1250元来自街道。另见第12页至第19页。"
    ),
}


def records(language: str, count: int, seed: int) -> tuple[list[list[str]], Rows]:
    """Rows as they are printed, and as they are to be read."""
    rng = random.Random(f"{language}{seed}")
    shown: list[list[str]] = []
    true: Rows = []
    for at in range(count):
        name = f"{rng.choice(WORDS[language])} {at + 1}"
        code = f"{rng.randrange(1000):04d}"
        output = rng.randrange(100, 90_000)
        price = None if rng.random() < 0.08 else rng.randrange(100, 99_999) / 100
        year, month, day = rng.randrange(1950, 2024), rng.randrange(1, 13), rng.randrange(1, 29)
        iso = f"{year}-{month:02d}-{day:02d}"
        printed = f"{year}年{month}月{day}日" if language == "zh" else iso
        shown.append([name, code, f"{output:,}", "" if price is None else f"{price:.2f}", printed])
        true.append([name, code, str(output), None if price is None else f"{price:.2f}", iso])
    return shown, true


def truth(language: str, rows: Rows) -> Truth:
    """The truth of a table with the usual headings."""
    names = NAMES[language]
    return Truth(names, rows, dict(zip(names[2:4], UNITS[language], strict=True)))


def build(folder: Path) -> dict[str, list[Truth]]:
    """Write all files into a folder, and say what tables stand in each; decoys have none."""
    found: dict[str, list[Truth]] = {}
    for seed, layout in enumerate(LAYOUTS):
        for language in ("en", "zh"):
            found |= pdf(folder, layout, language, seed)
    found |= pdf_decoy(folder)
    for language in ("en", "zh"):
        found |= word(folder, language)
        found |= page(folder, language)
        found |= workbook(folder, language)
    found |= old_workbook(folder)
    found |= slides(folder)
    found |= decoys(folder)
    return found


# PDF.

LAYOUTS: dict[str, list[tuple[object, ...]]] = {
    "ruled": [("GRID", (0, 0), (-1, -1), 0.5, "black")],
    "borderless": [],
    "threeline": [
        ("LINEABOVE", (0, 0), (-1, 0), 1, "black"),
        ("LINEBELOW", (0, 0), (-1, 0), 0.5, "black"),
        ("LINEBELOW", (0, -1), (-1, -1), 1, "black"),
    ],
    "merged": [
        ("GRID", (0, 0), (-1, -1), 0.5, "black"),
        ("SPAN", (2, 0), (3, 0)),
        ("SPAN", (0, 0), (0, 1)),
        ("SPAN", (1, 0), (1, 1)),
        ("SPAN", (4, 0), (4, 1)),
    ],
    "zebra": [("ROWBACKGROUNDS", (0, 1), (-1, -1), ["white", "lightgrey"])],
}
"""Layouts and the table styles of reportlab that draw them."""


def pdf(folder: Path, layout: str, language: str, seed: int) -> dict[str, list[Truth]]:
    """A table of 60 rows between prose, over a page break; headings are repeated for some."""
    from reportlab.lib.styles import ParagraphStyle
    from reportlab.platypus import Paragraph, Spacer, Table

    font = _font(language)
    shown, true = records(language, 60, seed)
    head = [HEADS[language]]
    expected = truth(language, true)
    if layout == "merged":
        first, second = ("Yearly", "Output"), ("年度", "产量")
        above, _ = first if language == "en" else second
        names = HEADS[language]
        head = [[names[0], names[1], above, "", names[4]], ["", "", names[2], names[3], ""]]
        named = [
            f"{above}_{name}" if 2 <= at < 4 else name for at, name in enumerate(NAMES[language])
        ]
        expected = Truth(named, true, dict(zip(named[2:4], UNITS[language], strict=True)))
    table = Table(
        [*head, *shown],
        repeatRows=0 if layout in ("borderless", "zebra") else len(head),
        rowHeights=18,
    )
    table.setStyle([("FONT", (0, 0), (-1, -1), font, 9), *LAYOUTS[layout]])
    body = ParagraphStyle(
        "body", fontName=font, fontSize=10, leading=14, wordWrap="CJK" if language == "zh" else None
    )
    title = ParagraphStyle("title", parent=body, fontSize=16, leading=22)
    story = [
        Paragraph("Sites of the works" if language == "en" else "各站点情况", title),
        Paragraph(PROSE[language], body),
        Spacer(1, 12),
        table,
        Spacer(1, 12),
        Paragraph(PROSE[language], body),
    ]
    name = f"{layout}-{language}.pdf"
    _pdf(folder / name, story)
    return {name: [expected]}


def pdf_decoy(folder: Path) -> dict[str, list[Truth]]:
    """Prose with numbers, and prose in two columns: no table."""
    from reportlab.lib.styles import ParagraphStyle
    from reportlab.platypus import Paragraph, Spacer

    for language in ("en", "zh"):
        body = ParagraphStyle(
            "body",
            fontName=_font(language),
            fontSize=10,
            leading=14,
            wordWrap="CJK" if language == "zh" else None,
        )
        for columns, name in ((1, "decoy"), (2, "columns")):
            story: list[object] = []
            for _ in range(25):
                story += [Paragraph(PROSE[language], body), Spacer(1, 10)]
            _pdf(folder / f"{name}-{language}.pdf", story, columns)
    return {
        f"{kind}-{language}.pdf": [] for kind in ("decoy", "columns") for language in ("en", "zh")
    }


def _font(language: str) -> str:
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont

    if language == "en":
        return "Helvetica"
    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    return "STSong-Light"


def _pdf(path: Path, story: list[object], columns: int = 1) -> None:
    from reportlab.platypus import BaseDocTemplate, Frame, PageTemplate

    def number(canvas, document) -> None:
        canvas.setFont("Helvetica", 8)
        canvas.drawCentredString(297, 30, str(document.page))

    document = BaseDocTemplate(str(path), pagesize=(595, 842), invariant=1)
    width = 455 / columns
    frames = [
        Frame(70 + at * width, 60, width - (8 if columns > 1 else 0), 720) for at in range(columns)
    ]
    document.addPageTemplates(PageTemplate("page", frames, onPage=number))
    document.build(story)


def scan(path: Path, pages: int = 2) -> None:
    """A PDF whose pages are pictures, without text."""
    import io

    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path), pagesize=(595, 842), invariant=1)
    picture = ImageReader(io.BytesIO(b"P6 2 2 255\n" + bytes([200, 10, 90] * 4)))
    for _ in range(pages):
        canvas.drawImage(picture, 0, 0, 595, 842)
        canvas.showPage()
    canvas.save()


# Word, HTML, workbooks, slides.


def grouped(language: str, count: int, seed: int) -> tuple[list[list[str]], Truth]:
    """Rows in groups of three whose first cell is merged, below headings of two rows."""
    shown, true = records(language, count, seed)
    regions = WORDS[language]
    name = "Region" if language == "en" else "大区"
    above = "Yearly" if language == "en" else "年度"
    for at, (row, truth_row) in enumerate(zip(shown, true, strict=True)):
        region = f"{regions[at // 3 % len(regions)]} {at // 3}"
        row.insert(0, region)
        truth_row.insert(0, region)
    names = [name, *NAMES[language]]
    named = [f"{above}_{n}" if 3 <= at < 5 else n for at, n in enumerate(names)]
    return shown, Truth(named, true, dict(zip(named[3:5], UNITS[language], strict=True)))


def _heads(language: str) -> tuple[list[str], str]:
    region = "Region" if language == "en" else "大区"
    return [region, *HEADS[language]], "Yearly" if language == "en" else "年度"


def word(folder: Path, language: str) -> dict[str, list[Truth]]:
    """Merged headings over two rows, groups of rows with one merged cell, prose around."""
    from docx import Document

    shown, expected = grouped(language, 30, 11)
    heads, above = _heads(language)
    document = Document()
    document.add_heading("Sites" if language == "en" else "站点", 1)
    document.add_paragraph(PROSE[language])
    table = document.add_table(rows=2 + len(shown), cols=6)
    grid = [list(row.cells) for row in table.rows]
    for at, text in enumerate(heads):
        if 3 <= at < 5:
            grid[1][at].text = text
        else:
            grid[0][at].merge(grid[1][at]).text = text
    grid[0][3].merge(grid[0][4]).text = above
    for at, row in enumerate(shown):
        for column, text in enumerate(row):
            if column or at % 3 == 0:
                grid[at + 2][column].text = text
        if at % 3 == 2:
            grid[at][0].merge(grid[at + 2][0])
    document.add_paragraph(PROSE[language])
    name = f"word-{language}.docx"
    document.save(str(folder / name))
    return {name: [expected]}


def page(folder: Path, language: str) -> dict[str, list[Truth]]:
    """Headings and rows that span, in a page that is laid out by a table."""
    shown, expected = grouped(language, 30, 12)
    heads, above = _heads(language)
    single = "".join(f'<th rowspan="2">{text}</th>' for text in heads[:3])
    last = f'<th rowspan="2">{heads[5]}</th>'
    head = f'<tr>{single}<th colspan="2">{above}</th>{last}</tr><tr><th>{heads[3]}</th><th>{heads[4]}</th></tr>'
    rows = []
    for at, row in enumerate(shown):
        region = f'<td rowspan="3">{row[0]}</td>' if at % 3 == 0 else ""
        rows.append(f"<tr>{region}{''.join(f'<td>{text}</td>' for text in row[1:])}</tr>")
    html = (
        "<!doctype html><html><head><meta charset=utf-8><title>t</title></head><body>"
        "<table><tr><td>Home<td><a href=x>News</a><td>"
        f"<h1>{heads[0]}</h1><p>{PROSE[language]}</p><table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"
        f"<p>{PROSE[language]}</p></table></body></html>"
    )
    name = f"page-{language}.html"
    (folder / name).write_text(html, "utf-8")
    return {name: [expected]}


def workbook(folder: Path, language: str) -> dict[str, list[Truth]]:
    """A title row, merged headings, a total row, a footnote; and a second sheet that is plain."""
    import datetime

    from openpyxl import Workbook

    _, expected = grouped(language, 30, 13)
    heads, above = _heads(language)
    book = Workbook()
    sheet = book.active
    sheet.title = "Sites" if language == "en" else "站点"
    sheet.append(["Sites by region, 2023" if language == "en" else "2023年各大区站点"])
    sheet.merge_cells("A1:F1")
    sheet.append([*heads[:3], above, None, heads[5]])
    sheet.append([None, None, None, heads[3], heads[4], None])
    for cells in ("A2:A3", "B2:B3", "C2:C3", "D2:E2", "F2:F3"):
        sheet.merge_cells(cells)
    total = 0
    for row in expected.rows:
        values: list[object] = list(row)
        values[3] = int(str(row[3]))
        values[4] = None if row[4] is None else float(row[4])
        values[5] = datetime.date.fromisoformat(str(row[5]))
        total += int(str(row[3]))
        sheet.append(values)
    for first in range(4, 34, 3):
        sheet.merge_cells(f"A{first}:A{first + 2}")
    sheet.append(["Total" if language == "en" else "合计", None, None, total])
    sheet.append(["Source: the works" if language == "en" else "注：数据来自各站点"])
    plain = book.create_sheet("Plain")
    plain.append(["id", "note"])
    for at in range(5):
        plain.append([at, f"n{at}"])
    name = f"book-{language}.xlsx"
    book.save(folder / name)
    return {name: [expected, Truth(["id", "note"], [[str(at), f"n{at}"] for at in range(5)])]}


def old_workbook(folder: Path) -> dict[str, list[Truth]]:
    """A workbook of the old binary format."""
    import xlwt

    _, true = records("zh", 20, 14)
    book = xlwt.Workbook()
    sheet = book.add_sheet("站点")
    for at, text in enumerate(HEADS["zh"]):
        sheet.write(0, at, text)
    for at, row in enumerate(true, start=1):
        for column, text in enumerate(row):
            sheet.write(at, column, float(text) if column in (2, 3) and text else text)
    book.save(str(folder / "old.xls"))
    return {"old.xls": [truth("zh", true)]}


def slides(folder: Path) -> dict[str, list[Truth]]:
    """A table with merged cells on a slide."""
    from pptx import Presentation
    from pptx.util import Inches

    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Output by site"
    shown, true = records("en", 9, 15)
    table = slide.shapes.add_table(10, 6, Inches(1), Inches(1), Inches(8), Inches(5)).table
    for at, text in enumerate(["Region", *HEADS["en"]]):
        table.cell(0, at).text = text
    for at, row in enumerate(shown):
        for column, text in enumerate(row):
            table.cell(at + 1, column + 1).text = text
        if at % 3 == 0:
            table.cell(at + 1, 0).text = f"R{at // 3}"
            table.cell(at + 1, 0).merge(table.cell(at + 3, 0))
    slide.notes_slide.notes_text_frame.text = "Ask about prices."
    deck.save(str(folder / "deck.pptx"))
    rows = [[f"R{at // 3}", *row] for at, row in enumerate(true)]
    names = ["Region", *NAMES["en"]]
    return {"deck.pptx": [Truth(names, rows, {"Output": "kg", "Price": "USD"}, [1] * 9)]}


def decoys(folder: Path) -> dict[str, list[Truth]]:
    """Pages, Word and Markdown of prose only."""
    from docx import Document

    found = {}
    for language in ("en", "zh"):
        text = "\n\n".join([PROSE[language]] * 8)
        (folder / f"decoy-{language}.md").write_text(f"# A\n\n{text}\n", "utf-8")
        (folder / f"decoy-{language}.html").write_text(
            f"<meta charset=utf-8><table><tr><td>Home<td>{PROSE[language]}</table><p>{text}",
            "utf-8",
        )
        document = Document()
        for _ in range(8):
            document.add_paragraph(PROSE[language])
        document.save(str(folder / f"decoy-{language}.docx"))
        found |= {f"decoy-{language}.{ending}": [] for ending in ("md", "html", "docx")}
    return found


# Scores.


@dataclass
class Score:
    """Cells that are right of those there are, headings among them; tables that are none."""

    right: int = 0
    cells: int = 0
    invented: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(
            self.right + other.right, self.cells + other.cells, self.invented + other.invented
        )


Found = tuple[Sequence[str], Sequence[Sequence[str | None]]]
"""Names of columns and rows of a table that was read."""


def score(
    expected: Sequence[Truth],
    found: Sequence[Found],
    same: Callable[[str | None, str | None], bool] | None = None,
) -> Score:
    """Each true table against the one that agrees best, row by row; what is left is invented."""
    left = list(range(len(found)))
    total = Score()
    for table in expected:
        rights = {at: _right(table, found[at], same or _same) for at in left}
        best = max(rights, key=rights.__getitem__, default=None)
        total += Score(
            rights.get(best, 0) if best is not None else 0,
            (len(table.rows) + 1) * len(table.columns),
        )
        if best is not None and rights[best]:
            left.remove(best)
            beyond = len(found[best][1]) - len(table.rows)
            total.cells += max(beyond, 0) * len(table.columns)
    return total + Score(invented=len(left))


def _right(table: Truth, found: Found, same: Callable[[str | None, str | None], bool]) -> int:
    names, rows = found
    right = sum(a == b for a, b in zip(table.columns, names, strict=False))
    left = dict(enumerate(rows))
    for at, row in enumerate(table.rows):
        agree = {at: _agree(row, left[at], same)} if at in left else {}
        if agree.get(at) != len(row):
            agree |= {other: _agree(row, read, same) for other, read in left.items()}
        best = max(agree, key=agree.__getitem__, default=None)
        if best is not None and agree[best]:
            right += agree[best]
            del left[best]
    return right


def _agree(
    row: Sequence[str | None],
    read: Sequence[str | None],
    same: Callable[[str | None, str | None], bool],
) -> int:
    return sum(same(a, b) for a, b in zip(row, read, strict=False))


def _same(a: str | None, b: str | None) -> bool:
    if a == b:
        return True
    try:
        return a is not None and b is not None and a[:1] != "0" and float(a) == float(b)
    except ValueError:
        return False
