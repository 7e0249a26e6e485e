"""Schemas without data: a file a database, JSON (schemas/schema-file.schema.json) or DDL, or a
folder of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import orjson

from stages.core.catalog.build import FoundTable, ScanResult, build, with_id
from stages.core.catalog.naming import Origin
from stages.core.catalog.schema_only.types import duckdb_type
from stages.core.catalog.source_table import ScanOptions, SourceTable
from stages.core.errors import DataError, LineError, SourceError, os_words
from stages.core.jsontypes import JsonObject
from stages.core.lines import schema
from stages.core.records import Catalog, Column, ForeignKey

DDL_SUFFIXES = (".sql", ".ddl")
SUFFIXES = (".json", *DDL_SUFFIXES)
TABLE_WORDS = ("nl_name", "description", "family")
COLUMN_WORDS = ("nl_name", "description")


class SchemaFolder:
    """The schema files of a folder, or one file; each is read when it is first asked for."""

    def __init__(self, path: str | Path, options: ScanOptions) -> None:
        """List the files.

        Raises:
            SourceError: There is no such file or folder, or the folder holds no schema file.
        """
        self.options = options
        path = Path(path)
        if path.is_dir():
            files = sorted(
                p for p in path.iterdir() if p.suffix.lower() in SUFFIXES and p.is_file()
            )
        else:
            files = [path] if path.is_file() else []
        if not files:
            raise SourceError(
                "no schema file there",
                place=str(path),
                hint="name a JSON file with db_id and tables, a file of CREATE TABLE, or a "
                "folder of them",
            )
        self.files = {file.stem: file for file in files}
        self._inner: dict[str, Path] | None = None

    def names(self) -> list[str]:
        """Names of the files without their suffix, sorted."""
        return list(self.files)

    def find(self, db_id: str) -> Path | None:
        """The file of a database: by the file's name, else by the ``db_id`` in it."""
        file = self.files.get(db_id)
        if file is None:
            if self._inner is None:
                self._inner = dict(self._inner_names())
            file = self._inner.get(db_id)
        return file

    def _inner_names(self) -> Iterator[tuple[str, Path]]:
        for file in self.files.values():
            if is_ddl(file):
                continue
            try:
                record = orjson.loads(file.read_bytes())
            except (OSError, ValueError):
                continue  # said when the file itself is asked for
            if isinstance(record, dict) and isinstance(record.get("db_id"), str):
                yield record["db_id"], file

    def read(self, file: Path) -> ScanResult:
        """The catalog of one file.

        Raises:
            DataError: It cannot be read, or is no schema file.
        """
        if is_ddl(file):
            from stages.core.catalog.schema_only import ddl

            return ddl.catalog_of(file, self.options)
        try:
            record = orjson.loads(file.read_bytes().removeprefix(b"\xef\xbb\xbf"))
        except OSError as error:
            raise DataError(f"cannot be read: {os_words(error)}", place=str(file)) from None
        except ValueError as error:
            raise DataError(f"not JSON: {error}", place=str(file)) from None
        try:
            schema.check(record, "schema-file", place=str(file))
        except LineError as error:
            error.hint = "see schemas/schema-file.schema.json"
            raise
        return catalog_of(record, file.stem, self.options)


def is_ddl(file: str | Path) -> bool:
    """Whether a file is read as DDL text."""
    return Path(file).suffix.lower() in DDL_SUFFIXES


def catalog_of(record: JsonObject, name: str, options: ScanOptions) -> ScanResult:
    """Catalog and tables of one schema record that fits its schema.

    Args:
        record: The record.
        name: Name of the catalog where the record has no ``db_id``.
        options: How many samples become examples, and what is hidden.
    """
    dialect = record.get("dialect", "")
    found = [_unnamed(table, dialect) for table in record["tables"]]
    tables = build(found, options)
    catalog: Catalog = {"kind": "catalog", "v": 1, "id": "", "name": record.get("db_id") or name}
    if dialect:
        catalog["dialect"] = dialect
    return ScanResult(with_id(catalog, tables), tables)


def _unnamed(table: JsonObject, dialect: str) -> FoundTable:
    primary = table.get("primary_key") or []
    foreign = [_foreign_key(key) for key in table.get("foreign_keys") or []]
    marks = {
        name: "foreign" for key in foreign if len(key["columns"]) == 1 for name in key["columns"]
    }
    marks |= dict.fromkeys(primary, "primary")
    raw = SourceTable(
        name=table["name"],
        columns=[_column(column, marks, dialect) for column in table["columns"]],
        primary_key=primary,
        foreign_keys=foreign,
        checked="declared",
        warnings=[] if table["columns"] else ["the schema file names no column of this table"],
    )
    return FoundTable(
        Origin("", "schema", table["name"], False), raw, extra=_words(table, TABLE_WORDS)
    )


def _words(record: dict[str, object], keys: tuple[str, ...]) -> dict[str, object]:
    return {key: record[key] for key in keys if record.get(key) not in (None, "")}


def _foreign_key(key: JsonObject) -> ForeignKey:
    return {
        "columns": key["columns"],
        "ref_table": key["ref_table"],
        "ref_columns": key.get("ref_columns") or [],
    }


def _column(column: JsonObject, marks: dict[str, str], dialect: str) -> Column:
    declared = column.get("type") or ""
    record: JsonObject = {"name": column["name"], "type": duckdb_type(declared, dialect)}
    if declared:
        record["declared"] = declared
    if column.get("nullable") is not None:
        record["nullable"] = column["nullable"]
    if column["name"] in marks:
        record["key"] = marks[column["name"]]
    record |= _words(column, COLUMN_WORDS)
    samples = [_text(value) for value in column.get("samples") or [] if value is not None]
    if samples:
        record["examples"] = samples
    if column.get("fields"):
        record["fields"] = [_field(item, dialect) for item in column["fields"]]
    return record  # type: ignore[return-value]


def _field(item: str | dict[str, object], dialect: str) -> dict[str, object]:
    if isinstance(item, str):
        return {"name": item, "type": "VARCHAR"}
    record = {"name": item["name"], "type": duckdb_type(item.get("type") or "", dialect)}
    return record | _words(item, ("description",))


def _text(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
