"""winnow completion: scripts that the shells accept, answers that name what is there, a man page."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from stages.cli import REGISTRY
from tests.helpers.tools import run

SHELLS = ("bash", "zsh", "fish")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_one_that_the_shell_reads(shell: str) -> None:
    done = run("completion", shell)
    assert done.status == 0
    assert b"_WINNOW_COMPLETE" in done.out
    if shutil.which(shell):
        checked = subprocess.run([shell, "-n"], input=done.out, capture_output=True, check=False)
        assert (checked.returncode, checked.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("winnow ", set(REGISTRY)),
        ("winnow sc", {"scan", "scaffold"}),
        ("winnow query --format ", {"table", "vertical", "csv", "json", "jsonl", "markdown"}),
        ("winnow evaluate ", {"linking"}),
        ("winnow vote --rou", {"--rounds"}),
    ],
)
def test_what_may_follow(words: str, wanted: set[str]) -> None:
    asked = {
        "_WINNOW_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    found = {line.partition(",")[2] for line in run(env=asked).out.decode().splitlines()}
    assert wanted <= found
    assert not {name for name in found if not name.startswith(words.split(" ")[-1])}


def test_the_man_page_has_every_command_and_no_request_of_its_own() -> None:
    page = run("completion", "man").out.decode()
    assert page.startswith('.TH WINNOW 1 "" "winnow ')
    for name in REGISTRY:
        assert f'.SH "WINNOW {name.upper()}"' in page
    requests = {line.split(" ")[0] for line in page.splitlines() if line.startswith((".", "'"))}
    assert requests == {".TH", ".SH", ".nf", ".fi"}


def test_an_unknown_shell_is_a_wrong_command_line() -> None:
    done = run("completion", "tcsh")
    assert done.status == 2
    assert "'bash', 'zsh', 'fish', 'man'" in done.err
