"""What scoring needs to know of a catalog: whose names, and what its schema costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from stages.core.lookup import Names
from stages.core.records import Column, Table
from stages.core.scoring.kept import Kept

TOKEN_RULE = (
    "schema tokens: per table its name and description, per column its name, type, "
    "description and examples, o200k_base; kept tables count whole"
)


class Facts:
    """One catalog as scoring sees it; built once and used for all of its questions."""

    def __init__(self, tables: Sequence[Table], database: str) -> None:
        self.names = Names(tables)
        self.database = database
        self.columns = {
            table["name"]: [column["name"] for column in table["columns"]] for table in tables
        }
        self._heads: dict[str, int] = {}
        self._cells: dict[str, dict[str, int]] = {}
        for table in tables:
            self._count(table)
        self.tokens_all = sum(self._whole(name) for name in self._heads)
        self.n_columns = sum(len(names) for names in self.columns.values())

    def _count(self, table: Table) -> None:
        from stages.core.tokens import count

        self._heads[table["name"]] = count(table_text(table))
        cells = self._cells.setdefault(table["name"], {})
        for column in table["columns"]:
            cells[column["name"]] = count(column_text(column))

    def _whole(self, table: str) -> int:
        return self._heads[table] + sum(self._cells[table].values())

    def tokens(self, tables: Iterable[str]) -> int:
        """Tokens of these tables, whole."""
        return sum(self._whole(name) for name in tables if name in self._heads)

    def tokens_narrow(self, kept: Kept) -> int:
        """Tokens of the kept tables with their kept columns alone."""
        if kept.columns is None:
            return self.tokens(kept.tables)
        return sum(
            self._heads[name] + self._columns_cost(name, kept.columns)
            for name in kept.tables
            if name in self._heads
        )

    def _columns_cost(self, table: str, columns: Mapping[str, frozenset[str]]) -> int:
        return sum(self._cells[table].get(name, 0) for name in columns.get(table, ()))

    def columns_kept(self, kept: Kept) -> int:
        """How many columns of the kept tables stay."""
        if kept.columns is None:
            return sum(len(self.columns.get(name, ())) for name in kept.tables)
        return sum(len(kept.columns.get(name, ())) for name in kept.tables)

    def holds(self, kept: Kept, table: str, column: str) -> bool:
        """Whether a column stays; both names as in the catalog."""
        if table not in kept.tables:
            return False
        return kept.columns is None or column in kept.columns.get(table, frozenset())


def table_text(table: Table) -> str:
    """The line that stands for a table, without its columns."""
    parts = (table["name"], table.get("nl_name"), table.get("description"), table.get("comment"))
    return " ".join(part for part in parts if part) + "\n"


def column_text(column: Column) -> str:
    """The line that stands for a column."""
    parts = (column["name"], column["type"], column.get("description"), column.get("comment"))
    return " ".join([*(part for part in parts if part), *column.get("examples", [])[:3]]) + "\n"
