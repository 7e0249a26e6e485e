"""Tables of prose that is written by one pattern, and none of prose that is not."""

from __future__ import annotations

import random
import time

import pytest

from stages.core.documents import DocumentContent, DocumentTable, tables_of_prose
from tests.helpers.document_files import PROSE

PLACES = ["Mill Lane", "East Quay", "Old Town", "St. Anne", "Low Fen"]
ORTE = ["东湖区", "南山", "滨江新城", "西岭镇"]


def read(lines: list[str]) -> list[DocumentTable]:
    return tables_of_prose(DocumentContent("notes.md", "markdown", lines))


def shape(table: DocumentTable) -> list[tuple[str, str, str]]:
    return [(column.name, column.type, column.unit) for column in table.columns]


def test_a_sentence_with_gaps_in_english():
    rng = random.Random(1)
    true = [
        [
            f"{rng.choice(PLACES)} {at}",
            rng.choice(["Kent", "Fife"]),
            str(rng.randrange(1000, 99_999)),
            f"2020-0{rng.randrange(1, 9)}-11",
            f"{rng.randrange(100, 9999) / 100:.2f}",
        ]
        for at in range(500)
    ]
    lines = ["# Report", "", "All figures are final."]
    lines += [
        f"- Station {a} in {b} produced {int(c):,} tons on {d}, at a price of {e} USD."
        for a, b, c, d, e in true
    ]
    (table,) = read(lines)
    assert shape(table) == [
        ("Station", "VARCHAR", ""),
        ("column_2", "VARCHAR", ""),
        ("produced", "BIGINT", "tons"),
        ("column_4", "DATE", ""),
        ("price", "DOUBLE", "USD"),
    ]
    assert table.rows == true
    assert table.lines == list(range(4, 504))
    assert table.key == ["Station"]
    assert table.title == "Report"
    assert [(failed.line, failed.text) for failed in table.failed] == [
        (3, "All figures are final.")
    ]


def test_a_sentence_with_gaps_in_chinese():
    rng = random.Random(2)
    lines, true = [], []
    for at in range(500):
        name, place = f"{rng.choice(ORTE)}{at}", rng.choice(["北京市", "上海市", "天津"])
        output, day = (
            rng.randrange(1000, 99_999),
            (2000 + rng.randrange(24), rng.randrange(1, 13), rng.randrange(1, 29)),
        )
        lines.append(
            f"{name}站点位于{place}，年产量为{output:,}吨，启用日期为{day[0]}年{day[1]}月{day[2]}日。"
        )
        true.append([name, place, str(output), "{}-{:02d}-{:02d}".format(*day)])
    (table,) = read(lines)
    assert shape(table) == [
        ("名称", "VARCHAR", ""),
        ("所在地", "VARCHAR", ""),
        ("年产量", "BIGINT", "吨"),
        ("启用日期", "DATE", ""),
    ]
    assert table.rows == true


@pytest.mark.parametrize("beside", [False, True])
def test_statements_become_a_row_for_each_thing(beside):
    said = [
        [
            f"The {what} of {place} is {at},{what_at}12 m."
            for what_at, what in enumerate(["height", "depth"], 1)
        ]
        for at, place in enumerate(PLACES, 1)
    ]
    (table,) = read(
        [" ".join(two) for two in said] if beside else [one for two in said for one in two]
    )
    assert shape(table) == [
        ("name", "VARCHAR", ""),
        ("height", "BIGINT", "m"),
        ("depth", "BIGINT", "m"),
    ]
    assert table.rows[3] == ["St. Anne", "4112", "4212"]
    (table,) = read(
        [
            f"{place}的{what}为{at}{of}00万元。"
            for at, place in enumerate(ORTE, 1)
            for of, what in enumerate(["营业收入", "净利润"])
        ]
    )
    assert shape(table) == [
        ("名称", "VARCHAR", ""),
        ("营业收入", "BIGINT", "万元"),
        ("净利润", "BIGINT", "万元"),
    ]
    assert table.rows[1] == ["南山", "2000", "2100"]


def test_keys_and_values_in_blocks_on_a_line_and_in_a_list():
    blocks = [
        line
        for at, place in enumerate(PLACES)
        for line in (
            f"## {place}",
            "",
            f"- **Output**: {at + 3} kg",
            f"- **Opened**：2020-01-0{at + 1}",
            "",
        )
    ]
    (table,) = read(blocks)
    assert shape(table) == [
        ("name", "VARCHAR", ""),
        ("Output", "BIGINT", "kg"),
        ("Opened", "DATE", ""),
    ]
    assert table.rows[1] == ["East Quay", "4", "2020-01-02"]
    assert table.lines[:2] == [3, 8]
    (table,) = read(
        [f"名称：{place}；产量：{at}.5 吨；占比=3%" for at, place in enumerate([*ORTE, "老城"])]
    )
    assert shape(table) == [
        ("名称", "VARCHAR", ""),
        ("产量", "DOUBLE", "吨"),
        ("占比", "BIGINT", "%"),
    ]
    (table,) = read([f"{at + 1}. {place}: {at * 7 + 1} kg" for at, place in enumerate(PLACES)])
    assert (table.rows[2], table.columns[1].unit) == (["Old Town", "15"], "kg")


def test_less_than_nine_lines_of_ten_is_evidence_only():
    lines = [f"Station {at} in Kent produced {at * 7} tons." for at in range(40)]
    assert read([*lines, *[f"Remark {'x' * at} is not of this kind" for at in range(4)]])
    assert read([*lines, *[f"Remark {'x' * at} is not of this kind" for at in range(6)]]) == []


@pytest.mark.parametrize(
    "lines",
    [
        [PROSE["en"]] * 8,
        [PROSE["zh"]] * 8,
        [
            "He came.",
            "She went at 5.",
            "It rained for 3 days.",
            "The end of it was near.",
            "All of them are gone.",
        ],
        ["Note: see below", "Author: me", "Date: 2020-01-01", "Topic: none at all", "Place: here"],
        [f"- {'word ' * at}and so on" for at in range(1, 12)],
        [],
    ],
)
def test_no_table_is_made_of_other_prose(lines):
    assert read(lines) == []


def test_lines_that_are_hostile_end_in_time():
    start = time.monotonic()
    read([("a of " * 400 + "is ")[:2000] + str(at) for at in range(300)])
    read(["的为" * 5000 + str(at) for at in range(300)])
    read(["a: b; " * 300] * 200)
    assert time.monotonic() - start < 20
