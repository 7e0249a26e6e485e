"""Tables in Markdown and plain text, and what becomes of their cells."""

from __future__ import annotations

import sqlite3

import pytest

from stages.core.documents import ReadLimits, failed_file, read_document, write_tables
from stages.core.documents.content import DocumentTable, FailedLine
from stages.core.errors import DataError, SourceError


def tables(tmp_path, text, name="notes.md", **limits):
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return read_document(path, ReadLimits(**limits)).tables


def test_pipes_with_units_dates_and_a_total(tmp_path):
    (table,) = tables(
        tmp_path,
        "# 员工名单\n\n| 姓名 | 工资（元） | 入职日期 | 占比 |\n|---|---:|---|---|\n"
        "| 张三 \\| A | 12,300.50 | 2023年5月1日 | 12% |\n| **李四** | 9,000 | 2022年12月11日 | 3.5% |\n"
        "| 合计 | 21,300.50 | | |\n\n后记。\n",
    )
    assert table.name == table.title == "员工名单"
    assert [(c.name, c.type, c.unit) for c in table.columns] == [
        ("姓名", "VARCHAR", ""),
        ("工资", "DOUBLE", "元"),
        ("入职日期", "DATE", ""),
        ("占比", "DOUBLE", "%"),
    ]
    assert table.columns[1].description == "工资（元）"
    assert table.rows == [
        ["张三 | A", "12300.50", "2023-05-01", "12"],
        ["李四", "9000", "2022-12-11", "3.5"],
    ]
    assert table.lines == [5, 6]
    assert table.notes == ["line 7 is a total and left out: 合计 | 21,300.50 |  | "]


def test_fixed_width_with_wide_characters_and_boxes(tmp_path):
    fixed, box = tables(
        tmp_path,
        "Name        Qty   Price\napple         3    1.50\n梨子         12   10.25\nkiwi        100    2.00\n\n"
        "+----+-----+\n| a  | b   |\n+----+-----+\n| 1  | x   |\n| 2  | y   |\n+----+-----+\n",
        "notes.txt",
    )
    assert fixed.rows == [["apple", "3", "1.50"], ["梨子", "12", "10.25"], ["kiwi", "100", "2.00"]]
    assert (box.rows, box.lines) == ([["1", "x"], ["2", "y"]], [9, 10])


@pytest.mark.parametrize(
    "prose",
    [
        "The plant  closed in 1990.\nIt had  300 workers then.\nNobody  came back.\n",
        "- one | two\n- three\n",
        "a | b\nno table at all | here\n",
        "他说：  甲方应于2020年付款。\n乙方  不同意。\n丙方  弃权。\n",
        "```\nif a  | b:\n    return  c\n```\n",
    ],
)
def test_no_table_is_made_of_prose(tmp_path, prose):
    assert tables(tmp_path, prose) == []


def test_values_stay_as_they_are_where_a_column_is_of_no_one_kind(tmp_path):
    (table,) = tables(
        tmp_path,
        "|code|size|share|day|\n|-|-|-|-|\n|007|5 kg|1.5|2020-01-02|\n|12|3 m|-|n/a|\n",
    )
    assert [column.type for column in table.columns] == ["VARCHAR", "VARCHAR", "DOUBLE", "DATE"]
    assert table.rows == [["007", "5 kg", "1.5", "2020-01-02"], ["12", "3 m", None, None]]


def test_long_text_is_cut_and_binary_refused(tmp_path):
    path = tmp_path / "long.txt"
    path.write_text("a" * 5000 + "\n" + "b\n" * 5000)
    content = read_document(path, ReadLimits(bytes=6000, line=1000))
    assert content.truncated
    assert len(content.lines[0]) < 1100
    assert content.warnings == [
        "read to 6,000 of 15,001 bytes; the rest is left out",
        "lines are cut at 1,000 characters",
    ]
    (tmp_path / "binary.md").write_bytes(b"PK\0\1" * 100)
    with pytest.raises(SourceError, match=r"binary\.md: holds binary data, no text"):
        read_document(tmp_path / "binary.md")
    with pytest.raises(SourceError, match="cannot be read: no such file"):
        read_document(tmp_path / "none.md")
    with pytest.raises(SourceError, match="not a kind of document"):
        read_document(tmp_path / "x.exe")


def test_tables_become_a_database_with_the_places_of_their_rows(tmp_path):
    (table,) = tables(tmp_path, "|id|__src_line|pay (USD)|\n|-|-|-|\n|1|x|1,200|\n|2|y|-|\n")
    table.failed.append(FailedLine(9, "odd", "no number"))
    path = tmp_path / "out" / "_doc_extracted.db"
    names = write_tables(path, {"a.md": [table], "b.md": [table]})
    assert names == {"a.md": ["notes"], "b.md": ["notes_2"]}
    with sqlite3.connect(path) as con:
        assert con.execute("SELECT * FROM notes").fetchall() == [
            (1, "x", 1200, 3),
            (2, "y", None, 4),
        ]
        assert [row[1:3] for row in con.execute("PRAGMA table_info(notes)")] == [
            ("id", "INTEGER"),
            ("__src_line_2", "TEXT"),
            ("pay", "INTEGER"),
            ("__src_line", "INTEGER"),
        ]
        comments = con.execute("SELECT column_name, comment FROM _winnow_prepared").fetchall()
    assert (None, "a.md") in comments
    assert ("pay", "pay (USD); unit USD") in comments
    assert '"line": 9' in failed_file(path).read_text()
    write_tables(path, {"a.md": [DocumentTable("t", table.columns, [], [])]})
    assert not failed_file(path).exists()
    with pytest.raises(DataError, match="cannot be written"):
        write_tables(path / "below.db", {})


def test_html_tables_in_markdown_have_the_lines_of_their_rows(tmp_path):
    pipes, spans, other = tables(
        tmp_path,
        "# Sites\n\n|a|b|\n|-|-|\n|1|2|\n|3|4|\n\nText <b>here</b>.\n\n"
        "<table><caption>Costs</caption>\n<tr><th rowspan=2>Town</th><th colspan=2>Cost</th></tr>\n"
        "<tr><th>2020 (USD)</th><th>2021 (USD)</th></tr>\n<tr><td>Ayr</td>\n<td>1,200</td><td>7</td></tr>\n"
        "<tr><td>Ely</td><td>3</td><td>4</td></tr>\n</table>\n\n<TABLE><tr><th>x<th>y<tr><td>5<td>6</TABLE>\n",
    )
    assert pipes.lines == [5, 6]
    assert (spans.title, spans.rows, spans.lines) == (
        "Costs",
        [["Ayr", "1200", "7"], ["Ely", "3", "4"]],
        [13, 15],
    )
    assert [(c.name, c.unit) for c in spans.columns] == [
        ("Town", ""),
        ("Cost_2020", "USD"),
        ("Cost_2021", "USD"),
    ]
    assert (other.rows, other.lines) == ([["5", "6"]], [18])
