"""Indexes of the last catalogs in memory, and on disk under the hash of their table lines."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stages.core.judge import disk
from stages.core.judge.expand import Vocabulary, vocabulary
from stages.core.judge.index import Index, build

if TYPE_CHECKING:
    from stages.core.records import Table

#: Catalogs kept in memory; columns from which an index is worth a file.
MOST_KEPT, LEAST_COLUMNS = 4, 1500
_kept: OrderedDict[tuple[int, ...], tuple[Sequence[Table], Index, Vocabulary]] = OrderedDict()


def opened(tables: Sequence[Table], index_dir: Path | None) -> tuple[Index, Vocabulary]:
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
    path = disk.path_of(index_dir, disk.key_of(tables))
    held = disk.load(path)
    if held is None:
        held = build(tables)
        disk.save(held, path)
    return held
