"""What to say of sources that the user named and that gave nothing: that is no success."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from stages.core.catalog.build import ScanResult
from stages.core.catalog.servers.address import is_server, masked
from stages.core.errors import DataError
from stages.core.line_files import Targets


def of_files(files: Sequence[str], result: ScanResult, targets: Targets) -> Iterator[DataError]:
    """An error for each file that the user named and no table comes from."""
    name, root = result.catalog["name"], result.catalog.get("root", ".")
    reasons = {item["path"]: item["reason"] for item in result.catalog.get("skipped", ())}
    for table in result.tables:
        path = table.get("source", {}).get("path", "")
        if table["columns"]:
            reasons[path] = ""
        else:
            reasons.setdefault(path, table.get("error", "") or "no column in it")
    for file in files:
        real = Path(os.path.realpath(file))
        if targets.holds(real, real.stat()):
            continue
        near = [Path(os.path.relpath(one, root)).as_posix() for one in (file, real)]
        path = next((path for path in near if path in reasons), near[0])
        reason = reasons.get(path, "no table in it")
        if reason:
            hint = "mend it, or leave it out of the command"
            yield DataError(reason, place=f"{name}: {path}", hint=hint)


def of_place(place: str, result: ScanResult) -> DataError:
    """The error for a folder or a server that gave nothing."""
    if is_server(place):
        return DataError(
            "no table",
            place=masked(place),
            hint="check --schemas, --include and --exclude, and what the role may read",
        )
    left = len(result.catalog.get("skipped", ()))
    hint = "--verbose says what was left out" if left else "check the path"
    return DataError("no table and no document in it", place=place, hint=hint)
