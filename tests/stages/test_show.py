"""show: the three views, for people; nothing in the data is taken for markup."""

from __future__ import annotations

import orjson
import pytest

from tests.helpers.tools import pipe, run


@pytest.fixture(scope="module")
def folded() -> bytes:
    return pipe(
        run("scan", "examples/task_15", "-q").out,
        ["link", "-q"],
        ["vote", "-q"],
        ["collapse", "-q"],
    ).out


def edit(lines: bytes, change) -> bytes:
    records = [orjson.loads(line) for line in lines.splitlines()]
    for record in records:
        change(record)
    return b"".join(orjson.dumps(record) + b"\n" for record in records)


def test_overview_names_every_table_and_every_section(folded):
    text = run("show", stdin=folded).out.decode()
    for word in (
        "catalog task_15",
        "company_financials",
        "doc_company_rules",
        "always kept",
        "employee_attendance",
    ):
        assert word in text
    for section in ("link:", "vote:", "collapse:"):
        assert f"  {section}" in text
    assert "knowledge: 508 characters" in text


def test_tables_that_a_section_kept_are_listed_best_first():
    lines = run("scan", "examples/task_15", "-q").out
    stages = ["link", "plan", "prune", "summarize", "explore", "refine", "vote", "collapse"]
    lines = pipe(lines, *([name, "-q"] for name in stages)).out
    task = orjson.loads(lines.splitlines()[-1])
    text = run("show", stdin=lines, env={"COLUMNS": "400"}).out.decode()
    said = {line.strip() for line in text.splitlines()}
    ranked = [f"{n} {t['name']} {t['score']:.3f}" for n, t in enumerate(task["link"]["tables"], 1)]
    kept = sum(t["keep"] for t in task["link"]["tables"])
    assert f"kept: {', '.join(ranked[:kept])}" in said
    assert f"not kept: {', '.join(ranked[kept:])}" in said
    assert "not kept: employee_attendance 0/1" in said
    assert "kept: company_financials 1/1, doc_company_rules always, company_profile 1/1" in said
    assert "as a line: employee_attendance" in said
    assert "vote: kept 3 of 4 tables in 1 round; builtin" in said
    assert any(line.startswith("relevant: ") for line in said)


def test_long_lists_are_cut_and_counted_unless_one_task_is_asked_for():
    tables = [
        {
            "kind": "table",
            "catalog": "c",
            "name": f"t{n}",
            "describe_key": f"t{n}.csv",
            "columns": [],
        }
        for n in range(30)
    ]
    shown = {"full": [f"t{n}" for n in range(30)], "names": [], "line": []}
    task = {"kind": "task", "catalog": "c", "task_id": "1", "question": "which?"}
    task["collapse"] = {"keys": [], "shown": shown, "by": []}
    lines = b"".join(orjson.dumps(line) + b"\n" for line in [*tables, task])
    assert ", and 10 more" in run("show", stdin=lines, env={"COLUMNS": "800"}).out.decode()
    whole = run("show", "--task", "1", stdin=lines, env={"COLUMNS": "800"}).out.decode()
    assert "t29" in whole.splitlines()[-2]


def test_one_task_comes_without_the_tables_of_its_catalog(folded):
    text = run("show", "--task", "task_15", stdin=folded).out.decode()
    first, second, *_ = text.splitlines()
    assert first.startswith("catalog task_15, 4 tables, 1 document")
    assert second.startswith("task task_15: ")
    assert "clock_in" not in text


def test_task_chooses_one_and_says_when_there_is_none(folded):
    assert "task task_15" in run("show", "--task", "task_15", stdin=folded).out.decode()
    done = run("show", "--task", "nope", stdin=folded)
    assert done.status == 1
    assert "no task nope" in done.err


@pytest.mark.parametrize("name", ["company_profile", "COMPANY_PROFILE"])
def test_why_tells_votes_reasons_evidence_and_the_end(folded, name):
    text = run("show", "--why", name, stdin=folded).out.decode()
    task = orjson.loads(folded.splitlines()[-1])
    vote = task["vote"]
    assert f"{vote['vote_tally']['company_profile']} votes" in text
    assert vote["reasons"]["company_profile"] in text
    listed = next(t for t in task["link"]["tables"] if t["name"] == "company_profile")
    for evidence in listed["evidence"]:
        assert f"link: {evidence['type']}" in text
    assert "in the end: shown in full" in text


def test_why_of_an_unknown_table_is_an_error(folded):
    done = run("show", "--why", "nothing", stdin=folded)
    assert done.status == 1
    assert "no task has a table nothing" in done.err


def test_always_kept_table_says_so(folded):
    text = run("show", "--why", "doc_company_rules", stdin=folded).out.decode()
    assert "not voted on: always keep" in text


def test_table_kept_by_hand_says_who_decided(folded):
    def change(record):
        if record.get("name") == "employee_attendance":
            record["always_keep"] = True
        if record["kind"] == "task":
            record["pin"] = {"fold": ["company_profile"]}

    lines = run("collapse", "--stale", "-q", stdin=edit(folded, change)).out
    text = run("show", "--why", "employee_attendance", stdin=lines).out.decode()
    assert "always keep: its line says so, by hand" in text
    assert "prepared document" not in text
    assert "vote: not relevant, 0/1 votes" in text
    assert "collapse: shown in full, as it is always kept" in text
    pinned = run("show", "--why", "company_profile", stdin=lines).out.decode()
    assert "collapse: folded to a line, by a pin" in pinned
    document = run("show", "--why", "doc_company_rules", stdin=folded).out.decode()
    assert "always keep: it comes from a prepared document" in document


def test_two_files_show_what_changed(folded, tmp_path):
    def change(record):
        if record.get("name") == "company_profile":
            record["description"] = "who is who"
        if record["kind"] == "task":
            record["pin"] = {"fold": ["company_profile"]}
            record["vote"]["per_table"]["company_profile"] = False
            record["vote"]["vote_tally"]["company_profile"] = "0/1"

    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    old.write_bytes(folded)
    new.write_bytes(run("collapse", "--stale", "-q", stdin=edit(folded, change)).out)
    text = run("show", str(old), str(new)).out.decode()
    assert "table company_profile differs in description" in text
    assert "pin differs" in text
    assert "company_profile: folded now, 1/1 -> 0/1" in text
    assert "company_profile: folded to a line, was shown in full" in text
    assert run("show", str(old), str(old)).out == b"nothing differs\n"


def test_tasks_and_catalogs_only_in_one_file_are_named(folded, tmp_path):
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    old.write_bytes(folded)
    lines = folded.splitlines(keepends=True)
    new.write_bytes(
        b"".join(line for line in lines[:-1] if b'"name":"company_profile"' not in line)
    )
    text = run("show", str(old), str(new)).out.decode()
    assert "task task_15: only in" in text
    assert "table company_profile is gone" in text


@pytest.mark.parametrize("columns", ["0", "1", "20", "300"])
def test_every_width_shows_something(folded, columns):
    done = run("show", stdin=folded, env={"COLUMNS": columns})
    assert done.status == 0
    assert "task" in done.out.decode()


def test_nothing_is_markup_or_escape(folded):
    def change(record):
        if record["kind"] == "task":
            record["question"] = "[bold]x[/bold] :smile: \x1b[2J"

    text = run("show", stdin=edit(folded, change)).out.decode()
    assert "[bold]x[/bold] :smile:" in text
    assert "\x1b" not in text


@pytest.mark.parametrize("argv", [["a", "b", "c"], ["a", "b", "--why", "t"]])
def test_wrong_number_of_files_is_a_usage_error(argv):
    assert run("show", *argv).status == 2


def test_broken_line_is_reported_and_the_rest_shown(folded):
    done = run("show", stdin=folded + b"nonsense\n")
    assert done.status == 1
    assert "task task_15" in done.out.decode()
