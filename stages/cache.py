"""Look at what is kept between runs, replies of models most of all; export it, or forget it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stages.core.counts import many
from stages.core.params import FiniteFloatRange
from stages.core.paths import CACHES

if TYPE_CHECKING:
    from stages.core.model.cache import Cache, CacheEntry, ExportedReplies
    from stages.core.sandbox.result_cache import ResultCache

WHERE = click.option(
    "--cache",
    "where",
    envvar="WINNOW_CACHE",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Folder of kept replies, or an exported file.  [default: winnow in the user's cache "
    "folder]",
)
KEYS = click.argument("keys", nargs=-1, metavar="[KEY]...")
MODEL = click.option("--model", metavar="ID", help="Only replies of this model.")
LOG = click.option(
    "--log",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Only requests that this file of --log names.",
)
OUTPUT = click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(allow_dash=True),
    help="Write to FILE, renamed into place at the end.",
)
DAY = 86400.0


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cache() -> None:
    """Look at what is kept between runs, replies of models most of all; export it, or forget it.

    A KEY is the hash of a request, as --log and error messages name it, or its beginning.
    """


@cache.command("ls")
@KEYS
@MODEL
@LOG
@WHERE
@click.option("-n", "most", type=click.IntRange(0), metavar="N", help="Only the N latest.")
def list_(
    keys: Sequence[str], model: str | None, log: Path | None, where: Path | None, most: int | None
) -> None:
    """List kept replies, the latest last: key, age, tokens in+out, model, schema#sample,
    question."""
    from stages.core.model.cache_listing import row

    now = time.time()
    chosen = _select(where, keys, model, log)
    rows = sorted((entry.created, entry.key, row(entry, now)) for entry in chosen)
    first = 0 if most is None else max(0, len(rows) - most)
    _print((text for _, _, text in rows[first:]), None)


@cache.command()
@click.argument("keys", nargs=-1, required=True, metavar="KEY...")
@WHERE
def show(keys: Sequence[str], where: Path | None) -> None:
    """Show kept replies in full: what was asked, and what came back."""
    from stages.core.model.cache_listing import whole_text

    _print((whole_text(entry) for entry in _select(where, keys, None, None)), None)


@cache.command()
@KEYS
@MODEL
@WHERE
@click.option("--older", type=FiniteFloatRange(0), metavar="DAYS", help="Only what is older.")
@click.option("--all", "everything", is_flag=True, help="Forget all that is kept.")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice([name for name in CACHES if name != "replies"]),
    help="Forget all of this kind, and no replies; may be given several times.",
)
def clear(
    keys: Sequence[str],
    model: str | None,
    where: Path | None,
    older: float | None,
    everything: bool,
    kinds: Sequence[str],
) -> None:
    """Forget kept replies: those named, or with --all every one.

    With --all alone, all other kinds are forgotten too: results, scans, indexes and tables, which
    are made again when they are needed.
    """
    from stages.core import diagnostics
    from stages.core.errors import UsageError
    from stages.core.model.cache import ExportedReplies

    named = bool(keys or model or older is not None)
    if kinds and (named or everything):
        raise UsageError("--kind stands alone", hint="forget replies in a call of their own")
    if kinds:
        _forget(kinds, where)
        return
    if not (named or everything):
        raise UsageError("nothing is named to be forgotten", hint="name keys, or say --all")
    store = _store(where)
    if isinstance(store, ExportedReplies):
        raise UsageError("an exported file is only read", place=str(where), hint="delete its lines")
    limit = time.time() - (older or 0) * DAY
    found = [e.key for e in _of(store, keys, model) if older is None or e.created < limit]
    gone = store.remove(found) if store else 0
    results = _results(where, store)
    told = f" and {results.forget()} results of exploring" if results and not named else ""
    diagnostics.begin("winnow cache clear")
    diagnostics.note(f"{gone} replies{told} forgotten")
    if not named:
        _forget(("scans", "indexes", "tables"), where)


def _forget(kinds: Sequence[str], where: Path | None) -> None:
    """Remove the files of these kinds, and say how much that was."""
    from stages.core import diagnostics
    from stages.core.paths import cache_files

    diagnostics.begin("winnow cache clear")
    for kind in kinds:
        found = list(cache_files(kind, where))
        size = sum(path.stat().st_size for path in found)
        for path in found:
            path.unlink(missing_ok=True)
        if found:
            diagnostics.note(f"{kind} forgotten: {size:,} bytes in {many(len(found), 'file')}")


@cache.command()
@WHERE
def places(where: Path | None) -> None:
    """Say what is kept, of each kind: bytes, files, age of the latest, and where.

    Replies of models cost money to make again, all else time.
    """
    from stages.core.model.cache_listing import age
    from stages.core.paths import cache_files, cache_place

    now = time.time()
    rows = []
    for kind in CACHES:
        stats = [path.stat() for path in cache_files(kind, where)]
        size, latest = sum(s.st_size for s in stats), max((s.st_mtime for s in stats), default=0.0)
        rows.append(
            f"{kind:8} {size:>15,}  {many(len(stats), 'file'):>11}  {age(latest, now):>4}  "
            f"{cache_place(kind, where)}\n"
        )
    _print(rows, None)


@cache.command()
@WHERE
def stats(where: Path | None) -> None:
    """Say how many replies are kept, by model, and what they cost.

    The results of exploring that are kept beside them are counted as well.
    """
    from stages.core.model.cache_listing import statistics

    store = _store(where)
    size = (
        sum(p.stat().st_size for p in store.path.parent.glob(f"{store.path.name}*")) if store else 0
    )
    results = _results(where, store)
    told = (
        f"{results.count():,} results of exploring in {results.size():,} bytes\n" if results else ""
    )
    _print([statistics(_of(store, (), None), size), told], None)


@cache.command()
@KEYS
@MODEL
@LOG
@WHERE
@OUTPUT
def export(
    keys: Sequence[str], model: str | None, log: Path | None, where: Path | None, output: str | None
) -> None:
    """Write kept replies as JSON lines: no keys, headers, URLs or times.

    The file serves in place of the folder, wherever it came from, and is only read:

    \b
        winnow vote lines.jsonl --log calls.jsonl > voted.jsonl
        winnow cache export --log calls.jsonl -o replies.jsonl
        winnow vote lines.jsonl --cache replies.jsonl --offline
    """
    entries = _select(where, keys, model, log)
    _print(sorted({entry.exported() for entry in entries}), output)


def _store(where: Path | None) -> Cache | ExportedReplies | None:
    """The store at the path or the usual place; None where nothing is kept yet.

    Raises:
        UsageError: A path was given, and nothing is there.
    """
    from stages.core.errors import UsageError
    from stages.core.model.cache import open_store
    from stages.core.paths import reply_cache

    place = reply_cache(where)
    if not place.exists():
        if where is not None:
            raise UsageError("no such cache", place=str(where))
        return None
    return open_store(place)


def _results(where: Path | None, store: Cache | ExportedReplies | None) -> ResultCache | None:
    """The results of exploring that are kept in the folder; an exported file has none."""
    from stages.core.model.cache import ExportedReplies
    from stages.core.paths import result_cache
    from stages.core.sandbox.result_cache import ResultCache

    return (
        None
        if store is None or isinstance(store, ExportedReplies)
        else ResultCache(result_cache(where))
    )


def _of(
    store: Cache | ExportedReplies | None, keys: Sequence[str], model: str | None
) -> Iterator[CacheEntry]:
    """The entries that the keys name (all without keys), of one model where it is given.

    Raises:
        DataError: A key names none.
    """
    from stages.core.errors import DataError

    for key in keys or ("",):
        found = list(store.entries(key)) if store else []
        if key and not found:
            raise DataError(f"no kept reply to {key[:80]}", hint="`winnow cache ls` lists them")
        yield from (entry for entry in found if model in (None, entry.request["model"]))


def _select(
    where: Path | None, keys: Sequence[str], model: str | None, log: Path | None
) -> Iterator[CacheEntry]:
    found = _of(_store(where), keys, model)
    if log is None:
        return found
    named = _named(log)
    return (entry for entry in found if entry.key in named)


def _named(log: Path) -> set[str]:
    """The requests that a log names."""
    import orjson

    from stages.core.errors import DataError, os_words

    try:
        return {str(orjson.loads(line)["request"]) for line in log.read_bytes().splitlines()}
    except OSError as error:
        raise DataError(f"cannot be read: {os_words(error)}", place=str(log)) from None
    except (orjson.JSONDecodeError, TypeError, KeyError):
        raise DataError("no file that --log wrote", place=str(log)) from None


def _print(parts: Iterable[str | bytes], path: str | None) -> None:
    """Write text or bytes to stdout or a file, piece by piece."""
    from stages.core.lines.io import output

    with output(path) as out:
        for part in parts:
            out.write(part.encode() if isinstance(part, str) else part)
