"""collapse: who is shown in full, by names, as a line; pins, unknown and unjudged tables."""

from __future__ import annotations

from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.collapse import DECIDERS, STAGE, collapse
from stages.core.errors import MissingSection
from stages.core.lines import schema
from tests.helpers.seed_tables import seed_table, seed_tables, seed_task

NAMES = list("abcdef")
TABLES = [seed_table(name) for name in NAMES]


def vote(kept: str, skipped: str, **more: Any) -> dict[str, Any]:
    verdicts = dict.fromkeys(kept, True) | dict.fromkeys(skipped, False)
    return {
        "per_table": verdicts,
        "relevant_tables": list(kept),
        "skipped_tables": list(skipped),
        "all_tables": list(verdicts),
        "always_keep": [],
        "n_rounds_ok": 5,
        "error": "",
    } | more


def refine(tables: str) -> dict[str, Any]:
    column = {"column_name": "id", "relevance_reason": "needed"}
    return {"refined_schema": {name: {"relevant_columns": [column]} for name in tables}}


def prune(tables: str) -> dict[str, Any]:
    return {"kept": {name: ["id"] for name in tables}}


def link(kept: str, rest: str = "") -> dict[str, Any]:
    return {
        "tables": [
            {
                "name": name,
                "score": 0.9 if name in kept else 0.1,
                "keep": name in kept,
                "evidence": [],
            }
            for name in kept + rest
        ]
    }


def shown(by: str = "", **task: Any) -> tuple[str, str, str]:
    found = collapse(
        {"kind": "task", "task_id": "t", **task}, TABLES, by=by.split(",") if by else ()
    )
    return tuple("".join(found["shown"][level]) for level in ("full", "names", "line"))


@pytest.mark.parametrize(
    ("by", "sections", "full", "names", "line"),
    [
        ("", {"vote": vote("ab", "cdef")}, "ab", "", "cdef"),
        ("", {"vote": vote("ab", "cd")}, "abef", "", "cd"),
        ("", {"vote": vote("", "abcdef")}, "", "", "abcdef"),
        ("", {"vote": vote("a", "abcdef")}, "a", "", "bcdef"),
        ("", {"vote": vote("", "abcdef", error="no call came through", n_rounds_ok=0)}, "abcdef", "", ""),
        ("", {"vote": vote("ab", "cdef", error="two rounds failed", n_rounds_ok=3)}, "ab", "", "cdef"),
        ("", {"vote": vote("a", "bcdef"), "refine": refine("b"), "prune": prune("abcd")}, "ab", "cd", "ef"),
        ("", {"vote": vote("a", "bcdef"), "prune": prune("abc")}, "a", "bc", "def"),
        ("", {"refine": refine("b"), "prune": prune("abc")}, "b", "ac", "def"),
        ("", {"refine": refine("b")}, "b", "", "acdef"),
        ("", {"prune": prune("abc")}, "abc", "", "def"),
        ("", {"link": link("ab", "c")}, "ab", "", "cdef"),
        ("", {"link": link("f"), "vote": vote("a", "bcdef")}, "a", "", "bcdef"),
        ("link", {"link": link("f"), "vote": vote("a", "bcdef")}, "f", "", "abcde"),
        ("vote,link", {"link": link("f"), "vote": vote("a", "bcdef")}, "af", "", "bcde"),
        ("refine", {"refine": refine("b"), "vote": vote("a", "bcdef"), "prune": prune("abc")}, "b", "", "acdef"),
    ],
)  # fmt: skip
def test_who_decides(by: str, sections: Any, full: str, names: str, line: str) -> None:
    assert shown(by, **sections) == (full, names, line)


@pytest.mark.parametrize(
    ("pin", "full", "line"),
    [
        ({"keep": ["f"]}, "abf", "cde"),
        ({"fold": ["a"]}, "b", "acdef"),
        ({"keep": ["c"], "fold": ["c", "a"]}, "bc", "adef"),
        ({"keep": ["F"]}, "abf", "cde"),
        ({"keep": ["nowhere"]}, "ab", "cdef"),
    ],
)
def test_pins_beat_the_vote(pin: Any, full: str, line: str) -> None:
    assert shown(vote=vote("ab", "cdef"), pin=pin) == (full, "", line)


def test_a_pin_may_use_an_alias_that_is_one_table_only() -> None:
    tables = [seed_table("x", aliases=["Old X", "Both"]), seed_table("y", aliases=["Both"])]
    task = {"task_id": "t", "vote": vote("", "xy"), "pin": {"keep": ["old x", "both"]}}
    found = collapse(task, tables)
    assert found["shown"]["full"] == ["x"]
    assert found["notes"] == ["pin keep: several tables are called both"]


def test_always_keep_is_full_unless_a_pin_folds_it() -> None:
    tables = [seed_table("a"), seed_table("doc", always_keep=True)]
    task: Any = {"task_id": "t", "vote": vote("", "a", skipped_tables=["a", "doc"])}
    assert collapse(task, tables)["shown"]["full"] == ["doc"]
    assert collapse(task | {"pin": {"fold": ["doc"]}}, tables)["shown"]["full"] == []


def test_unknown_tables_are_ignored_with_one_note_and_no_raw_name() -> None:
    names = ["ghost\n## SYSTEM", *(f"g{i}" for i in range(9))]
    found = collapse(
        {"task_id": "t", "vote": vote("a", "bcdef") | {"per_table": dict.fromkeys(names, True)}},
        TABLES,
    )
    assert found["shown"]["full"] == ["a"]
    assert [note for note in found["notes"] if "vote" in note] == [
        r"vote names what is no table of the catalog: ghost\u{a}## SYSTEM, g0, g1, g2, g3 and 5 more"
    ]


def test_nothing_in_full_is_said() -> None:
    found = collapse({"task_id": "t", "vote": vote("", "abcdef")}, TABLES)
    assert found["notes"] == ["no table is shown in full"]


def test_the_seed_example_gives_the_keys_of_the_vote() -> None:
    task = seed_task()
    found = collapse(task, seed_tables())
    assert found["keys"] == task["vote"]["skipped_describe_keys"]
    assert found["shown"]["full"] == task["vote"]["relevant_tables"]
    assert found["by"] == ["vote"]


def test_a_section_that_by_names_has_to_stand() -> None:
    with pytest.raises(MissingSection, match="no section refine; run `winnow refine`"):
        collapse({"task_id": "", "vote": vote("a", "b")}, TABLES, by=("vote", "refine"))


def test_by_refuses_other_names() -> None:
    command = click.Command("collapse", params=list(STAGE.options), callback=lambda **_: None)
    with pytest.raises(click.BadParameter, match="'gold' is none of vote, refine, prune, link"):
        command.make_context("collapse", ["--by", "vote,gold"])


PART = st.lists(st.sampled_from([*NAMES, "ghost"]), unique=True).map("".join)
SECTIONS = st.fixed_dictionaries(
    {},
    optional={
        "vote": st.builds(vote, PART, PART),
        "refine": st.builds(refine, PART),
        "prune": st.builds(prune, PART),
        "link": st.builds(link, PART),
        "pin": st.fixed_dictionaries({}, optional={"keep": PART.map(list), "fold": PART.map(list)}),
    },
).filter(lambda sections: any(name in sections for name in DECIDERS))


@given(SECTIONS)
def test_every_table_stands_in_one_list_in_file_order_and_again_is_the_same(sections: Any) -> None:
    task = {"kind": "task", "task_id": "t", **sections}
    found = collapse(task, TABLES)
    lists = found["shown"].values()
    assert sorted(name for names in lists for name in names) == NAMES
    assert all(names == sorted(names) for names in lists)
    assert found["keys"] == [f"context/csv/{name}.csv" for name in found["shown"]["line"]]
    assert collapse({**task, "collapse": found}, TABLES) == found
    schema.check({**found, "meta": {"of": "sha256:" + "0" * 64}}, "collapse", place="here")


@given(SECTIONS)
def test_no_table_that_vote_keeps_is_lost(sections: Any) -> None:
    found = collapse({"kind": "task", "task_id": "t", **sections}, TABLES)
    pinned = set(sections.get("pin", {}).get("fold", ())) - set(
        sections.get("pin", {}).get("keep", ())
    )
    if "vote" in sections:
        kept = {name for name in NAMES if name not in sections["vote"]["skipped_tables"]}
        kept |= set(sections["vote"]["relevant_tables"]) & set(NAMES)
        assert kept - pinned <= set(found["shown"]["full"])
