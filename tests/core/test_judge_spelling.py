"""Names as sources spell them: what the judge reads, while it answers in canonical names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stages.core.catalog.naming import canonical
from stages.core.judge import judge, store
from stages.core.judge.index.index import build
from stages.core.judge.index.names import spelled, spelling
from stages.core.records import Table
from tests.helpers.judge_tables import ask, table

KEY = {"columns": ["stu_id"], "ref_table": "Uni.Main.StudentList", "ref_columns": ["stu_id"]}
RAW = [
    table("Uni.Main.StudentList", "stu_id", "first_name", primary_key=["stu_id"]),
    table("Uni.Main.CourseGrade", "stu_id", "grade", foreign_keys=[KEY]),
    table("Town.Bus.StopList", "stop", "departure"),
    table("Town.Bus.ORCT", "amount"),
    table("Town.Bus.RCT1", "amount", "line"),
]


def scanned(raw: Table) -> Table:
    """The same table as `winnow scan` writes it."""
    made: Any = {**raw, "name": canonical(raw["name"]), "aliases": [raw["name"]]}
    if "foreign_keys" in raw:
        keys = [{**key, "ref_table": canonical(key["ref_table"])} for key in raw["foreign_keys"]]
        made["foreign_keys"] = keys
    return made  # type: ignore[no-any-return]


SCANNED = [scanned(raw) for raw in RAW]


@pytest.mark.parametrize(
    "question",
    [
        "Which grade has each student of the university?",
        "List the stops of the bus in town",
        "What amount stands in each line of ORCT?",
    ],
)
def test_scanned_tables_are_judged_as_their_sources_spell_them(question: str) -> None:
    raw, made = judge(ask(question), RAW), judge(ask(question), SCANNED)
    assert {(canonical(t.name), t.score, t.keep) for t in raw.tables} == {
        (t.name, t.score, t.keep) for t in made.tables
    }
    names = {t["name"] for t in SCANNED}
    said = [e for t in made.tables for e in t.evidence if e.type in ("neighbour", "key")]
    assert all(set(piece.words) <= names for piece in said)
    assert {c.table for c in made.columns} <= names


def test_edges_come_in_canonical_names() -> None:
    found = judge(ask("grades of students"), SCANNED, recall=1.0)
    assert ("uni_main_coursegrade", "uni_main_studentlist") in {
        (e.left, e.right) for e in found.edges
    }


def test_an_index_on_disk_keeps_both_names(tmp_path: Path) -> None:
    store.save(build(SCANNED), tmp_path / "index.npz")
    held = store.load(tmp_path / "index.npz")
    assert held is not None
    assert held.canonical == tuple(t["name"] for t in SCANNED)
    assert held.names == tuple(t["name"] for t in RAW)


@pytest.mark.parametrize(
    ("name", "aliases", "source", "found"),
    [
        ("staff", [], {}, "staff"),
        ("db_hr_staff", ["DB.HR.Staff"], {}, "DB.HR.Staff"),
        ("hr__staff", ["Staff"], {}, "hr__staff"),  # a clash; the alias is another name
        ("staff_v2", ["Staff.v2"], {"kind": "csv", "path": "Staff.v2.csv"}, "Staff_v2"),
        ("t_2024报表", ["2024报表"], {}, "2024报表"),
    ],
)
def test_the_spelling_of_a_table(
    name: str, aliases: list[str], source: dict[str, str], found: str
) -> None:
    assert spelling(table(name, "x", aliases=aliases, source=source)) == found


def test_tables_without_other_spellings_stay_as_they_are() -> None:
    plain = [table("a", "x"), table("b", "y", aliases=["other"])]
    assert spelled(plain) == plain


@pytest.mark.parametrize(
    ("column", "question"),
    [
        ("qty", "What quantity of bolts lies in stock?"),
        ("cntry_cd", "Bolts from which country?"),
        ("ctgy", "Bolts of which category?"),
        ("lqdty", "How much liquidity is there?"),
    ],
)
def test_a_shortening_that_ends_in_y_is_met_as_it_is_written(column: str, question: str) -> None:
    """A stemmer makes an ``i`` of a ``y`` that no vowel stands before."""
    tables = [table("stock", "stock_no", column, "mmt"), table("staff", "staff_no", "wage")]
    columns = judge(ask(question), tables, recall=1.0).columns
    found = {(c.table, c.name): c.evidence for c in columns}
    assert "name" in {piece.type for piece in found["stock", column]}
    assert "name" not in {piece.type for piece in found["stock", "mmt"]}
