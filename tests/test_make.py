"""The chain as make rules: what is touched reruns what follows it, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.helpers.tools import ROOT, environment

STEPS = ["scan.jsonl", "vote.jsonl", "collapse.jsonl", "describe.jsonl", "prompt.md"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the Makefile, two good tasks, a bad one, and an install that is in place."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name in ("task_15", "task_16"):
        shutil.copytree(ROOT / "examples" / "task_15", tmp_path / "tasks" / name)
        task = tmp_path / "tasks" / name / "task.json"
        task.write_text(task.read_text().replace("task_15", name))
    (tmp_path / "tasks" / "task_99").mkdir()
    (tmp_path / "tasks" / "task_99" / "task.json").write_text("{")
    venv = tmp_path / ".venv" / "bin"
    venv.mkdir(parents=True)
    (venv / "winnow").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m stages "$@"\n')
    (venv / "winnow").chmod(0o755)
    (tmp_path / ".venv" / ".installed").touch()
    (tmp_path / ".venv" / ".developed").touch()
    return tmp_path


def make(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    env = environment({"MAKEFLAGS": "", "XDG_CACHE_HOME": str(folder / "cache")})
    return subprocess.run(
        ["make", "TASKS=tasks", *argv],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


def stamps(folder: Path) -> dict[str, int]:
    return {step: os.stat(folder / "build" / f"task_15.{step}").st_mtime_ns for step in STEPS}


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_chain_is_built_and_only_what_follows_is_rebuilt(folder):
    done = make(folder, "build/task_15.prompt.md")
    assert done.returncode == 0, done.stderr
    before = stamps(folder)
    assert make(folder, "build/task_15.prompt.md").returncode == 0
    assert stamps(folder) == before
    time.sleep(0.02)
    (folder / "build" / "task_15.collapse.jsonl").touch()
    touched = stamps(folder)
    assert make(folder, "build/task_15.prompt.md").returncode == 0
    after = stamps(folder)
    same = [step for step in STEPS if after[step] == touched[step]]
    assert same == ["scan.jsonl", "vote.jsonl", "collapse.jsonl"]


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_failed_task_does_not_throw_away_the_others(folder):
    done = make(folder, "-k", "prompts")
    assert done.returncode != 0
    assert "task_99" in done.stderr
    built = sorted(p.name for p in (folder / "build").glob("*.prompt.md"))
    assert built == ["task_15.prompt.md", "task_16.prompt.md"]


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_a_task_folder_may_have_a_space_in_its_name(folder):
    shutil.rmtree(folder / "tasks" / "task_99")
    (folder / "tasks" / "task_16").rename(folder / "tasks" / "task 16 old")
    (folder / "tasks").rename(folder / "my tasks")
    done = make(folder, "TASKS=my tasks", "prompts")
    assert done.returncode == 0, done.stderr
    built = {p.name for p in (folder / "build").glob("*.prompt.md")}
    assert {"task_15.prompt.md", "task 16 old.prompt.md"} <= built
    assert "othing to be done" in make(folder, "TASKS=my tasks", "prompts").stdout


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_the_demo_installs_what_it_needs_says_so_and_ends_with_what_to_try(folder):
    (folder / ".venv" / ".installed").unlink()
    python = folder / ".venv" / "bin" / "python"
    python.write_text('#!/bin/sh\necho "$@" >> pip.log\n')
    python.chmod(0o755)
    shutil.copytree(ROOT / "examples", folder / "examples")
    done = make(folder, "demo")
    assert done.returncode == 0, done.stderr
    assert "customers" in done.stdout
    first, *_ = done.stderr.splitlines()
    assert first.startswith("installing winnow and the libraries it runs on")
    assert "winnow scan examples/orders > scan.jsonl" in done.stderr
    assert "bin/winnow" in done.stderr
    log = (folder / "pip.log").read_text()
    assert "--editable ." in log
    assert "dev" not in log
    again = make(folder, "demo")
    assert "installing" not in again.stderr
    assert "--group dev" in make(folder, "-n", "-B", "check").stdout
