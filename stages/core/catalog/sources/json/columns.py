"""Rows of JSON objects made into columns: names, types, examples and fields.

What only DuckDB itself can say of nested types and values, asked in one statement each.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from stages.core.catalog.bytes import cells
from stages.core.catalog.duck import sql
from stages.core.catalog.source_table import ScanOptions
from stages.core.catalog.sources.csv import table as csv_table
from stages.core.catalog.sources.json import types
from stages.core.catalog.sources.json import types as json_types
from stages.core.catalog.sources.json.shape import Row
from stages.core.catalog.sources.json.stream import whole
from stages.core.jsontypes import JsonValue
from stages.core.records import Column, Field

if TYPE_CHECKING:
    import duckdb

_THREAD = threading.local()
_ONCE = 500  # expressions of one statement


def is_nested(kind: str) -> bool:
    """Whether values of a type have parts; JSON is text."""
    return kind.endswith("[]") or kind.startswith(("STRUCT", "MAP"))


def connection() -> duckdb.DuckDBPyConnection:
    """A connection without data, one for each thread."""
    import duckdb

    con: duckdb.DuckDBPyConnection | None = getattr(_THREAD, "con", None)
    if con is None:
        con = _THREAD.con = duckdb.connect(config={"threads": 1})
        con.execute("SET TimeZone = 'UTC'")
    return con


def spellings(kinds: Sequence[str]) -> dict[str, str]:
    """Each nested type as DuckDB spells it, which quotes names by rules of its own."""
    asked = [kind for kind in dict.fromkeys(kinds) if "(" in kind]
    made = [f"typeof(CAST(NULL AS {kind}))" for kind in asked]
    return dict(zip(asked, _answers(made, [], asked), strict=True))


def texts_of(values: Sequence[tuple[object, str]]) -> list[str]:
    """Nested values as DuckDB casts them to text; JSON where it cannot.

    Args:
        values: A value and its type, each.
    """
    written = [types.dump(value) for value, _ in values]
    made = [f"CAST({sql.transform('CAST(? AS JSON)', kind)} AS VARCHAR)" for _, kind in values]
    return _answers(made, written, written)


def _answers(made: list[str], given: list[str], instead: list[str]) -> list[str]:
    """What the expressions are, some hundreds at a time; the last argument where DuckDB
    refuses one of them."""
    import duckdb

    found: list[JsonValue] = []
    for at in range(0, len(made), _ONCE):
        statement = f"SELECT {', '.join(made[at : at + _ONCE])}"
        try:
            row = connection().execute(statement, given[at : at + _ONCE]).fetchone() or ()
        except duckdb.Error:
            row = tuple(instead[at : at + _ONCE])
        found.extend(row)
    return [text if value is None else value for value, text in zip(found, instead, strict=True)]


# Rows of JSON objects made into columns: names, types, examples and fields.

_LOOK = 200  # nested values of a column that examples are taken from


@dataclass
class Columns:
    """The columns of sampled rows, each list in the order the keys first came.

    Args:
        rows: The rows.
        keys: Keys in the file.
        names: Column names, distinct without regard to case.
        values: Values that are not null, one list for each column.
        types: DuckDB types.
        deep: Names of columns that are text because they are nested too deeply.
    """

    rows: Sequence[Row]
    keys: list[str]
    names: list[str]
    values: list[list[JsonValue]]
    types: list[str]
    deep: list[str]

    @property
    def renamed(self) -> dict[str, str]:
        """Key by name, of columns whose key could not be their name."""
        pairs = zip(self.names, self.keys, strict=True)
        return {name: key for name, key in pairs if name != key}


def columns_of(rows: Sequence[Row]) -> Columns:
    """Rows by column, with types as DuckDB spells them."""
    parts = json_types.by_key(rows)
    names = csv_table.distinct([whole(key) for key in parts])
    values = [[item for item in items if item is not None] for items in parts.values()]
    deep = [name for name, items in zip(names, values, strict=True) if json_types.is_deep(items)]
    types = [
        "VARCHAR" if name in deep else json_types.column_type(items)
        for name, items in zip(names, values, strict=True)
    ]
    if any("(" in kind for kind in types):
        spelt = spellings(types)
        types = [spelt.get(kind, kind) for kind in types]
    return Columns(rows, list(parts), names, values, types, deep)


def records(table: Columns, options: ScanOptions, *, whole: bool) -> list[Column]:
    """Columns with type, nullability as far as it was seen, examples and fields.

    Args:
        whole: Whether the rows are all there are.
    """
    shown = options.examples if options.values else 0
    made: list[Column] = []
    for name, kind, items in zip(table.names, table.types, table.values, strict=True):
        null = len(items) < len(table.rows)
        column = Column(name=name, type=kind, nullable=True if null else False if whole else None)
        if "STRUCT" in kind:
            column["fields"] = _fields(name, items, shown)
        if options.values:
            column["examples"] = _examples(items, kind, shown)
        made.append(column)
    return made


def _fields(name: str, items: list[object], shown: int) -> list[Field]:
    """The fields of a nested column, types as DuckDB spells them."""
    fields = json_types.fields(name, items, shown)
    spelt = spellings([entry["type"] for entry in fields])
    for entry in fields:
        entry["type"] = spelt.get(entry["type"], entry["type"])
    return fields


def _examples(items: list[object], kind: str, most: int) -> list[str]:
    """Distinct values as text, spread over the sample."""
    if is_nested(kind) or kind == "JSON":
        texts = {json_types.dump(item): item for item in _some(items)}
        picked = cells.spread(texts, most)
        if kind == "JSON":
            return picked
        return texts_of([(texts[text], kind) for text in picked])
    alike = len({type(item) for item in items}) == 1
    values: Iterable[object] = (
        items
        if alike and not isinstance(items[0], (dict, list))
        else (json_types.plain(item, kind) for item in items)
    )
    picked = [json_types.plain(item, kind) for item in cells.spread(values, most)]
    return list(dict.fromkeys(picked))


def _some(items: list[object]) -> Iterable[object]:
    """Some values out of many, evenly, the first and the last among them."""
    if len(items) <= _LOOK:
        return items
    step = len(items) // _LOOK + 1
    return [*islice(items, 0, None, step), items[-1]]


def shown(table: Columns, count: int) -> list[dict[str, str | None]]:
    """The first rows as text, as DuckDB would show them."""
    rows = table.rows[:count]
    columns = list(zip(table.names, table.keys, table.types, strict=True))
    inner = [
        (at, name, row[key], kind)
        for at, row in enumerate(rows)
        for name, key, kind in columns
        if is_nested(kind) and row.get(key) is not None
    ]
    made = [{name: _text(row.get(key), kind) for name, key, kind in columns} for row in rows]
    if inner:
        texts = texts_of([(value, kind) for _, _, value, kind in inner])
        for (at, name, _, _), text in zip(inner, texts, strict=True):
            made[at][name] = text
    return made


def _text(value: object, kind: str) -> str | None:
    """One cell; JSON columns keep the quotation marks of texts, as DuckDB does."""
    if value is None or is_nested(kind):
        return None
    return json_types.dump(value) if kind == "JSON" else json_types.plain(value, kind)
