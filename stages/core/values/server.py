"""A question's words looked up in the tables of a server, by bounded statements, unasked never."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from stages.core.catalog.duck.sql import quote
from stages.core.catalog.duck.sql import text as text_of
from stages.core.errors import SqlUnavailable, WinnowError
from stages.core.records import Column, Table
from stages.core.values.index import folded
from stages.core.values.lookup import MOST_WORDS

if TYPE_CHECKING:
    from stages.core.judge.judgment import ValueHits
    from stages.core.sandbox.session import Data

LONGEST = 60
"""Characters of a word that is looked up."""
PER_STATEMENT = 20
"""Columns read by one statement."""
MOST_FOUND = 1000
"""Rows of one statement; each is a column and one spelling found in it."""
_TEXT = re.compile(r"VARCHAR|ENUM\b|UUID\b")
_COUNTED = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?\b|DATE\b")
_PLAIN = re.compile(r"[0-9]{5,}|[0-9]{4}-[0-9]{2}-[0-9]{2}")


class ServerValues:
    """Asks a server for words.

    Args:
        tables: All tables of the catalog.
        data: The catalog's data.

    Attributes:
        notes: What could not be asked, a sentence each.
        error: Why the server is out of reach; empty where it is not.
    """

    def __init__(self, tables: Sequence[Table], data: Data) -> None:
        self.tables = [table for table in tables if "url" in table.get("source", {})]
        self.data = data
        self.notes: list[str] = []
        self.error = ""

    def close(self) -> None:
        """Nothing is held open here."""

    def __call__(self, words: Collection[str]) -> ValueHits:
        """By word, the tables and columns that hold it as a whole value, without regard to case."""
        asked = {folded(word): word for word in words if len(word) <= LONGEST}
        asked = dict(list(asked.items())[:MOST_WORDS])
        found: dict[str, list[tuple[str, str]]] = {}
        for table in self.tables if asked else ():
            for column, value in self._hits(table, list(asked)):
                if (word := asked.get(folded(value))) is not None:
                    found.setdefault(word, []).append((table["name"], column))
        return found

    def written(self, words: Collection[str]) -> Mapping[tuple[str, str], str]:
        """Nothing: a server is asked once, for the judge."""
        return {}

    def _hits(self, table: Table, words: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Columns of one table and the words they hold."""
        plain = [word for word in words if _PLAIN.fullmatch(word)]
        names = [column["name"] for column in table["columns"] if _may_hold(column, bool(plain))]
        try:
            for start in range(0, len(names), PER_STATEMENT):
                sql = statement(table["name"], names[start : start + PER_STATEMENT], words)
                for name, value in self.data.query(sql, dialect="duckdb", rows=MOST_FOUND).rows:
                    yield str(name), str(value)
        except SqlUnavailable as error:
            self.error = f"values of {table['name']} could not be read: {error.what}"
        except WinnowError as error:
            self.notes.append(f"values of {table['name']} were not looked up: {error.what}")


def _may_hold(column: Column, plain: bool) -> bool:
    """Whether a column may hold the words; ``plain`` if numbers or days are among them. One
    without examples is empty, or its values are hidden."""
    if not column.get("examples"):
        return False
    return bool(_TEXT.match(column["type"]) or (plain and _COUNTED.match(column["type"])))


def statement(table: str, columns: Sequence[str], words: Sequence[str]) -> str:
    """The words that columns hold as whole values, as rows of column and value."""
    wanted = ", ".join(map(text_of, words))
    each = []
    for column in columns:
        text = f"lower(CAST({quote(column)} AS VARCHAR))"
        each.append(
            f"SELECT DISTINCT {text_of(column)} AS name, {text} AS value FROM {quote(table)} "
            f"WHERE {text} IN ({wanted})"
        )
    return " UNION ALL ".join(each)
