"""Fill README.md: run its console examples and print its command help, so that neither can lag.

    python tools/make_readme.py [--check]

In a fence marked ``console`` each line that starts with ``$ `` is a command for bash (it goes
on in lines that start with ``> ``); what follows it is its output. Between ``<!-- help:NAME -->``
and ``<!-- /help -->`` stands the help of ``winnow NAME``. All examples of the page run one after
the other in one scratch folder that holds ``examples/``.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
README = HERE / "README.md"
FENCE = re.compile(r"(^```console\n)(.*?)(^```$)", re.MULTILINE | re.DOTALL)
HELP = re.compile(r"(<!-- help:([\w ]*?) ?-->\n).*?(<!-- /help -->)", re.DOTALL)


def environment(scratch: Path) -> dict[str, str]:
    """The environment of the examples: this checkout's winnow, no colour, a cache of their own."""
    shim = scratch / "bin"
    shim.mkdir()
    (shim / "winnow").write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m stages "$@"\n')
    (shim / "winnow").chmod(0o755)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("WINNOW_")}
    return {
        **kept,
        "PATH": f"{shim}{os.pathsep}{kept['PATH']}",
        "PYTHONPATH": str(HERE),
        "NO_COLOR": "1",
        "COLUMNS": "100",
        "XDG_CACHE_HOME": str(scratch / "cache"),
    }


def run(command: str, folder: Path, env: dict[str, str]) -> str:
    """Standard output and error of one command, as they would show in a terminal."""
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=folder, env=env, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    return done.stdout if not done.stdout or done.stdout.endswith("\n") else done.stdout + "\n"


def filled(body: str, folder: Path, env: dict[str, str]) -> str:
    """One console fence with the output of its commands renewed."""
    lines = body.splitlines()
    commands = [i for i, line in enumerate(lines) if line.startswith("$ ")]
    parts = []
    for start in commands:
        end = start + 1
        while end < len(lines) and lines[end].startswith("> "):
            end += 1
        typed = lines[start:end]
        command = "\n".join(line[2:] for line in typed)
        parts.append("\n".join(typed) + "\n" + run(command, folder, env))
    return "".join(parts)


def render(text: str) -> str:
    """The page with every example run and every help text renewed."""
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        env = environment(scratch)
        folder = scratch / "work"
        folder.mkdir()
        shutil.copytree(HERE / "examples", folder / "examples")
        text = FENCE.sub(lambda m: m[1] + filled(m[2], folder, env) + m[3], text)
        return HELP.sub(
            lambda m: f"{m[1]}```\n{run(f'winnow {m[2]} --help', folder, env)}```\n{m[3]}",
            text,
        )


def main() -> int:
    """Write the page, or with --check print how it differs."""
    old = README.read_text("utf-8")
    new = render(old)
    if "--check" not in sys.argv[1:]:
        README.write_text(new, "utf-8")
        return 0
    sys.stdout.writelines(
        difflib.unified_diff(old.splitlines(True), new.splitlines(True), "README.md", "as it runs")
    )
    return 0 if old == new else 1


if __name__ == "__main__":
    sys.exit(main())
