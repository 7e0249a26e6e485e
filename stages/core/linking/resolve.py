"""Names in a model's answers, found as the tables and columns that they mean.

A name may come in another case, in quotes, with a database and schema in front, by an alias,
as it was shown (neutralised, or cut), or as the path of a nested field. Candidate tables are
looked at first, so that a short name means the candidate where the catalog has several.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property

from stages.core.linking.explore.judgments import ColumnNames
from stages.core.names import Names, unique
from stages.core.records import Table
from stages.core.text import decoded, visible

SHOWN = 200
"""Characters shown of a name; a longer one is found by what was shown of it."""

_QUOTES = str.maketrans("", "", '"`[]')


class ReplyNames:
    """Finds the tables and columns of one catalog.

    Args:
        tables: All tables of the catalog.
        candidates: Canonical names of the tables that come first.
    """

    def __init__(self, tables: Sequence[Table], candidates: Collection[str] = ()) -> None:
        self._tables = {table["name"]: table for table in tables}
        self._all = Names(tables)
        self._near = Names([table for table in tables if table["name"] in candidates])
        self._columns: dict[str, ColumnNames] = {}
        self._cut_columns: dict[str, dict[str, str]] = {}

    def table(self, said: str) -> str | None:
        """The canonical name; None where no table, or more than one, is meant."""
        for name in _spellings(said):
            found = self._near.table(name) or self._all.table(name)
            if found is not None:
                return found
        return self._cut.get(_bare(said))

    def column(self, table: str, said: str) -> str | None:
        """The column or dotted path as the table line spells it; None where there is none.

        Args:
            table: Canonical name.
            said: May have the table's name in front; a path below a column that has no
                such field means the column.
        """
        if table not in self._columns:
            self._columns[table] = ColumnNames(self._tables[table])
            names = [
                name
                for c in self._tables[table]["columns"]
                for name in (c["name"], *(f["name"] for f in c.get("fields", [])))
            ]
            self._cut_columns[table] = _cut_names(names)
        names_of = self._columns[table]
        for name in _spellings(said):
            found = names_of.find(name)
            if found is not None:
                return found
        return self._cut_columns[table].get(_bare(said))

    @cached_property
    def _cut(self) -> dict[str, str]:
        return _cut_names(self._tables)


def _spellings(said: str) -> tuple[str, ...]:
    """The name as it came, with its escapes read, and without any quotes."""
    return tuple(dict.fromkeys((said, decoded(said), said.translate(_QUOTES).strip())))


def _bare(said: str) -> str:
    return said.strip().strip('"')


def _cut_names(names: Collection[str]) -> dict[str, str]:
    """What is shown of each name that is too long to be shown whole, where only it looks so."""
    return unique((visible(name, SHOWN), name) for name in names if len(name) > SHOWN)
