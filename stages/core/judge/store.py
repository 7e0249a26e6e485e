"""Indexes of the last catalogs in memory, and on disk under the hash of their lines.

Indexes on disk: plain arrays and JSON in one file, no pickles, named by what they are made
of.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import os
import tempfile
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import orjson

from stages.core.jsontypes import JsonObject
from stages.core.judge.index.index import Index, build
from stages.core.judge.index.keys import KeyGraph, graph_of
from stages.core.judge.index.postings import Distances, Postings
from stages.core.judge.index.texts import TEXTS, Texts
from stages.core.judge.judgment import Edge, How
from stages.core.judge.match.expand import Vocabulary, vocabulary

if TYPE_CHECKING:
    from stages.core.records import Table

#: Part of the key: raise it when an index of the same lines would come out differently.
FORMAT = 11
#: Indexes kept in one folder.
MOST_FILES = 64
_LISTS = ("by_table", "by_column")
_ARRAYS = (
    "column_table",
    "column_start",
    "lengths",
    "tokens",
    "group",
    "family",
    "kin",
    "copy_of",
    "kinds",
    "column_kinds",
    "is_key",
)


def key_of(tables: Sequence[Table]) -> str:
    """SHA-256 of the table records, byte for byte; a hand-added description makes a new key."""
    made = hashlib.sha256(b"index %d" % FORMAT)
    for table in tables:
        made.update(orjson.dumps(table))
        made.update(b"\n")
    return made.hexdigest()


def path_of(folder: Path, key: str) -> Path:
    """Where the index of that key stands."""
    return folder / f"judge-{key[:40]}.npz"


def save(index: Index, path: Path) -> None:
    """Write an index, whole or not at all; a folder that cannot be written is no error."""
    arrays: JsonObject = {name: getattr(index, name) for name in _ARRAYS}
    for name in _LISTS:
        for field, lists in getattr(index, name).items():
            arrays[f"{name}/{field}/start"], arrays[f"{name}/{field}/doc"] = lists.start, lists.doc
    for name in ("table_terms", "column_terms"):
        lists = getattr(index, name)
        arrays[f"{name}/start"], arrays[f"{name}/doc"] = lists.start, lists.doc
    for name, held in index.texts.items():
        arrays[f"text-{name}/start"], arrays[f"text-{name}/doc"] = held.lists.start, held.lists.doc
        arrays[f"text-{name}/weight"] = held.weight
    texts = {
        "words": {name: [list(held.words), held.n_docs] for name, held in index.texts.items()},
        "canonical": index.canonical,
        "names": index.names,
        "columns": index.columns,
        "terms": list(index.vocabulary),
        "values": index.values,
        "spelled": index.spelled,
        "edges": [
            (e.left, e.left_columns, e.right, e.right_columns, e.how) for e in index.keys.edges
        ],
    }
    arrays["texts"] = np.frombuffer(orjson.dumps(texts), dtype=np.uint8)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as out:
                np.savez(out, **arrays)
            os.replace(name, path)
        finally:
            Path(name).unlink(missing_ok=True)
        _forget(path.parent)


def _forget(folder: Path) -> None:
    """Delete the indexes that were not used for longest: each edit of a catalog makes another."""
    held = sorted(folder.glob("judge-*.npz"), key=lambda path: path.stat().st_mtime_ns)
    for old in held[:-MOST_FILES]:
        old.unlink(missing_ok=True)


def load(path: Path) -> Index | None:
    """Read an index; None where there is none or it cannot be read."""
    try:
        with np.load(path, allow_pickle=False) as held:
            found = _index({name: held[name] for name in held.files})
    except Exception:  # zip and npy readers raise many kinds on a broken file, which is made anew
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return found


def _index(held: JsonObject) -> Index:
    """Put the parts together."""
    texts = orjson.loads(held["texts"].tobytes())
    lists: dict[str, dict[str, Postings]] = {name: {} for name in _LISTS}
    for name in held:
        parts = name.split("/")
        if len(parts) == 3 and parts[2] == "start":
            lists[parts[0]][parts[1]] = Postings(held[name], held[f"{parts[0]}/{parts[1]}/doc"])
    keys = _keys(texts["edges"])
    names = tuple(texts["names"])
    number = {name: at for at, name in enumerate(names)}
    near = tuple(
        np.array(sorted(number[o] for o in keys.neighbours.get(name, ())), dtype=np.int32)
        for name in names
    )
    return Index(
        canonical=tuple(texts["canonical"]),
        names=names,
        columns=tuple(texts["columns"]),
        vocabulary={term: at for at, term in enumerate(texts["terms"])},
        values={key: tuple(found) for key, found in texts["values"].items()},
        spelled={key: tuple(found) for key, found in texts["spelled"].items()},
        by_table=lists["by_table"],
        by_column=lists["by_column"],
        table_terms=Postings(held["table_terms/start"], held["table_terms/doc"]),
        column_terms=Postings(held["column_terms/start"], held["column_terms/doc"]),
        texts={name: _words(name, held, *texts["words"][name]) for name in TEXTS},
        keys=keys,
        near=near,
        distances=Distances(near),
        **{name: held[name] for name in _ARRAYS},
    )


def _words(name: str, held: JsonObject, found: list[str], n_docs: int) -> Texts:
    """One kind of text from its arrays and words."""
    number = {word: at for at, word in enumerate(found)}
    lists = Postings(held[f"text-{name}/start"], held[f"text-{name}/doc"])
    return Texts(number, lists, held[f"text-{name}/weight"], n_docs)


def _keys(edges: list[tuple[str, list[str], str, list[str], How]]) -> KeyGraph:
    """The key graph from its edges."""
    return graph_of(
        [
            Edge(left, tuple(mine), right, tuple(theirs), how)
            for left, mine, right, theirs, how in edges
        ]
    )


# Indexes of the last catalogs in memory, and on disk under the hash of their table lines.

#: Catalogs kept in memory; columns from which an index is worth a file.
MOST_KEPT, LEAST_COLUMNS = 4, 1500
_kept: OrderedDict[tuple[int, ...], tuple[Sequence[Table], Index, Vocabulary]] = OrderedDict()


def open_index(tables: Sequence[Table], index_dir: Path | None) -> tuple[Index, Vocabulary]:
    """The index of these tables, made once.

    In memory an index is found again by the identity of the table records, which are held with
    it; a record that is changed in place is not noticed. On disk it is found by their bytes.
    """
    key = tuple(map(id, tables))
    if key not in _kept:
        made = _read_or_built(tables, index_dir)
        _kept[key] = (list(tables), made, vocabulary(made.vocabulary, made.named()))
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
    _kept.move_to_end(key)
    return _kept[key][1:]


def _read_or_built(tables: Sequence[Table], index_dir: Path | None) -> Index:
    """From disk where the same lines were indexed before, else made and kept there."""
    if index_dir is None or sum(len(table["columns"]) for table in tables) < LEAST_COLUMNS:
        return build(tables)
    path = path_of(index_dir, key_of(tables))
    held = load(path)
    if held is None:
        held = build(tables)
        save(held, path)
    return held


# No garbage collection while one question is judged or one catalog indexed.


@contextmanager
def gc_paused() -> Iterator[None]:
    """Put collections off until the end; where they are off already they stay off."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
