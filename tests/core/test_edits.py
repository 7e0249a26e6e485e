"""An edit by hand is followed, or it is told with the nearest right name: by every reader of lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from stages.core.lines import edits, schema
from stages.core.readers import conflicts
from stages.core.readers.collapse import shown_at
from stages.core.readers.vote import voted_tables
from tests.helpers.tools import pipe, run

Edit = Callable[[dict[str, Any]], Any]


@pytest.fixture(scope="module")
def judged() -> bytes:
    lines = run("scan", "examples/task_15", "-q").out
    return pipe(
        lines,
        ["vote", "-q", "--recall", "0.97"],
        ["plan", "-q"],
        ["prune", "-q"],
        ["collapse", "-q"],
    ).out


def edited(lines: bytes, kind: str, edit: Edit, name: str = "") -> bytes:
    """The lines with one kind of them edited."""
    records = [orjson.loads(line) for line in lines.splitlines()]
    for record in records:
        if record["kind"] == kind and name in ("", record.get("name")):
            edit(record)
    return b"".join(orjson.dumps(record) + b"\n" for record in records)


def told(lines: bytes, words: str) -> None:
    """The next stage and `show` both say it, on one line, and go on."""
    for command in (["collapse", "--stale"], ["show"]):
        done = run(*command, stdin=lines)
        assert done.status == 0, done.err
        assert done.err.count(words) == 1, (command, done.err)
        assert words not in run(*command, "-q", stdin=lines).err


KEYS: list[tuple[str, Edit, str]] = [
    ("task", lambda r: r.update(pin={"drop": ["company_profile"]}), "did you mean pin.fold?"),
    ("task", lambda r: r.update(pin={"Keep": ["company_profile"]}), "did you mean pin.keep?"),
    ("task", lambda r: r.update(pin={"weight": 3}), "pin.weight is a key that nothing reads; pin has"),
    ("task", lambda r: r.update(pins={"fold": ["company_profile"]}), "did you mean pin?"),
    ("task", lambda r: r.update(pinned={"fold": ["company_profile"]}), "did you mean pin?"),
    ("task", lambda r: r.update(fold=["company_profile"]), "did you mean pin.fold?"),
    ("task", lambda r: r.update(knowlege="x"), "did you mean knowledge?"),
    ("task", lambda r: r["vote"].update(relevant=["a"]), "did you mean vote.relevant_tables?"),
    ("task", lambda r: r["collapse"].update(full=["a"]), "did you mean collapse.shown.full?"),
    ("table", lambda r: r.update(descripton="x"), "did you mean description?"),
    ("table", lambda r: r.update(alwaysKeep=True), "did you mean always_keep?"),
    ("table", lambda r: r.update(foreign_key=[]), "did you mean foreign_keys?"),
    ("table", lambda r: r["columns"][1].update(desc="x"), "did you mean columns[1].description?"),
    ("catalog", lambda r: r.update(documets=[]), "did you mean documents?"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "edit", "words"), KEYS)
def test_a_key_that_nothing_reads_is_told_with_the_nearest_that_is(
    judged: bytes, kind: str, edit: Edit, words: str
) -> None:
    told(edited(judged, kind, edit, "company_profile" if kind == "table" else ""), words)


def test_a_key_where_only_ours_can_stand_is_told_and_breaks_the_section(judged: bytes) -> None:
    lines = edited(judged, "task", lambda r: r["collapse"]["shown"].update(hidden=["a"]))
    for command in ("describe", "show"):
        done = run(command, stdin=lines)
        assert (done.status, "Traceback" in done.err) == (1, False)
        assert "collapse.shown has full and names and line" in done.err


def test_keys_of_a_users_own_pass_in_silence(judged: bytes) -> None:
    own = {"gold": {"keep": 1}, "tags": ["x"], "difficulty_by_hand": 3, "owner": "me"}
    for kind in ("task", "table", "catalog"):
        done = run("show", stdin=edited(judged, kind, lambda r: r.update(own)))
        assert (done.status, done.err) == (0, "")
    column = edited(judged, "table", lambda r: r["columns"][0].update(unit="m", tags=[]))
    assert run("show", stdin=column).err == ""


def test_no_line_that_a_stage_writes_is_strange() -> None:
    lines = run("scan", "examples/task_15", "-q").out
    stages = ["link", "plan", "prune", "summarize", "explore", "refine", "vote", "collapse"]
    lines = pipe(lines, *([name, "-q"] for name in [*stages, "describe", "prompt"])).out
    for line in map(orjson.loads, lines.splitlines()):
        assert list(edits.strange_keys(line, line["kind"])) == []
    task = orjson.loads(lines.splitlines()[-1])
    assert set(schema.sections()) == {"prepare", *stages, "describe", "prompt"}
    tables = [line for line in map(orjson.loads, lines.splitlines()) if line["kind"] == "table"]
    for name in set(schema.sections()) - {"prepare"}:  # it comes before scan
        assert conflicts(name, task[name], tables) == []


PROFILE, STAFF = "company_profile", "employee_attendance"
VERDICTS: list[tuple[Edit, str, set[str]]] = [
    (lambda v: v["per_table"].update({PROFILE: False}), PROFILE, {PROFILE}),
    (lambda v: v["per_table"].update({STAFF: True}), STAFF, {PROFILE, STAFF}),
    (lambda v: v["relevant_tables"].remove(PROFILE), PROFILE, {PROFILE}),
    (lambda v: v["relevant_tables"].append(STAFF), STAFF, {PROFILE, STAFF}),
    (lambda v: v["skipped_tables"].append(PROFILE), PROFILE, {PROFILE}),
    (lambda v: v["skipped_tables"].clear(), STAFF, {PROFILE, STAFF}),
    (lambda v: v["skipped_describe_keys"].clear(), "skipped_describe_keys", {PROFILE}),
]


@pytest.mark.parametrize(("edit", "words", "kept"), VERDICTS)
def test_a_verdict_edited_in_one_of_its_places_is_kept_and_told(
    judged: bytes, edit: Edit, words: str, kept: set[str]
) -> None:
    lines = edited(judged, "task", lambda r: edit(r["vote"]))
    told(lines, words)
    told(lines, "set pin.fold or pin.keep")
    (task,) = run("collapse", "--by", "vote", "-q", stdin=lines).tasks
    assert (
        kept
        <= set(task["collapse"]["shown"]["full"])
        <= {*kept, "company_financials", "doc_company_rules"}
    )


def test_a_verdict_edited_in_all_its_places_is_followed_in_silence(judged: bytes) -> None:
    def fold(record: dict[str, Any]) -> None:
        vote = record["vote"]
        vote["per_table"][PROFILE] = False
        vote["relevant_tables"].remove(PROFILE)
        vote["skipped_tables"].append(PROFILE)
        vote["skipped_describe_keys"].append("context/json/company_profile.json")

    lines = edited(judged, "task", fold)
    done = run("collapse", "--by", "vote", stdin=lines)
    assert "warning" not in done.err
    assert PROFILE in done.tasks[0]["collapse"]["shown"]["line"]


@pytest.mark.parametrize(
    ("edit", "level"),
    [
        (lambda c: c["shown"]["full"].append(STAFF), "full"),
        (lambda c: c["shown"]["line"].clear(), None),
        (lambda c: c["keys"].clear(), "line"),
    ],
)
def test_what_collapse_says_in_two_ways_is_told_and_the_fuller_counts(
    judged: bytes, edit: Edit, level: str | None
) -> None:
    lines = edited(judged, "task", lambda r: edit(r["collapse"]))
    for command in ("describe", "show"):
        assert run(command, stdin=lines).err.count("winnow " + command + ": warning") == 1
    section = orjson.loads(lines.splitlines()[-1])["collapse"]
    assert shown_at(section).get(STAFF) == level
    (task,) = run("describe", "-q", stdin=lines).tasks
    assert task["describe"]["tables"]["line"] == (level == "line")


def test_a_pin_that_names_no_table_is_told_by_show(judged: bytes) -> None:
    lines = edited(judged, "task", lambda r: r.update(pin={"keep": ["company_profil"]}))
    assert "pin keep: no table is called company_profil" in run("show", stdin=lines).err


def test_a_table_both_kept_and_pruned_is_told(judged: bytes) -> None:
    def move(record: dict[str, Any]) -> None:
        record["prune"]["deleted"]["tables"].append("company_profile")

    lines = edited(judged, "task", move)
    assert (
        "prune: kept and deleted.tables disagree on company_profile" in run("show", stdin=lines).err
    )


@pytest.mark.parametrize(
    ("section", "kept"),
    [
        ({"per_table": {"a": True, "b": False}}, "ac"),
        ({"skipped_tables": ["b"]}, "ac"),
        ({"relevant_tables": ["a"], "skipped_tables": ["b"]}, "ac"),
        ({"relevant_tables": [], "skipped_tables": [], "all_tables": ["a"]}, "abc"),
        ({"skipped_tables": ["a", "b"], "always_keep": ["a"]}, "ac"),
    ],
)
def test_part_of_a_vote_written_by_hand_is_read(section: dict[str, Any], kept: str) -> None:
    assert voted_tables(section, "abc") == set(kept)
