"""Finding a table or a column of a catalog by any of its spellings.

Gold files, models and people write ``Employee Attendance``, ``DB.SCHEMA.TABLE`` or
``"orders"``; names are matched without regard to case and quotes, by canonical name, by
alias, by describe key, and by the part after the last dot where only one table has it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from stages.core.records import Table
from stages.core.text import composed


class Names:
    """Finds the tables and columns of one catalog whatever spelling they are named by."""

    def __init__(self, tables: Sequence[Table]) -> None:
        self._tables: dict[str, str | None] = {}
        self._columns = {table["name"]: _column_names(table) for table in tables}
        self._spellings = {table["name"]: (table["name"], *_aliases(table)) for table in tables}
        for spellings in (_own, _aliases, _last_parts):
            self._learn(tables, spellings)

    def _learn(self, tables: Sequence[Table], spellings: Callable[[Table], Sequence[str]]) -> None:
        """Add one kind of spelling; it never overrides a better kind, and one that two
        tables share keeps weaker kinds from naming either."""
        pairs = [(_bare(name), table["name"]) for table in tables for name in spellings(table)]
        fresh = unique(pairs)
        for name, _ in pairs:
            self._tables.setdefault(name, fresh.get(name))

    def table(self, name: str) -> str | None:
        """The canonical name, or None where the catalog has no such table."""
        return (
            self._tables.get(_bare(name))
            or self._tables.get(_bare(canonical(name)))
            or self._tables.get(_bare(_last(name)))
        )

    def spellings(self, table: str) -> tuple[str, ...]:
        """All names of a table, its canonical name first."""
        return self._spellings.get(table, (table,))

    def column(self, table: str, name: str) -> str | None:
        """The column's spelling in the catalog; a dotted path finds its outermost column.

        Args:
            table: Canonical name of the table.
            name: Name of the column, in any case.
        """
        known = self._columns.get(table, {})
        for said in (name, name.split(".", 1)[0]):
            found = known.get(said) or known.get(_bare(said))
            if found is not None:
                return found
        return None


def _own(table: Table) -> Sequence[str]:
    return (table["name"],)


def _aliases(table: Table) -> Sequence[str]:
    inner = table["source"].get("table") if "source" in table else None
    return (*table.get("aliases", []), table["describe_key"], *([inner] if inner else []))


def _last_parts(table: Table) -> Sequence[str]:
    return tuple(_last(name) for name in (*_aliases(table), table["name"]))


def _column_names(table: Table) -> dict[str, str]:
    """Columns by their own spelling, and by any other where that is no column's own."""
    found = {column["name"]: column["name"] for column in table["columns"]}
    for column in table["columns"]:
        found.setdefault(_bare(column["name"]), column["name"])
    return found


Meaning = TypeVar("Meaning")


def unique(pairs: Iterable[tuple[str, Meaning]]) -> dict[str, Meaning]:
    """What each spelling means; one that two share means neither.

    >>> unique([("a", 1), ("b", 2), ("b", 3), ("a", 1)])
    {'a': 1}
    """
    found: dict[str, Meaning] = {}
    shared = set()
    for spelling, meaning in pairs:
        if found.setdefault(spelling, meaning) != meaning:
            shared.add(spelling)
    return {spelling: meaning for spelling, meaning in found.items() if spelling not in shared}


def fold(name: str) -> str:
    r"""The form in which names are compared: composed, and without case.

    >>> fold("CAFE\u0301") == fold("caf\u00e9")
    True
    """
    return name.lower() if name.isascii() else composed(composed(name).casefold())


def canonical(spelling: str) -> str:
    """The canonical form of one spelling (DESIGN 5).

    It keeps letters of any script with their marks, digits and ``_``; the rest becomes ``_``;
    a leading digit gets ``t_``; lower case.

    >>> canonical("Employee Attendance"), canonical("2024报表(新)"), canonical("a.b-c")
    ('employee_attendance', 't_2024报表_新_', 'a_b_c')
    """
    kept = "".join(char if _kept(char) else "_" for char in composed(spelling))
    name = composed(kept.lower())
    return f"t_{name}" if not name or name[0].isdigit() else name


def _kept(char: str) -> bool:
    return char == "_" or unicodedata.category(char)[0] in "LMN"


def _bare(name: str) -> str:
    return fold(name.strip().strip('`"[]'))


def _last(name: str) -> str:
    return name.rsplit("::", 1)[-1].rsplit(".", 1)[-1]


_memo: list[tuple[Sequence[Table], Names]] = []


def names_of(tables: Sequence[Table]) -> Names:
    """The names of a catalog, made once for the tasks that follow each other on it."""
    if not _memo or _memo[0][0] is not tables:
        _memo[:] = [(tables, Names(tables))]
    return _memo[0][1]
