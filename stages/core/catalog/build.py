"""From what sources say to catalog and table records.

Tables that lie in named schemas and not in files: on a server, or in DDL text.

Their describe key is ``schema.table``, canonical names take the schema in front only where
names clash, and a foreign key may lead into another schema.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import orjson

from stages.core.catalog.hiding import Hidden, hidden_columns
from stages.core.catalog.naming import Origin, aliases, canonical_names, lookup
from stages.core.catalog.source_table import ScanOptions, SourceTable
from stages.core.jsontypes import JsonMapping, JsonObject
from stages.core.names import fold
from stages.core.records import Catalog, Column, ForeignKey, Source, Table, Task
from stages.core.text import shorten


def key(schema: str, name: str) -> str:
    """``schema.table``, or the name alone where there is no schema."""
    return f"{schema}.{name}" if schema else name


def place(
    schema: str, kind: str, raw: SourceTable, *, source: Mapping[str, object] | None = None
) -> FoundTable:
    """A table of a schema, ready for `built`.

    Args:
        schema: Empty where the text names none.
        kind: ``postgresql``, ``mysql`` or ``ddl``.
        raw: The table; ``ref_table`` of its foreign keys is spelt by `key` where it lies in
            another schema.
        source: The ``source`` of the table line; None where there is no data.
    """
    extra: dict[str, object] = {"describe_key": key(schema, raw.name)}
    if source is not None:
        extra["source"] = dict(source)
    return FoundTable(Origin(schema, kind, raw.name, True), raw, extra=extra)


def built(found: Sequence[FoundTable], options: ScanOptions) -> list[Table]:
    """Table records, the foreign keys between schemas included."""
    tables = build(found, options)
    for item, table in zip(found, tables, strict=True):
        if "source" in item.extra:
            table["source"] = item.extra["source"]
        else:
            table.pop("source", None)
    known = {fold(table["describe_key"]): table for table in tables}
    known |= {table["describe_key"]: table for table in tables}
    canonical = {table["name"] for table in tables}
    for table in tables:
        for foreign in table.get("foreign_keys", ()):
            if foreign["ref_table"] not in canonical:
                _follow(foreign, known)
    return tables


def _follow(foreign: ForeignKey, known: Mapping[str, Table]) -> None:
    """Name the other table by its canonical name, and its key where none is named."""
    spelling = foreign["ref_table"]
    other = known.get(spelling) or known.get(fold(spelling))
    if other is not None:
        foreign["ref_table"] = other["name"]
        foreign["ref_columns"] = foreign["ref_columns"] or other.get("primary_key", [])


# From what sources say to catalog and table records: names, keys, cuts, hidden values, the id.

_HALF = re.compile("[\ud800-\udfff]")

SCHEMA_ONLY = ("ddl", "schema")
"""Kinds of source without rows."""


@dataclass(frozen=True)
class ScanResult:
    """One root as records.

    Attributes:
        catalog: The catalog line.
        tables: Its table lines.
        task: The task that ``task.json`` asks, with the texts of the root; None without one.
        texts: ``knowledge`` and ``video`` of the root, for questions that come from elsewhere.
    """

    catalog: Catalog
    tables: list[Table]
    task: Task | None = None
    texts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class FoundTable:
    """A table that has no canonical name yet: where it comes from, and what its source says."""

    origin: Origin
    raw: SourceTable
    bytes: int | None = None
    prepared: bool = False
    extra: JsonMapping = field(default_factory=dict)


def build(found: Sequence[FoundTable], options: ScanOptions) -> list[Table]:
    """Table records, with ``catalog`` still empty, in the order given."""
    origins = [item.origin for item in found]
    names = canonical_names(origins)
    known = lookup(origins, names)
    keys = {(item.origin.path, fold(item.origin.spelling)): item.raw.primary_key for item in found}
    keys |= {(item.origin.path, item.origin.spelling): item.raw.primary_key for item in found}
    spellings = aliases(origins, names)
    places = [(item.origin.path, fold(item.origin.spelling)) for item in found]
    tables = list(zip(places, names, (item.raw for item in found), strict=True))
    data = not any(item.origin.kind in SCHEMA_ONLY for item in found)
    secret = hidden_columns(tables, options, data=data)
    return [
        _table(item, name, alias, _references(item, known, keys), options, hidden)
        for item, name, alias, hidden in zip(found, names, spellings, secret, strict=True)
    ]


def _table(
    item: FoundTable,
    name: str,
    alias: list[str],
    references: list[ForeignKey],
    options: ScanOptions,
    hidden: Hidden,
) -> Table:
    raw = item.raw
    record: dict[str, object] = {"kind": "table", "catalog": "", "name": name}
    _put(record, "aliases", alias)
    record["describe_key"] = item.origin.key
    record.update(item.extra)
    _put(record, "comment", raw.comment)
    if item.origin.path:
        record["source"] = _source(item)
    if raw.checked != "declared" or raw.rows["count"] is not None:
        record["rows"] = raw.rows
    record["columns"] = [_column(column, hidden, options) for column in raw.columns]
    record["checked"] = raw.checked
    record["primary_key"] = raw.primary_key
    record["foreign_keys"] = references
    if raw.sample and options.values:
        record["sample"] = [
            _cells(row, hidden, options) for row in raw.sample[: options.sample_rows]
        ]
    elif raw.checked != "declared":
        record["sample"] = []
    record["always_keep"] = item.prepared or raw.prepared
    record["warnings"] = [_clean(warning) for warning in raw.warnings]
    _put(record, "error", _clean(raw.error))
    return cast("Table", record)


def _put(record: dict[str, object], key: str, value: object) -> None:
    if value:
        record[key] = value


def _source(item: FoundTable) -> Source:
    source: Source = {"kind": item.origin.kind, "path": item.origin.path}
    if item.raw.inner is not None:
        source["table"] = item.raw.inner
    if item.bytes is not None:
        source["bytes"] = item.bytes
    if item.raw.view:
        source["view"] = True
    if item.raw.reader:
        source["reader"] = item.raw.reader
    return source


def _column(column: Column, hidden: Hidden, options: ScanOptions) -> Column:
    """The column with its examples cut, or with none where its values are hidden."""
    record: JsonObject = dict(column)
    bare = not options.values or column["name"] in hidden.whole | hidden.values
    if column["name"] in hidden.whole:
        record["hidden"] = True
    _examples(record, bare, options)
    if "fields" in record:
        record["fields"] = [dict(inner) for inner in record["fields"]]
        for inner in record["fields"]:
            _examples(inner, bare, options)
    return cast("Column", record)


def _examples(record: JsonObject, bare: bool, options: ScanOptions) -> None:
    values = record.pop("examples", None)
    if values and options.examples and not bare:
        distinct = dict.fromkeys(shorten(_clean(value), options.cell) for value in values)
        record["examples"] = list(distinct)[: options.examples]


def _cells(
    row: Mapping[str, str | None], hidden: Hidden, options: ScanOptions
) -> dict[str, object]:
    return {
        name: None if cell is None else shorten(_clean(cell), options.cell)
        for name, cell in row.items()
        if name not in hidden.whole and name not in hidden.values
    }


def _clean(text: str) -> str:
    """The text with lone surrogates replaced, which no line can hold."""
    return text if text.isascii() else _HALF.sub("\ufffd", text)


def _references(
    item: FoundTable,
    known: Mapping[tuple[str, str], str],
    keys: Mapping[tuple[str, str], list[str]],
) -> list[ForeignKey]:
    """Foreign keys with canonical table names, and the other table's key where none is named."""
    found: list[ForeignKey] = []
    for key in item.raw.foreign_keys:
        exact = (item.origin.path, key["ref_table"])
        place = exact if exact in known else (item.origin.path, fold(key["ref_table"]))
        columns = list(key["ref_columns"]) or list(keys.get(place, ()))
        found.append(
            {
                "columns": key["columns"],
                "ref_table": known.get(place, key["ref_table"]),
                "ref_columns": columns,
            }
        )
    return found


def catalog_id(name: str, tables: Sequence[Table]) -> str:
    """SHA-256 of the name and the table lines without their ``catalog`` field, one a line."""
    whole = hashlib.sha256(name.encode() + b"\n")
    for line in _bare_lines(tables):
        whole.update(line)
    return f"sha256:{whole.hexdigest()}"


def _bare_lines(tables: Sequence[Table]) -> Iterator[bytes]:
    for table in tables:
        bare = {key: value for key, value in table.items() if key != "catalog"}
        yield orjson.dumps(bare, option=orjson.OPT_APPEND_NEWLINE)


def with_id(catalog: Catalog, tables: list[Table]) -> Catalog:
    """The catalog with its id, which is also written into each of its tables."""
    key = catalog_id(catalog["name"], tables)
    for table in tables:
        table["catalog"] = key
    return {**catalog, "id": key}
