"""Staleness: a section knows what it was made from, and says which command to rerun."""

from __future__ import annotations

import pytest

from stages.core.errors import LineError, MissingSection, StaleSection
from stages.core.lines.sections import Check, finalize, fingerprint, with_section
from stages.core.runtime.stage import Stage


def vote(task, tables):
    return {}


def collapse(task, tables):
    return {}


VOTE = Stage(vote, uses=("link",))
COLLAPSE = Stage(collapse, needs_any=("vote", "refine"), inputs=("pin",))
HASHES = {"tables": "sha256:t", "catalog": "sha256:c"}
FOUND = {
    "task_id": "1", "per_table": {}, "relevant_tables": [], "skipped_tables": [], "always_keep": [],
    "skipped_describe_keys": [], "reasons": {}, "all_tables": [], "vote_tally": {}, "n_rounds_ok": 1, "error": "",
}  # fmt: skip
SHOWN = {"keys": [], "shown": {"full": [], "names": [], "line": []}, "by": ["vote"]}


def task(**more):
    return {"kind": "task", "task_id": "1", "question": "q", **more}


def voted(**more):
    plain = task(**more)
    return with_section(plain, "vote", finalize(FOUND, VOTE, plain, HASHES, {}))


def needed(record, stage=COLLAPSE, hashes=HASHES, **options):
    Check(record, hashes, "1").needed(stage, **{"stale_ok": False, **options})


def test_fresh_section_passes():
    needed(voted())


def test_missing_section_names_the_command_that_makes_it():
    with pytest.raises(MissingSection) as caught:
        needed(task())
    assert "`winnow vote`" in caught.value.hint


@pytest.mark.parametrize(
    "change",
    [{"question": "other"}, {"evidence": "new"}, {"knowledge": "new"}, {"link": {"tables": []}}],
)
def test_changed_input_makes_the_section_stale(change):
    with pytest.raises(StaleSection) as caught:
        needed({**voted(), **change})
    assert "`winnow vote`" in caught.value.hint
    needed({**voted(), **change}, stale_ok=True)


def test_changed_table_line_makes_it_stale():
    with pytest.raises(StaleSection):
        needed(voted(), hashes={**HASHES, "tables": "sha256:other"})


@pytest.mark.parametrize("change", [{"pin": {"keep": ["a"]}}, {"mine": 1}, {"difficulty": "hard"}])
def test_what_the_section_does_not_rest_on_may_change(change):
    needed({**voted(), **change})


def test_the_earliest_stale_section_is_named():
    base = voted()
    both = with_section(base, "collapse", finalize(SHOWN, COLLAPSE, base, HASHES, {}))
    describe = Stage(collapse, needs=("collapse",))
    needed(both, describe)
    with pytest.raises(StaleSection) as caught:
        needed({**both, "question": "other"}, describe)
    assert "section vote" in caught.value.what
    edited = {**both, "vote": {**both["vote"], "relevant_tables": ["x"]}}
    with pytest.raises(StaleSection) as caught:
        needed(edited, describe)
    assert "section collapse" in caught.value.what


def test_section_added_later_that_would_have_counted_makes_it_stale():
    base = voted()
    both = with_section(base, "collapse", finalize(SHOWN, COLLAPSE, base, HASHES, {}))
    with pytest.raises(StaleSection):
        needed({**both, "refine": {"refined_schema": {}}}, Stage(collapse, needs=("collapse",)))


def test_rerun_with_the_same_outcome_makes_nothing_stale():
    base = voted()
    both = with_section(base, "collapse", finalize(SHOWN, COLLAPSE, base, HASHES, {}))
    both["vote"] = {**both["vote"], "meta": {**both["vote"]["meta"], "calls": 5}}
    needed(both, Stage(collapse, needs=("collapse",)))


@pytest.mark.parametrize("meta", [{}, {"meta": {}}, {"meta": {"by": "hand"}}])
def test_hand_written_section_stands(meta):
    needed(task(vote={**FOUND, **meta}))


@pytest.mark.parametrize("names", [None, "tables", 7, {}, [["tables"]], [None], ["tables", 3]])
def test_names_that_are_none_make_the_section_stale(names):
    made = voted()
    made["vote"] = {**made["vote"], "meta": {**made["vote"]["meta"], "from": names}}
    with pytest.raises(StaleSection):
        needed(made)


def test_needed_section_that_breaks_its_schema_is_an_error_with_its_path():
    with pytest.raises(LineError) as caught:
        needed(task(vote={**FOUND, "per_table": {"a": "yes"}}))
    assert "per_table.a" in caught.value.what


def test_unknown_keys_of_a_needed_section_pass():
    needed(task(vote={**FOUND, "later": 1}))


def test_seal_refuses_what_breaks_the_schema():
    with pytest.raises(LineError):
        finalize({**FOUND, "later": 1}, VOTE, task(), HASHES, {})


def test_stage_may_say_itself_what_it_rests_on():
    sealed = finalize({**FOUND, "meta": {"from": ["question"]}}, VOTE, task(), HASHES, {})
    assert sealed["meta"]["from"] == ["question"]
    needed({**task(), "vote": sealed, "link": {}, "evidence": "new"})


def test_absent_and_empty_are_the_same():
    assert fingerprint(task(), ["evidence"], HASHES) == fingerprint(
        task(evidence=""), ["evidence"], HASHES
    )


def test_with_section_keeps_the_order_of_keys_and_clears_the_error():
    record = with_section(
        task(vote={}, mine=1, error={"stage": "vote", "message": "x"}), "vote", {"a": 1}
    )
    assert list(record) == ["kind", "task_id", "question", "vote", "mine"]
    assert record["vote"] == {"a": 1}


@pytest.mark.parametrize(
    ("section", "path"),
    [
        ({"relevant_tables": []}, "vote"),
        ({**FOUND, "per_table": []}, "vote.per_table"),
        ({**FOUND, "all_tables": ["a", 1]}, "vote.all_tables[1]"),
    ],
)
def test_section_by_hand_is_told_by_its_place_its_path_once_and_what_to_do(section, path):
    with pytest.raises(LineError) as caught:
        Check(task(vote=section), HASHES, "1", "in.jsonl:7").needed(COLLAPSE, stale_ok=False)
    told = str(caught.value)
    assert told.startswith(f"in.jsonl:7: 1: {path}: ")
    assert told.count("vote: ") == (path == "vote")
    assert told.endswith("; rerun `winnow vote`, or mend it by `winnow vote --schema`")


def test_section_that_a_stage_made_wrong_is_told_by_its_path_once():
    with pytest.raises(LineError) as caught:
        finalize({}, VOTE, task(), HASHES, {})
    assert str(caught.value).startswith("1: vote: 'task_id' is a required property; ")
