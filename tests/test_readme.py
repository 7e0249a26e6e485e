"""The pages: their examples run and print what they say, and each command has its help."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from tests.helpers.tools import ROOT


@pytest.mark.skipif(shutil.which("jq") is None, reason="needs jq")
def test_examples_and_help_are_as_they_run():
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "make" / "pages.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\nrun `make generated`"


def test_first_two_commands_are_there_and_ci_runs_the_second():
    text = (ROOT / "README.md").read_text("utf-8")
    assert "```sh\nmake demo\nmake test\n```" in text
    assert "\nmake test" in (ROOT / ".ci" / "run").read_text()
    makefile = (ROOT / "Makefile").read_text()
    assert "\ndemo:" in makefile
    assert "\ntest:" in makefile


def test_every_command_has_its_page():
    from stages.cli import REGISTRY

    pages = {page.stem for page in (ROOT / "docs" / "commands").glob("*.md")}
    assert pages == {"README", *REGISTRY}


def test_readme_is_short_enough_to_be_read():
    sizes = {page.name: page.stat().st_size for page in ROOT.glob("README*.md")}
    assert all(size <= 16 * 1024 for size in sizes.values()), sizes
