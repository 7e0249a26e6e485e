"""The guides in docs/ are worked examples: applied to a copy of the tree, they do what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.guides import ROOT, commands, copy_tree, edits, run

MOST = {
    "adding-a-dialect": 3,
    "adding-a-judge-feature": 4,
    "adding-a-source": 1,
    "adding-a-stage": 6,
}
"""Edits that each guide may need; what `make generated` writes is no edit."""


def test_every_guide_is_counted() -> None:
    assert {path.stem for path in (ROOT / "docs").glob("adding-*.md")} == set(MOST)


@pytest.mark.parametrize("name", MOST)
def test_guide(name: str, tmp_path: Path) -> None:
    page = (ROOT / "docs" / f"{name}.md").read_text("utf-8")
    made, shown = edits(page), commands(page)
    assert shown
    assert 1 <= len({edit.path for edit in made}) <= MOST[name]
    tree = copy_tree(tmp_path)
    for edit in made:
        edit.apply(tree)
    for command, printed in shown:
        assert run(command, tree) == printed, command
