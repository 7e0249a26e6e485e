"""Indexes of the last catalogs in memory, and on disk under the hash of their table lines."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stages.core.judge.expand import Vocabulary, vocabulary
from stages.core.judge.index import Index, build

if TYPE_CHECKING:
    from stages.core.records import Table

#: Catalogs kept in memory.
MOST_KEPT = 4
_kept: OrderedDict[tuple[int, ...], tuple[Sequence[Table], Index, Vocabulary]] = OrderedDict()


def opened(tables: Sequence[Table], index_dir: Path | None) -> tuple[Index, Vocabulary]:
    """The index of these tables, made once.

    In memory an index is found again by the identity of the table records, which are held with
    it; a record that is changed in place is not noticed. On disk it is found by their bytes.
    """
    key = tuple(map(id, tables))
    if key not in _kept:
        made = build(tables)
        _kept[key] = (list(tables), made, vocabulary(made.vocabulary))
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
    _kept.move_to_end(key)
    return _kept[key][1:]
