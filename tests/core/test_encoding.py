"""Encodings told from bytes: each text comes back as it was written, or a warning says so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stages.core.catalog.encoding import detect
from stages.core.errors import UsageError

CHINESE = "姓名,城市\n王小明,北京\n李丽,上海\n张伟,广州\n"
TAIWAN = "姓名,城市\n王曉明,臺北\n李麗,高雄\n張偉,臺中\n"
GERMAN = "Name,Ort\nMüller,Köln\nJörg,Zürich\nStraße,Größe\n"
FRENCH = "nom,ville\nrésumé,Orléans\nÉlodie,Besançon\nça va,Nîmes\n"

ROUND_TRIPS = [
    ("plain", b"a,b\n1,2\n", "utf-8", False),
    ("utf-8", CHINESE.encode(), "utf-8", False),
    ("utf-8 with a mark", CHINESE.encode("utf-8-sig"), "utf-8", False),
    ("utf-16 le with a mark", b"\xff\xfe" + GERMAN.encode("utf-16-le"), "utf-16-le", False),
    ("utf-16 be with a mark", b"\xfe\xff" + GERMAN.encode("utf-16-be"), "utf-16-be", False),
    ("utf-32 with a mark", b"\xff\xfe\0\0" + GERMAN.encode("utf-32-le"), "utf-32-le", False),
    ("utf-16 le without", GERMAN.encode("utf-16-le"), "utf-16-le", True),
    ("utf-16 be without", GERMAN.encode("utf-16-be"), "utf-16-be", True),
    ("utf-16 be without, Chinese", CHINESE.encode("utf-16-be"), "utf-16-be", True),
    ("gb18030", CHINESE.encode("gb18030"), "gb18030", True),
    ("big5", TAIWAN.encode("big5"), "big5", True),
    ("cp1252 German", GERMAN.encode("cp1252"), "cp1252", True),
    ("cp1252 French", FRENCH.encode("cp1252"), "cp1252", True),
    ("one accent", b"name\nM\xfcller\n", "cp1252", True),
    ("an accent at the very start", b"\xe9t\xe9,b\n1,2\n", "cp1252", True),
]


@pytest.mark.parametrize(
    ("data", "name", "guessed"),
    [case[1:] for case in ROUND_TRIPS],
    ids=[case[0] for case in ROUND_TRIPS],
)
def test_each_encoding_is_told_and_guesses_are_said(data: bytes, name: str, guessed: bool) -> None:
    found = detect([data], whole=True)
    assert found.name == name
    assert bool(found.warning) is guessed
    text = found.decode(data, first=True, last=True)
    assert text.encode(name) == data[found.mark :]
    assert not text.startswith("\ufeff")


def test_single_broken_bytes_leave_the_rest_of_utf8_alone() -> None:
    data = CHINESE.encode() * 5 + b"\xff\n"
    found = detect([data], whole=True)
    assert (found.name, found.errors) == ("utf-8", "replace")
    assert found.warning
    assert "王小明" in found.decode(data, first=True, last=True)


def test_samples_may_be_cut_inside_a_character() -> None:
    data = ("王" * 1000).encode()
    parts = [data[:100], data[1000:1100], data[-100:]]
    assert detect(parts, whole=False).name == "utf-8"


def test_a_late_sample_counts() -> None:
    found = detect([b"a,b\n" * 100, "Müller,Köln\n".encode("cp1252") * 50], whole=False)
    assert found.name == "cp1252"


def test_the_user_s_word_is_taken_and_checked() -> None:
    assert detect([b"\x83e\x83X\x83g"], whole=True, override="shift_jis").name == "shift_jis"
    assert detect([b"\xef\xbb\xbfa"], whole=True, override="utf-8").mark == 3
    with pytest.raises(UsageError, match="no encoding"):
        detect([b"a"], whole=True, override="klingon")


@given(st.text(min_size=1))
def test_utf8_is_never_mistaken_for_a_legacy_encoding(text: str) -> None:
    data = text.encode("utf-8", "ignore")
    if b"\0" not in data and not text.startswith("\ufeff"):
        found = detect([data], whole=True)
        assert found.decode(data, first=True, last=True) == data.decode()


@given(st.binary(max_size=300))
def test_any_bytes_give_some_encoding(data: bytes) -> None:
    found = detect([data], whole=True)
    assert isinstance(found.decode(data, first=True, last=True), str)
