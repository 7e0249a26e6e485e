"""Foreign formats: tables cell by cell against the truth, and files that are hostile or broken."""

from __future__ import annotations

import time
import zipfile
from pathlib import Path

import pytest

from stages.core.documents import ReadLimits, read_document
from stages.core.errors import SourceError
from tests.helpers import document_files
from tests.helpers.document_files import Score, Truth, score


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> tuple[Path, dict[str, list[Truth]]]:
    folder = tmp_path_factory.mktemp("documents")
    return folder, document_files.build(folder)


def test_tables_of_all_kinds_cell_by_cell(built):
    folder, truths = built
    scores = {}
    for name, expected in truths.items():
        content = read_document(folder / name)
        assert not content.truncated
        scores[name] = score(
            expected, [([c.name for c in t.columns], t.rows) for t in content.tables]
        )
        for table in content.tables:
            assert len(table.lines) == len(table.rows)
            for row, line in zip(table.rows, table.lines, strict=True):
                assert (row[0] or "") in content.lines[line - 1]
            for truth in expected:
                if [c.name for c in table.columns] == truth.columns:
                    assert {c.name: c.unit for c in table.columns if c.unit} == truth.units
    total = sum(scores.values(), Score())
    wrong = {name: s for name, s in scores.items() if s.right < s.cells or s.invented}
    assert total.cells > 4000
    assert total.invented == 0, wrong
    assert total.right >= 0.99 * total.cells, wrong


def test_types_of_columns_and_pages_of_rows(built):
    content = read_document(built[0] / "merged-zh.pdf")
    (table,) = content.tables
    assert [c.type for c in table.columns] == ["VARCHAR", "VARCHAR", "BIGINT", "DOUBLE", "DATE"]
    assert set(table.pages) == {1, 2}
    assert table.pages == sorted(table.pages)
    assert len(content.pages) == len(content.lines)
    assert table.title == "各站点情况"


def test_columns_of_prose_are_read_one_after_the_other(built):
    lines = read_document(built[0] / "columns-en.pdf").lines
    assert sum(document_files.PROSE["en"] in line for line in lines) >= 20
    lines = read_document(built[0] / "columns-zh.pdf").lines
    assert sum(document_files.PROSE["zh"] in line for line in lines) >= 20


def test_total_and_title_of_a_sheet_are_told(built):
    table = read_document(built[0] / "book-en.xlsx").tables[0]
    assert table.title == "Sites"
    assert "Sites by region, 2023" in table.notes
    assert any("is a total and left out" in note for note in table.notes)
    assert "Source: the works" in table.notes


def drawn(path, texts, *, turn=0) -> None:
    """A PDF of texts at places, on a page that is turned so that they are upright."""
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path), pagesize=(595, 842), invariant=1)
    if turn:
        canvas.setPageRotation(turn)
        canvas.rotate(turn if turn == 90 else -90)
        canvas.translate(0 if turn == 90 else -842, -595 if turn == 90 else 0)
    for x, y, text in texts:
        canvas.drawString(x, y, text)
    canvas.save()


@pytest.mark.parametrize("turn", [0, 90, 270])
def test_a_page_may_be_turned(tmp_path, turn):
    rows = [
        ["Town", "Output", "Day"],
        *([f"Town {at}", str(at * 13), f"2020-01-0{at}"] for at in range(1, 9)),
    ]
    drawn(
        tmp_path / "x.pdf",
        [
            (x, 500 - at * 16, text)
            for at, row in enumerate(rows)
            for x, text in zip((100, 300, 500), row, strict=True)
        ],
        turn=turn,
    )
    (table,) = read_document(tmp_path / "x.pdf").tables
    assert [column.name for column in table.columns] == rows[0]
    assert table.rows == rows[1:]


@pytest.mark.parametrize("middle", [0, 6])
def test_cells_without_rules_may_be_wrapped(tmp_path, middle):
    """The long cell has two lines; the others stand at its first, or between both."""
    texts: list[tuple[float, float, str]] = [
        (50, 700, "Item"),
        (120, 700, "Description"),
        (300, 700, "Qty"),
    ]
    for at in range(1, 9):
        y = 700 - at * 36
        texts += [(50, y - middle, f"A{at}"), (300, y - middle, str(at * 7))]
        texts += [(120, y, "a description that is"), (120, y - 12, f"longer than {at}")]
    drawn(tmp_path / "x.pdf", texts)
    (table,) = read_document(tmp_path / "x.pdf").tables
    assert table.rows == [
        [f"A{at}", f"a description that is longer than {at}", str(at * 7)] for at in range(1, 9)
    ]


def test_forms_and_lists_of_contents_are_no_tables(tmp_path):
    form = [(50, 700 - 16 * at, f"{word}:") for at, word in enumerate(["Date", "No", "Due", "For"])]
    form += [(200, 700 - 16 * at, f"2020-01-0{at + 1}") for at in range(4)]
    form += [(50, 500 - 16 * at, f"{at}. Chapter {'.' * 60} {at * 7}") for at in range(1, 9)]
    drawn(tmp_path / "x.pdf", form)
    content = read_document(tmp_path / "x.pdf")
    assert content.tables == []
    assert content.lines[0] == "Date:  2020-01-01"


# Spans.


def test_spans_of_html_are_dealt_as_browsers_do(tmp_path):
    (table,) = html(
        tmp_path,
        "<table><caption>T</caption><tr><th>a<th>b<th>c</tr>"
        "<tr><td rowspan=2>1<td colspan=2>2</tr><tr><td>3<td>4<br>5</tr>"
        "<tr><td rowspan=0>6<td>7<td>8</tr><tr><td>9<td>x</tr></table>",
    ).tables
    assert table.title == "T"
    assert table.rows == [["1", "2", "2"], ["1", "3", "4 5"], ["6", "7", "8"], ["6", "9", "x"]]


def test_a_table_in_a_cell_is_a_table_of_its_own(tmp_path):
    content = html(
        tmp_path,
        "<table><tr><td>menu<td><p>text<table><tr><th>a<th>b<tr><td>1<td>2<tr><td>3<td>4</table>",
    )
    assert [t.rows for t in content.tables] == [[["1", "2"], ["3", "4"]]]
    assert content.lines[:2] == ["menu", "text"]


def test_spans_that_are_absurd_are_bounded(tmp_path):
    content = html(
        tmp_path,
        "<table>" + "<tr><td rowspan=65534 colspan=1000>1" * 300 + "</table>",
        cells=50_000,
    )
    assert content.truncated
    assert "limit of cells" in content.warnings[0]


def html(tmp_path, text, **limits):
    path = tmp_path / "page.html"
    path.write_text(text, "utf-8")
    return read_document(path, ReadLimits(**limits))


# Sheets.


def test_tables_anywhere_on_a_sheet_are_found_whole(tmp_path):
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    first = [["Region", "Q1", "Q2"], ["N", 1, 2], [None, 3, 4], [], ["E", 5, 6], ["W", 7, 8]]
    second = [["Second table"], [], ["Other", "Value"], ["a", 1.5], ["b", 2.25]]
    for rows, down, right in ((first, 5, 3), (second, 13, 1)):
        for at, row in enumerate(rows):
            for column, value in enumerate(row):
                sheet.cell(at + down, column + right, value)
    sheet.merge_cells("C6:C7")
    book.save(tmp_path / "x.xlsx")
    content = read_document(tmp_path / "x.xlsx")
    assert "Second table" in content.lines[5]
    one, two = content.tables
    assert one.rows == [["N", "1", "2"], ["N", "3", "4"], ["E", "5", "6"], ["W", "7", "8"]]
    assert (two.title, two.rows) == ("Second table", [["a", "1.5"], ["b", "2.25"]])


def test_merged_cells_of_opendocument(tmp_path):
    def cell(text: str, spans: str = "") -> str:
        kind = "float" if text.isdigit() else "string"
        value = f' office:value="{text}"' if text.isdigit() else ""
        return f'<table:table-cell office:value-type="{kind}"{value}{spans}><text:p>{text}</text:p></table:table-cell>'

    covered = "<table:covered-table-cell/>"
    rows = [
        cell("Town", ' table:number-rows-spanned="2"')
        + cell("Output", ' table:number-columns-spanned="2"')
        + covered,
        covered + cell("first") + cell("second"),
        *(cell(f"T{at}") + cell(str(at * 3)) + cell(str(at * 4)) for at in range(1, 4)),
    ]
    names = "".join(
        f' xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for name in ("office", "table", "text")
    )
    table = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    content = f'<?xml version="1.0"?><office:document-content{names}><office:body><office:spreadsheet><table:table table:name="A">{table}</table:table></office:spreadsheet></office:body></office:document-content>'
    with zipfile.ZipFile(tmp_path / "x.ods", "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
    (found,) = read_document(tmp_path / "x.ods").tables
    assert [column.name for column in found.columns] == ["Town", "Output_first", "Output_second"]
    assert found.rows == [[f"T{at}", str(at * 3), str(at * 4)] for at in range(1, 4)]


# Subtitles.


def test_subtitles_of_both_kinds(tmp_path):
    (tmp_path / "a.srt").write_text(
        "1\n00:00:01,500 --> 00:00:03,000\n<i>Hello</i>\nthere\n\n2\n00:01:00,000 --> 00:01:02,000\n你好\n"
    )
    (tmp_path / "a.vtt").write_text(
        "WEBVTT\n\nNOTE by nobody\n\n01.000 --> 02.5 align:left\nno\n\n00:01.000 --> 00:02.500 align:left\nyes\n"
    )
    assert read_document(tmp_path / "a.srt").lines == [
        "00:00:01.500 --> 00:00:03.000\tHello there",
        "00:01:00.000 --> 00:01:02.000\t你好",
    ]
    assert read_document(tmp_path / "a.vtt").lines == ["00:00:01.000 --> 00:00:02.500\tyes"]


# Bad input.


def refused(path, **limits) -> str:
    with pytest.raises(SourceError) as caught:
        read_document(path, ReadLimits(**limits))
    assert "\n" not in caught.value.what
    assert caught.value.place == str(path)
    return caught.value.what


@pytest.mark.parametrize("ending", ["pdf", "docx", "xlsx", "pptx", "ods", "xls"])
def test_what_is_not_of_its_kind_is_broken(tmp_path, ending):
    path = tmp_path / f"x.{ending}"
    path.write_bytes(bytes(range(256)) * 40)
    assert "is broken" in refused(path)


def test_an_encrypted_pdf_and_scanned_pages_are_told(tmp_path):
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(tmp_path / "locked.pdf"), encrypt="secret")
    canvas.drawString(50, 50, "x")
    canvas.save()
    assert refused(tmp_path / "locked.pdf") == "is encrypted"
    document_files.scan(tmp_path / "scan.pdf", 3)
    content = read_document(tmp_path / "scan.pdf")
    assert content.lines == []
    assert content.warnings == ["pages 1-3 of 3 are pictures without text and not read"]


def test_pages_beyond_the_limit_are_told(tmp_path):
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(tmp_path / "long.pdf"))
    for at in range(40):
        canvas.drawString(50, 400, f"Page of number {at} says {at * 7}.")
        canvas.showPage()
    canvas.save()
    content = read_document(tmp_path / "long.pdf", ReadLimits(pages=25))
    assert content.truncated
    assert content.warnings == ["read to page 25 of 40; the rest is left out"]
    assert content.pages == list(range(1, 26))


def test_formulas_without_a_value_and_hidden_sheets_are_told(tmp_path):
    from openpyxl import Workbook

    book = Workbook()
    book.active.append(["a", "b"])
    book.active.append([1, "=A2*2"])
    book.active.append([2, "=A3*2"])
    hidden = book.create_sheet("more")
    hidden.append(["c", "d"])
    hidden.append([1, 2])
    hidden.sheet_state = "hidden"
    book.save(tmp_path / "x.xlsx")
    content = read_document(tmp_path / "x.xlsx")
    assert content.warnings[0] == "sheet more is hidden"
    assert content.warnings[1].startswith("2 formulas have no saved value")


@pytest.mark.parametrize(
    ("ending", "member"), [("docx", "word/document.xml"), ("xlsx", "xl/workbook.xml")]
)
def test_zip_bombs_are_refused(tmp_path, ending, member):
    path = tmp_path / f"bomb.{ending}"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open(member, "w") as part,
    ):
        for _ in range(64):
            part.write(b" " * 1024**2)
    assert refused(path, memory=100) == "unpacks to 64 MiB, more than is read"


def test_entities_of_word_and_html_open_no_file(tmp_path):
    (tmp_path / "secret.txt").write_text("hidden words")
    entity = f'<!DOCTYPE d [<!ENTITY e SYSTEM "file://{tmp_path}/secret.txt">]>'
    word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    xml = f'<?xml version="1.0"?>{entity}<w:document xmlns:w="{word}"><w:body><w:p><w:r><w:t>a&e;</w:t></w:r></w:p></w:body></w:document>'
    document_files.word(tmp_path, "en")
    with (
        zipfile.ZipFile(tmp_path / "word-en.docx") as old,
        zipfile.ZipFile(tmp_path / "x.docx", "w") as new,
    ):
        for name in old.namelist():
            new.writestr(name, xml if name == "word/document.xml" else old.read(name))
    for path in (tmp_path / "x.docx", tmp_path / "page.html"):
        (tmp_path / "page.html").write_text(f"{entity}<p>a&e;b</p>")
        assert "hidden words" not in read_or_broken(path)


def read_or_broken(path) -> str:
    try:
        return " ".join(read_document(path).lines)
    except SourceError as error:
        return error.what


def test_html_nested_deep_is_read_within_its_time(tmp_path):
    deep = "<div>" * 100_000 + "deep" + "</div>" * 100_000
    start = time.monotonic()
    content = html(tmp_path, f"{deep}<table><tr><th>a<th>b<tr><td>1<td>2</table>")
    assert time.monotonic() - start < 20
    assert content.tables[0].rows == [["1", "2"]]
    assert "deep" in content.lines
    assert content.warnings == ["nested too deep; read without its blocks"]


def test_time_and_memory_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("stages.core.documents.isolation._START_SECONDS", 0.5)
    path = tmp_path / "big.html"
    path.write_text("<table>" + "<tr><td>1<td>2" * 200_000 + "</table>")
    assert refused(path, seconds=0.0) == "takes longer than 0 seconds to read"
    monkeypatch.undo()
    assert "memory" in refused(path, memory=40)


def test_one_line_of_5_megabytes_and_200_megabytes_of_text(tmp_path):
    (tmp_path / "line.txt").write_text("word " * 1_000_000)
    content = read_document(tmp_path / "line.txt")
    assert content.truncated
    assert content.lines[0].endswith("…(cut)")
    with open(tmp_path / "large.txt", "wb") as stream:
        stream.write(b"a line of words\n" * 100)
        stream.truncate(200 * 1024**2)
    content = read_document(tmp_path / "large.txt", ReadLimits(bytes=1600))
    assert content.warnings == ["read to 1,600 of 209,715,200 bytes; the rest is left out"]
