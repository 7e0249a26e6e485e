"""What words ask for that no column spells: measures, known names, shortenings, hints."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stages.core.judge import judge
from stages.core.judge.language import lexicon, tokenize
from stages.core.judge.match import expand
from stages.core.judge.match.values import as_indexed
from stages.core.judge.question import patterns
from stages.core.judge.question.question import QueryTerm, read
from tests.helpers.judge_tables import HOSTILE, ask, both_ways, leads, order, table


def terms_of(question: str, word: str, without: frozenset[str] = frozenset()) -> dict[str, float]:
    """The terms that a word of a question stands for."""
    return next(
        (
            dict(unit.terms)
            for unit in read(ask(question), without).units
            if unit.text == word and unit.origin == "question"
        ),
        {},
    )


def meets(question: str, *catalog: str) -> set[str]:
    """Which of a catalog's terms a question meets."""
    known = expand.vocabulary({term: at for at, term in enumerate(catalog)})
    ways = expand.expand_all(read(ask(question)).units, known)
    return {catalog[number] for way in ways for number in way}


@pytest.mark.parametrize(
    ("question", "columns"),
    [
        ("Which one is heavier?", ("weight", "roof")),
        ("Which one is taller?", ("height", "roof")),
        ("哪个最多重？", ("weight", "roof")),
        ("What about Tajikistan?", ("nation", "roof")),
        ("Was Zloty accepted?", ("currency", "roof")),
    ],
)
def test_a_word_finds_the_column_it_asks_for(question: str, columns: tuple[str, ...]) -> None:
    """The table with such a column leads; without synonyms names alone cannot tell the two."""
    assert leads(both_ways(question, columns, ("floors", "roof")))
    one, other = both_ways(question, columns, ("floors", "roof"), ["synonym"])
    assert one == pytest.approx(other, abs=1e-6)


def test_each_line_of_asks_is_read() -> None:
    """A word of every line asks for something, and nothing asks for itself."""
    lines = (lexicon._DATA / "asks.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) > 50
    for line in lines:
        heads, colon, asked = line.partition(":")
        assert colon, line
        assert asked.split(), line
        assert any(lexicon.asked_by(head) for head in heads.split()), line
    for own, terms in lexicon.attribute_triggers().items():
        assert own not in dict(terms)
        assert all(0 < likeness < 1 for _, likeness in terms)


def test_what_is_asked_for_first_is_likeliest() -> None:
    terms = [likeness for _, likeness in lexicon.asked_by("heavier")]
    assert lexicon.asked_by("heavier")[0][0] == tokenize.stem("weight")
    assert terms == sorted(terms, reverse=True)
    assert lexicon.asked_by("grommet") == ()


def test_the_own_word_stays_likeliest() -> None:
    """What a word asks for comes behind the word itself."""
    terms = terms_of("Who is heavier?", "heavier")
    assert terms[tokenize.stem("heavier")] == 1.0
    assert max(alike for term, alike in terms.items() if term != tokenize.stem("heavier")) < 1.0


def test_every_kind_of_name_has_columns() -> None:
    """Kinds of the data and kinds of the code are the same, but for given names."""
    kinds = {kind for found in lexicon.gazetteer().values() for kind in found}
    assert kinds - {"given"} == set(lexicon.COLUMNS)
    assert set(lexicon.COLUMNS) >= lexicon.SMALL
    for kind in lexicon.COLUMNS:
        assert lexicon.columns_of([kind])
    assert lexicon.columns_of(["given"]) == ()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Tajikistan", "country"),
        ("tajikistan", "country"),
        ("turkey", None),
        ("the Ivory Coast", "country"),
        ("the ivory coast", "country"),
        ("baseball", None),
        ("Baseball", "sport"),
        ("zloty", None),
        ("Zloty", "currency"),
        ("turquoise", "color"),
        ("Los Angeles", "city"),
        ("los angeles", None),
        ("Grommet", None),
    ],
)
def test_names_need_a_capital_unless_written_small(text: str, kind: str | None) -> None:
    found = list(lexicon.known_names(tokenize.sentence(text)))
    assert [kind in kinds for _, _, kinds in found] == ([True] if kind else [])


@pytest.mark.parametrize(
    ("name", "kind"),
    [("North America", "continent"), ("Alabama River", "river"), ("Australian dollar", "currency")],
)
def test_the_longest_name_counts(name: str, kind: str) -> None:
    """Not the names that its first or second word would be."""
    assert list(lexicon.known_names(tokenize.sentence(f"the {name} now"))) == [(1, 2, (kind,))]


@given(HOSTILE)
@settings(deadline=None)
def test_known_names_stand_apart_and_inside(text: str) -> None:
    """Names overlap neither each other nor the end, in any text."""
    found = tokenize.sentence(text)
    at = 0
    for first, number, kinds in lexicon.known_names(found):
        assert first >= at
        assert 1 <= number <= lexicon.LONGEST
        assert kinds
        at = first + number
    assert at <= len(found)


@given(HOSTILE)
@settings(deadline=None)
def test_persons_are_runs_of_capitals(text: str) -> None:
    found = tokenize.sentence(text)
    at = 0
    for first, number in lexicon.persons(found):
        assert first >= at
        assert 1 <= number <= lexicon.LONGEST
        assert all(word[0].isupper() for word, _, _ in found[first : first + number])
        at = first + number
    assert at <= len(found)


@given(HOSTILE, HOSTILE)
@settings(deadline=None)
def test_any_question_is_read(question: str, hint: str) -> None:
    """Likenesses are shares, and the first term of a unit is its own."""
    for unit in read(ask(question, evidence=hint)).units:
        assert unit.terms
        assert all(0 < likeness <= 1 for _, likeness in unit.terms)


def test_without_synonyms_a_word_stands_for_itself() -> None:
    question = "Which Tajikistan player is heavier?"
    for word in ("Tajikistan", "heavier"):
        assert len(terms_of(question, word)) > 1
        assert len(terms_of(question, word, frozenset(["synonym"]))) == 1


def test_common_words_that_ask_for_something_count() -> None:
    """``when`` says nothing by itself, but asks for a date."""
    assert "when" in tokenize.STOP
    assert tokenize.stem("date") in terms_of("When did it end?", "When")
    assert terms_of("When did it end?", "When", frozenset(["synonym"])) == {}


@pytest.mark.parametrize(
    ("short", "word", "is_one"),
    [
        ("itm", "item", True),
        ("usr", "user", True),
        ("grp", "group", True),
        ("im", "item", False),
        ("tm", "item", False),
        ("utm", "item", False),
    ],
)
def test_all_consonants_shorten_a_word(short: str, word: str, is_one: bool) -> None:
    assert expand.abbreviates(short, word) is is_one


@pytest.mark.parametrize(
    ("term", "first", "second", "is_one"),
    [
        ("slp", "sales", "person", True),
        ("crg", "card", "group", True),
        ("slp", "sales", "order", False),
        ("slp", "person", "sales", False),
        ("sxp", "sales", "person", False),
    ],
)
def test_three_letters_join_two_words(term: str, first: str, second: str, is_one: bool) -> None:
    assert expand.joins(term, first, second) is is_one


@given(
    st.text(alphabet="abcdefgh", min_size=3, max_size=9),
    st.text(alphabet="abcdefgh", min_size=1, max_size=9),
    st.text(alphabet="abcdefgh", min_size=1, max_size=9),
)
@settings(deadline=None)
def test_joined_terms_begin_with_the_first_and_hold_the_start_of_the_second(
    term: str, first: str, second: str
) -> None:
    if expand.joins(term, first, second):
        assert second[0] in term[1:]
        assert term[0] == first[0] or expand._short(term[: term.index(second[0])], first)


def test_two_capitals_make_a_pair_of_initials() -> None:
    """``Stanley Cup`` finds a column ``SC``; the same words written small do not."""
    assert "sc" in meets("Who won the Stanley Cup?", "sc")
    assert "sc" not in meets("Who won the stanley cup?", "sc")
    ways = both_ways("What about the Stanley Cup?", ("SC", "roof"), ("SO", "roof"))
    assert leads(ways)
    one, other = both_ways("What about the stanley cup?", ("SC", "roof"), ("SO", "roof"))
    assert one == pytest.approx(other, abs=1e-6)


def test_three_initials_need_no_capitals() -> None:
    assert "gnp" in meets("What is the gross national product?", "gnp")


@pytest.mark.parametrize(
    ("question", "first"),
    [("Which resource is free?", "ORSC"), ("Which sales person is free?", "OSLP")],
)
def test_roots_of_cryptic_names_are_found(question: str, first: str) -> None:
    """The letter in front says what kind of table it is; the root is what is shortened."""
    tables = [table(name, "roof", "floors") for name in ("OABC", "ORSC", "OSLP", "OXYZ")]
    assert order(judge(ask(question), tables))[0] == first


def test_an_item_finds_its_consonants() -> None:
    assert leads(both_ways("Which item is it?", ("itm", "roof"), ("usx", "roof")))


@pytest.mark.parametrize(
    ("hint", "names"),
    [
        ("full name refers to first_name, last_name", {"first_name", "last_name"}),
        ("full name refers to first and last", {"first", "last"}),
        ('place refers to "City" or `State`', {"City", "State"}),
        ("big refer to Size + Weight", {"Size", "Weight"}),
    ],
)
def test_all_names_that_a_hint_refers_to_are_read(hint: str, names: set[str]) -> None:
    assert names <= {run for runs in patterns.hinted(hint) for run in runs}


def test_hints_name_the_longest_first() -> None:
    assert ("Paper Size Code", "Paper Size", "Paper") in patterns.hinted(
        "x refers to Paper Size Code"
    )
    assert patterns.hinted("nothing here") == ()
    assert patterns.hinted("x refers to ") == ()


def test_a_referred_column_is_found() -> None:
    """The second name of a list counts as the first does."""
    for column in ("aaq", "bbq"):
        tables = [table("ga", "roof"), table("gb", column)]
        found = judge(ask("What about it?", evidence="it refers to aaq, bbq"), tables)
        assert order(found)[0] == "gb"


@pytest.mark.parametrize(
    "question",
    [
        " ".join(f"Q{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}x" for i in range(10_000)),
        "Nick " * 10_000,
        "is 'Nick Wahlberg' in Ivory Coast so " * 1_500,
        "heavier " * 10_000,
        "\x00\x1b\u202e" * 10_000,
        "A" * 50_000,
        "'" * 10_001,
        "哪个更便宜" * 5_000,
    ],
    ids=["capitals", "given", "quoted", "asks", "control", "one word", "quotes", "chinese"],
)
def test_very_long_questions_take_bounded_time(question: str) -> None:
    """All but the first units are left out, and nothing is looked at twice for each word."""
    tables = [table("ga", "surname", "weight"), table("gb", "nation", "floors")]
    judge(ask("warm"), tables)
    began = time.process_time()
    found = judge(ask(question), tables)
    assert time.process_time() - began < 10
    assert len(found.tables) == 2
    assert all(0 <= ranked.score <= 1 for ranked in found.tables)


def test_quoted_and_control_characters_are_looked_up_as_they_stand() -> None:
    """Reading loses no quoted string, whatever is in it."""
    question = read(ask("who is 'Ni\x07ck Wahl\x00berg'?"))
    assert "ni\x07ck wahl\x00berg" in question.quoted
    assert as_indexed(question)


def test_what_is_asked_for_may_be_shortened() -> None:
    """``sold`` asks for a quantity, and ``qty`` is one."""
    assert "quantity" in terms_of("How much was sold?", "sold")
    assert "qty" in meets("quantity", "qty")
    assert "qty" in meets("How much was sold?", "qty")


def test_what_was_asked_before_changes_nothing() -> None:
    """Two spellings of one stem are met the same, in whatever order they come."""
    spellings = ("quantity", "quantities")
    units = [QueryTerm(word, ((tokenize.stem(word), 1.0),), 0, "question") for word in spellings]
    straight, turned = expand.vocabulary({"qty": 0}), expand.vocabulary({"qty": 0})
    one = [expand.expand(unit, straight) for unit in units]
    other = [expand.expand(unit, turned) for unit in reversed(units)]
    assert one == other[::-1]


def test_what_a_question_wants_gives_no_initials() -> None:
    """The word before ``who`` or ``time`` is not their neighbour."""
    assert meets("When do buses leave?", "blt", "lvtm") == set()
    assert "cs" not in meets("What about the Stanley Cup?", "cs")


@pytest.mark.parametrize("word", ["same", "sent", "order", "won", "round", "running", "real"])
def test_everyday_words_are_no_names(word: str) -> None:
    assert list(lexicon.known_names(tokenize.sentence(f"the {word} one"))) == []


def test_a_hint_of_one_long_word_takes_bounded_time() -> None:
    began = time.process_time()
    patterns.hinted("a" * 5_000)
    assert time.process_time() - began < 0.3
