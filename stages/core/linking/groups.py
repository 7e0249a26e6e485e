"""Groups of tables with the same set of column names (seed 004, 3.2).

A group goes to a model as one block, so that the columns it shares stand once; every
physical table of it is still judged by itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stages.core.linking.columns import units

if TYPE_CHECKING:
    from stages.core.records import Table


@dataclass(frozen=True)
class Group:
    """Tables with the same candidate columns, by name.

    Args:
        tables: At least one.
        columns: Names of the candidate columns, in the order of the first table.
    """

    tables: tuple[Table, ...]
    columns: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Canonical names of the tables."""
        return tuple(table["name"] for table in self.tables)


def grouped(tables: Sequence[Table]) -> list[Group]:
    """All groups, those of one table too, by the name of the first table.

    Only names count, not types and comments; the order in which the tables come changes
    nothing. A table without columns stands alone.
    """
    alike: dict[tuple[str, ...], list[Table]] = defaultdict(list)
    for table in sorted(tables, key=lambda table: table["name"]):
        names = tuple(sorted(units(table)))
        alike[names or ("", table["name"])].append(table)
    return [Group(tuple(found), tuple(units(found[0]))) for found in alike.values()]
