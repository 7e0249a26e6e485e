"""Where winnow keeps what it makes: one folder for all caches, and where replies of models lie.

``WINNOW_CACHE`` names the folder. It may also name a file of ``winnow cache export``: replies
then come from that file, which is only read, and everything else lies where it would without.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from stages.core.errors import UsageError

VARIABLE = "WINNOW_CACHE"
EXPORT_SUFFIX = ".jsonl"

CACHES: Mapping[str, str] = {
    "replies": "replies.sqlite",  # of models: they cost money
    "results": "results.sqlite",  # of SQL that was run to explore
    "scans": "scan.sqlite",  # what was read of files
    "values": "values",  # distinct values of sources, a file each
    "indexes": "index",  # the judge's, of large catalogs
    "tables": "tables",  # loaded for queries, a file each
}
"""Every cache by name: a file or a folder in `cache_dir`. Losing any but the first costs time."""

OWN_NAMES: Mapping[str, re.Pattern[str]] = {
    "values": re.compile(r"values-\d+-[0-9a-f]{20}\.sqlite(-wal|-shm|\.damaged)?"),
    "indexes": re.compile(r"judge-\w+\.npz|tmp\w+\.part"),
    "tables": re.compile(r"[0-9a-f]{20}-[0-9a-f]{16}-.*\.(duckdb|part|part\.wal)"),
}
"""Names of winnow's files in a cache that is a folder: it may hold files of the user as well."""


def cache_dir() -> Path:
    """The folder of all caches: ``$WINNOW_CACHE``, else ``winnow`` in the user's cache folder.

    Raises:
        UsageError: The user has no home folder.
    """
    given = os.environ.get(VARIABLE)
    if given and not is_export(Path(given)):
        return Path(given)
    # The XDG rules say that a relative path is to be ignored.
    home = os.environ.get("XDG_CACHE_HOME", "")
    try:
        base = Path(home) if os.path.isabs(home) else Path("~/.cache").expanduser()
    except RuntimeError:
        hint = f"set {VARIABLE} to a folder"
        raise UsageError("there is no home folder to keep a cache in", hint=hint) from None
    return base / "winnow"


def reply_cache(given: str | Path | None = None) -> Path:
    """Where replies of models lie: a folder, or an exported file.

    Args:
        given: What ``--cache`` says; without it ``$WINNOW_CACHE`` counts.

    Raises:
        UsageError: As `cache_dir`.
    """
    place = given or os.environ.get(VARIABLE)
    return Path(place) if place else cache_dir()


def result_cache(given: str | Path | None = None) -> Path:
    """The folder of results of statements: that of the replies, where these lie in a folder.

    Args:
        given: As for `reply_cache`.

    Raises:
        UsageError: As `cache_dir`.
    """
    place = reply_cache(given)
    return cache_dir() if is_export(place) else place


def cache_place(name: str, given: str | Path | None = None) -> Path:
    """The file or the folder of a cache.

    Args:
        name: One of `CACHES`.
        given: As for `reply_cache`; it moves replies, and results with them, and nothing else.

    Raises:
        UsageError: As `cache_dir`.
    """
    if name == "replies" and is_export(reply_cache(given)):
        return reply_cache(given)
    beside = name in ("replies", "results")
    return (result_cache(given) if beside else cache_dir()) / CACHES[name]


def cache_files(name: str, given: str | Path | None = None) -> Iterator[Path]:
    """The files of a cache, those included that stand beside it.

    Args:
        name: One of `CACHES`.
        given: As for `cache_place`.

    Raises:
        UsageError: As `cache_dir`.
    """
    place = cache_place(name, given)
    if name in OWN_NAMES:
        inside = place.glob("*") if place.is_dir() else ()
        found = [path for path in inside if OWN_NAMES[name].fullmatch(path.name)]
    else:
        endings = ("", "-wal", "-shm", ".damaged")
        found = [place.with_name(f"{place.name}{ending}") for ending in endings]
    yield from sorted(path for path in found if path.is_file())


def is_export(place: Path) -> bool:
    """Whether a path is that of an exported file and not of a folder.

    >>> is_export(Path("no/such/replies.jsonl")), is_export(Path("no/such/folder"))
    (True, False)
    """
    return place.is_file() or (place.suffix == EXPORT_SUFFIX and not place.is_dir())
