"""Provenance v3: what a run was made of (seed 002: Git, redacted config, manifest, schema,
runtime and assets).

It proves the boundary of the run, not that its results are right, and says so.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import TypeAlias

import orjson

from stages import __version__
from stages.core.lines.lines import digest
from stages.core.lines.schema import folder as schema_folder
from stages.core.run.config import RunConfig, texts
from stages.core.run.dataset import Dataset

Record: TypeAlias = Mapping[str, object]

VERSION = 3
PROVES = "the boundary of this run: what went in; not that its results are right"
GIT_SECONDS = 10
LIBRARIES = ("duckdb", "litellm", "numpy", "sqlglot", "tiktoken", "jsonschema-rs")
"""Libraries whose version may change a result."""
PACKAGE = Path(__file__).resolve().parents[2]


def provenance(config: RunConfig, dataset: Dataset) -> Record:
    """The record of what goes into a run."""
    manifest = dataset.manifest()
    schemas = {path: digest(raw) for path, raw in dataset.catalogs.items()}
    return {
        "v": VERSION,
        "proves": PROVES,
        "git": git(),
        "config": {"file": config.path, "digest": _digest(redacted(config.record))},
        "manifest": {"tasks": len(manifest), "digest": _digest(manifest)},
        "schema": {"catalogs": schemas, "digest": _digest(schemas)},
        "runtime": runtime(),
        "assets": assets(config),
    }


def _digest(value: object) -> str:
    return digest(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))


def redacted(record: Record) -> Record:
    """The configuration without keys and passwords, as it may be kept and shown."""
    from stages.core.model.options import without_secrets
    from stages.core.text import redact

    def plain(value: object) -> object:
        if isinstance(value, dict):
            return {key: plain(part) for key, part in value.items()}
        if isinstance(value, list):
            return [plain(part) for part in value]
        return redact(value) if isinstance(value, str) else value

    return {key: plain(value) for key, value in without_secrets(record).items()}


def git() -> Record | None:
    """The commit of the checkout that runs, and a hash of what was changed since; None where
    winnow does not run from a checkout, or git is not there."""
    if _git("rev-parse", "--show-prefix") not in (b"stages/\n", b"stages/"):
        return None
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return None
    changed = _git("diff", "HEAD", "--", ".")
    dirty = bool(changed)
    found: Record = {"commit": commit.decode().strip(), "dirty": dirty}
    return {**found, "diff": digest(changed)} if changed else found


def _git(*argv: str) -> bytes | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(PACKAGE), *argv],
            capture_output=True,
            timeout=GIT_SECONDS,
            check=False,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def runtime() -> Record:
    """The interpreter, the system, and the libraries that may change a result."""
    return {
        "winnow": __version__,
        "python": platform.python_version(),
        "platform": f"{sys.platform} {platform.machine()}",
        "libraries": {name: _version(name) for name in LIBRARIES},
    }


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def assets(config: RunConfig) -> Record:
    """Hashes of what the package ships that results depend on, and of the files that the
    configuration names."""
    named = {*texts(config.record.get("gold"))}
    named |= {v for s in config.stages for v in s.options.values() if isinstance(v, str)}
    given = {path: digest(Path(path).read_bytes()) for path in sorted(named) if _is_file(path)}
    return {
        "weights": _tree(sorted((PACKAGE / "core").glob("**/data/*"))),
        "prompts": _tree(sorted((PACKAGE / "prompts").glob("**/*.md"))),
        "schemas": _tree(sorted(schema_folder().glob("**/*.json"))),
        "files": given,
    }


def _is_file(path: str) -> bool:
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def _tree(paths: Iterable[Path]) -> str:
    """One hash over files, their names included."""
    files = [path for path in paths if path.is_file()]
    return digest(*(part for path in files for part in (path.name.encode(), path.read_bytes())))
