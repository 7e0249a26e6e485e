"""Tables and questions for the tests of the judge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from stages.core.judge import Judgment, judge
from stages.core.records import Table, Task


def table(name: str, *columns: str, **more: Any) -> Table:
    """A table line with these columns; ``examples`` maps columns to values."""
    examples = more.pop("examples", {})
    record: Any = {
        "kind": "table",
        "catalog": "c",
        "name": name,
        "describe_key": name,
        "columns": [
            {"name": c, "type": "VARCHAR", "examples": examples.get(c, [])} for c in columns
        ],
        **more,
    }
    return record  # type: ignore[no-any-return]


def ask(question: str, **more: Any) -> Task:
    """A task with this question."""
    return {"kind": "task", "task_id": "1", "question": question, **more}  # type: ignore[typeddict-unknown-key]


SCHOOL = [
    table("student", "stu_id", "first_name", "last_name", "city", primary_key=["stu_id"]),
    table("course", "course_id", "title", "credits", primary_key=["course_id"]),
    table(
        "enrolment",
        "stu_id",
        "course_id",
        "grade",
        foreign_keys=[
            {"columns": ["stu_id"], "ref_table": "student", "ref_columns": ["stu_id"]},
            {"columns": ["course_id"], "ref_table": "course", "ref_columns": ["course_id"]},
        ],
    ),
    table("canteen_menu", "dish", "price", examples={"dish": ["Pea Soup", "Fish"]}),
    table("bus_line", "stop", "departure"),
    table("building", "roof_colour", "floors"),
]


def order(judgment: Judgment) -> list[str]:
    """Names in rank order."""
    return [found.name for found in judgment.tables]


HOSTILE = st.text(max_size=200) | st.lists(
    st.sampled_from(["Nick", "won", "'", '"', "Ivory Coast", "\x00", "\x1b[0m", "A.", "’", "\n"])
).map(" ".join)


def both_ways(
    question: str,
    has: Sequence[str],
    lacks: Sequence[str],
    without: Sequence[str] = (),
    **more: Any,
) -> list[dict[str, float]]:
    """Scores of two tables by name, where the one that has columns is first, and where it is
    second; the two ways differ in these columns only."""
    made = []
    for first, second in ((has, lacks), (lacks, has)):
        tables = [table("ga", *first, **more), table("gb", *second, **more)]
        found = judge(ask(question), tables, without=without)
        made.append({ranked.name: ranked.score for ranked in found.tables})
    return made


def leads(ways: list[dict[str, float]]) -> bool:
    """Whether the table that has the columns is ahead both ways."""
    one, other = ways
    return one["ga"] > one["gb"] and other["gb"] > other["ga"]
