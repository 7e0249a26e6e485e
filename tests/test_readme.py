"""The README: its examples run, and print what it says they print."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from tests.helpers.tools import ROOT


@pytest.mark.skipif(shutil.which("jq") is None, reason="needs jq")
def test_examples_and_help_are_as_they_run():
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "make_readme.py"), "--check"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\nrun `make generated`"


def test_first_two_commands_are_there_and_ci_runs_the_second():
    text = (ROOT / "README.md").read_text("utf-8")
    assert "```sh\nmake demo\nmake test\n```" in text
    assert "\nmake test" in (ROOT / ".ci" / "run").read_text()
    makefile = (ROOT / "Makefile").read_text()
    assert "\ndemo:" in makefile
    assert "\ntest:" in makefile


def test_every_command_has_its_help_in_the_readme():
    from stages.cli import REGISTRY

    text = (ROOT / "README.md").read_text("utf-8")
    missing = [name for name in REGISTRY if f"<!-- help:{name}" not in text]
    assert not missing
