"""Canonical table names: unique without regard to case, and the same in whatever order files are
met.

DESIGN 5. A name keeps letters of any script (with their marks), digits and underscores; the
rest becomes ``_``; a leading digit gets ``t_``; lower case. Where names clash, all of them
step up together until they differ, so that no table wins by being met first:

1. ``hr__employees``: the stem of a source that holds several tables, else its kind
   (``csv__employees``);
2. ``db_hr__employees``, ``sub_csv__employees``: with the folder that the file lies in;
3. ``context_db_hr_db__employees``: with the whole path;
4. where no level tells them apart (within one source, or ``a-b.csv`` beside ``a_b.csv``):
   ``employees_2``, counted in the order of the describe keys, a spelling that is canonical
   already coming first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from stages.core.names import canonical, fold

LAST_LEVEL = 3


@dataclass(frozen=True)
class Origin:
    """Where a table comes from.

    Args:
        path: Path of its file relative to the root, with ``/``; empty on a schema file.
        kind: Kind of its source.
        spelling: Its name as the source spells it.
        several: Whether the source may hold several tables.
    """

    path: str
    kind: str
    spelling: str
    several: bool

    @property
    def key(self) -> str:
        """The describe key: the path, with ``::table`` where the source holds several."""
        if not self.path:
            return self.spelling
        return f"{self.path}::{self.spelling}" if self.several else self.path


def canonical_names(origins: Sequence[Origin]) -> list[str]:
    """One name for each table, in their order; the names do not depend on that order."""
    levels = [0] * len(origins)
    while True:
        names = [_at_level(origin, level) for origin, level in zip(origins, levels, strict=True)]
        risen = False
        for members in _clashes(names):
            if len({_at_level(origins[i], LAST_LEVEL) for i in members}) > 1:
                for i in members:
                    risen |= levels[i] < LAST_LEVEL
                    levels[i] = min(levels[i] + 1, LAST_LEVEL)
        if not risen:
            return _numbered(names, origins)


def _at_level(origin: Origin, level: int) -> str:
    name = canonical(origin.spelling)
    if level == 0 or not origin.path:
        return name
    path = PurePosixPath(origin.path)
    label = path.name.split(".", 1)[0] or path.name if origin.several else origin.kind
    if level == 2:
        label = f"{path.parent.name}_{label}"
    elif level == LAST_LEVEL:
        label = origin.path
    return f"{canonical(label)}__{name}"


def _clashes(names: Sequence[str]) -> list[list[int]]:
    groups: dict[str, list[int]] = defaultdict(list)
    for i, name in enumerate(names):
        groups[fold(name)].append(i)
    return [members for members in groups.values() if len(members) > 1]


def _numbered(names: list[str], origins: Sequence[Origin]) -> list[str]:
    """Number what still clashes; the first of each group keeps its name."""
    taken = {fold(name) for name in names}
    for members in sorted(_clashes(names), key=lambda m: fold(names[m[0]])):
        members.sort(key=lambda i: (_spelt_otherwise(origins[i]), origins[i].key))
        number = 2
        for i in members[1:]:
            while fold(f"{names[i]}_{number}") in taken:
                number += 1
            names[i] = f"{names[i]}_{number}"
            taken.add(fold(names[i]))
    return names


def _spelt_otherwise(origin: Origin) -> bool:
    return canonical(origin.spelling) != origin.spelling


def aliases(origins: Sequence[Origin], names: Sequence[str]) -> list[list[str]]:
    """For each table its original spelling, and the stem of its file where a JSON file calls it
    otherwise; each where it differs from its canonical name and means no other table, neither by
    spelling, canonical name nor stem."""
    owners: dict[str, set[int]] = defaultdict(set)
    spelt = [list(dict.fromkeys([origin.spelling, *_stems(origin)])) for origin in origins]
    for i, (spellings, name) in enumerate(zip(spelt, names, strict=True)):
        for word in (*spellings, name):
            owners[fold(word)].add(i)
    return [
        [word for word in spellings if _free(word, name, owners)]
        for spellings, name in zip(spelt, names, strict=True)
    ]


def _stems(origin: Origin) -> list[str]:
    if origin.kind != "json":
        return []
    return [PurePosixPath(origin.path).name.split(".", 1)[0]]


def _free(spelling: str, name: str, owners: dict[str, set[int]]) -> bool:
    return bool(spelling) and spelling != name and len(owners[fold(spelling)]) == 1


def lookup(origins: Iterable[Origin], names: Iterable[str]) -> dict[tuple[str, str], str]:
    """Canonical name by (path, spelling), as it stands and case-folded: how a source's own
    foreign keys, which never leave their source, find the tables they mean."""
    pairs = [(origin, name) for origin, name in zip(origins, names, strict=True)]
    folded = {(origin.path, fold(origin.spelling)): name for origin, name in pairs}
    return folded | {(origin.path, origin.spelling): name for origin, name in pairs}
