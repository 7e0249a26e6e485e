"""The documents: what they point at is there, and what stands in two languages is one."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from tests.helpers.tools import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
_LINK = re.compile(r"(?<!`)\[[^\]]+\]\(([^)\s]+)\)")
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_PLACE = re.compile(r"`((?:stages|schemas|tools|tests|docs|bin|examples)/[\w./{}*-]+)`")


def anchors(text: str) -> set[str]:
    """The anchors that a page has, as GitHub makes them of headings."""
    heads = re.findall(r"^#+ (.+)$", _FENCED.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text("utf-8")
    for target in _LINK.findall(_FENCED.sub("", text)):
        if "://" in target or target.startswith("mailto:"):
            continue
        name, _, anchor = target.partition("#")
        place = (page.parent / name) if name else page
        assert place.exists(), target
        assert not anchor or anchor in anchors(place.read_text("utf-8")), target


def test_places_that_the_architecture_names_are_there() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    decided = text.partition("## Where it is decided")[2]
    places = _PLACE.findall(decided)
    assert len(places) > 25
    assert not [place for place in places if not (ROOT / place).exists()]


def test_every_package_has_its_line_in_the_architecture() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    packages = {path.parent.name for path in (ROOT / "stages/core").glob("*/__init__.py")}
    assert packages <= set(re.findall(r"core/(\w+)", text))


def test_both_readmes_have_the_same_examples_and_sections() -> None:
    english, chinese = ((ROOT / name).read_text("utf-8") for name in ("README.md", "README.zh.md"))
    commands = [re.findall(r"^\$ .*$", text, re.MULTILINE) for text in (english, chinese)]
    assert commands[0] == commands[1]
    heads = [
        re.findall(r"^#+ ", _FENCED.sub("", text), re.MULTILINE) for text in (english, chinese)
    ]
    assert heads[0] == heads[1]


def test_sections_of_the_design_that_the_code_cites_are_there() -> None:
    known = set(re.findall(r"^## (\d+)\.", (ROOT / "docs/DESIGN.md").read_text("utf-8"), re.M))
    cited = {
        number
        for path in (ROOT / "stages").rglob("*.py")
        for number in re.findall(r"DESIGN (\d+)", path.read_text("utf-8"))
    }
    assert cited
    assert cited <= known


def test_environment_variables_stand_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    read = {
        name
        for path in (ROOT / "stages").rglob("*.py")
        for name in re.findall(r"\bWINNOW_[A-Z_]+", path.read_text("utf-8"))
    }
    assert read <= set(re.findall(r"WINNOW_[A-Z_]+", text))


def test_rules_of_the_seeds_stand_where_the_design_says() -> None:
    rules = (ROOT / "docs" / "DESIGN.md").read_text("utf-8").partition("## 11.")[2]
    places = re.findall(r"\| `(stages[\w.]+)` \|", rules)
    assert len(places) > 15
    for place in places:
        module, _, name = place.rpartition(".")
        assert hasattr(importlib.import_module(module), name), place
