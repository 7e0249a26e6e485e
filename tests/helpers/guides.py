"""Guides as tests read them: the edits of a page, applied to a copy of the tree, and its commands.

A line that is a path in backquotes, before a block, says what the block is: a new file, or with
``diff`` lines to be replaced. ```NEW` is a copy of `OLD``` copies. Blocks of
``sh-session`` hold commands after ``$ `` and what they print.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TREE = ("stages", "schemas", "bin", "examples", "tests", "tools", "docs", "pyproject.toml")
_EDIT = re.compile(
    r"^`(?P<path>\S+)`\n```(?P<kind>\w+)\n(?P<text>.*?)^```$"
    r"|^`(?P<new>\S+)` is a copy of `(?P<old>\S+)`$",
    re.MULTILINE | re.DOTALL,
)
_CONSOLE = re.compile(r"^```sh-session\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Edit:
    """One file that a guide makes or changes; `kind` is ``copy``, ``diff`` or a language."""

    path: str
    kind: str
    text: str

    def apply(self, tree: Path) -> None:
        """Make the edit; what a diff replaces has to stand exactly once."""
        target = tree / self.path
        target.parent.mkdir(parents=True, exist_ok=True)
        if self.kind == "copy":
            shutil.copy(tree / self.text, target)
        elif self.kind == "diff":
            lines = self.text.splitlines(keepends=True)
            old = "".join(line[1:] for line in lines if line[0] != "+")
            new = "".join(line[1:] for line in lines if line[0] != "-")
            text = target.read_text("utf-8")
            assert text.count(old) == 1, f"{self.path}: not once: {old!r}"
            target.write_text(text.replace(old, new), "utf-8")
        else:
            assert not target.exists(), f"{self.path} is there already"
            target.write_text(self.text, "utf-8")


def edits(page: str) -> list[Edit]:
    """The edits of a page, in order."""
    found = []
    for match in _EDIT.finditer(page):
        part = match.groupdict()
        if part["new"]:
            found.append(Edit(part["new"], "copy", part["old"]))
        else:
            found.append(Edit(part["path"], part["kind"], part["text"]))
    return found


def commands(page: str) -> list[tuple[str, str]]:
    """The commands of a page and what each prints."""
    found = []
    for block in _CONSOLE.findall(page):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            found.append((command, printed))
    return found


def copy_tree(target: Path) -> Path:
    """A copy of what a guide may touch, with the interpreter of this run."""
    skip = shutil.ignore_patterns("__pycache__", ".*_cache", "*.pyc")
    for name in TREE:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name, ignore=skip, symlinks=True)
        else:
            shutil.copy(ROOT / name, target / name)
    (target / ".venv").symlink_to(sys.prefix)
    return target


def run(command: str, tree: Path) -> str:
    """What a command prints in the copy; it fails where the command does."""
    path = f"{tree / '.venv/bin'}:/usr/local/bin:/usr/bin:/bin"
    env = {"PATH": path, "PYTHONPATH": str(tree), "HOME": str(tree), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=tree,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout
