"""Replies resolved to names, votes merged: deletion by intersection, keeping by union."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.core.linking.batches import Batch
from stages.core.linking.column_refs import group_tables
from stages.core.linking.prune.builtin import ProtectedColumns, by_evidence, cut
from stages.core.linking.prune.replies import IRRELEVANT, RELEVANT, PruneReply, ReplyReader
from stages.core.linking.prune.scores import Scores
from stages.core.linking.prune.tally import SideVote, merge
from stages.core.linking.render import sheet, whole
from tests.helpers.linking_tables import sessions, table


def reader(tables):
    return ReplyReader(Batch(tuple(whole(sheet(group, "en")) for group in group_tables(tables))))


def said(keys, tables=(), **columns):
    listed = [{"table": name, "columns": names} for name, names in columns.items()]
    return {keys[0]: list(tables), keys[1]: listed}


def no(tables=(), **columns):
    return reader(TABLES).negative(said(IRRELEVANT, tables, **columns))


def yes(tables=(), **columns):
    return reader(TABLES).positive(said(RELEVANT, tables, **columns))


TABLES = [
    table("orders", "amount", "day", "order_id"),
    table("Kids", "width", "nick_name"),
    table("t9", "valid", "a>x,y"),
    table("plain", "b"),
]
# In the order of names: Kids is t1, orders t2, plain t3, t9 t4.


@pytest.mark.parametrize(
    ("name", "negative", "positive"),
    [
        ("orders", {"orders"}, {"orders"}),
        ("t2", {"orders"}, {"orders"}),
        ("ORDERS", set(), {"orders"}),
        ('"orders"', set(), {"orders"}),
        ("db.public.orders", set(), {"orders"}),
        ("orders ", set(), {"orders"}),
        ("t4", {"t9"}, {"t9"}),
        ("t9", {"t9"}, {"t9"}),
        ("t5", set(), set()),
        ("g1", set(), set()),
        ("nothing", set(), set()),
        ("", set(), set()),
    ],
)
def test_names_of_tables(name, negative, positive):
    assert no([name]).whole == negative
    assert yes([name]).whole == positive
    assert (name in no([name]).unknown) is (not negative)


def test_a_name_that_looks_like_an_id_deletes_nothing_and_keeps_both():
    read = reader([table("t2", "x"), table("zebra", "y")])  # t2 is t1, zebra is t2
    assert read.negative(said(IRRELEVANT, ["t2"])).whole == set()
    assert read.positive(said(RELEVANT, ["t2"])).whole == {"t2", "zebra"}
    assert read.negative(said(IRRELEVANT, ["t1"])).whole == {"t2"}


@pytest.mark.parametrize(
    ("column", "negative", "positive"),
    [
        ("a.x", {"a.x"}, {"a.x"}),
        ("a", {"a.x", "a.y"}, {"a.x", "a.y"}),
        ("A.X", set(), {"a.x"}),
        ("y", set(), {"a.y"}),
        ("`valid`", set(), {"valid"}),
        ("t9.valid", set(), {"valid"}),
        ("valid VARCHAR", set(), set()),
        ("", set(), set()),
    ],
)
def test_names_of_columns(column, negative, positive):
    assert no(t9=[column]).columns == {("t9", name) for name in negative}
    assert yes(t9=[column]).columns == {("t9", name) for name in positive}


def test_the_id_of_a_group_means_its_tables_for_columns_and_for_keeping_only():
    read = reader(sessions())
    every_year = {f"ga_sessions_{year}" for year in (2016, 2017, 2018)}
    assert read.negative(said(IRRELEVANT, ["g1"])).whole == set()
    assert read.positive(said(RELEVANT, ["g1"])).whole == every_year
    found = read.negative(said(IRRELEVANT, g1=["date"])).columns
    assert found == {(name, "date") for name in every_year}


def test_hostile_names_are_named_as_they_are_shown():
    evil = "a\n## b\u202e"
    read = reader([table(evil, evil), table("ok", "c")])
    shown = r"a\u{a}## b\u{202e}"
    assert read.negative(said(IRRELEVANT, [shown])).whole == {evil}
    assert read.negative(said(IRRELEVANT, **{shown: [shown]})).columns == {(evil, evil)}
    assert read.negative(said(IRRELEVANT, [evil])).whole == {evil}


def test_names_that_look_alike_when_cut_delete_nothing_and_keep_all():
    long = "x" * 400
    tables = [table(long + "1", long + "a", long + "b"), table(long + "2", "c")]
    shown = "x" * 200 + "…(+201)"
    read = reader(tables)
    assert read.negative(said(IRRELEVANT, [shown])).whole == set()
    assert len(read.positive(said(RELEVANT, [shown])).whole) == 2
    assert read.negative(said(IRRELEVANT, t1=[shown])).columns == set()
    assert len(read.positive(said(RELEVANT, t1=[shown])).columns) == 2


SHOWN = {"orders": ("amount", "day", "order_id"), "Kids": ("width", "nick_name"),
         "t9": ("valid", "a.x", "a.y"), "plain": ("b",)}  # fmt: skip
NAMES = {("orders", "order_id"), ("Kids", "nick_name")}
EVERY = {name: frozenset(columns) for name, columns in SHOWN.items()}


def left(*votes, keys=frozenset(), tables=TABLES):
    return merge(tables, votes, names=NAMES, keys=keys)


SILENT = (PruneReply(), PruneReply())


def vote(negatives, positives=SILENT):
    return SideVote(SHOWN, tuple(negatives), tuple(positives))


def test_silence_keeps_everything():
    assert left(vote([no(), no()])).kept == EVERY


def test_only_what_every_negative_named_goes():
    made = left(
        vote([no(["plain"], orders=["amount", "day"]), no(["plain", "t9"], orders=["day"])])
    )
    assert made.kept == {
        **{n: c for n, c in EVERY.items() if n != "plain"},
        "orders": {"amount", "order_id"},
    }
    assert [(c.table, c.column, c.irrelevant, c.kept) for c in made.contested] == [
        ("orders", "amount", 1, "votes"),
        ("t9", "", 1, "votes"),
    ]


def test_a_table_named_whole_meets_columns_named_alone():
    made = left(vote([no(["t9"]), no(t9=["a"])]))
    assert made.kept["t9"] == {"valid"}


def test_keeping_wins_over_deletion():
    both = no(["t9", "Kids"], orders=["day"])
    made = left(vote([both, both], [yes(t9=["a.x"]), yes(["orders"])]))
    assert made.kept["t9"] == {"a.x"}
    assert "Kids" not in made.kept
    assert made.kept["orders"] == EVERY["orders"]
    assert {(c.table, c.column): c.kept for c in made.contested} == {
        ("t9", ""): "relevant",
        ("orders", "day"): "relevant",
    }


def test_a_table_listed_whole_by_positive_keeps_every_column():
    both = no(["t9"])
    assert left(vote([both, both], [yes(["t9"]), yes()])).kept == EVERY


def test_names_and_keys_stay_as_long_as_their_table():
    both = no(orders=["order_id", "day", "amount"], Kids=["width", "nick_name"])
    made = left(vote([both, both]), keys={("orders", "day")})
    assert made.kept["orders"] == {"order_id", "day"}
    assert made.kept["Kids"] == {"nick_name"}
    assert {(c.column, c.kept) for c in made.contested} == {
        ("order_id", "name"),
        ("day", "key"),
        ("nick_name", "name"),
    }
    both = no(["orders"])
    assert "orders" not in left(vote([both, both]), keys={("orders", "day")}).kept


def test_a_table_all_of_whose_columns_go_goes():
    both = no(plain=["b"])
    assert "plain" not in left(vote([both, both])).kept


def test_a_batch_with_a_failed_call_deletes_nothing():
    both = no(["t9"])
    for failed in (
        vote([both, None]), vote([None, None]), vote([both, both], [None, yes()]), vote([]),
    ):  # fmt: skip
        assert left(failed).kept == EVERY


def test_a_result_that_would_delete_everything_is_refused():
    both = no(list(SHOWN))
    made = left(vote([both, both]))
    assert made.refused
    assert made.kept == EVERY


def test_a_split_table_goes_only_where_every_part_goes():
    one, two = {"t9": ("valid",)}, {"t9": ("a.x", "a.y"), "plain": ("b",)}
    gone = PruneReply(frozenset({"t9"}), frozenset({("t9", "valid")}))
    rest = PruneReply(frozenset({"t9"}), frozenset({("t9", "a.x"), ("t9", "a.y")}))
    tables = TABLES[2:]
    none = (PruneReply(), PruneReply())
    kept = left(
        SideVote(one, (gone, gone), none), SideVote(two, (rest, rest), none), tables=tables
    ).kept
    assert kept == {"plain": {"b"}}
    kept = left(SideVote(one, (gone, gone), none), SideVote(two, none, none), tables=tables).kept
    assert kept["t9"] == {"a.x", "a.y"}
    kept = left(
        SideVote(one, (gone, gone), none), SideVote(two, (rest, None), none), tables=tables
    ).kept
    assert kept["t9"] == EVERY["t9"]
    keep = PruneReply(frozenset({"t9"}), frozenset({("t9", "a.x")}))
    kept = left(
        SideVote(one, (gone, gone), none),
        SideVote(two, (rest, rest), (keep, PruneReply())),
        tables=tables,
    ).kept
    assert kept["t9"] == EVERY["t9"]


UNITS = [(name, column) for name, columns in SHOWN.items() for column in columns]


@st.composite
def replies(draw):
    """What a sample may say: whole tables with their columns, and single columns."""
    whole_ones = draw(st.frozensets(st.sampled_from(list(SHOWN)), max_size=3))
    columns = draw(st.frozensets(st.sampled_from(UNITS), max_size=6))
    of_whole = {unit for unit in UNITS if unit[0] in whole_ones}
    return PruneReply(whole_ones, columns | of_whole)


SIDES = st.lists(replies(), min_size=2, max_size=3)
"""At least two samples, and three where an option asks for them."""


def part_votes(negatives, positives):
    """The same samples over two batches, one a table by itself."""
    halves = [{n: c for n, c in SHOWN.items() if (n == "orders") is half} for half in (True, False)]
    return [
        SideVote(
            shown, *(tuple(restricted(s, shown) for s in side) for side in (negatives, positives))
        )
        for shown in halves
    ]


def restricted(sample, shown):
    columns = frozenset(unit for unit in sample.columns if unit[0] in shown)
    return PruneReply(frozenset(sample.whole & shown.keys()), columns)


@settings(deadline=None, max_examples=60)
@given(SIDES, SIDES)
def test_what_no_negative_sample_named_is_never_deleted(negatives, positives):
    kept = left(*part_votes(negatives, positives)).kept
    named = {unit for sample in negatives for unit in sample.columns}
    for table_, column in UNITS:
        if (table_, column) not in named:
            assert column in kept[table_]


@settings(deadline=None, max_examples=60)
@given(SIDES, SIDES)
def test_what_any_positive_sample_named_is_kept(negatives, positives):
    kept = left(*part_votes(negatives, positives)).kept
    for sample in positives:
        assert all(column in kept[name] for name, column in sample.columns)


@settings(deadline=None, max_examples=60)
@given(SIDES, SIDES, st.data())
def test_one_more_negative_sample_never_deletes_more(negatives, positives, data):
    fewer = left(*part_votes(negatives, positives))
    more = left(*part_votes([*negatives, data.draw(replies())], positives))
    if not fewer.refused:
        assert all(columns <= more.kept[name] for name, columns in fewer.kept.items())


SCORES = st.fixed_dictionaries({name: st.floats(0, 1) for name in SHOWN})


@settings(deadline=None, max_examples=60)
@given(SIDES, SIDES, SCORES, st.integers(0, 9), st.data())
def test_faults_only_enlarge_the_result(negatives, positives, scores, budget, data):
    """Over batches, failed calls of any kind, and the cut by budget after it."""
    votes = part_votes(negatives, positives)
    failing = [
        SideVote(
            v.shown,
            *(
                tuple(data.draw(st.sampled_from([s, None])) for s in side)
                for side in (v.negatives, v.positives)
            ),
        )
        for v in votes
    ]
    judged = Scores(scores, {})

    def final(outcome):
        if outcome.refused:
            return outcome.kept
        tables = [t for t in TABLES if t["name"] in outcome.judged]
        cut_ = cut(
            tables, outcome.kept, judged, relevant=outcome.relevant, plain=NAMES, budget=budget
        )
        others = {n: c for n, c in outcome.kept.items() if n not in outcome.judged}
        return {**others, **cut_}

    whole_, faulty = final(left(*votes)), final(left(*failing))
    assert all(columns <= faulty[name] for name, columns in whole_.items())


def test_the_budget_keeps_the_relevant_then_the_best():
    scores = Scores({"orders": 0.9, "Kids": 0.1}, {("t9", "a"): 0.7})
    made = cut(TABLES, EVERY, scores, relevant={("plain", "b")}, plain=NAMES, budget=4)
    assert made == {"plain": {"b"}, "t9": {"a.x", "a.y"}, "orders": {"order_id"}}
    assert cut(TABLES, EVERY, scores, relevant=(), plain=NAMES, budget=9) == EVERY
    relevant = {("orders", "day"), ("orders", "amount"), ("plain", "b")}
    made = cut(TABLES, EVERY, scores, relevant=relevant, plain=NAMES, budget=1)
    assert made == {"orders": {"day", "amount"}, "plain": {"b"}}


def test_evidence_lets_go_of_what_has_none():
    tables = [
        table("orders", "order_id", "day", "amount"),
        table("Kids", "width", "nick_name"),
        table("t9", "valid", "a>x,y"),
        table("lines", "order_id", "weight", "name"),
        table("plain", "b"),
    ]
    scores = Scores(
        {"orders": 0.9, "Kids": 0.1, "t9": 0.01}, {("Kids", "width"): 0.05, ("t9", "a"): 0.3}
    )
    assert by_evidence(ProtectedColumns(tables, tables), scores) == {
        "orders": {"order_id", "day", "amount"},
        "Kids": {"width", "nick_name"},
        "t9": {"a.x", "a.y"},
        "lines": {"order_id"},
    }
