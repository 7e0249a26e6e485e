"""The neutraliser: nothing hidden gets through, nothing visible is changed, nothing is lost."""

from __future__ import annotations

import hashlib
import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stages.core.text import MARKS, block, cell, decoded, quoted, safe_lines, visible

ANY = st.text(st.characters(exclude_categories=()), max_size=60)
NASTY = st.text(
    st.sampled_from(
        "a世\\u{}0x\n\r\t\v\f\x00\x1b\x7f\x85\xad\u0301\u0e33\u200b\u200d\u202e\u2028\u2029\u2066"
        '\ufeff\ufe0f\ufe00\U000e0041\U000e0100\U0001f600 "`[#<>'
    ),
    max_size=40,
)
SOME = ANY | NASTY

# Marks before a number that Arabic, Syriac and Kaithi text shows; format characters by
# category, but not hidden.
SHOWN_FORMATS = set("\u06dd\u070f\u08e2\u0890\u0891\U000110bd\U000110cd") | set(
    map(chr, range(0x600, 0x606))
)
IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2060-\u206f\u3164\ufe00-\ufe0d\uffa0"
    "\ufff0-\ufff8\U000e0000-\U000e0fff]"
)


def hidden(text: str) -> list[str]:
    """The characters of a text that a reader cannot see."""
    return [
        c
        for c in text
        if (unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp", "Cf") and c not in SHOWN_FORMATS)
        or IGNORABLE.match(c)
    ]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("", ""),
        ("revenue", "revenue"),
        ("公募基金经理(新)", "公募基金经理(新)"),
        ("Größe of café: 10 %", "Größe of café: 10 %"),
        ("ภาษาไทย ที่นี่ น้ำ", "ภาษาไทย ที่นี่ น้ำ"),
        ("हिन्दी", "हिन्दी"),
        ("שָׁלוֹם", "שָׁלוֹם"),
        ("العربية", "العربية"),
        ("a\u3000b\u00a0c", "a\u3000b\u00a0c"),
        ("❤️ 😀 👍🏽 🇨🇳 1️⃣", "❤️ 😀 👍🏽 🇨🇳 1️⃣"),
        ("e\u0301te\u0301", "e\u0301te\u0301"),
        (r"C:\users\new", r"C:\users\new"),
        ("a\nb", r"a\u{a}b"),
        ("a\r\nb\tc", r"a\u{d}\u{a}b\u{9}c"),
        ("\x1b[31mred\x1b[0m", r"\u{1b}[31mred\u{1b}[0m"),
        ("a\u2028b\u2029c\x85d", r"a\u{2028}b\u{2029}c\u{85}d"),
        ("\u202egnp.exe", r"\u{202e}gnp.exe"),
        ("zero\u200bwidth\ufeff", r"zero\u{200b}width\u{feff}"),
        ("tag\U000e0041\U000e007f", r"tag\u{e0041}\u{e007f}"),
        ("x\U000e0100y", r"x\u{e0100}y"),
        ("\ufe0fx", r"\u{fe0f}x"),
        ("\u0301x", r"\u{301}x"),
        ("\x00", r"\u{0}"),
        ("\ud800", r"\u{d800}"),
        (r"a\u{a}b", r"a\u{5c}u{a}b"),
        ("x" + "\u0301" * 10, "x" + "\u0301" * MARKS + r"\u{301}" * 2),
    ],
)
def test_what_is_shown(value: str, shown: str) -> None:
    assert visible(value) == shown
    assert decoded(shown) == value


@pytest.mark.parametrize(
    ("value", "limit", "shown"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "abcde…(+1)"),
        ("abcdef", 0, "…(+6)"),
        ("", 0, ""),
        ("ab\ncd", 7, r"ab\u{a}…(+2)"),
        ("ab\ncd", 4, "ab…(+3)"),
        ("\n" * 5000, 10, r"\u{a}\u{a}…(+4998)"),
        ("x" + "\u0301" * 5000, 20, "x" + "\u0301" * 8 + r"\u{301}" + "…(+4991)"),
    ],
)
def test_a_cut_says_how_much_is_gone(value: str, limit: int, shown: str) -> None:
    assert visible(value, limit) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain_1", "plain_1"),
        ("员工", "员工"),
        ("", '""'),
        ("1st", '"1st"'),
        ("Shot Type", '"Shot Type"'),
        ('say "hi"', '"say ""hi"""'),
        ("a\nb", r'"a\u{a}b"'),
        ("a-b", '"a-b"'),
        ("# heading", '"# heading"'),
    ],
)
def test_a_name_is_quoted_when_it_is_no_word(value: str, shown: str) -> None:
    assert quoted(value) == shown


def test_a_cut_stands_outside_the_quotes() -> None:
    assert quoted("two words", 5) == '"two w"…(+4)'


@given(SOME)
@example("\\\\u{a}")
@example("\\u{5c}u{a}")
def test_nothing_hidden_gets_through_and_nothing_is_lost(value: str) -> None:
    shown = visible(value)
    assert not hidden(shown)
    assert len(shown.splitlines()) <= 1
    assert decoded(shown) == value


@given(SOME, SOME)
def test_different_values_never_look_the_same(one: str, other: str) -> None:
    assert (visible(one) == visible(other)) == (one == other)
    assert (quoted(one) == quoted(other)) == (one == other)


@given(SOME, st.integers(0, 30))
def test_a_limit_holds_and_halves_no_escape(value: str, limit: int) -> None:
    shown = visible(value, limit)
    body, mark, rest = shown.rpartition("…(+") if shown != visible(value) else (shown, "", "")
    assert len(body) <= limit
    assert visible(value).startswith(body)
    if mark:
        assert int(rest.rstrip(")")) == len(value) - len(decoded(body))


@given(SOME)
def test_lines_keep_their_number(value: str) -> None:
    shown = safe_lines(value)
    assert shown.count("\n") == value.count("\n")
    assert not hidden(shown.replace("\n", "").replace("\t", ""))
    assert decoded(shown) == value.replace("\r\n", "\n")


@given(
    st.text(st.characters(categories=["L", "N", "P", "S"], exclude_characters="\\"), max_size=50)
)
def test_letters_digits_and_signs_of_any_script_are_unchanged(value: str) -> None:
    plain = "".join(c for c in value if not IGNORABLE.match(c))
    assert visible(plain) == plain


@given(SOME)
def test_a_block_ends_once_and_only_at_its_end(body: str) -> None:
    shown = block("data", safe_lines(body))
    first, *middle, last = shown.split("\n")
    mark = first.removeprefix("<<<data ")
    assert last == f"data {mark}>>>"
    assert mark == hashlib.sha256("\n".join(middle).encode()).hexdigest()[:16]
    assert last not in middle
    assert not hidden("".join(middle).replace("\t", ""))


def test_a_body_that_holds_the_boundary_of_another_gets_its_own() -> None:
    inner = block("data", "rows")
    outer = block("data", inner + "\nmore")
    assert outer.split("\n")[-1] != inner.split("\n")[-1]
    assert outer.count(outer.split("\n")[-1]) == 1


def test_a_block_hides_what_was_forgotten_and_leaves_escapes_alone() -> None:
    assert block("data", "a\x1b\u202eb\r").split("\n")[1] == r"a\u{1b}\u{202e}b\u{d}"
    assert block("data", visible("\n\\u{a}")).split("\n")[1] == visible("\n\\u{a}")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("abcdef", "abc…(+3)"),
        ("abc", "abc"),
        ("abc…(+97)", "abc…(+97)"),
        ("abcd…(+9)", "abc…(+10)"),
        ("a\n…(+7)", r"a\u{a}…(+7)"),
    ],
)
def test_a_cell_that_scan_has_cut_is_not_cut_again(value: str, shown: str) -> None:
    assert cell(value, 3) == shown


def test_long_text_is_cut_with_a_mark() -> None:
    assert safe_lines("one\r\ntwo\nthree", 7) == "one\ntwo…(+6)"
    assert safe_lines("one\ntwo", 7) == "one\ntwo"
