"""What the judge answers: ranking, cut, evidence, channels, rules, history."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.core.judge import CHANNELS, judge, reason
from stages.core.judge.judgment import EvidencePiece, RankedTable
from stages.core.judge.rank.select import select
from tests.helpers.judge_tables import SCHOOL, ask, order, table


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("How many students live in each city?", "student"),
        ("List the titles of all courses.", "course"),
        ("What does Pea Soup cost?", "canteen_menu"),
        ("When do buses depart from each stop?", "bus_line"),
        ("学生住在哪些城市？", "student"),
        ("每门课程的学分是多少？", "course"),
        ("Which colours do roofs have?", "building"),
    ],
)
def test_the_table_asked_for_is_first(question: str, first: str) -> None:
    assert order(judge(ask(question), SCHOOL))[0] == first


def test_a_bridge_comes_before_what_nothing_speaks_for() -> None:
    found = order(judge(ask("Which students take the course Databases?"), SCHOOL))
    assert set(found[:3]) == {"student", "course", "enrolment"}


def test_english_questions_find_chinese_names() -> None:
    tables = [
        table("学生", "姓名", "城市"),
        table("课程", "名称", "学分"),
        table("食堂", "菜品", "价格"),
    ]
    assert order(judge(ask("What is the price of each dish?"), tables))[0] == "食堂"
    assert order(judge(ask("学生的姓名"), tables))[0] == "学生"


def test_names_without_separators_and_shortenings_are_met() -> None:
    tables = [
        table("LISTEDSECURITY", "SECUCODE"),
        table("FUNDARCHIVES", "X"),
        table("cust_addr", "zip"),
    ]
    assert order(judge(ask("Which securities are listed?"), tables))[0] == "LISTEDSECURITY"
    assert order(judge(ask("Addresses of customers"), tables))[0] == "cust_addr"


def test_the_part_of_the_time_asked_for_is_first() -> None:
    tables = [table(f"events_2021010{day}", "user", "event") for day in range(1, 8)]
    found = judge(ask("How many events happened on January 4th, 2021?"), tables)
    assert order(found)[0] == "events_20210104"


def test_a_description_added_by_hand_counts_at_once() -> None:
    tables = [table("t1", "a"), table("t2", "a"), table("t3", "a")]
    before = judge(ask("Which turtles were measured?"), tables)
    assert len({found.score for found in before.tables}) == 1
    tables[1] = {**tables[1], "description": "Measurements of turtles"}
    assert order(judge(ask("Which turtles were measured?"), tables))[0] == "t2"


@pytest.mark.parametrize("question", ["", "?", "的", "the of and", "\x00", "x" * 5000])
def test_silence_keeps_everything_or_at_least_one(question: str) -> None:
    found = judge(ask(question), SCHOOL)
    assert len(found.tables) == len(SCHOOL)
    assert any(item.keep for item in found.tables)


def test_no_tables_no_judgment() -> None:
    assert judge(ask("x"), []).tables == ()


@pytest.mark.parametrize("recall", [-0.1, 1.1])
def test_a_recall_that_is_no_share_is_refused(recall: float) -> None:
    with pytest.raises(ValueError, match="share"):
        judge(ask("x"), SCHOOL, recall=recall)


def test_a_channel_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="bm26"):
        judge(ask("x"), SCHOOL, without=["bm26"])


@pytest.mark.parametrize("channel", CHANNELS)
def test_each_channel_can_be_switched_off(channel: str) -> None:
    found = judge(
        ask("students of the course", evidence="pupils refers to stu_id"), SCHOOL, without=[channel]
    )
    assert len(found.tables) == len(SCHOOL)
    kinds = {item.type for ranked in (*found.tables, *found.columns) for item in ranked.evidence}
    assert channel not in kinds


def test_without_keys_nothing_is_kept_or_lifted_for_its_keys() -> None:
    question = ask("Which students take the course Databases?")
    found = judge(question, SCHOOL, without=["key"])
    kinds = {item.type for ranked in (*found.tables, *found.columns) for item in ranked.evidence}
    assert not kinds & {"key", "neighbour"}
    assert not found.edges
    far = judge(ask("roof colours and stops"), SCHOOL, without=["key"])
    assert not any(
        column.keep and not column.evidence for column in far.columns if column.name == "stu_id"
    )


def test_columns_say_which_words_came_from_the_glossary() -> None:
    known = "A pupil's home: pupil refers to the city of the student."
    found = judge(ask("What is the home of each pupil?", knowledge=known), SCHOOL)
    kinds = {(c.name, item.type) for c in found.columns for item in c.evidence}
    assert ("city", "glossary") in kinds
    assert ("city", "name") not in kinds


def test_evidence_of_columns_comes_heaviest_first() -> None:
    shop = table("shop", "dish_price", "stop", primary_key=["dish_price"])
    shop["columns"][0]["description"] = "What the students eat on roofs"
    found = judge(ask("Which students eat the price?"), [*SCHOOL, shop])
    price = next(column for column in found.columns if column.name == "dish_price")
    assert [item.type for item in price.evidence] == ["description", "name", "key"]
    assert price.evidence[0].weight > price.evidence[1].weight > price.evidence[2].weight


def test_translation_is_what_carries_chinese_over() -> None:
    with_it = judge(ask("学生住在哪些城市？"), SCHOOL)
    without = judge(ask("学生住在哪些城市？"), SCHOOL, without=["translation"])
    assert order(with_it)[0] == "student"
    assert not any(item.type == "name" for found in without.tables for item in found.evidence)


def test_recall_one_keeps_all_columns_of_all_tables() -> None:
    many = [table(f"t{at}", *(f"c{column}" for column in range(30))) for at in range(40)]
    found = judge(ask("What is c1 of t3?"), many, recall=1.0)
    assert sum(column.keep for column in found.columns) == 40 * 30


def test_recall_one_keeps_all_and_more_recall_never_keeps_less() -> None:
    kept = [
        sum(found.keep for found in judge(ask("titles of courses"), SCHOOL, recall=recall).tables)
        for recall in (0.0, 0.5, 0.9, 0.99, 1.0)
    ]
    assert kept == sorted(kept)
    assert kept[0] >= 1
    assert kept[-1] == len(SCHOOL)


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=30), st.floats(0, 1))
def test_the_cut_keeps_ties_and_the_best(scores: list[float], recall: float) -> None:
    import numpy as np

    values = np.array(scores, dtype=np.float32)
    kept = select(values, recall)
    assert kept[int(values.argmax())]
    assert not (~kept).any() or values[~kept].max() < values[kept].min()


@settings(max_examples=15, deadline=None)
@given(st.permutations(range(len(SCHOOL))))
def test_the_order_of_tables_changes_no_score(places: list[int]) -> None:
    question = ask("Which students take the course Databases?")
    straight = {found.name: found.score for found in judge(question, SCHOOL).tables}
    shuffled = {
        found.name: found.score for found in judge(question, [SCHOOL[at] for at in places]).tables
    }
    assert shuffled == pytest.approx(straight, abs=1e-3)


@dataclass(frozen=True)
class Effect:
    """What rules say."""

    add: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()


@dataclass(frozen=True)
class FixedRules:
    """Rules that always say the same."""

    effect: Effect

    def apply(self, question: str) -> Effect:
        """The effect."""
        return self.effect


def test_rules_have_the_last_word() -> None:
    rules = FixedRules(Effect(add=("bus_line",), forbid=("course", "student.city")))
    found = judge(ask("titles of courses"), SCHOOL, rules=rules)
    by_name = {item.name: item for item in found.tables}
    assert by_name["bus_line"].keep
    assert not by_name["course"].keep
    assert by_name["bus_line"].evidence[0].type == "rule"
    assert not any(c.keep for c in found.columns if (c.table, c.name) == ("student", "city"))


class Together:
    """Past SQL that uses bus lines with courses."""

    def cooccurrence(self, table: str) -> dict[str, float]:
        """Shares."""
        return {"bus_line": 0.9, "not_here": 0.9} if table == "course" else {}


def test_history_lifts_what_was_used_together() -> None:
    plain = {t.name: t.score for t in judge(ask("titles of courses"), SCHOOL).tables}
    lifted = {
        t.name: t.score for t in judge(ask("titles of courses"), SCHOOL, history=Together()).tables
    }
    assert lifted["bus_line"] > plain["bus_line"]
    assert lifted["course"] == plain["course"]


def test_reasons_name_the_evidence_in_both_languages() -> None:
    best = judge(ask("How many students live in each city?"), SCHOOL).tables[0]
    assert "students" in reason(best, "en")
    assert "匹配" in reason(best, "zh")


@pytest.mark.parametrize(
    ("piece", "en", "zh"),
    [
        (EvidencePiece("rule", ("tax",), 1.0), 'a rule adds it for "tax"', "规则因 “tax” 加入它"),
        (EvidencePiece("rule", ("tax",), -1.0), 'a rule forbids it for "tax"', "规则因 “tax” 排除它"),
        (EvidencePiece("model", (), 1.0, "has it"), "the model chose it [has it]", "模型选择了它 [has it]"),
        (EvidencePiece("value", ("Oslo",), 0.5, "city"), 'it holds the value "Oslo" [city]', "其中有值 “Oslo” [city]"),
        (EvidencePiece("value", ("towns",), 0.2), 'its values match "towns"', "其中的值匹配 “towns”"),
    ],
)  # fmt: skip
def test_a_reason_says_what_the_evidence_is(piece: EvidencePiece, en: str, zh: str) -> None:
    ranked = RankedTable("hr", 0.5, True, (piece,))
    assert reason(ranked, "en") == f"{en} (0.50)"
    assert reason(ranked, "zh") == f"{zh} (0.50)"


def test_columns_carry_scores_and_words() -> None:
    found = judge(ask("What is the price of each dish?"), SCHOOL)
    best = found.columns[0]
    assert best.table == "canteen_menu"
    assert any(item.words for item in best.evidence)
    assert {c.name for c in found.columns if c.keep} >= {"dish", "price"}


def test_without_keys_a_bridge_is_worth_less() -> None:
    question = ask("Which students take the course Databases?")
    with_keys = {t.name: t.score for t in judge(question, SCHOOL).tables}
    without = {t.name: t.score for t in judge(question, SCHOOL, without=["neighbour"]).tables}
    assert without["enrolment"] < with_keys["enrolment"]
