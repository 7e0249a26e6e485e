"""Instructions as files."""

from __future__ import annotations

from typing import get_args

import jinja2
import pytest

from stages.core import prompts
from stages.core.lang import Lang
from stages.core.prompts import Template, combined_hash, load

FILES = sorted(path.relative_to(prompts.FOLDER) for path in prompts.FOLDER.rglob("*.md"))


def test_both_languages_have_the_same_files() -> None:
    by_lang = {lang: {p.name for p in FILES if p.parts[0] == lang} for lang in get_args(Lang)}
    assert by_lang["zh"] == by_lang["en"] != set()


@pytest.mark.parametrize("path", FILES, ids=str)
def test_every_file_is_a_template(path) -> None:
    jinja2.Environment().parse((prompts.FOLDER / path).read_text(encoding="utf-8"))


def test_braces_of_json_and_dollars_stand() -> None:
    assert Template("x", '{"a": "$b"} {{ c }}\n').render(c="{{ d }}") == '{"a": "$b"} {{ d }}'


def test_an_undefined_value_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError):
        Template("x", "{{ missing }}").render()


def test_a_missing_file_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        load("vote", "nobody", "zh")


def test_hashes_follow_the_text() -> None:
    one, two = Template("a", "x"), Template("b", "x")
    assert one.hash == two.hash != Template("a", "y").hash
    assert one.hash.startswith("sha256:")
    assert combined_hash(one, two) != combined_hash(one)


CRITERIA = {
    "zh": ["计算字段", "输出列", "必经映射", "视频指向", "同一个库", "先行指标", "说不定能关联上",
           "说不出它用在解题的哪一步", "反过来检查", "恰好一条", "不确定的，判为相关"],
    "en": ["Computation", "Output", "Mapping on the way", "Pointed to by the video",
           "same database", "lead it", "could perhaps be joined", "no step of the solution",
           "check backwards", "exactly one entry", "not sure, it is relevant"],
}  # fmt: skip


@pytest.mark.parametrize("lang", get_args(Lang))
def test_vote_instructions_hold_every_criterion(lang: str) -> None:
    text = load("vote", "system", lang).render()
    assert [words for words in CRITERIA[lang] if words not in text] == []
    fields = [text.index(f"`{name}`") for name in ("table_name", "reason", "relevant")]
    assert fields == sorted(fields)
