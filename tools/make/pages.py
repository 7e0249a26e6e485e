"""Fill the pages: run their console examples and write the commands' help, so that neither can lag.

    python tools/make/pages.py [--check] [PAGE…]

Pages are README.md, README.zh.md and those in docs/. In a fence marked ``console`` each line
that starts with ``$ `` is a command for bash (it goes on in lines that start with ``> ``); what
follows it is its output. All examples of a page run one after the other in a scratch folder of
its own that holds ``examples/``. In docs/commands/ each command has a page, made of its help
alone.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
from click.testing import CliRunner

from stages.cli import REGISTRY, first_line, winnow

HERE = Path(__file__).resolve().parents[2]
COMMANDS = Path("docs/commands")
FENCE = re.compile(r"(^```console\n)(.*?)(^```$)", re.MULTILINE | re.DOTALL)
AT_ONCE = 2


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


def run(command: str, folder: Path, env: Mapping[str, str]) -> str:
    """Standard output and error of one command, as they would show in a terminal."""
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout if not done.stdout or done.stdout.endswith("\n") else done.stdout + "\n"


def filled(body: str, folder: Path, env: Mapping[str, str]) -> str:
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


def render(page: Path) -> str:
    """A page with every example run again."""
    text = (HERE / page).read_text("utf-8")
    if not FENCE.search(text):
        return text
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        env = environment(scratch)
        folder = scratch / "work"
        folder.mkdir()
        shutil.copytree(HERE / "examples", folder / "examples")
        return FENCE.sub(lambda m: m[1] + filled(m[2], folder, env) + m[3], text)


def help_of(*words: str) -> str:
    """What ``winnow WORDS --help`` prints."""
    args = [*words, "--help"]
    result = CliRunner().invoke(winnow, args, prog_name="winnow", terminal_width=80)
    if result.exit_code:
        raise SystemExit(f"winnow {' '.join(args)}: {result.output}")
    return f"```\n{result.output.rstrip()}\n```\n"


def helps(*words: str) -> Iterator[str]:
    """The help of a command, and below it that of each command within it."""
    yield help_of(*words)
    command: click.Command | None = winnow
    context = click.Context(winnow, info_name="winnow")
    for word in words:
        assert isinstance(command, click.Group)
        command = command.get_command(context, word)
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        yield f"\n## winnow {' '.join([*words, name])}\n\n"
        yield help_of(*words, name)


def command_pages() -> dict[Path, str]:
    """The page of each command, and the list of them."""
    listed = "".join(f"- [{name}]({name}.md): {first_line(name)}\n" for name in REGISTRY)
    pages = {
        COMMANDS / f"{name}.md": f"# winnow {name}\n\n" + "".join(helps(name)) for name in REGISTRY
    }
    pages[COMMANDS / "README.md"] = f"# Commands\n\n{listed}\n{help_of()}"
    return pages


def example_pages() -> list[Path]:
    """The pages whose examples are run, from the top of the checkout."""
    pages = [*HERE.glob("README*.md"), *(HERE / "docs").glob("*.md")]
    return sorted(page.relative_to(HERE) for page in pages)


def rendered(names: list[Path]) -> dict[Path, str]:
    """The pages as they run; those named, or all."""
    pages = command_pages()
    examples = example_pages()
    if names:
        pages = {page: text for page, text in pages.items() if page in names}
        examples = [page for page in examples if page in names]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return {**pages, **dict(zip(examples, pool.map(render, examples), strict=True))}


def stale_commands(pages: Mapping[Path, str]) -> list[Path]:
    """Pages in docs/commands/ whose command is no more."""
    there = (page.relative_to(HERE) for page in (HERE / COMMANDS).glob("*.md"))
    return sorted(page for page in there if page not in pages)


def differences(pages: Mapping[Path, str]) -> Iterator[str]:
    """How the pages differ from what runs, as lines of a diff."""
    for page, new in pages.items():
        place = HERE / page
        old = place.read_text("utf-8") if place.exists() else ""
        yield from difflib.unified_diff(
            old.splitlines(True), new.splitlines(True), str(page), "as it runs"
        )


def main() -> int:
    """Write the pages, or with --check print how they differ."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="print how the pages differ")
    parser.add_argument("pages", nargs="*", type=Path, help="pages from the top of the checkout")
    options = parser.parse_args()
    pages = rendered(options.pages)
    stale = [] if options.pages else stale_commands(pages)
    if options.check:
        found = [*differences(pages), *(f"{page}: no such command\n" for page in stale)]
        sys.stdout.writelines(found)
        return 1 if found else 0
    (HERE / COMMANDS).mkdir(parents=True, exist_ok=True)
    for page, text in pages.items():
        (HERE / page).write_text(text, "utf-8")
    for page in stale:
        (HERE / page).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
