"""`.ci/run` where the servers cannot be installed: an error under CI, skipped tests elsewhere."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(("ci", "status"), [("true", 1), ("", 0)])
def test_servers_that_cannot_be_installed(tmp_path: Path, ci: str, status: int) -> None:
    for tool in ("bash", "env", "dirname", "id", "cat"):
        place = shutil.which(tool)
        assert place is not None
        (tmp_path / tool).symlink_to(place)
    _stub(tmp_path / "apt-get", "echo 'E: no network' >&2; exit 100")
    _stub(tmp_path / "make", 'echo "made $1 with $PYTEST_ADDOPTS"')
    done = subprocess.run(
        ["bash", ROOT / ".ci" / "run"],
        env={"PATH": str(tmp_path), "CI": ci},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == status, done.stderr
    assert "not installed: MariaDB" in done.stderr
    assert ("made test with  -rs" in done.stdout) == (not ci)
    assert ("install mariadb-server" in done.stderr) == bool(ci)


def _stub(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/bash\n{body}\n")
    path.chmod(0o755)
