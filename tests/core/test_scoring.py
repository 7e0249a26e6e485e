"""Scoring: whose names, what was kept, the metrics, their intervals, and the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.core.errors import DataError
from stages.core.evaluate.gold import Gold, GoldBook, read_gold
from stages.core.evaluate.metrics import (
    CatalogFacts,
    Measure,
    MeasureTally,
    groups,
    interval,
    measure,
    worst,
)
from stages.core.evaluate.report import report
from stages.core.names import Names
from stages.core.readers import KeptColumns, kept
from stages.core.records import Table


def table(name: str, *columns: str, aliases: tuple[str, ...] = ()) -> Table:
    return {
        "kind": "table",
        "catalog": "c",
        "name": name,
        "aliases": list(aliases),
        "describe_key": f"{name}.csv",
        "columns": [{"name": column, "type": "VARCHAR"} for column in columns],
    }


TABLES = [
    table("employee_attendance", "Employee ID", "day", aliases=("Employee Attendance",)),
    table("staff", "id", "name"),
    table("db_hr_pay", "staff_id", "amount", "detail", aliases=("DB.HR.PAY",)),
    table("a__log", "x", aliases=("log",)),
    table("b__log", "x"),
]


@pytest.mark.parametrize(
    ("given_name", "found"),
    [
        ("employee_attendance", "employee_attendance"),
        ("Employee Attendance", "employee_attendance"),
        ("EMPLOYEE ATTENDANCE", "employee_attendance"),
        ('"Staff"', "staff"),
        ("hr.staff", "staff"),
        ("DB.HR.PAY", "db_hr_pay"),
        ("db.hr.pay", "db_hr_pay"),
        ("pay", "db_hr_pay"),
        ("log", "a__log"),
        ("other", None),
        ("", None),
    ],
)
def test_a_table_is_found_by_any_spelling(given_name: str, found: str | None) -> None:
    assert Names(TABLES).table(given_name) == found


def test_a_spelling_that_two_tables_share_finds_neither() -> None:
    names = Names([table("x", aliases=("s1.t",)), table("y", aliases=("s2.t",))])
    assert names.table("t") is None
    assert names.table("s2.T") == "y"


@pytest.mark.parametrize(
    ("column", "found"),
    [("employee id", "Employee ID"), ("DAY", "day"), ("day.hour", "day"), ("none", None)],
)
def test_a_column_is_found_in_any_case(column: str, found: str | None) -> None:
    assert Names(TABLES).column("employee_attendance", column) == found


LINK = {
    "tables": [
        {
            "name": "staff",
            "score": 0.9,
            "keep": True,
            "evidence": [{"type": "name", "words": ["staff"], "weight": 1}],
        },
        {"name": "db_hr_pay", "score": 0.2, "keep": False, "evidence": []},
    ],
    "columns": [
        {"table": "staff", "name": "id", "score": 0.9, "keep": True, "evidence": []},
        {"table": "staff", "name": "name", "score": 0.1, "keep": False, "evidence": []},
    ],
}
NOTHING = "nothing by name, description, glossary, value, key, neighbour"
ALL_IN = frozenset({"staff", "db_hr_pay"})


@pytest.mark.parametrize(
    ("name", "section", "expected"),
    [
        (
            "link",
            LINK,
            KeptColumns(frozenset({"staff"}), {"staff": frozenset({"id"})}, ("staff", "db_hr_pay")),
        ),
        ("vote", {"relevant_tables": ["staff"], "always_keep": ["db_hr_pay"]}, KeptColumns(ALL_IN)),
        (
            "collapse",
            {"shown": {"full": ["staff"], "names": ["db_hr_pay"], "line": ["x"]}},
            KeptColumns(ALL_IN),
        ),
        (
            "prune",
            {"kept": {"staff": ["id"]}},
            KeptColumns(frozenset({"staff"}), {"staff": frozenset({"id"})}),
        ),
        (
            "refine",
            {"refined_schema": {"staff": {"relevant_columns": [{"column_name": "id"}]}}},
            KeptColumns(frozenset({"staff"}), {"staff": frozenset({"id"})}),
        ),
    ],
)
def test_what_a_section_kept(name: str, section: dict[str, Any], expected: KeptColumns) -> None:
    found = kept(name, section)
    assert (found.tables, found.columns, found.rank) == (
        expected.tables,
        expected.columns,
        expected.rank,
    )


@pytest.mark.parametrize(
    ("name", "section"),
    [
        ("link", {}),
        ("link", {"tables": "x", "columns": []}),
        ("vote", {"relevant": []}),
        ("collapse", {"shown": []}),
        ("prune", {"kept": {"a": 3}}),
        ("prune", {"tables": []}),
        ("plan", {"logical_plan": "1. count"}),
        ("refine", {"notes": []}),
    ],
)
def test_a_section_of_another_shape_is_an_error(name: str, section: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=f"section {name} "):
        kept(name, section)


def gold(*tables: str, columns: tuple[tuple[str, str], ...] | None = None) -> Gold:
    return Gold("q1", "set", "db", tables, columns)


FACTS = CatalogFacts(TABLES, "db")


def measured(section: dict[str, Any], wanted: Gold) -> Measure:
    found = measure(kept("link", section), wanted, FACTS, "who?")
    assert found is not None
    return found


def test_metrics_of_one_question() -> None:
    m = measured(LINK, gold("Staff", "DB.HR.PAY", columns=(("staff", "ID"), ("staff", "NAME"))))
    assert (m.table_strict, m.table_recall, m.table_precision) == (0.0, 0.5, 1.0)
    assert (m.column_strict, m.column_recall) == (0.0, 0.5)
    assert (m.tables_kept, m.columns_kept) == (1, 1)
    assert m.columns_share == pytest.approx(1 / 9)
    assert m.lost == ("db_hr_pay",)
    assert m.lost_columns == ("staff.name",)
    assert m.evidence == (f"rank 2, score 0.20: no evidence; {NOTHING}",)
    assert m.worst_rank == 2
    assert 0 < m.tokens_narrow_share < m.tokens_share < 1


@pytest.mark.parametrize(
    ("columns", "strict"),
    [
        ((("staff", "id"),), 1.0),
        ((), None),  # COUNT(*) needs no column
        (None, None),
        ((("staff", "gone"),), None),  # the catalog has no such column
        ((("pay", "amount"),), 0.0),  # its table is not kept
    ],
)
def test_strict_column_recall(
    columns: tuple[tuple[str, str], ...] | None, strict: float | None
) -> None:
    assert measured(LINK, gold("staff", columns=columns)).column_strict == strict


def test_a_kept_column_of_a_dropped_table_is_lost() -> None:
    orphan = {**LINK, "tables": []}
    m = measured(orphan, gold("staff", columns=(("staff", "id"),)))
    assert (m.column_strict, m.table_precision, m.worst_rank) == (0.0, 0.0, 0)


@pytest.mark.parametrize("tables", [("staff", "gone"), ()])
def test_a_question_whose_gold_is_not_there_is_not_scored(tables: tuple[str, ...]) -> None:
    assert measure(kept("link", LINK), gold(*tables), FACTS) is None


def test_sections_that_keep_whole_tables_keep_their_columns() -> None:
    m = measure(
        KeptColumns(frozenset({"staff"})), gold("staff", columns=(("staff", "name"),)), FACTS
    )
    assert m is not None
    assert (m.column_strict, m.columns_kept, m.worst_rank) == (1.0, 2, None)
    assert m.tokens_share == m.tokens_narrow_share


def test_one_id_in_two_files_is_told_apart_by_the_catalog() -> None:
    book = GoldBook(
        [
            Gold("q", "small", "a", ("singer",), None),
            Gold("q", "union", "u", ("a.singer", "hr.staff"), None),
            Gold("q", "mine", "m", ("Staff",), None),
        ]
    )
    found = book.find("q", Names([table("staff")]))
    assert found is not None
    assert found.set == "mine"
    assert book.find("none", Names([])) is None
    first = book.find("q", Names([]))
    assert first is not None
    assert first.set == "small"


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("{", "not JSON"),
        ("[]", "id is missing"),
        ('{"id": true, "gold_tables": []}', "id is missing"),
        ('{"id": "ok", "gold_tables": ["u"]}', "id ok has other gold in line 1"),
        ('{"id": "a"}', "gold_tables is not"),
        ('{"id": "a", "gold_tables": ["t", 1]}', "gold_tables is not"),
        ('{"id": "a", "gold_tables": ["t"], "gold_columns": [["t"]]}', "gold_columns is not"),
    ],
)
def test_a_wrong_gold_line_is_named(tmp_path: Path, line: str, what: str) -> None:
    path = tmp_path / "gold.jsonl"
    path.write_text('{"id": "ok", "gold_tables": ["t"]}\n\n' + line + "\n")
    with pytest.raises(DataError, match=what) as caught:
        list(read_gold(path))
    assert caught.value.place == f"{path}:3"


def test_ids_may_be_numbers_and_lines_may_stand_twice(tmp_path: Path) -> None:
    path = tmp_path / "gold.jsonl"
    lines = ['{"id": 3, "db_id": "a", "gold_tables": ["t"]}'] * 2
    lines.append('{"id": 3, "db_id": "b", "gold_tables": ["u"]}')
    path.write_text("\n".join(lines))
    assert [(found.id, found.tables) for found in read_gold(path)] == [
        ("3", ("t",)),
        ("3", ("t",)),
        ("3", ("u",)),
    ]


def test_gold_without_columns_is_told_from_gold_with_none(tmp_path: Path) -> None:
    path = tmp_path / "my.set.jsonl"
    path.write_text(
        '{"id": "a", "gold_tables": ["t", "t"]}\n{"id": "b", "gold_tables": [], "gold_columns": []}\n'
    )
    first, second = read_gold(path)
    assert (first.tables, first.columns, first.set) == (("t",), None, "my.set")
    assert (second.tables, second.columns) == ((), ())


def test_an_interval_goes_by_databases() -> None:
    assert interval({"a": [1.0, 0.0]}) is None
    assert interval({"a": [1.0], "b": []}) is None
    halves = interval({"a": [1.0] * 50, "b": [0.0] * 50})
    assert halves == (0.0, 1.0)  # either database may be drawn twice
    many = interval({str(n): [float(n % 2)] * 5 for n in range(100)})
    assert many is not None
    assert 0.35 < many[0] < 0.45
    assert 0.55 < many[1] < 0.65


@given(
    st.dictionaries(
        st.text(max_size=3),
        st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=4),
        min_size=2,
        max_size=6,
    )
)
def test_an_interval_holds_the_range_and_repeats(values: dict[str, list[float]]) -> None:
    found = interval(values, rounds=200)
    assert found is not None
    everything = [value for cluster in values.values() for value in cluster]
    assert min(everything) - 1e-9 <= found[0] <= found[1] <= max(everything) + 1e-9
    assert found == interval(dict(reversed(values.items())), rounds=200)


def tallied() -> MeasureTally:
    tally = MeasureTally()
    tally.add(measured(LINK, gold("staff", columns=(("staff", "id"),))), "")
    tally.add(measured(LINK, Gold("q2|\u202e", "other", "db", ("pay",), None)), "")
    tally.add(None, "tasks without gold")
    return tally


def test_groups_and_the_worst() -> None:
    tally = tallied()
    found = groups(tally.measures)
    assert [(s.group, s.questions) for s in found] == [("all", 2), ("set other", 1), ("set set", 1)]
    values = found[0].values
    assert values["strict table recall"].mean == 0.5
    assert values["strict table recall"].low is None
    assert values["strict column recall"].n == 1
    assert values["strict table recall at 1"].mean == 0.5
    assert values["strict table recall at 3"].mean == 1.0
    assert [m.id for m in worst(tally.measures, 5)] == ["q2|\u202e"]
    assert worst(tally.measures, 0) == []


def test_sizes_are_reported_where_catalogs_differ() -> None:
    small = measure(KeptColumns(frozenset({"staff"})), gold("staff"), CatalogFacts(TABLES, "small"))
    big = measure(
        KeptColumns(frozenset({"staff"})),
        gold("staff"),
        CatalogFacts([*TABLES, *(table(f"t{n}") for n in range(1100))], "big"),
    )
    assert small is not None
    assert big is not None
    names = [s.group for s in groups([small, big])]
    assert names == ["all", "1-5 tables", "1001+ tables"]
    assert "strict table recall at 1" not in groups([small])[0].values


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_every_report_says_its_rules_and_shows_nothing_hidden(form: str) -> None:
    text = report(tallied(), "link", form=form, n_worst=3)
    assert "COUNT(*)" in text
    assert "tasks without gold" in text
    assert "\u202e" not in text or form == "json"
    if form == "json":
        document = json.loads(text)
        assert document["groups"][0]["values"]["strict table recall"]["mean"] == 0.5
        assert document["worst"][0]["lost"] == ["db_hr_pay"]
        assert document["left_out"] == {"tasks without gold": 1}
    else:
        assert "50.0 %" in text
        assert f"lost db_hr_pay: rank 2, score 0.20: no evidence; {NOTHING}" in text


def test_a_report_without_questions() -> None:
    assert "left out: 1 tasks without gold" in report(_empty(), "vote")
    assert json.loads(report(_empty(), "vote", form="json"))["groups"] == []


def _empty() -> MeasureTally:
    tally = MeasureTally()
    tally.add(None, "tasks without gold")
    return tally
