"""Finding the table or column that a statement means, and the nearest names when there is none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from stages.core import names
from stages.core.records import Table
from stages.core.text import quoted

SUGGESTIONS = 3
FRAME = "df_"
CLOSE_ENOUGH = 60  # percent, of rapidfuzz's ratio
LONGEST_NAME = 80


def fold(name: str) -> str:
    """The name as names are compared: without case, since DuckDB ignores it."""
    return name.casefold()


def squeeze(name: str) -> str:
    """The name without case and without white space of any kind, in composed form."""
    return "".join(names.fold(name).split())


class TableNames:
    """Every spelling under which a table of the catalog can be asked for.

    Canonical names come before aliases; a spelling that two tables share is nobody's.
    """

    def __init__(self, tables: Sequence[Table]) -> None:
        self.tables = tuple(tables)
        self._by_alias = _unique((alias, table) for table in tables for alias in _aliases(table))
        self._by_name = {fold(table["name"]): table for table in tables}
        spelt = [(word, table) for table in tables for word in (table["name"], *_aliases(table))]
        self._squeezed = _unique((squeeze(word), table) for word, table in spelt)
        self._last_parts = _unique((word.rpartition(".")[2], table) for word, table in spelt)
        self._spellings = [word for word, _ in spelt]

    def exact(self, name: str) -> Table | None:
        """The table of this canonical name or alias, without regard to case; ``df_NAME``, as
        code for data frames calls it, is one of its names where no other table has it."""
        found = self._by_name.get(fold(name)) or self._by_alias.get(fold(name))
        if found is None and fold(name).startswith(FRAME):
            return self.exact(name[len(FRAME) :])
        return found

    def find(self, parts: Sequence[str]) -> tuple[Table | None, str]:
        """The table meant by ``catalog.schema.name`` parts, and a note where it was a guess.

        Args:
            parts: One to three identifiers, outermost first.

        Returns:
            The table, or None; and the note, empty where the spelling was exact.
        """
        whole = ".".join(parts)
        table = self.exact(whole)
        if table is None and len(parts) > 1:
            table = self.exact("_".join(parts)) or self.exact("__".join(parts))
        if table is not None:
            return table, ""
        if len(parts) == 2 and fold(parts[0]) == "main" and (table := self.exact(parts[1])):
            return table, ""
        table = self._squeezed.get(squeeze(whole)) or self._unqualified(parts)
        note = f"table {shown(whole)} read as {shown(table['name'])}" if table else ""
        return table, note

    def _unqualified(self, parts: Sequence[str]) -> Table | None:
        """The table of the last part alone, where only one table answers to it."""
        return self.exact(parts[-1]) or self._last_parts.get(fold(parts[-1]))

    @cached_property
    def known_columns(self) -> set[str]:
        """Folded names of every column of every table."""
        return {fold(name) for table in self.tables for name in seen(table)}

    def known(self, word: str) -> bool:
        """Whether a table, alias or column is spelt like this, white space and case aside."""
        return squeeze(word) in self._all_squeezed

    @cached_property
    def _all_squeezed(self) -> set[str]:
        columns = {squeeze(name) for table in self.tables for name in seen(table)}
        return columns | set(self._squeezed)

    def no_table(self, name: str) -> str:
        """The message for a name that no table answers to."""
        spellings = dict.fromkeys(self._spellings)
        near = nearest(name, spellings)
        if near:
            return f"no table {shown(name)}; did you mean {near}?"
        first = ", ".join(shown(table["name"]) for table in self.tables[:SUGGESTIONS])
        more = (
            f" and {len(self.tables) - SUGGESTIONS} more" if len(self.tables) > SUGGESTIONS else ""
        )
        return f"no table {shown(name)}; tables: {first}{more}"


def nearest(name: str, words: Iterable[str], close: int = CLOSE_ENOUGH) -> str:
    """Up to three words that look like the name, quoted for SQL, nearest first; or empty.

    Args:
        name: What was written.
        words: The names that there are.
        close: Likeness in percent below which a word is none of them.
    """
    from rapidfuzz import fuzz, process

    choices = list(dict.fromkeys(words))
    found = process.extract(
        name,
        choices,
        scorer=fuzz.ratio,
        processor=fold,
        limit=SUGGESTIONS,
        score_cutoff=close,
    )
    return " or ".join(shown(word) for word, _, _ in found)


def shown(name: str) -> str:
    """A name as it may stand in a message: quoted where it has to be, on one line, capped."""
    return quoted(name, LONGEST_NAME)


def seen(table: Table) -> list[str]:
    """Names of the columns whose values may be seen."""
    return [column["name"] for column in table["columns"] if not column.get("hidden")]


def hidden(table: Table) -> list[str]:
    """Names of the columns whose values are hidden; a statement does not have them at all."""
    return [column["name"] for column in table["columns"] if column.get("hidden")]


def _aliases(table: Table) -> list[str]:
    return table.get("aliases", [])


def _unique(pairs: Iterable[tuple[str, Table]]) -> dict[str, Table]:
    """Folded spelling to table, leaving out what two tables share."""
    return names.unique((fold(word), table) for word, table in pairs)
