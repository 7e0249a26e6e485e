"""The wheel, in an environment of its own, from another folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.helpers.tools import ROOT


@pytest.mark.slow
def test_wheel_runs_the_chain_from_another_folder(tmp_path):
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    source = tmp_path / "source"
    kept = shutil.ignore_patterns(
        ".venv", ".git", "build", "__pycache__", ".*_cache", ".test-model", ".bench"
    )
    shutil.copytree(ROOT, source, ignore=kept, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "wheel", "--no-deps", "-w", str(tmp_path), str(source)], check=True, env=env
    )
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    [wheel] = tmp_path.glob("winnow_tables-*.whl")
    # What the chain does not import need not be compiled.
    own = ["--python", str(python), "install", "--no-compile", str(wheel)]
    subprocess.run([*pip, *own], check=True, env=env)
    shutil.copytree(ROOT / "examples" / "task_15", tmp_path / "elsewhere" / "task_15")
    chain = "scan task_15 | W vote | W collapse | W describe | W prompt --text"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"W {chain}".replace("W", str(python.parent / "winnow"))],
        cwd=tmp_path / "elsewhere",
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "company_financials" in done.stdout
    assert Path(tmp_path / "env").exists()
